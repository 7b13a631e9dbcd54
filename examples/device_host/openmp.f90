! A host whose arrays live on the device by OpenMP target. Inside target data use_device_addr the names are device addresses.
! OpenMP names no stream, so there is no frame_setstream: the call returns when the results are there.
program openmp_host
  use frame_interface
  implicit none
  integer, parameter :: n = 64, ns = 10
  real(8), allocatable, target :: T(:, :, :), p(:, :, :), Y(:, :, :, :), rho(:, :, :)
  allocate (T(n, n, 8), p(n, n, 8), Y(n, n, 8, ns), rho(n, n, 8))
  T = 300; p = 100d5; Y = 0; Y(:, :, :, 1) = 0.2d0; Y(:, :, :, 2) = 0.8d0     ! K, Pa, mass fractions CH4, O2
  rho = 0

  call frame_initialize(-1, 65536, ns, 1, 0)
  call frame_loadmixture('examples/mixtures/ch4_o2.yaml', '')

  !$omp target data map(to: T, p, Y) map(from: rho)
  !$omp target data use_device_addr(T, p, Y, rho)
  call frame_block('thermal', [frame_in('T', T), frame_in('p', p), frame_in('Y', Y), frame_out('rho', rho)])
  !$omp end target data
  !$omp end target data

  print '(es20.12)', rho(1, 1, 1)        ! kg/m3
  call frame_finalize()
end program
