! Old style: no module, integers by %VAL, arrays by reference, names ended by char(0). From the project's folder:
!   gfortran examples/call_from_fortran/old_style.f90 -o build/old_style -Lbuild -lframe -Wl,-rpath,$PWD/build && build/old_style
program old_style
  implicit none
  integer, parameter :: ns = 10, nq = ns + 5               ! Q = p, u, v, w, T, Y_1..Y_ns
  integer, parameter :: nx = 12, ny = 10, nz = 6           ! extents, with fringes of 2 in x and y and none in z
  integer, parameter :: SptX = 3, EptX = nx - 2, SptY = 3, EptY = ny - 2, SptZ = 1, EptZ = nz
  integer, parameter :: chunk = 100                        ! the layer's buffers; the block has 288 points inside
  real(8) :: Q(nx, ny, nz, nq), thermal(nx, ny, nz, 3)
  integer :: points, first, last, j
  character(len=8) :: tag

  Q = 0
  Q(:, :, :, 1) = 100.0d5                                  ! p [Pa]
  do j = 1, ny                                             ! cold methane below, oxygen above; T [K]
    Q(:, j, :, 5) = 150 + 20*j
    Q(:, j, :, 6) = 1 - real(j - 1, 8)/(ny - 1)
    Q(:, j, :, 7) = real(j - 1, 8)/(ny - 1)
  end do
  thermal = 0

  call frame_initialize(%VAL(-1), %VAL(chunk), %VAL(ns), %VAL(nq), %VAL(0))
  call frame_tvproperties_loadmixture('examples/mixtures/ch4_o2.yaml'//char(0), char(0))

  points = (EptX - SptX + 1)*(EptY - SptY + 1)*(EptZ - SptZ + 1)
  do first = 1, points, chunk
    last = min(first + chunk - 1, points)
    tag = 'Q'//char(0)
    call frame_castles_populateinputstripe(tag, Q, %VAL(nx), %VAL(ny), %VAL(nz), %VAL(SptX), %VAL(EptX), &
                                         %VAL(SptY), %VAL(EptY), %VAL(SptZ), %VAL(EptZ), %VAL(1), %VAL(nq), %VAL(first), %VAL(last))
    call frame_tvproperties_eosthermalproperties(%VAL(last - first + 1))
    tag = 'rho'//char(0)
    call frame_castles_populateoutputstripe(tag, thermal, %VAL(nx), %VAL(ny), %VAL(nz), %VAL(SptX), %VAL(EptX), &
                                          %VAL(SptY), %VAL(EptY), %VAL(SptZ), %VAL(EptZ), %VAL(1), %VAL(1), %VAL(first), %VAL(last))
    tag = 'h'//char(0)
    call frame_castles_populateoutputstripe(tag, thermal, %VAL(nx), %VAL(ny), %VAL(nz), %VAL(SptX), %VAL(EptX), &
                                          %VAL(SptY), %VAL(EptY), %VAL(SptZ), %VAL(EptZ), %VAL(2), %VAL(2), %VAL(first), %VAL(last))
    tag = 'c'//char(0)
    call frame_castles_populateoutputstripe(tag, thermal, %VAL(nx), %VAL(ny), %VAL(nz), %VAL(SptX), %VAL(EptX), &
                                          %VAL(SptY), %VAL(EptY), %VAL(SptZ), %VAL(EptZ), %VAL(3), %VAL(3), %VAL(first), %VAL(last))
  end do

  print '(a)', '   T [K]   rho [kg/m3]      h [J/kg]     c [m/s]'
  do j = SptY, EptY
    print '(f8.1,f14.4,es14.5,f12.3)', Q(SptX, j, 1, 5), thermal(SptX, j, 1, :)
  end do
  call frame_finalize()
end program old_style
