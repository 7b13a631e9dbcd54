! A host of kernels as a user of Kokkos writes them, beside loops of its own: team_kokkos FILE
program team_kokkos
  use frame_interface
  use, intrinsic :: iso_fortran_env, only: int32, int64
  implicit none
  integer, parameter :: lengths(5) = [0, 1, 7, 31, 1009], sets = 3, length = 64
  character(300) :: file
  integer :: status, turn

  call get_command_argument(1, file)
  call frame_registerkernel(trim(file))
  call frame_initialize(-1, 1, 1, 1, 0)

  do turn = 1, size(lengths)
    call flat(lengths(turn))
    call in_single(lengths(turn))
  end do
  call in_teams
  call refused
  call frame_finalize()

contains

  ! which numbers are positive, and what follows from logical arrays and from whole numbers
  subroutine flat(n)
    integer, intent(in) :: n
    real(8), allocatable, target :: x(:), y(:), kept(:, :)
    logical, allocatable, target :: a(:), b(:)
    logical, allocatable :: was(:)
    integer(int32), allocatable, target :: k(:)
    integer(int64), allocatable, target :: place(:), big(:), f(:, :)
    integer(int64), target :: many(1)
    integer(int64), allocatable :: wanted(:)
    integer :: i

    allocate (x(n), y(n), kept(2, n), a(n), b(n), k(n), place(n), big(n), f(n, 9))
    x = [(mod(7*i, 6) - 2, i=1, n)]
    a = [(mod(i, 3) /= 0, i=1, n)]
    b = [(mod(i, 2) == 0, i=1, n)]
    k = [(mod(5*i, 11) - 5, i=1, n)]
    big = [(2_int64**60 - i, i=1, n)]
    was = b
    place = -1; many = -1

    call frame_block('host_kept', [frame_in('x', x), frame_out('place', place), frame_out('value', kept), &
                                   frame_out('count', many)])
    wanted = pack([(int(i - 1, int64), i=1, n)], x > 0)
    print '(a,2l2)', 'kept', many(1) == size(wanted), all(place(:size(wanted)) == wanted) .and. all(place(size(wanted) + 1:) == -1)

    call frame_block('host_by_flags', [frame_in('x', x), frame_in('a', a), frame_out('y', y), frame_inout('b', b), &
                                       frame_out('count', many)])
    print '(a,3l2)', 'flags', all(y == merge(x, -1d0, a)), all(b .eqv. (.not. a .or. (x > 2 .and. was))), &
      many(1) == count(a .and. b)

    call frame_block('host_whole_functions', [frame_in('k', k), frame_in('big', big), frame_out('f', f)])
    print '(a,3l2)', 'whole', all(f(:, 1) == max(k, 3)), all(f(:, 5) == abs(k - 2)), &
      all(f(:, 8) == merge(big, 7_int64, k > [(i - 1, i=1, n)]))
  end subroutine

  ! the same scan of real(4)
  subroutine in_single(n)
    integer, intent(in) :: n
    real(4), allocatable, target :: x(:), kept(:, :)
    integer(int64), allocatable, target :: place(:)
    integer(int64), target :: many(1)
    integer :: i

    allocate (x(n), kept(2, n), place(n))
    x = [(mod(7*i, 6) - 2, i=1, n)]
    many = -1
    call frame_block('host_kept', [frame_in('x', x), frame_out('place', place), frame_out('value', kept), &
                                   frame_out('count', many)])
    print '(a,2l2)', 'single', many(1) == count(x > 0), all(kept(2, :int(many(1))) == pack(x, x > 0))
  end subroutine

  subroutine in_teams
    real(8), target :: x(length, sets)
    integer :: i, e

    x = reshape([(real(mod(37*i, 101), 8), i=1, length*sets)], [length, sets])
    call frame_block('host_sorted', [frame_inout('x', x)])
    print '(a,3l2)', 'sorted', (all(x(:length - 1, e) <= x(2:, e)), e=1, sets)
  end subroutine

  ! arrays of a wrong shape and of a wrong type
  subroutine refused
    real(8), target :: x(5), kept(2, 4)
    integer(int64), target :: place(5), many(1)
    integer(int32), target :: narrow(5)
    character(400) :: message

    x = 1
    call frame_block('host_kept', [frame_in('x', x), frame_out('place', place), frame_out('value', kept), &
                                   frame_out('count', many)], stat=status)
    call frame_lasterror(message)
    print '(a)', trim(message)
    call frame_block('host_kept', [frame_in('x', x), frame_out('place', narrow), frame_out('value', kept), &
                                   frame_out('count', many)], stat=status)
    call frame_lasterror(message)
    print '(a)', trim(message)
  end subroutine
end program
