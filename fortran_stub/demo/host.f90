!> The demo: the property step of an MPI flow code by the layer and by plain Fortran, compared and timed.
!!   mpirun -n 2 demo_host fortran_stub/demo/demo.nml
!! Exit code: 0 if every quantity agrees within its tolerance on every rank, 1 if not, 2 for a bad input file.
program demoHost
  use, intrinsic :: iso_fortran_env, only : output_unit, int64
  use mpi
  use speciesTables, only : dp
  use propertiesModule, only : nscalar
  use hostConfig
  use hostField
  use hostLayer
  use hostCompare
  use hostOutput
  implicit none
  external :: frame_report, frame_finalize

  type(HostInputs) :: inputs
  type(Block)      :: b
  type(Worst)      :: found(nworst)
  logical  :: ok, agree, wanted(nscalar), transport
  integer  :: rank, nranks, node_comm, node_rank, step, rep, status, ierr, two_roots, here, pinnings
  integer(int64) :: points, all_points
  real(dp) :: t0, t_start, t_first, t_layer, t_fortran, t_allocate, t_pin, each, low(3), high(3), A, amplification
  character(len=512) :: file, message

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, nranks, ierr)
  call MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, node_comm, ierr)
  call MPI_Comm_rank(node_comm, node_rank, ierr)

  file = 'fortran_stub/demo/demo.nml'
  if (command_argument_count() > 0) call get_command_argument(1, file)
  call readInputs(trim(file), MPI_COMM_WORLD, inputs, ok, message)
  if (.not. ok) call endRanks('demo_host', 2, trim(message))

  if (rank == 0) call banner()
  t0 = MPI_Wtime()
  call layerStart(inputs, MPI_COMM_WORLD, node_rank)
  t_start = MPI_Wtime() - t0
  call layerSpecies(inputs, status)
  if (status /= 0) call endRanks('demo_host', 2, &
                                 'the mixture lacks data for diffusion = fuller, or an option is unknown to the Fortran module.')
  call wantedScalars(inputs%collection, wanted, transport)

  pinnings = 0
  t_allocate = 0
  t_pin = 0
  ! The first use of a collection compiles it or loads it from the cache, outside of the timed steps.
  t0 = MPI_Wtime()
  call nextBlock(1)
  call fillField(inputs, rank, 0.0_dp, b)
  call fortranProperties(b, .true., .false.)
  call byLayer()
  t_first = MPI_Wtime() - t0
  if (rank == 0) print '(2(a,f6.2),a)', 'Layer started in ', t_start, ' s; first use took ', t_first, &
    ' s (compilation included, unless cached)'

  points = 0
  t_layer = 0
  t_fortran = 0
  amplification = 1
  ok = .true.
  do step = 1, inputs%steps
    call nextBlock(step)                  ! the mesh has been refined: another block, the same layer
    call fillField(inputs, rank, 0.1_dp*(step - 1), b)
    if (.not. wanted(1)) call fortranProperties(b, .true., .false.)      ! viscous alone: rho is known then

    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    t0 = MPI_Wtime()
    call fortranProperties(b, wanted(1), transport)
    t_fortran = t_fortran + MPI_Wtime() - t0
    do rep = 1, inputs%repeats
      call MPI_Barrier(MPI_COMM_WORLD, ierr)
      t0 = MPI_Wtime()
      call byLayer()
      t_layer = t_layer + MPI_Wtime() - t0
    end do
    points = points + b%points
    if (step == inputs%steps) then         ! once more, for the report
      call layerTimes()
      call byLayer()
    end if

    call fieldSummary(b, low, high, A, two_roots)
    amplification = max(amplification, A)
    call updateWorst(b, rank, step, wanted, transport, found)
    if (.not. fringeUntouched(b)) then
      print '(a,i0,a)', 'rank ', rank, ': the layer wrote outside the interior.'
      ok = .false.
    end if
    call MPI_Allreduce(MPI_IN_PLACE, low, 3, MPI_DOUBLE_PRECISION, MPI_MIN, MPI_COMM_WORLD, ierr)
    call MPI_Allreduce(MPI_IN_PLACE, high, 3, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, ierr)
    call MPI_Allreduce(two_roots, here, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    if (rank == 0) then
      print '(a,i0,a,2(i0,a),i0,2(a,f6.1),a,f6.2,a,f6.1,2(a,f5.3),a,i0,a)', 'Step ', step, ': rank 0 has ', &
        b%EptX - b%SptX + 1, ' x ', b%EptY - b%SptY + 1, ' x ', b%EptZ - b%SptZ + 1, ' points; T ', low(1), ' to ', &
        high(1), ' K, rho ', low(2), ' to ', high(2), ' kg/m3, Z ', low(3), ' to ', high(3), '; two roots at ', here, &
        ' points'
      flush(output_unit)
    end if
  end do

  call printWorst(MPI_COMM_WORLD, found, wanted, transport, amplification, inputs%tolerance_factor, agree)
  ok = ok .and. agree
  call MPI_Allreduce(MPI_IN_PLACE, ok, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD, ierr)
  call writePlane(trim(inputs%output), rank, wanted, b)

  call MPI_Allreduce(points, all_points, 1, MPI_INTEGER8, MPI_SUM, MPI_COMM_WORLD, ierr)
  call MPI_Allreduce(MPI_IN_PLACE, t_layer, 1, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, ierr)
  call MPI_Allreduce(MPI_IN_PLACE, t_fortran, 1, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, ierr)
  call MPI_Allreduce(MPI_IN_PLACE, t_allocate, 1, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, ierr)
  call MPI_Allreduce(MPI_IN_PLACE, t_pin, 1, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, ierr)
  if (rank == 0) then
    each = 1.0e9_dp*nranks/all_points
    print '(/,a,i0,a,/,a,i0,a)', 'Time of the slowest rank for the ', all_points, ' points of all blocks, once by plain Fortran', &
      'and ', inputs%repeats, ' times by the layer, with all its copies in and out:'
    print '(a,f9.3,a,f9.1,a)', '  plain Fortran ', t_fortran, ' s ', each*t_fortran, ' ns a point and rank'
    print '(a,f9.3,a,f9.1,a)', '  layer         ', t_layer, ' s ', each*t_layer/inputs%repeats, ' ns a point and rank'
    print '(a,f9.1)', '  ratio         ', t_fortran*inputs%repeats/t_layer
    print '(a,f9.3,a,f9.1,a,i0,a,f6.3,a)', '  pinning       ', t_pin, ' s ', each*t_pin/inputs%repeats, &
      ' ns a point and rank, not in the above; memory of ', pinnings, ' blocks, allocated and first written in', t_allocate, ' s'
    print '(/,a)', 'Timers of the layer, of one more call for the last block:'
    flush(output_unit)
  end if
  call frame_report()
  call frame_finalize()
  message = 'every quantity within its tolerance on every rank'
  if (.not. ok) message = 'NOT within the tolerances, see above'
  if (rank == 0) print '(/,2a)', 'Result: ', trim(message)
  call endRanks('demo_host', merge(0, 1, ok), '')

contains

  !> The block of this step. Its memory stays where it is, and pinned, as long as the block fits.
  subroutine nextBlock(step)
    integer, intent(in) :: step
    real(dp) :: t(4)
    call shapeBlock(inputs, rank, step, nscalar + inputs%ns, b)
    if (.not. fits(b)) then
      t(1) = MPI_Wtime()
      call layerForgets(b)
      t(2) = MPI_Wtime()
      call allocateBlock(inputs%reserve, b)
      t(3) = MPI_Wtime()
      call layerKeeps(b)
      t(4) = MPI_Wtime()
      t_allocate = t_allocate + t(3) - t(2)
      t_pin = t_pin + t(2) - t(1) + t(4) - t(3)
      pinnings = pinnings + 1
    end if
    call cutBlock(b)
  end subroutine nextBlock

  subroutine byLayer()
    if (inputs%calls == 'blocks') then
      call layerBlock(inputs, b, wanted, transport)
    else
      call layerProperties(inputs, b, wanted, transport)
    end if
  end subroutine byLayer

  subroutine banner()
    print '(a)', repeat('=', 100)
    print '(a)', 'Real-gas properties of a shear layer at supercritical pressure, by libframe and by plain Fortran'
    print '(a,i0,4a)', '  ranks ', nranks, ', backend ', trim(inputs%backend), ' (auto: FRAME_BACKEND decides), collection ', &
      trim(inputs%collection)
    print '(3a,i0,a)', '  mixture ', trim(inputs%mixture), ', ', inputs%ns, ' species'
    print '(a,i0,3(a,i0,1x,i0))', '  chunk ', inputs%chunk, ' points, fringes x ', inputs%fringe_x, ', y ', inputs%fringe_y, &
      ', z ', inputs%fringe_z
    print '(12a)', '  model: root ', trim(inputs%root), ', alpha ', trim(inputs%alpha), ', mixing ', trim(inputs%mixing), &
      ', chung ', trim(inputs%chung), ', diffusion ', trim(inputs%diffusion), ', takahashi ', trim(inputs%takahashi)
    print '(a)', repeat('=', 100)
    flush(output_unit)
  end subroutine banner

end program demoHost
