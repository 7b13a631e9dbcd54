!> Functions of one point beside block calls, and species apart beside a 4-D array, from Fortran. Arguments: a mechanism of ns
!! species, ns, its equation of state. Prints a name and seconds a point on each line, the least of many rounds in which all take turns. The loops over
!! points have the numbers of a point side by side, as a code has that works point by point; with OpenMP its threads share them.
program one_point
  use frame_interface
  use, intrinsic :: iso_fortran_env, only : int64, real64
  implicit none
  integer, parameter :: dp = real64, n = 16, points = n**3, m = 8, often = 60
  type scalar_field
    real(dp), pointer :: sf(:, :, :) => null()
  end type
  type(scalar_field), allocatable :: part(:), rate(:)
  real(dp), allocatable, target :: Y(:, :, :, :), omega(:, :, :, :)
  real(dp), target :: T(n, n, n), p(n, n, n), rho(n, n, n), h(n, n, n), c(n, n, n), e(n, n, n), T_of_e(n, n, n), &
                      T_small(m, m, m), p_small(m, m, m), rho_small(m, m, m)
  real(dp), allocatable, target :: Y_small(:, :, :, :), omega_small(:, :, :, :)
  real(dp), allocatable :: point(:, :), made(:, :), rates_of(:, :), energy(:, :), found(:, :)
  procedure(frame_point), pointer :: thermal, rates, temperature
  real(dp) :: least(8), begin
  character(len=1024) :: file, number, equation
  integer :: i, s, ns, round

  call get_command_argument(1, file)
  call get_command_argument(2, number)
  call get_command_argument(3, equation)
  read (number, *) ns
  call frame_initialize(-1, 1024, ns, 1, 0)
  call frame_setoption('equation', trim(equation))
  call frame_loadmixture(trim(file))
  call frame_getpoint('T, p, Y', 'rho, h, c', thermal)
  call frame_getpoint('T, p, Y, rho', 'omega', rates)
  call frame_getpoint('e, rho, Y', 'T', temperature)

  allocate (Y(n, n, n, ns), omega(n, n, n, ns), point(ns + 3, points), made(3, points), rates_of(ns, points), &
            energy(ns + 2, points), found(1, points), &
            part(ns), rate(ns), Y_small(m, m, m, ns), omega_small(m, m, m, ns))
  call random_number(T)
  call random_number(Y)
  T = 1000 + 1500*T
  p = 1.0e6_dp
  Y = Y/spread(sum(Y, 4), 4, ns)
  point(1, :) = reshape(T, [points])
  point(2, :) = reshape(p, [points])
  point(3:ns + 2, :) = transpose(reshape(Y, [points, ns]))
  T_small = T(:m, :m, :m)
  p_small = p(:m, :m, :m)
  Y_small = Y(:m, :m, :m, :)
  do s = 1, ns
    allocate (part(s)%sf(m, m, m), rate(s)%sf(m, m, m))
    part(s)%sf = Y_small(:, :, :, s)
  end do

  least = huge(begin)
  do round = 1, often
    begin = now()
    call frame_block('thermal', [frame_in('T', T), frame_in('p', p), frame_in('Y', Y), frame_out('rho', rho), &
                                 frame_out('h', h), frame_out('c', c)])
    call took(1, points)

    !$omp parallel do
    do i = 1, points
      call thermal(point(:ns + 2, i), made(:, i))
    end do
    call took(2, points)
    if (any(abs(made(1, :)/reshape(rho, [points]) - 1) > 1.0e-13_dp)) error stop 'the density is wrong'
    point(ns + 3, :) = reshape(rho, [points])

    begin = now()
    call frame_block('kinetics', [frame_in('T', T), frame_in('p', p), frame_in('rho', rho), frame_in('Y', Y), &
                                  frame_out('omega', omega)])
    call took(3, points)

    !$omp parallel do
    do i = 1, points
      call rates(point(:, i), rates_of(:, i))
    end do
    call took(4, points)
    if (any(abs(transpose(rates_of) - reshape(omega, [points, ns])) > 1.0e-10_dp*maxval(abs(omega)))) error stop 'rates are wrong'

    call frame_block('thermal', [frame_in('T', T), frame_in('p', p), frame_in('Y', Y), frame_out('e', e)])
    energy(1, :) = reshape(e, [points])
    energy(2, :) = reshape(rho, [points])
    energy(3:, :) = point(3:ns + 2, :)
    begin = now()
    call frame_block('T_from_e_rho', [frame_in('e', e), frame_in('rho', rho), frame_in('Y', Y), frame_out('T', T_of_e)])
    call took(7, points)

    !$omp parallel do
    do i = 1, points
      call temperature(energy(:, i), found(:, i))
    end do
    call took(8, points)
    if (any(abs(found(1, :)/reshape(T_of_e, [points]) - 1) > 1.0e-12_dp)) error stop 'the temperature is wrong'

    ! eight calls, since each is short
    rho_small = rho(:m, :m, :m)
    begin = now()
    do i = 1, 8
      call frame_block('kinetics', [frame_in('T', T_small), frame_in('p', p_small), frame_in('rho', rho_small), &
                                    frame_in('Y', Y_small), frame_out('omega', omega_small)])
    end do
    call took(5, 8*m**3)
    do i = 1, 8
      call frame_block('kinetics', [frame_in('T', T_small), frame_in('p', p_small), frame_in('rho', rho_small), &
                                    (frame_in('Y', part(s)%sf), s=1, ns), (frame_out('omega', rate(s)%sf), s=1, ns)])
    end do
    call took(6, 8*m**3)
  end do

  print '(a,es20.12)', 'thermal_block ', least(1), 'thermal ', least(2), 'kinetics_block ', least(3), 'kinetics ', least(4), &
    'array ', least(5), 'apart ', least(6), 'temperature_block ', least(7), 'temperature ', least(8)
  call frame_finalize()

contains

  subroutine took(what, points)
    integer, intent(in) :: what, points
    least(what) = min(least(what), (now() - begin)/points)
    begin = now()
  end subroutine took

  real(dp) function now()
    integer(int64) :: count, rate
    call system_clock(count, rate)
    now = real(count, dp)/rate
  end function now
end program one_point
