!> A rank's block of the window: its field Q with two fringe layers, neighbours, initial stream, inlet, outlet, walls.
module castlesBlock
  use mpi
  use speciesTables, only : dp
  use castlesConfig, only : CastlesInputs
  use frame_interface, only : frame_pin, frame_unpin
  use castlesProperties
  implicit none
  private
  public :: Grid, startGrid, growGrid, fillBoundaries, FRINGE, comm_time

  integer, parameter :: FRINGE = 2
  real(dp) :: comm_time = 0

  type :: Grid
    integer  :: comm, rank, low(2), high(2)      ! ranks next in y and z, low and high side; none at the walls in y
    integer  :: n(3), first(3), global(3)        ! interior cells here, cells before them, cells of the whole window
    integer  :: nq
    real(dp) :: spacing(3)
    real(dp), pointer, contiguous :: Q(:,:,:,:) => null()      ! p, u, v, w, T, Y_1 .. Y_ns
    ! at x = 0, interior in y and z: u v w Y; h; T found last
    real(dp), allocatable :: inlet(:,:,:), h_inlet(:,:), T_inlet(:,:)
  end type Grid

contains

  !> Ranks divide y and z among them; z is periodic. message: the reason for a refusal, the same on all ranks.
  subroutine startGrid(inputs, comm, g, message)
    type(CastlesInputs), intent(in) :: inputs
    integer, intent(in)             :: comm
    type(Grid), intent(inout)       :: g
    character(len=*), intent(out)   :: message
    real(dp), allocatable :: state(:,:,:,:), rho(:,:,:), h(:,:,:)
    integer :: ranks, dims(2), at(2), d, j, k, ierr

    message = ''
    call MPI_Comm_size(comm, ranks, ierr)
    dims = 0
    call MPI_Dims_create(ranks, 2, dims, ierr)

    if (any(inputs%cells(2:3)/dims < FRINGE)) then
      write(message, '(a,i0,a,2(i0,a))') 'cells = ', inputs%cells(2), ', too few for ', dims(1), ' x ', dims(2), &
        ' ranks in y and z: each needs 2 cells in either direction.'
      return
    end if

    call MPI_Cart_create(comm, 2, dims, [.false., .true.], .false., g%comm, ierr)
    call MPI_Comm_rank(g%comm, g%rank, ierr)
    call MPI_Cart_coords(g%comm, g%rank, 2, at, ierr)
    g%global = inputs%cells
    g%n = g%global
    g%first = 0

    do d = 1, 2
      call MPI_Cart_shift(g%comm, d - 1, 1, g%low(d), g%high(d), ierr)
      g%first(d + 1) = at(d)*g%global(d + 1)/dims(d)
      g%n(d + 1) = (at(d) + 1)*g%global(d + 1)/dims(d) - g%first(d + 1)
    end do

    g%spacing = inputs%spacing
    g%nq = inputs%ns + 5
    if (associated(g%Q)) call releaseField(g%Q)
    call allocateField(g)
    call fillStream(inputs, g, 1)

    allocate(state(1, g%n(2), g%n(3), g%nq), rho(1, g%n(2), g%n(3)), h(1, g%n(2), g%n(3)))

    do k = 1, g%n(3)
      do j = 1, g%n(2)
        call stream(inputs, g, 0, j, k, state(1, j, k, :))
      end do
    end do

    g%inlet = state(1, :, :, [2, 3, 4, (j, j = 6, g%nq)])
    g%T_inlet = state(1, :, :, 5)
    state(:, :, :, 2:4) = 0
    call propertiesOfFaces(state, rho, h)
    g%h_inlet = h(1, :, :)
  end subroutine startGrid

  !> Adds `more` columns to the window at its outlet. They hold the stream as it was at the start.
  subroutine growGrid(inputs, more, g)
    type(CastlesInputs), intent(in) :: inputs
    integer, intent(in)             :: more
    type(Grid), intent(inout)       :: g
    real(dp), pointer, contiguous   :: old(:,:,:,:)
    integer :: have

    have = g%n(1)
    old => g%Q
    g%n(1) = have + more
    g%global(1) = g%n(1)
    call allocateField(g)
    call fillStream(inputs, g, have + 1)
    g%Q(:FRINGE + have, :, :, :) = old(:FRINGE + have, :, :, :)
    call releaseField(old)
  end subroutine growGrid

  !> Pins the field: its memory stays in place until it is released, and the layer relies on that.
  subroutine allocateField(g)
    type(Grid), intent(inout) :: g

    allocate(g%Q(g%n(1) + 2*FRINGE, g%n(2) + 2*FRINGE, g%n(3) + 2*FRINGE, g%nq))
    call frame_pin(g%Q)
  end subroutine allocateField

  subroutine releaseField(Q)
    real(dp), pointer, contiguous, intent(inout) :: Q(:,:,:,:)

    call frame_unpin(Q)
    deallocate(Q)
  end subroutine releaseField

  subroutine fillStream(inputs, g, from)
    type(CastlesInputs), intent(in) :: inputs
    type(Grid), intent(inout)       :: g
    integer, intent(in)             :: from
    integer :: i, j, k

    do k = 1, g%n(3)
      do j = 1, g%n(2)
        do i = from, g%n(1)
          call stream(inputs, g, i, j, k, g%Q(FRINGE + i, FRINGE + j, FRINGE + k, :))
        end do
      end do
    end do
  end subroutine fillStream

  !> Two streams at the same pressure, one above the other. The layer between them is some six cells thick and wavy in x
  !! and z.
  subroutine stream(inputs, g, i, j, k, Q)
    type(CastlesInputs), intent(in) :: inputs
    type(Grid), intent(in)          :: g
    integer, intent(in)             :: i, j, k
    real(dp), intent(out)           :: Q(:)
    real(dp), parameter :: twopi = 6.283185307179586_dp
    real(dp) :: x, y, z, share, wave

    x = (i - 0.5_dp)/inputs%cells(1)               ! the window at the start has length 1
    y = (g%first(2) + j - 0.5_dp)/g%global(2)
    z = (g%first(3) + k - 0.5_dp)/g%global(3)
    wave = sin(twopi*x)*(1 + 0.3_dp*cos(twopi*z))
    share = 0.5_dp*(1 + tanh((y - 0.5_dp - 0.04_dp*wave)*g%global(2)/3))
    Q(1) = inputs%pressure
    Q(2) = inputs%u_low + (inputs%u_high - inputs%u_low)*share
    Q(3) = 2*wave*exp(-((y - 0.5_dp)*8)**2)
    Q(4) = sin(twopi*z)*exp(-((y - 0.5_dp)*8)**2)
    Q(5) = inputs%T_low + (inputs%T_high - inputs%T_low)*share
    Q(6:) = inputs%Y_low(:inputs%ns) + (inputs%Y_high(:inputs%ns) - inputs%Y_low(:inputs%ns))*share
  end subroutine stream

  !> All fringe layers of Q: inlet and outlet in x, walls in y, neighbours in y and z. Edges too.
  subroutine fillBoundaries(inputs, g)
    type(CastlesInputs), intent(in) :: inputs
    type(Grid), intent(inout)       :: g
    real(dp), pointer, contiguous   :: Q(:,:,:,:)
    real(dp) :: t0
    integer  :: nx, ny, nz, f, m

    nx = g%n(1); ny = g%n(2); nz = g%n(3)
    Q => g%Q

    ! Inlet: velocity, composition and enthalpy are given. The pressure comes from inside; T follows from h and p.
    call temperatureOfInlet(g%h_inlet, Q(3, 3:ny + 2, 3:nz + 2, 1), g%inlet(:, :, 4:), g%T_inlet)

    do f = 1, FRINGE
      Q(f, 3:ny + 2, 3:nz + 2, 1) = Q(3, 3:ny + 2, 3:nz + 2, 1)
      Q(f, 3:ny + 2, 3:nz + 2, 2:4) = g%inlet(:, :, :3)
      Q(f, 3:ny + 2, 3:nz + 2, 5) = g%T_inlet
      Q(f, 3:ny + 2, 3:nz + 2, 6:) = g%inlet(:, :, 4:)
    end do

    ! Outlet: the pressure is given. All other variables come from inside.
    do f = 1, FRINGE
      Q(nx + 2 + f, 3:ny + 2, 3:nz + 2, :) = Q(nx + 2, 3:ny + 2, 3:nz + 2, :)
      Q(nx + 2 + f, 3:ny + 2, 3:nz + 2, 1) = inputs%pressure
    end do

    t0 = MPI_Wtime()
    call exchange(g, 1, Q(:, 3:4, 3:nz + 2, :), Q(:, ny + 1:ny + 2, 3:nz + 2, :), Q(:, 1:2, 3:nz + 2, :), Q(:, ny + 3:ny + 4, &
                                                                                                            3:nz + 2, :))
    comm_time = comm_time + MPI_Wtime() - t0

    ! Walls: no slip, adiabatic, no flux through them.
    do f = 1, FRINGE
      do m = 1, g%nq
        if (g%low(1) == MPI_PROC_NULL) Q(:, 3 - f, 3:nz + 2, m) = merge(-1, 1, m >= 2 .and. m <= 4)*Q(:, 2 + f, 3:nz + 2, m)
        if (g%high(1) == MPI_PROC_NULL) Q(:, ny + 2 + f, 3:nz + 2, m) = merge(-1, 1, m >= 2 .and. m <= 4)*Q(:, ny + 3 - f, 3:nz &
                                                                                                            + 2, m)
      end do
    end do

    t0 = MPI_Wtime()
    call exchange(g, 2, Q(:, :, 3:4, :), Q(:, :, nz + 1:nz + 2, :), Q(:, :, 1:2, :), Q(:, :, nz + 3:nz + 4, :))
    comm_time = comm_time + MPI_Wtime() - t0
  end subroutine fillBoundaries

  !> Sends both layers at the low and the high side to the neighbours in one direction, and receives theirs into the
  !! fringe.
  subroutine exchange(g, d, my_low, my_high, fringe_low, fringe_high)
    type(Grid), intent(in)  :: g
    integer, intent(in)     :: d
    real(dp), intent(in)    :: my_low(:,:,:,:), my_high(:,:,:,:)
    real(dp), intent(inout) :: fringe_low(:,:,:,:), fringe_high(:,:,:,:)
    real(dp), allocatable :: going(:,:,:,:), coming(:,:,:,:)
    integer :: ierr

    going = my_low
    coming = fringe_high
    call MPI_Sendrecv(going, size(going), MPI_DOUBLE_PRECISION, g%low(d), 1, coming, size(coming), MPI_DOUBLE_PRECISION, &
                      g%high(d), 1, &
                      g%comm, MPI_STATUS_IGNORE, ierr)
    fringe_high = coming
    going = my_high
    coming = fringe_low
    call MPI_Sendrecv(going, size(going), MPI_DOUBLE_PRECISION, g%high(d), 2, coming, size(coming), MPI_DOUBLE_PRECISION, &
                      g%low(d), 2, &
                      g%comm, MPI_STATUS_IGNORE, ierr)
    fringe_low = coming
  end subroutine exchange

end module castlesBlock
