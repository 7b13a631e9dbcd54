! A host with a mixture: Q(nx,ny,nz,nq) with unequal fringes, the chunk loop of the old style, results in separate arrays.
! Arguments: mixture file or 'arrays FILE' (species data handed over as arrays), nq - ns, chunk, file for the results.
! The results file (stream): ns, nq, nx, ny, nz, fringes; Q; then rho, h, c, h0 or e, mu, D.
program mixture
  use frame_interface, only: frame_setparameter, frame_initialize, frame_loadmixture, frame_getspecies, frame_finalize, frame_report, &
                             frame_populatepreosshareddata, frame_populatechungshareddata, frame_get, frame_setoption

#ifdef WITH_MPI
  use mpi
  use frame_interface, only: frame_setcomm
#endif
  implicit none
  external :: frame_castles_populateinputstripe, frame_castles_populateoutputstripe, frame_tvproperties_eosthermalproperties, &
    frame_tvproperties_eosviscousproperties
  integer, parameter :: nx = 9, ny = 8, nz = 6, low(3) = [2, 1, 0], high(3) = [1, 3, 2]
  character(300) :: file, arg, out
  integer :: ns, nq, extra, chunk, rank = 0, ierr, i, j, k, s, step, first, last, points, sx, ex, sy, ey, sz, ez, unit
  double precision, allocatable, target :: Q(:,:,:,:), rho(:,:,:), h(:,:,:), c(:,:,:), other(:,:,:), mu(:,:,:), D(:,:,:,:)
  double precision, allocatable :: W(:), Tc(:), pc(:), omega(:), kij(:,:), low7(:,:), high7(:,:), T_mid(:), Vc(:), dipole(:), kappa(:), &
    fuller(:)
  logical :: from_arrays

#ifdef WITH_MPI
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
#endif
  call get_command_argument(1, file)
  from_arrays = file == 'arrays'
  if (from_arrays) call get_command_argument(2, file)
  i = merge(3, 2, from_arrays)
  call get_command_argument(i, arg); read(arg, *) ns
  call get_command_argument(i + 1, arg); read(arg, *) extra
  call get_command_argument(i + 2, arg); read(arg, *) chunk
  call get_command_argument(i + 3, out)
  nq = ns + extra
  if (from_arrays) call frame_setoption('diffusion', 'fuller')
  call frame_initialize(-1, chunk, ns, nq, 0)
#ifdef WITH_MPI
  call frame_setcomm(MPI_COMM_WORLD)
#endif
  call frame_loadmixture(file, '')

  if (from_arrays) then
    allocate(W(ns), Tc(ns), pc(ns), omega(ns), kij(ns, ns), low7(7, ns), high7(7, ns), T_mid(ns), Vc(ns), dipole(ns), kappa(ns), fuller(ns))
    call frame_getspecies('W', W, ns); call frame_getspecies('Tc', Tc, ns); call frame_getspecies('pc', pc, ns)
    call frame_getspecies('omega', omega, ns); call frame_getspecies('T_mid', T_mid, ns); call frame_getspecies('Vc', Vc, ns)
    call frame_getspecies('dipole', dipole, ns); call frame_getspecies('kappa', kappa, ns)
    call frame_getspecies('kij', kij, ns*ns); call frame_getspecies('nasa_low', low7, 7*ns); call frame_getspecies('nasa_high', high7, 7*ns)
    fuller = [(10d0 + s, s = 1, ns)]
    call frame_finalize()
    call frame_setparameter('timers', 1d0)
    call frame_initialize(-1, chunk, ns, nq, 0)
#ifdef WITH_MPI
    call frame_setcomm(MPI_COMM_WORLD)
#endif
    call frame_populatechungshareddata(ns, Vc, dipole, kappa, fuller)
    call frame_populatepreosshareddata(ns, W, Tc, pc, omega, kij, low7, high7, T_mid)
    W = -1; Tc = -1; kij = -1       ! the layer keeps copies
  end if

  allocate(Q(nx, ny, nz, nq), rho(nx, ny, nz), D(nx, ny, nz, ns), source=-999d0)
  h = rho; c = rho; other = rho; mu = rho
  sx = 1 + low(1); ex = nx - high(1); sy = 1 + low(2); ey = ny - high(2); sz = 1 + low(3); ez = nz - high(3)
  points = (ex - sx + 1)*(ey - sy + 1)*(ez - sz + 1)

  do step = 1, 2                    ! the second time over results of the first: nothing depends on what was there
    do k = sz, ez
      do j = sy, ey
        do i = sx, ex
          Q(i,j,k,1) = 1d7 + 1d5*i + 3d4*k
          Q(i,j,k,2:4) = [10d0*i, -3d0*j, 2d0*k]
          Q(i,j,k,5) = 350 + 37*i + 11*j + 5*k + rank
          do s = 1, nq - 5
          if (s <= ns) Q(i,j,k,5+s) = 1d0/ns + merge(0.3d0/ns, -0.3d0/ns, mod(s, 2) == 1)*sin(0.1d0*(i + j + k)*merge(1, 0, ns > 1))
          end do
          if (extra > 4 .and. mod(ns, 2) == 1 .and. ns > 1) Q(i,j,k,5+ns) = 1 - sum(Q(i,j,k,6:4+ns))
        end do
      end do
    end do

    do first = 1, points, chunk
      last = min(first + chunk - 1, points)
     call frame_castles_populateinputstripe('Q'//char(0), Q, %val(nx), %val(ny), %val(nz), %val(sx), %val(ex), %val(sy), %val(ey), &
                                             %val(sz), %val(ez), %val(1), %val(nq), %val(first), %val(last))
      call frame_tvproperties_eosthermalproperties(%val(last - first + 1))
      call frame_tvproperties_eosviscousproperties(%val(last - first + 1))
      call fetch('rho', rho, 1)
      call fetch('h', h, 1)
      call fetch('c', c, 1)
      call fetch('h0', other, 1)
      call fetch('mu', mu, 1)
      call fetch('D', D, ns)
    end do
  end do

  write(arg, '(a,i0)') trim(out)//'.', rank
  open(newunit=unit, file=trim(arg), access='stream', form='unformatted', status='replace')
  write(unit) ns, nq, nx, ny, nz, low, high
  write(unit) Q, rho, h, c, other, mu, D
  close(unit)
  call frame_report()
  call frame_finalize()
#ifdef WITH_MPI
  call MPI_Finalize(ierr)
#endif

contains

  subroutine fetch(tag, array, variables)
    character(*), intent(in) :: tag
    integer, intent(in) :: variables
    double precision, intent(inout) :: array(nx, ny, nz, variables)

call frame_castles_populateoutputstripe(tag//char(0), array, %val(nx), %val(ny), %val(nz), %val(sx), %val(ex), %val(sy), %val(ey), &
                                            %val(sz), %val(ez), %val(1), %val(variables), %val(first), %val(last))
  end subroutine
end program
