!> Small block calls from Fortran. Arguments: a mixture of ten species, the declarations of examples/own_kernel, 64.
!! Prints a name and seconds on each line: the least of many block calls with 13 arrays of one point; the median of updates of an
!! x-slab of three points (a fringe) by the ideal gas of examples/own_kernel, and of a plain loop that computes the same.
program small_blocks
  use frame_interface
  use, intrinsic :: iso_fortran_env, only : int64, real64
  implicit none
  integer, parameter :: dp = real64, ns = 10, ng = 3, often = 301
  real(dp), allocatable, target :: one(:, :, :, :), Y(:, :, :, :), rho(:, :, :), e(:, :, :), T(:, :, :), p(:, :, :)
  real(dp), allocatable, target :: Tx(:, :, :), px(:, :, :)    ! without TARGET gfortran 12 makes the plain loop three times slower
  real(dp) :: begin, taken(often), plain(often)
  character(len=1024) :: mixture, own, number
  integer :: i, n

  call get_command_argument(1, mixture)
  call get_command_argument(2, own)
  call get_command_argument(3, number)
  read (number, *) n
  call frame_initialize(-1, 8192, ns, 1, 0)
  call frame_loadmixture(trim(mixture))
  call frame_registerkernel(trim(own))
  allocate (one(1, 1, 1, 12), Y(1, 1, 1, ns), source=0.0_dp)
  Y = 1.0_dp/ns
  one(1, 1, 1, 1:2) = [800.0_dp, 1.0e6_dp]
  do i = 1, often
    begin = now()
    call frame_block('thermal', [frame_in('T', one(:, :, :, 1)), frame_in('p', one(:, :, :, 2)), frame_in('Y', Y), &
                                 frame_out('rho', one(:, :, :, 3)), frame_out('h', one(:, :, :, 4)), &
                                 frame_out('e', one(:, :, :, 5)), frame_out('cp', one(:, :, :, 6)), &
                                 frame_out('cv', one(:, :, :, 7)), frame_out('gamma', one(:, :, :, 8)), &
                                 frame_out('c', one(:, :, :, 9)), frame_out('rho_p', one(:, :, :, 10)), &
                                 frame_out('rho_T', one(:, :, :, 11)), frame_out('h_p', one(:, :, :, 12))])
    taken(i) = now() - begin
  end do
  print '(a,es20.12)', 'arrays ', minval(taken)

  allocate (rho(1 - ng:n + ng, n, n), source=1.2_dp)
  allocate (e, mold=rho)
  allocate (T, p, Tx, px, source=rho)
  call random_number(e)
  e = 2.0e5_dp + 2.0e5_dp*e
  do i = 1, often
    T(1 - ng:0, :, :) = 400
    Tx(1 - ng:0, :, :) = 400
    begin = now()
    call frame_block('air_ideal_gas', [frame_in('rho', rho), frame_in('e', e), frame_in('T', T), frame_out('T', T), &
                                       frame_out('p', p)], lo=[1 - ng, 1, 1], hi=[0, n, n])
    taken(i) = now() - begin
    begin = now()
    call loop()
    plain(i) = now() - begin
  end do
  ! four Newton steps on each side: some roundings each
  if (any(abs(p(1 - ng:0, :, :)/px(1 - ng:0, :, :) - 1) > 64*epsilon(1.0_dp))) error stop 'the pressure is wrong'
  print '(a,es20.12)', 'slab ', median(taken)
  print '(a,es20.12)', 'plain ', median(plain)
  call frame_finalize()

contains

  subroutine loop()
    integer :: i, j, k, step
    real(dp) :: x
    do k = 1, n
      do j = 1, n
        do i = 1 - ng, 0
          x = Tx(i, j, k)
          do step = 1, 4
            x = x - (x*(690.0_dp + 0.5_dp*0.09_dp*x) - e(i, j, k))/(690.0_dp + 0.09_dp*x)
          end do
          Tx(i, j, k) = x
          px(i, j, k) = rho(i, j, k)*287.05_dp*x
        end do
      end do
    end do
  end subroutine loop

  real(dp) function now()
    integer(int64) :: count, rate
    call system_clock(count, rate)
    now = real(count, dp)/rate
  end function now

  real(dp) function median(values)
    real(dp), intent(in) :: values(:)
    integer :: i
    do i = 1, size(values)
      median = values(i)
      if (count(values < median) <= size(values)/2 .and. count(values <= median) > size(values)/2) return
    end do
  end function median
end program small_blocks
