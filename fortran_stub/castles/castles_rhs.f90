!> The right-hand side: upwind convective and thin-layer viscous fluxes through the faces of each direction. The change
!! of Q follows from Gamma = dU/dQ, U = (rho Y_k, rho u, rho v, rho w, rho E).
module castlesRhs
  use mpi
  use speciesTables, only : dp
  use castlesBlock, only : Grid, FRINGE
  use castlesProperties
  use frame_interface, only : frame_pin, frame_unpin
  implicit none
  private
  public :: rhs, acousticRate

  !> Faces of one direction: states on their low sides, then on their high sides, and their properties. The arrays are
  !! kept from call to call: the layer relies on their memory staying in place.
  type :: FaceStates
    real(dp), allocatable :: Q(:,:,:,:), rho(:,:,:), h0(:,:,:)
  end type FaceStates
  type(FaceStates), target :: faces(3)

contains

  !> change(1:n) = dQ/dt in the interior. s: the cells' properties, computed here. The fringe of Q must be filled.
  subroutine rhs(g, s, change)
    type(Grid), intent(in)     :: g
    type(Cells), intent(inout) :: s
    real(dp), intent(out), contiguous :: change(:,:,:,:)
    real(dp), allocatable :: R(:,:,:,:)
    integer :: d

    call propertiesOfCells(g%Q, [2, 2, 2], g%n + 3, s)
    allocate(R(g%n(1), g%n(2), g%n(3), g%nq - 1))
    R = 0
    do d = 1, 3
      call fluxes(g, s, d, R)
    end do
    call gammaSolve(g, s, R, change)
  end subroutine rhs

  !> Third order in space (kappa = 1/3), with van Albada's limiter: gives q on the low and the high side of the faces,
  !! from four cells. first: the lowest of these cells at the first face. e: the direction.
  pure subroutine interpolate(q, first, e, low, high)
    real(dp), intent(in), contiguous  :: q(:,:,:)
    integer, intent(in)               :: first(3), e(3)
    real(dp), intent(out), contiguous :: low(:,:,:), high(:,:,:)
    real(dp), parameter :: tiny_square = 1.0e-30_dp, third = 1.0_dp/3
    real(dp) :: q2, q3, before, here, after, s
    integer  :: i, j, k, x, y, z

    do k = 1, size(low, 3)
      z = first(3) - 1 + k

      do j = 1, size(low, 2)
        y = first(2) - 1 + j

        do i = 1, size(low, 1)
          x = first(1) - 1 + i
          q2 = q(x + e(1), y + e(2), z + e(3))
          q3 = q(x + 2*e(1), y + 2*e(2), z + 2*e(3))
          before = q2 - q(x, y, z)
          here = q3 - q2
          after = q(x + 3*e(1), y + 3*e(2), z + 3*e(3)) - q3
          s = (2*before*here + tiny_square)/(before*before + here*here + tiny_square)
          s = 0.5_dp*(s + abs(s))
          low(i, j, k) = q2 + 0.25_dp*s*((1 - third*s)*before + (1 + third*s)*here)
          s = (2*after*here + tiny_square)/(after*after + here*here + tiny_square)
          s = 0.5_dp*(s + abs(s))
          high(i, j, k) = q3 - 0.25_dp*s*((1 - third*s)*after + (1 + third*s)*here)
        end do
      end do
    end do
  end subroutine interpolate

  !> Fluxes through the faces of direction d, out of the cells on the low side and into those on the high side.
  subroutine fluxes(g, s, d, R)
    type(Grid), intent(in)     :: g
    type(Cells), intent(in)    :: s
    integer, intent(in)        :: d
    real(dp), intent(inout), contiguous :: R(:,:,:,:)
    integer :: n(3), e(3), m, j, k, nf

    e = 0
    e(d) = 1
    n = g%n + e
    nf = n(3)
    call fitFaces([n(1), n(2), 2*nf, g%nq], faces(d))

    associate (f => faces(d))
      do m = 1, g%nq
        call interpolate(g%Q(:, :, :, m), FRINGE + 1 - FRINGE*e, e, f%Q(:, :, :nf, m), f%Q(:, :, nf + 1:, m))
      end do
      call propertiesOfFaces(f%Q, f%rho, f%h0)

      do k = 1, nf
        do j = 1, n(2)
          call line(g, s, d, n(1), j, k, nf, e, f%Q, f%rho, f%h0, R)
        end do
      end do
    end associate
  end subroutine fluxes

  !> Allocates space for that many states and variables, again where the block has grown.
  subroutine fitFaces(n, f)
    integer, intent(in)                     :: n(4)
    type(FaceStates), intent(inout), target :: f

    if (allocated(f%Q)) then
      if (all(shape(f%Q) == n)) return
      call frame_unpin(f%Q); call frame_unpin(f%rho); call frame_unpin(f%h0)
      deallocate(f%Q, f%rho, f%h0)
    end if

    allocate(f%Q(n(1), n(2), n(3), n(4)), f%rho(n(1), n(2), n(3)), f%h0(n(1), n(2), n(3)))
    call frame_pin(f%Q); call frame_pin(f%rho); call frame_pin(f%h0)
  end subroutine fitFaces

  !> Fluxes of a line of faces in x. Convective: Rusanov's dissipation, with the mean speed of the two cells. Viscous:
  !! derivatives normal to the face. The diffusion fluxes are corrected so that they sum to zero, and carry partial
  !! enthalpies.
  subroutine line(g, s, d, nx, jf, kf, nf, e, Qf, rho, h0, R)
    type(Grid), intent(in)  :: g
    type(Cells), intent(in) :: s
    integer, intent(in)     :: d, nx, jf, kf, nf, e(3)
    real(dp), intent(in), contiguous    :: Qf(:,:,:,:), rho(:,:,:), h0(:,:,:)
    real(dp), intent(inout), contiguous :: R(:,:,:,:)
    real(dp), dimension(nx) :: from_low, from_high, half_rho, F, J, E_flux, J_sum
    real(dp) :: inv, speed, stress
    integer  :: ns, m, i, x, y, z, xx, yy, zz

    ns = g%nq - 5
    inv = 1/g%spacing(d)
    x = FRINGE - e(1); y = FRINGE + jf - e(2); z = FRINGE + kf - e(3)      ! cells on the low side: x + i, y, z
    xx = FRINGE; yy = FRINGE + jf; zz = FRINGE + kf

    do i = 1, nx
      speed = 0.5_dp*(abs(Qf(i, jf, kf, 1 + d) + Qf(i, jf, nf + kf, 1 + d)) + s%c(x + i, y, z) + s%c(xx + i, yy, zz))
      ! weight of each side in a flux
      from_low(i) = 0.5_dp*rho(i, jf, kf)*(Qf(i, jf, kf, 1 + d) + speed)
      from_high(i) = 0.5_dp*rho(i, jf, nf + kf)*(Qf(i, jf, nf + kf, 1 + d) - speed)
      E_flux(i) = from_low(i)*h0(i, jf, kf) + from_high(i)*h0(i, jf, nf + kf) + 0.5_dp*speed*(Qf(i, jf, nf + kf, 1) &
                                                                                              - Qf(i, jf, kf, 1)) &
                  - 0.5_dp*inv*(s%lam(x + i, y, z) + s%lam(xx + i, yy, zz))*(g%Q(xx + i, yy, zz, 5) - g%Q(x + i, y, z, 5))
      half_rho(i) = -0.25_dp*inv*(s%rho(x + i, y, z) + s%rho(xx + i, yy, zz))
      J_sum(i) = 0
    end do

    do m = 1, 3
      stress = -0.5_dp*inv*merge(4.0_dp/3, 1.0_dp, m == d)

      do i = 1, nx
        J(i) = stress*(s%mu(x + i, y, z) + s%mu(xx + i, yy, zz))*(g%Q(xx + i, yy, zz, 1 + m) - g%Q(x + i, y, z, 1 + m))
        E_flux(i) = E_flux(i) + 0.5_dp*J(i)*(g%Q(x + i, y, z, 1 + m) + g%Q(xx + i, yy, zz, 1 + m))
        F(i) = from_low(i)*Qf(i, jf, kf, 1 + m) + from_high(i)*Qf(i, jf, nf + kf, 1 + m) + J(i)
      end do

      if (m == d) F = F + 0.5_dp*(Qf(:, jf, kf, 1) + Qf(:, jf, nf + kf, 1))
      call pass(F, R(:, :, :, ns + m))
    end do

    do m = 1, ns
      do i = 1, nx
        J_sum(i) = J_sum(i) + (s%D(x + i, y, z, m) + s%D(xx + i, yy, zz, m))*(g%Q(xx + i, yy, zz, 5 + m) - g%Q(x + i, y, z, 5 + &
                                                                                                               m))
      end do
    end do

    do m = 1, ns
      do i = 1, nx
        J(i) = half_rho(i)*((s%D(x + i, y, z, m) + s%D(xx + i, yy, zz, m))*(g%Q(xx + i, yy, zz, 5 + m) - g%Q(x + i, y, z, 5 + &
                                                                                                             m)) &
                            - 0.5_dp*J_sum(i)*(g%Q(x + i, y, z, 5 + m) + g%Q(xx + i, yy, zz, 5 + m)))
        E_flux(i) = E_flux(i) + 0.5_dp*J(i)*(s%hY(x + i, y, z, m) + s%hY(xx + i, yy, zz, m))
        F(i) = from_low(i)*Qf(i, jf, kf, 5 + m) + from_high(i)*Qf(i, jf, nf + kf, 5 + m) + J(i)
      end do

      call pass(F, R(:, :, :, m))
    end do

    call pass(E_flux, R(:, :, :, ns + 4))

  contains

    subroutine pass(F, R)
      real(dp), intent(in)                :: F(:)
      real(dp), intent(inout), contiguous :: R(:,:,:)
      integer :: n

      n = g%n(1)

      if (d == 1) then
        R(:, jf, kf) = R(:, jf, kf) - inv*(F(2:) - F(:n))
      else
        if (jf > e(2) .and. kf > e(3)) R(:, jf - e(2), kf - e(3)) = R(:, jf - e(2), kf - e(3)) - inv*F
        if (jf <= g%n(2) .and. kf <= g%n(3)) R(:, jf, kf) = R(:, jf, kf) + inv*F
      end if
    end subroutine pass

  end subroutine line

  !> Solves Gamma dQ = R at every cell in closed form. The species and momentum rows give dY and du; two rows remain for
  !! dp and dT: rho_p dp + rho_T dT = a and rho h_T dT - (1 - rho h_p) dp = b.
  subroutine gammaSolve(g, s, R, change)
    type(Grid), intent(in)  :: g
    type(Cells), intent(in) :: s
    real(dp), intent(in), contiguous  :: R(:,:,:,:)
    real(dp), intent(out), contiguous :: change(:,:,:,:)
    real(dp), dimension(g%n(1)) :: d_rho, a, b, inv_rho, det
    integer :: ns, nx, j, k, m, y, z

    ns = g%nq - 5
    nx = g%n(1)

    do k = 1, g%n(3)
      z = FRINGE + k

      do j = 1, g%n(2)
        y = FRINGE + j

        associate (rho => s%rho(3:nx + 2, y, z), h => s%h(3:nx + 2, y, z), rhop => s%rhop(3:nx + 2, y, z), rhoT => s%rhoT(3:nx &
                                                                                                                       + 2, y, z), &
                   hp => s%hp(3:nx + 2, y, z), hT => s%hT(3:nx + 2, y, z), vel => g%Q(3:nx + 2, y, z, 2:4), Q => g%Q(3:nx + 2, &
                                                                                                                     y, z, :))
          d_rho = 0
          do m = 1, ns
            d_rho = d_rho + R(:, j, k, m)
          end do
          inv_rho = 1/rho
          a = d_rho
          b = R(:, j, k, ns + 4) - (h + 0.5_dp*(vel(:, 1)**2 + vel(:, 2)**2 + vel(:, 3)**2))*d_rho

          do m = 1, 3
            change(:, j, k, 1 + m) = (R(:, j, k, ns + m) - vel(:, m)*d_rho)*inv_rho
            b = b - vel(:, m)*rho*change(:, j, k, 1 + m)
          end do

          do m = 1, ns
            change(:, j, k, 5 + m) = (R(:, j, k, m) - Q(:, 5 + m)*d_rho)*inv_rho
            a = a - s%rhoY(3:nx + 2, y, z, m)*change(:, j, k, 5 + m)
            b = b - s%hY(3:nx + 2, y, z, m)*rho*change(:, j, k, 5 + m)
          end do

          det = 1/(rhop*rho*hT + rhoT*(1 - rho*hp))
          change(:, j, k, 1) = (rho*hT*a - rhoT*b)*det
          change(:, j, k, 5) = (rhop*b + (1 - rho*hp)*a)*det
        end associate
      end do
    end do
  end subroutine gammaSolve

  !> The largest sum over directions of (|u| + c)/spacing [1/s] on all ranks.
  real(dp) function acousticRate(g, s) result(rate)
    type(Grid), intent(in)  :: g
    type(Cells), intent(in) :: s
    integer :: i, j, k, ierr

    rate = 0

    do k = 3, g%n(3) + 2
      do j = 3, g%n(2) + 2
        do i = 3, g%n(1) + 2
          rate = max(rate, sum((abs(g%Q(i, j, k, 2:4)) + s%c(i, j, k))/g%spacing))
        end do
      end do
    end do

    call MPI_Allreduce(MPI_IN_PLACE, rate, 1, MPI_DOUBLE_PRECISION, MPI_MAX, g%comm, ierr)
  end function acousticRate

end module castlesRhs
