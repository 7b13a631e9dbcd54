! Arrays of real(4) and real(8) with views of either type: the same states through all four, which differ by roundings only.
program single
  use frame_interface
  implicit none
  integer, parameter :: nx = 13, ny = 7, nz = 5, ns = 10
  real(4), target :: T4(nx, ny, nz), p4(nx, ny, nz), Y4(nx, ny, nz, ns), rho4(nx, ny, nz, 2), D4(nx, ny, nz, ns, 2)
  real(8), target :: T8(nx, ny, nz), p8(nx, ny, nz), Y8(nx, ny, nz, ns), rho8(nx, ny, nz, 2), D8(nx, ny, nz, ns, 2)
  character(200) :: file
  integer :: i

  call get_command_argument(1, file)
  call random_number(T4); T4 = 120 + 2000*T4**2
  call random_number(p4); p4 = 1e5 + 3e7*p4
  call random_number(Y4); Y4 = Y4/spread(sum(Y4, 4), 4, ns)
  T8 = T4; p8 = p4; Y8 = Y4
  rho4 = -1; D4 = -1; rho8 = -1; D8 = -1
  do i = 1, 2
    call frame_setoption('precision', merge('double', 'mixed ', i == 1))
    call frame_initialize(-1, 100, ns, 1, 0)
    call frame_loadmixture(trim(file))
 call frame_block('thermal_viscous', [frame_in('T', T8), frame_in('p', p8), frame_in('Y', Y8), frame_out('rho', rho8(:, :, :, i)), &
                                         frame_out('D', D8(:, :, :, :, i))], lo=[2, 1, 1])
 call frame_block('thermal_viscous', [frame_in('T', T4), frame_in('p', p4), frame_in('Y', Y4), frame_out('rho', rho4(:, :, :, i)), &
                                         frame_out('D', D4(:, :, :, :, i))], lo=[2, 1, 1])
    call frame_finalize()
  end do
  ! what is written into real(4), or passes a view in single precision, is the double result rounded once
  print '(a,3i6)', 'rho', count(rho4(:, :, :, 1) /= real(rho8(:, :, :, 1), 4)), count(rho4(:, :, :, 2) /= rho4(:, :, :, 1)), &
    count(rho8(:, :, :, 2) /= rho4(:, :, :, 1))
  print '(a,3i6)', 'D', count(D4(:, :, :, :, 1) /= real(D8(:, :, :, :, 1), 4)), count(D4(:, :, :, :, 2) /= D4(:, :, :, :, 1)), &
    count(D8(:, :, :, :, 2) /= D4(:, :, :, :, 1))
  print '(a,2i6)', 'untouched', count(rho4 == -1), count(rho8 == -1)
  print '(a,2l2)', 'sane', minval(rho8(2:, :, :, :)) > 0, all(D8(2:, :, :, :, :) > 0)
  print '(a,i6)', 'rounded', count(rho8(:, :, :, 1) /= rho8(:, :, :, 2))
end program
