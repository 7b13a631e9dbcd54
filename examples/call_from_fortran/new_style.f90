! New style: a module, shapes and strides from the arrays themselves, an optional stat=. From the project's folder:
!   gfortran -Jbuild build/frame_interface.f90 examples/call_from_fortran/new_style.f90 -o build/new_style \
!     -Lbuild -lframe -Wl,-rpath,$PWD/build && build/new_style
program new_style
  use frame_interface
  implicit none
  integer, parameter :: ns = 10
  integer, parameter :: nx = 12, ny = 10, nz = 6           ! extents, with fringes of 2 in x and y and none in z
  integer, parameter :: lo(3) = [3, 3, 1], hi(3) = [nx - 2, ny - 2, nz]
  real(8), target :: T(nx, ny, nz), p(nx, ny, nz), Y(nx, ny, nz, ns), rho(nx, ny, nz), h(nx, ny, nz), c(nx, ny, nz)
  integer :: j, stat
  character(len=500) :: message

  p = 100.0d5                                              ! [Pa]
  Y = 0
  do j = 1, ny                                             ! cold methane below, oxygen above; T [K]
    T(:, j, :) = 150 + 20*j
    Y(:, j, :, 1) = 1 - real(j - 1, 8)/(ny - 1)
    Y(:, j, :, 2) = real(j - 1, 8)/(ny - 1)
  end do
  rho = 0; h = 0; c = 0

  call frame_initialize(-1, 100, ns, 1, 0)                 ! device by rank, chunks of 100 points, no block Q
  call frame_loadmixture('examples/mixtures/ch4_o2.yaml', '')

  ! The whole block at once: the layer runs the loop over chunks, and copies while it computes.
  call frame_block('thermal', [frame_in('T', T), frame_in('p', p), frame_in('Y', Y), &
                               frame_out('rho', rho), frame_out('h', h), frame_out('c', c)], lo, hi)

  print '(a)', '   T [K]   rho [kg/m3]      h [J/kg]     c [m/s]'
  do j = lo(2), hi(2)
    print '(f8.1,f14.4,es14.5,f12.3)', T(lo(1), j, 1), rho(lo(1), j, 1), h(lo(1), j, 1), c(lo(1), j, 1)
  end do

  ! With stat= an error comes back instead of ending the run.
  call frame_put('temperature', T, lo, hi, stat=stat)
  call frame_lasterror(message)
  print '(a,i0,2a)', 'As it should, status ', stat, ': ', trim(message)
  call frame_finalize()
end program new_style
