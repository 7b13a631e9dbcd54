!> Mixtures that come and go in one run: the same species in another order, reloads, frame_finalize and another start, single precision
!! between two of double. Arguments: the mixture's file, and one with its species in reverse order.
program reload
  use frame_interface
  implicit none
  integer, parameter :: n = 50, ns = 9
  real(8), target :: T(n), p(n), Y(n, ns), rho(n), omega(n, ns), first_rho(n), first_omega(n, ns), other_rho(n)
  character(500) :: files(0:1)
  integer :: i, wrong
  call get_command_argument(1, files(0))
  call get_command_argument(2, files(1))
  call random_number(Y)
  Y = Y/spread(sum(Y, 2), 2, ns)
  T = 1500
  p = 1d6

  call start('double')
  call frame_loadmixture(files(0))
  call compute
  first_rho = rho; first_omega = omega

  ! The same numbers are other species now; turned round, they are the same again.
  call frame_loadmixture(files(1))
  call compute
  other_rho = rho
  call tell('another order changes', merge(0, 1, all(rho /= first_rho)))
  Y = Y(:, ns:1:-1)
  call compute
  Y = Y(:, ns:1:-1)
  print '(a,2es10.2)', 'turned round: ', maxval(abs(rho - first_rho)/first_rho), &
    maxval(abs(omega(:, ns:1:-1) - first_omega))/maxval(abs(first_omega))

  wrong = 0
  do i = 1, 20
    call frame_loadmixture(files(mod(i, 2)))
    call compute
    wrong = wrong + count(rho /= merge(first_rho, other_rho, mod(i, 2) == 0))
  end do
  call tell('reloads', wrong)

  call frame_finalize()
  call start('double')
  call frame_loadmixture(files(1))
  call compute
  call tell('another start', count(rho /= other_rho))

  call frame_finalize()
  call start('single')
  call frame_loadmixture(files(1))
  call compute_density                                          ! rates have no single precision
  print '(a,es10.2)', 'single precision: ', maxval(abs(rho - other_rho)/other_rho)

  call frame_finalize()
  call start('double')
  call frame_loadmixture(files(1))
  call compute
  call tell('double again', count(rho /= other_rho))
  call frame_finalize()

contains

  subroutine start(precision)
    character(*), intent(in) :: precision
    call frame_setoption('precision', precision)
    call frame_initialize(-1, 16, ns, ns + 5, 0)
    call frame_setoption('equation', 'ideal')
  end subroutine

  subroutine compute_density
    rho = -1
    call frame_block('thermal', [frame_in('T', T), frame_in('p', p), frame_in('Y', Y), frame_out('rho', rho)])
  end subroutine

  subroutine compute
    call compute_density
    omega = -1
    call frame_block('kinetics', [frame_in('T', T), frame_in('p', p), frame_in('rho', rho), frame_in('Y', Y), &
                                  frame_out('omega', omega)])
  end subroutine

  subroutine tell(what, number)
    character(*), intent(in) :: what
    integer, intent(in) :: number
    print '(a,a,i0)', what, ': ', number
  end subroutine
end program reload
