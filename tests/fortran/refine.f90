! Adaptive refinement: at every step other blocks, in number, size and fringe, allocated and pinned anew, worked on by block
! calls and, in turns, chunk by chunk; then unpinned and freed. Each value is compared. Argument 1: the declaration file of
! examples/own_kernel; 2: steps. Prints the process's memory in kB at the end, and after a fifth of the steps, at least 400: the
! layer remembers 512 block calls, and then forgets them.
program refine
  use frame_interface

#ifdef WITH_MPI
  use mpi
#endif
  implicit none
  integer, parameter :: chunk = 500
  double precision, parameter :: untouched = -999, cv = 690, slope = 0.09d0
  type :: block
    double precision, allocatable :: rho(:,:,:), e(:,:,:), T(:,:,:), mu(:,:,:)
    integer :: n(3), fringe(6)
  end type
  type(block), allocatable, target :: blocks(:)
  integer :: rank = 0, ierr, step, steps, b, wrong = 0
  character(300) :: file, word
  double precision :: chance

#ifdef WITH_MPI
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
#endif
  call get_command_argument(1, file)
  call get_command_argument(2, word)
  read (word, *) steps
  call random_seed(put=[(7*b + rank, b=1, 33)])                 ! other blocks on every rank
#ifdef WITH_MPI
  call frame_setcomm(MPI_COMM_WORLD)
#endif
  call frame_initialize(-1, chunk, 1, 1, 0)
  call frame_registerkernel(file)

  do step = 1, steps
    call random_number(chance)
    allocate (blocks(1 + int(4*chance)))                       ! another number on every rank
    do b = 1, size(blocks)
      call make(blocks(b))
    end do

    do b = 1, size(blocks)
      if (mod(step + b, 3) == 0) then
        call by_chunks(blocks(b))
      else
        call whole(blocks(b))
      end if

      call verify(blocks(b))
    end do

    do b = 1, size(blocks)
      call frame_unpin(blocks(b)%rho); call frame_unpin(blocks(b)%e); call frame_unpin(blocks(b)%T); call frame_unpin(blocks(b)%mu)
    end do
    deallocate (blocks)
    if (step == max(steps/5, 400)) print '(a,i0,a,i0)', 'rank ', rank, ' early kB ', memory()
  end do

  print '(a,i0,a,i0)', 'rank ', rank, ' late kB ', memory()
  print '(a,i0,a,i0)', 'rank ', rank, ' wrong values ', wrong
  call frame_finalize()
#ifdef WITH_MPI
  call MPI_Finalize(ierr)
#endif
  if (wrong > 0) error stop 1

contains

  subroutine make(one)
    type(block), intent(inout), target :: one
    double precision :: given(9)
    integer :: low(3), high(3), i, j, k

    call random_number(given)
    one%n = 1 + int(12*given(1:3))
    one%fringe = int(4*given(4:9))
    low = 1 - one%fringe(1:3)
    high = one%n + one%fringe(4:6)
    allocate (one%rho(low(1):high(1), low(2):high(2), low(3):high(3)), source=untouched)
    allocate (one%e, one%T, one%mu, source=one%rho)

    do k = 1, one%n(3)
      do j = 1, one%n(2)
        do i = 1, one%n(1)
          one%rho(i, j, k) = 1.2d0
          one%T(i, j, k) = 260 + 10*i + 3*j + 20*k + rank
          one%e(i, j, k) = one%T(i, j, k)*(cv + 0.5d0*slope*one%T(i, j, k))
          one%T(i, j, k) = 400                                   ! the start value
        end do
      end do
    end do

    call frame_pin(one%rho); call frame_pin(one%e); call frame_pin(one%T); call frame_pin(one%mu)
  end subroutine

  subroutine whole(one)
    type(block), intent(inout), target :: one

    call frame_block('air', [frame_in('rho', one%rho), frame_in('e', one%e), frame_in('T', one%T), frame_out('T', one%T), &
                             frame_out('mu', one%mu)], lo=[1, 1, 1], hi=one%n)
  end subroutine

  subroutine by_chunks(one)
    type(block), intent(inout), target :: one
    integer :: first, last, lo(3), hi(3)

    lo = one%fringe(1:3) + 1
    hi = one%fringe(1:3) + one%n

    do first = 1, product(one%n), chunk
      last = min(first + chunk - 1, product(one%n))
      call frame_put('rho', one%rho, lo, hi, first, last)
      call frame_put('e', one%e, lo, hi, first, last)
      call frame_put('T', one%T, lo, hi, first, last)
      call frame_launch('air', last - first + 1)
      call frame_get('T', one%T, lo, hi, first, last)
      call frame_get('mu', one%mu, lo, hi, first, last)
    end do
  end subroutine

  subroutine verify(one)
    type(block), intent(in) :: one
    integer :: i, j, k
    double precision :: T

    do k = 1, one%n(3)
      do j = 1, one%n(2)
        do i = 1, one%n(1)
          T = 260 + 10*i + 3*j + 20*k + rank
          ! at most 8 rounded operations on each side, none of which amplifies an error
          if (.not. abs(one%T(i, j, k) - T) <= 16*epsilon(T)*T) wrong = wrong + 1
          if (.not. abs(one%mu(i, j, k) - 1.458d-6*T*sqrt(T)/(T + 110.4d0)) <= 16*epsilon(T)*3d-5) wrong = wrong + 1
        end do
      end do
    end do

    if (count(one%mu == untouched) /= size(one%mu) - product(one%n)) wrong = wrong + 1
  end subroutine

  integer function memory()
    character(100) :: line
    integer :: unit, status

    open (newunit=unit, file='/proc/self/status', action='read')

    do
      read (unit, '(a)', iostat=status) line
      if (status /= 0) exit
      if (line(1:6) == 'VmRSS:') read (line(7:), *) memory
    end do

    close (unit)
  end function
end program
