! A host whose team kernel takes integers, logicals and numbers at the call: team_kinds FILE
program team_kinds
  use frame_interface
  use, intrinsic :: iso_fortran_env, only: int32, int64
  implicit none
  integer, parameter :: n = 1000, bins = 7
  character(300) :: file
  integer(int32), target :: bin(n), first, last, team
  integer(int64), target :: counts(bins), total(1)
  logical, target :: taken(n), odd(bins)
  real(4), target :: weight(n)
  real(8), target :: weights(bins), heaviest(1)
  integer(int64), target :: heaviest_at(1)
  integer :: i, status, turn

  call get_command_argument(1, file)
  bin = [(mod(7*i, bins), i=0, n - 1)]
  taken = [(mod(i, 3) /= 0, i=1, n)]
  weight = [(real(mod(i, 11)), i=1, n)]
  weight(500) = 99
  call frame_registerkernel(trim(file))
  call frame_initialize(-1, 1, 1, 1, 0)

  do turn = 1, 3
    first = 10*turn; last = n - turn; team = 32*turn
    counts = 0; weights = 0
    call frame_block('histogram', [frame_in('bin', bin), frame_in('taken', taken), frame_in('weight', weight), &
                                   frame_in('first', first), frame_in('last', last), frame_in('team', team), &
                                   frame_out('counts', counts), frame_out('weights', weights), frame_out('odd', odd), &
                                   frame_out('total', total), frame_out('heaviest', heaviest), &
                                   frame_out('heaviest_at', heaviest_at)])
    print '(10(l1,1x))', right(counts, [(count(chosen(i)), i=0, bins - 1)]), all(weights == [(sum(weight, chosen(i)), i=0, bins - 1)]), &
      all(odd .eqv. mod(counts, 2_int64) == 1), total(1) == count(taken(first + 1:last)), heaviest(1) == 99d0, heaviest_at(1) == 499
  end do
  call frame_block('thermal', [frame_in('T', bin)], stat=status)
  call refused
  call frame_block('histogram', [frame_in('bin', bin), frame_in('first', bin)], stat=status)
  call refused
  call frame_finalize()

contains

  function chosen(k) result(mask)
    integer, intent(in) :: k
    logical :: mask(n)
    mask = taken .and. bin == k .and. [(i > first .and. i <= last, i=1, n)]
  end function

  logical function right(found, wanted)
    integer(int64), intent(in) :: found(:)
    integer, intent(in) :: wanted(:)
    right = all(found == wanted)
  end function

  subroutine refused
    character(400) :: message
    call frame_lasterror(message)
    print '(i0,1x,a)', status, trim(message)
  end subroutine
end program
