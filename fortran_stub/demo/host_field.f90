!> A block of the demo: its geometry, its field Q(nx, ny, nz, nq) with fringes, its results.
module hostField
  use speciesTables, only : dp
  use hostConfig, only : HostInputs
  implicit none
  private
  public :: Block, shapeBlock, fits, allocateBlock, cutBlock, fillField, UNSET

  real(dp), parameter :: UNSET = -9.99e99_dp     ! start value of results; the fringe has to keep it

  type :: Block
    integer :: NumX, NumY, NumZ                    ! with fringe
    integer :: SptX, EptX, SptY, EptY, SptZ, EptZ  ! interior, Fortran bounds
    integer :: points                              ! interior points
    integer :: nq, nout
    real(dp), pointer, contiguous :: memory(:) => null()   ! Q and layer are cut from it
    real(dp), pointer :: Q(:,:,:,:) => null()      ! p, u, v, w, T, Y_1..Y_ns
    real(dp), pointer :: layer(:,:,:,:) => null(), fortran(:,:,:,:) => null()   ! scalars, then D_1..D_ns
  end type Block

contains

  !> The shape of one rank's block at one step. rank_more changes its size from rank to rank (in turn), grow from step to
  !! step.
  subroutine shapeBlock(inputs, rank, step, nout, b)
    type(HostInputs), intent(in) :: inputs
    integer, intent(in)           :: rank, step, nout
    type(Block), intent(inout)    :: b
    integer :: n(3)
    n = inputs%cells + (step - 1)*inputs%grow + mod(rank, 2)*inputs%rank_more
    b%SptX = inputs%fringe_x(1) + 1; b%EptX = inputs%fringe_x(1) + n(1); b%NumX = b%EptX + inputs%fringe_x(2)
    b%SptY = inputs%fringe_y(1) + 1; b%EptY = inputs%fringe_y(1) + n(2); b%NumY = b%EptY + inputs%fringe_y(2)
    b%SptZ = inputs%fringe_z(1) + 1; b%EptZ = inputs%fringe_z(1) + n(3); b%NumZ = b%EptZ + inputs%fringe_z(2)
    b%points = product(n)
    b%nq = inputs%ns + 5
    b%nout = nout
  end subroutine shapeBlock

  !> Numbers that Q and layer of this shape have.
  pure integer function needed(b)
    type(Block), intent(in) :: b
    needed = b%NumX*b%NumY*b%NumZ*(b%nq + b%nout)
  end function needed

  !> Whether the block's memory holds a block of this shape.
  logical function fits(b)
    type(Block), intent(in) :: b
    fits = associated(b%memory)
    if (fits) fits = needed(b) <= size(b%memory)
  end function fits

  !> Memory for blocks of up to `reserve` times this size, in place of what there was. It is written here, so that the
  !! system has given its pages when it is pinned.
  subroutine allocateBlock(reserve, b)
    real(dp), intent(in)       :: reserve
    type(Block), intent(inout) :: b
    if (associated(b%memory)) deallocate(b%memory)
    allocate(b%memory(ceiling(reserve*needed(b))))
    b%memory = UNSET
  end subroutine allocateBlock

  !> The arrays of this shape, from the memory that there is; the plain results have their own.
  subroutine cutBlock(b)
    type(Block), intent(inout) :: b
    integer :: points
    points = b%NumX*b%NumY*b%NumZ
    b%Q(1:b%NumX, 1:b%NumY, 1:b%NumZ, 1:b%nq) => b%memory(:points*b%nq)
    b%layer(1:b%NumX, 1:b%NumY, 1:b%NumZ, 1:b%nout) => b%memory(points*b%nq + 1:needed(b))
    if (associated(b%fortran)) deallocate(b%fortran)
    allocate(b%fortran(b%NumX, b%NumY, b%NumZ, b%nout))
    b%layer = UNSET
    b%fortran = UNSET
  end subroutine cutBlock

  !> Streams at one pressure, from below: liquid-like oxygen, cold fuel, hot products under a cooled wall. Both layers
  !! between them are rolled up. The upper one reaches 3000 K, the lower one crosses the pseudo-critical ridge. At the
  !! wall water is near its dew point, and the cubic has two roots.
  subroutine fillField(inputs, rank, time, b)
    type(HostInputs), intent(in) :: inputs
    integer, intent(in)           :: rank
    real(dp), intent(in)          :: time
    type(Block), intent(inout)    :: b
    real(dp) :: x, y, z, fuel, products, wall, swirl, T
    integer  :: i, j, k, s, n(3)
    n = [b%EptX - b%SptX + 1, b%EptY - b%SptY + 1, b%EptZ - b%SptZ + 1]
    do k = 1, b%NumZ
      z = (k - b%SptZ + 0.5_dp)/n(3)
      do j = 1, b%NumY
        y = (j - b%SptY + 0.5_dp)/n(2)
        do i = 1, b%NumX
          x = rank + (i - b%SptX + 0.5_dp)/n(1)
          call layerCoordinates(x, y, z, time, fuel, products, swirl)
          wall = 0.5_dp*(1 + tanh((y - 0.955_dp)/0.02_dp))
          T = inputs%T_oxygen + (inputs%T_fuel - inputs%T_oxygen)*fuel
          T = T + (inputs%T_products - T)*products
          T = T + (inputs%T_wall - T)*wall
          b%Q(i, j, k, 1) = inputs%pressure*(1 + 0.02_dp*wave(x - time)*wave(y)*cos(6.283185307179586_dp*z))
          b%Q(i, j, k, 2) = 20 + 60*fuel + 150*products*(1 - wall)
          b%Q(i, j, k, 3) = 30*swirl
          b%Q(i, j, k, 4) = 5*wave(x)*sin(6.283185307179586_dp*z)
          b%Q(i, j, k, 5) = T
          do s = 1, inputs%ns
            b%Q(i, j, k, 5 + s) = (1 - wall)*((1 - products)*((1 - fuel)*inputs%Y_oxygen(s) + fuel*inputs%Y_fuel(s)) &
                                              + products*inputs%Y_products(s)) + wall*inputs%Y_wall(s)
          end do
        end do
      end do
    end do
  end subroutine fillField

  !> Shares of the fuel stream (against oxygen) and of the products (against both), after the vortices have rolled up
  !! each layer.
  pure subroutine layerCoordinates(x, y, z, time, fuel, products, swirl)
    real(dp), intent(in)  :: x, y, z, time
    real(dp), intent(out) :: fuel, products, swirl
    real(dp) :: y1, y2, s1, s2
    call wind(x, y, z, time, 0.33_dp, 0.50_dp, 0.19_dp, 5.0_dp, y1, s1)
    call wind(x, y, z, time, 0.66_dp, 0.62_dp, 0.17_dp, -4.0_dp, y2, s2)
    fuel = 0.5_dp*(1 + tanh((y1 - 0.33_dp)/0.018_dp))
    products = 0.5_dp*(1 + tanh((y2 - 0.66_dp)/0.018_dp))
    swirl = s1 + s2
  end subroutine layerCoordinates

  !> The y from which the fluid at a point came. A row of vortices, `spacing` apart along y0, turns it by an angle that
  !! decreases with the distance from the nearest centre. The centre moves with time and is wavy in z.
  pure subroutine wind(x, y, z, time, y0, spacing, radius, turn, y_from, swirl)
    real(dp), intent(in)  :: x, y, z, time, y0, spacing, radius, turn
    real(dp), intent(out) :: y_from, swirl
    real(dp) :: dx, dy, angle, shift
    integer  :: m
    y_from = y
    swirl = 0
    shift = 0.4_dp*time + 0.06_dp*sin(6.283185307179586_dp*z)
    do m = -1, 1
      dx = x - shift - spacing*(floor((x - shift)/spacing) + 0.5_dp + m)
      dy = y - y0
      angle = turn*(1 + 0.2_dp*cos(6.283185307179586_dp*z))*exp(-(dx*dx + (1.6_dp*dy)**2)/(0.5_dp*radius)**2)
      y_from = y_from + (cos(angle) - 1)*dy + sin(angle)*dx
      swirl = swirl + sin(angle)
    end do
  end subroutine wind

  pure real(dp) function wave(x)
    real(dp), intent(in) :: x
    wave = sin(6.283185307179586_dp*x)
  end function wave

end module hostField
