!> What the entry points cost a Fortran host: 16 points of nitrogen, so that next to no time goes into the work itself.
!! Prints a name and the seconds of one call on each line, the least of some means. First argument: the mixture file, of one species.
program entry_points
  use, intrinsic :: iso_fortran_env, only : int64, real64
  implicit none
  integer, parameter :: n = 16, nq = 6, calls = 100, often = 30, dp = real64     ! Q = p, u, v, w, T, Y
  real(dp) :: Q(n, nq), rho(n), begin, least(4)
  character(len=1024) :: file
  integer :: i, k

  call get_command_argument(1, file)
  Q = 0
  Q(:, 1) = 100.0e5_dp
  Q(:, 5) = [(280.0_dp + 5*i, i = 1, n)]
  Q(:, 6) = 1
  rho = 0

  begin = now()
  call frame_initialize(%VAL(-1), %VAL(n), %VAL(1), %VAL(nq), %VAL(0))
  call frame_tvproperties_loadmixture(trim(file)//char(0), char(0))
  call put()
  call frame_tvproperties_eosthermalproperties(%VAL(n))
  call get()
  call say('start', now() - begin)
  if (rho(1) < 50 .or. rho(1) > 200) error stop 'the density is wrong'

  least = huge(least)
  do i = 1, often
    begin = now()
    do k = 1, calls
      call put()
    end do
    least(1) = min(least(1), (now() - begin)/calls)
    begin = now()
    do k = 1, calls
      call frame_tvproperties_eosthermalproperties(%VAL(n))
    end do
    least(2) = min(least(2), (now() - begin)/calls)
    begin = now()
    do k = 1, calls
      call frame_launch('total_enthalpy'//char(0), %VAL(n))
    end do
    least(3) = min(least(3), (now() - begin)/calls)
    call frame_tvproperties_eosthermalproperties(%VAL(n))
    begin = now()
    do k = 1, calls
      call get()
    end do
    least(4) = min(least(4), (now() - begin)/calls)
  end do
  call say('put', least(1))
  call say('thermal', least(2))
  call say('launch', least(3))
  call say('get', least(4))
  call frame_finalize()

contains

  subroutine put()
    call frame_castles_populateinputstripe('Q'//char(0), Q, %VAL(n), %VAL(1), %VAL(1), %VAL(1), %VAL(n), %VAL(1), %VAL(1), &
                                           %VAL(1), %VAL(1), %VAL(1), %VAL(nq), %VAL(1), %VAL(n))
  end subroutine put

  subroutine get()
    call frame_castles_populateoutputstripe('rho'//char(0), rho, %VAL(n), %VAL(1), %VAL(1), %VAL(1), %VAL(n), %VAL(1), %VAL(1), &
                                            %VAL(1), %VAL(1), %VAL(1), %VAL(1), %VAL(1), %VAL(n))
  end subroutine get

  real(dp) function now()
    integer(int64) :: count, rate
    call system_clock(count, rate)
    now = real(count, dp)/rate
  end function now

  subroutine say(name, seconds)
    character(len=*), intent(in) :: name
    real(dp), intent(in)         :: seconds
    print '(a,1x,es12.4)', name, seconds
  end subroutine say

end program entry_points
