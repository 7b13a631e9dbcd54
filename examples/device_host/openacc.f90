! A host whose arrays live on the device by OpenACC. Inside host_data the names are device addresses.
! With nvfortran: -acc; with gfortran: -fopenacc. Compile frame_interface.f90 with the same compiler.
program openacc_host
  use frame_interface
  use openacc, only: acc_async_sync
  use, intrinsic :: iso_c_binding, only: c_int, c_intptr_t, c_ptr
  implicit none
  interface
    function acc_get_cuda_stream(async) result(stream) bind(c)      ! OpenACC's C function; some compilers have no other
      import
      integer(c_int), value :: async
      type(c_ptr) :: stream
    end function
  end interface
  integer, parameter :: n = 64, ns = 10
  real(8), target :: T(n, n, 8), p(n, n, 8), Y(n, n, 8, ns), rho(n, n, 8)
  T = 300; p = 100d5; Y = 0; Y(:, :, :, 1) = 0.2d0; Y(:, :, :, 2) = 0.8d0     ! K, Pa, mass fractions CH4, O2
  rho = 0

  call frame_initialize(-1, 65536, ns, 1, 0)
  call frame_loadmixture('examples/mixtures/ch4_o2.yaml', '')
  call frame_setstream(transfer(acc_get_cuda_stream(int(acc_async_sync, c_int)), 0_c_intptr_t))   ! the stream of this host's kernels

  !$acc data copyin(T, p, Y) copyout(rho)
  !$acc host_data use_device(T, p, Y, rho)
  call frame_block('thermal', [frame_in('T', T), frame_in('p', p), frame_in('Y', Y), frame_out('rho', rho)])
  !$acc end host_data
  !$acc wait
  !$acc end data

  print '(es20.12)', rho(1, 1, 1)        ! kg/m3
  call frame_finalize()
end program
