! A host in CUDA Fortran (nvfortran -cuda). Device arrays go by address through the old style, which has no interface.
program cuda_fortran_host
  use cudafor
  implicit none
  integer, parameter :: n = 64, ns = 10
  real(8), device, allocatable :: states(:, :, :, :), results(:, :, :, :)      ! T, p, Y_1..Y_ns; rho
  real(8), allocatable :: host_states(:, :, :, :), host_results(:, :, :, :)
  integer(kind=cuda_stream_kind) :: stream
  integer :: istat
  allocate (host_states(n, n, 8, 2 + ns), host_results(n, n, 8, 1), states(n, n, 8, 2 + ns), results(n, n, 8, 1))
  host_states = 0; host_states(:, :, :, 1) = 300; host_states(:, :, :, 2) = 100d5
  host_states(:, :, :, 3) = 0.2d0; host_states(:, :, :, 4) = 0.8d0
  states = host_states
  istat = cudaStreamCreate(stream)

  call frame_initialize(%VAL(-1), %VAL(65536), %VAL(ns), %VAL(1), %VAL(0))
  call frame_tvproperties_loadmixture('examples/mixtures/ch4_o2.yaml'//char(0), char(0))
  call frame_setstream(%VAL(stream))
  call frame_castles_block('thermal'//char(0), 'T,p,Y'//char(0), states, 'rho'//char(0), results, %VAL(n), %VAL(n), %VAL(8), &
                           %VAL(1), %VAL(n), %VAL(1), %VAL(n), %VAL(1), %VAL(8), %VAL(2 + ns), %VAL(1))
  istat = cudaStreamSynchronize(stream)
  host_results = results
  print '(es20.12)', host_results(1, 1, 1, 1)        ! kg/m3
  call frame_finalize()
end program
