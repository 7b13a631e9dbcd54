!> A small CASTLES: compressible flow of a real-gas mixture, explicit in time. Its properties come from plain Fortran or
!! from the layer; the whole run is timed with both.
!!   mpirun -n 2 castles fortran_stub/castles/castles.nml
!! Exit code: 0; 1 if the two fields differ by more than the tolerance or one is not finite; 2 for a bad input file.
program castles
  use, intrinsic :: iso_fortran_env, only : output_unit
  use, intrinsic :: ieee_arithmetic, only : ieee_is_finite
  use mpi
  use speciesTables, only : dp
  use hostLayer, only : layerStart, layerSpecies
  use hostConfig, only : readInputs, endRanks
  use castlesConfig
  use castlesProperties
  use castlesBlock
  use castlesRhs
  implicit none

  external :: frame_finalize

  type(CastlesInputs) :: inputs
  type(Grid) :: g
  logical  :: ok
  integer  :: rank, nranks, node_comm, node_rank, status, round, ierr
  real(dp) :: times(4, 2)
  real(dp), allocatable :: answer(:,:,:,:)
  character(len=512) :: file, message

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, nranks, ierr)
  call MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, node_comm, ierr)
  call MPI_Comm_rank(node_comm, node_rank, ierr)
  file = 'fortran_stub/castles/castles.nml'
  if (command_argument_count() > 0) call get_command_argument(1, file)
  call readInputs(trim(file), MPI_COMM_WORLD, inputs, ok, message)
  if (.not. ok) call endRanks('castles', 2, trim(message))

  ! The layer reads the mixture in every case. With properties = 'fortran' it computes none.
  call layerStart(inputs%HostInputs, MPI_COMM_WORLD, node_rank)
  call layerSpecies(inputs%HostInputs, status)
  if (status /= 0) call endRanks('castles', 2, 'the mixture lacks data for diffusion = fuller.')
  if (rank == 0) print '(3a,4(i0,a))', 'castles: ', trim(inputs%mixture), ', ', inputs%ns, ' species, ', nranks, ' ranks, ', &
    inputs%steps, &
    ' steps; the window grows by ', inputs%grow_x, ' columns at times'

  ok = .true.
  times = huge(1.0_dp)

  do round = 1, inputs%repeats                ! in turns, so that both have the same load; the fastest of each counts
    if (inputs%properties /= 'frame') call solve(.false., times(:, 1))
    if (inputs%properties == 'both') answer = g%Q
    if (inputs%properties /= 'fortran') call solve(.true., times(:, 2))
  end do

  if (inputs%properties == 'both') then
    call compare()
    if (rank == 0) call printRatios()
  end if

  call MPI_Allreduce(MPI_IN_PLACE, ok, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD, ierr)
  call frame_finalize()
  call endRanks('castles', merge(0, 1, ok), '')

contains

  !> A run from the start, with one of the two sources of properties. time [s]: total of the slowest rank, then
  !! properties, communication and rest as means over the ranks. It keeps the times of the fastest run so far.
  subroutine solve(by_frame, time)
    logical, intent(in)     :: by_frame
    real(dp), intent(inout) :: time(4)
    type(Cells)           :: s
    real(dp), allocatable :: Q0(:,:,:,:), change(:,:,:,:)
    real(dp), parameter   :: old_share(3) = [0.0_dp, 0.75_dp, 1.0_dp/3], new_share(3) = [1.0_dp, 0.25_dp, 2.0_dp/3]
    real(dp) :: dt, t, residual(2), start, took(4)
    integer  :: step, stage, j, k, m, n(3)

    use_frame = by_frame
    call startGrid(inputs, MPI_COMM_WORLD, g, message)
    if (message /= '') call endRanks('castles', 2, 'input file '//trim(file)//': '//trim(message))
    n = g%n + 2*FRINGE
    call allocateCells(n, inputs%ns, s)
    allocate(change(g%n(1), g%n(2), g%n(3), g%nq))
    call fillBoundaries(inputs, g)
    call rhs(g, s, change)                 ! the first use of a collection compiles it, outside of the timed steps

    t = 0
    property_time = 0
    comm_time = 0
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    start = MPI_Wtime()

    do step = 1, inputs%steps
      if (step > 1 .and. mod(step - 1, inputs%every) == 0 .and. inputs%grow_x > 0) then
        call growGrid(inputs, inputs%grow_x, g)
        n = g%n + 2*FRINGE
        call allocateCells(n, inputs%ns, s)
        deallocate(change)
        allocate(change(g%n(1), g%n(2), g%n(3), g%nq))
      end if

      Q0 = inside(g%Q)

      do stage = 1, 3                      ! Shu and Osher's Runge-Kutta scheme
        call fillBoundaries(inputs, g)
        call rhs(g, s, change)

        if (stage == 1) then
          dt = inputs%cfl/acousticRate(g, s)
          residual = [sum((change(:, :, :, 1)/inputs%pressure)**2), real(product(g%n), dp)]
        end if

        do m = 1, g%nq
          do k = 1, g%n(3)
            do j = 1, g%n(2)
              associate (Q => g%Q(3:g%n(1) + 2, j + 2, k + 2, m))
                Q = old_share(stage)*Q0(:, j, k, m) + new_share(stage)*(Q + dt*change(:, j, k, m))
              end associate
            end do
          end do
        end do
      end do

      t = t + dt
    end do

    took(1) = MPI_Wtime() - start
    call releaseCells(s)
    took(2:3) = [property_time, comm_time]
    took(4) = took(1) - took(2) - took(3)
    ok = ok .and. all(ieee_is_finite(inside(g%Q)))
    call summary(by_frame, t, residual, took)
    if (took(1) < time(1)) time = took
  end subroutine solve

  function inside(Q)
    real(dp), intent(in) :: Q(:,:,:,:)
    real(dp) :: inside(g%n(1), g%n(2), g%n(3), g%nq)

    inside = Q(3:g%n(1) + 2, 3:g%n(2) + 2, 3:g%n(3) + 2, :)
  end function inside

  subroutine summary(by_frame, t, residual, time)
    logical, intent(in)     :: by_frame
    real(dp), intent(in)    :: t, residual(2)
    real(dp), intent(inout) :: time(4)
    real(dp) :: mean(3), low(2), high(2), all(2)

    mean = [sum(g%Q(3:g%n(1) + 2, 3:g%n(2) + 2, 3:g%n(3) + 2, 1)), sum(g%Q(3:g%n(1) + 2, 3:g%n(2) + 2, 3:g%n(3) + 2, 2)), &
            sum(g%Q(3:g%n(1) + 2, 3:g%n(2) + 2, 3:g%n(3) + 2, 5))]
    low = [minval(g%Q(3:g%n(1) + 2, 3:g%n(2) + 2, 3:g%n(3) + 2, 1)), minval(g%Q(3:g%n(1) + 2, 3:g%n(2) + 2, 3:g%n(3) + 2, 5))]
    high = [maxval(g%Q(3:g%n(1) + 2, 3:g%n(2) + 2, 3:g%n(3) + 2, 1)), maxval(g%Q(3:g%n(1) + 2, 3:g%n(2) + 2, 3:g%n(3) + 2, 5))]
    call MPI_Allreduce(residual, all, 2, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
    call MPI_Allreduce(MPI_IN_PLACE, mean, 3, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
    call MPI_Allreduce(MPI_IN_PLACE, low, 2, MPI_DOUBLE_PRECISION, MPI_MIN, MPI_COMM_WORLD, ierr)
    call MPI_Allreduce(MPI_IN_PLACE, high, 2, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, ierr)
    call MPI_Allreduce(MPI_IN_PLACE, time, 1, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, ierr)
    call MPI_Allreduce(MPI_IN_PLACE, time(2:), 3, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
    time(2:) = time(2:)/nranks
    mean = mean/product(real(g%global, dp))
    if (rank > 0) return
    print '(/,3a,3(i0,a),es10.3,a)', 'properties = ', merge('frame  ', 'fortran', by_frame), ': ', g%global(1), ' x ', &
      g%global(2), ' x ', &
      g%global(3), ' cells at the end, t = ', t, ' s'
    print '(a,es23.15,2(a,es23.15))', '  means: p', mean(1), '  u', mean(2), '  T', mean(3)
    print '(4(a,f10.3),a,es10.3)', '  p', low(1)/1e5_dp, ' to', high(1)/1e5_dp, ' bar, T', low(2), ' to', high(2), &
      ' K; residual of p/p0 [1/s]', sqrt(all(1)/all(2))
    print '(4(a,f9.3),a)', '  time [s]: slowest rank', time(1), '; means over ranks: properties', time(2), ', communication', &
      time(3), ', rest', time(4)
    flush(output_unit)
  end subroutine summary

  !> Prints the speed-up of the run, and Amdahl's law: if a share s of the time gets r times faster, the whole run gets
  !! 1/(1 - s + s/r) times faster, and at most 1/(1 - s) times.
  subroutine printRatios()
    real(dp) :: faster, share, ratio, allowed, most

    faster = times(1, 1)/times(1, 2)
    ratio = times(2, 1)/times(2, 2)
    share = times(2, 1)/times(1, 1)
    allowed = 1/(1 - share + share/ratio)
    most = 1/(1 - share)
    print '(/,a,f8.2)', 'Whole application, fortran over frame:            ', faster
    print '(a,f8.2)', 'Properties alone:                                 ', ratio
    print '(a,f7.1,a)', 'Share of property time in fortran:                 ', 100*share, ' %'
    print '(a,f8.2,a,f6.1,a)', 'Amdahl: with the properties that much faster      ', allowed, ', reached', 100*faster/allowed, ' %'
    print '(a,f8.2,a,f6.1,a)', 'Amdahl: with properties that take no time         ', most, ', reached', 100*faster/most, ' %'
  end subroutine printRatios

  !> Largest differences of Q between the two fields: relative for p and T, over the range of speeds for velocities,
  !! absolute for Y.
  subroutine compare()
    real(dp) :: worst(4), range
    integer  :: m

    range = maxval(abs(inside(g%Q(:, :, :, :))) - 0)
    worst = 0

    associate (a => answer(3:g%n(1) + 2, 3:g%n(2) + 2, 3:g%n(3) + 2, :), b => g%Q(3:g%n(1) + 2, 3:g%n(2) + 2, 3:g%n(3) + 2, :))
      range = maxval(abs(a(:, :, :, 2:4)))
      call MPI_Allreduce(MPI_IN_PLACE, range, 1, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, ierr)
      worst(1) = maxval(abs(a(:, :, :, 1)/b(:, :, :, 1) - 1))
      do m = 2, 4
        worst(2) = max(worst(2), maxval(abs(a(:, :, :, m) - b(:, :, :, m)))/range)
      end do
      worst(3) = maxval(abs(a(:, :, :, 5)/b(:, :, :, 5) - 1))
      worst(4) = maxval(abs(a(:, :, :, 6:) - b(:, :, :, 6:)))
    end associate

    call MPI_Allreduce(MPI_IN_PLACE, worst, 4, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, ierr)
    ok = ok .and. all(worst <= inputs%tolerance)
    if (rank == 0) print '(/,4(a,es9.2),a,es9.2)', 'Largest differences: p', worst(1), ', velocity', worst(2), ', T', worst(3), &
      ', Y', worst(4), &
      '; tolerance', inputs%tolerance
    if (rank == 0 .and. .not. all(worst <= inputs%tolerance)) print '(a)', 'The two answers are NOT within the tolerance.'
  end subroutine compare

end program castles
