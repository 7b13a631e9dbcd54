!> Constants of the rival in reduced.f90, computed once for a mixture, and the products of matrices that its sums are.
module reducedTables
  use, intrinsic :: iso_fortran_env, only : real32
  use speciesTables
  use diffusionModule, only : taka, nrow
  use chungTransModule, only : E_table, B_table, c6_cantera, b1_cantera
  implicit none

  integer, parameter  :: nb = 64                              ! points of a block, whose arrays stay in the caches
  integer, parameter  :: nscalar = 16                         ! places as in properties.f90
  real(dp), parameter :: root2 = sqrt(2.0_dp), tiny_value = 1.0e-300_dp

  integer :: made_for = 0                                     ! number of the setup of the constants below
  ! Weights of sums over the species with Y: b, 1/W, six NASA-7 coefficients of the lower range, five sums of Chung's
  integer, parameter :: AT_MOLES = 2, AT_NASA = 3, AT_CHUNG = 9, NSUMS = 13
  real(dp), allocatable :: weights(:,:), nasa_above(:,:)      ! (ns, NSUMS), (ns, 6) of the upper range
  real(dp) :: lowest_mid, highest_mid                         ! of T_mid [K]

  ! sqrt(a_i) = |g_i - q_i sqrt(T)|, or smooth: bent in x = bend_slope sqrt(T) - bend_offset. Species with the same row of
  ! k_ij form one family, and sums over pairs become sums over families: one without k_ij, ns where all rows differ.
  integer :: nfamily = 0
  integer, allocatable  :: family(:)                          ! (ns)
  logical, allocatable  :: founder(:)                         ! (ns), whether it is the first of its family
  real(dp), allocatable :: g(:), q(:)                         ! (ns), per kg
  real(dp), allocatable :: bend_slope(:), bend_offset(:), bend_size(:)   ! (ns)
  real(dp) :: bend_from                                       ! sqrt(T) at which a first species bends
  real(dp), parameter :: bend = 0.75_dp                       ! as in peng_robinson.f90
  real(dp), allocatable :: half_attraction(:,:)               ! 1 - k_ij below the diagonal, half of it on the diagonal

  real(dp), allocatable :: half_mass(:,:)                     ! eps_ij sigma_ij^2 sqrt(M_ij)/(W_i W_j), half of it too
  real(dp) :: E_of(4, 10), B_of(4, 7)                         ! Chung's tables in the form in force

  real(dp), allocatable :: friction_fuller(:,:)               ! 1/pD_fuller, 0 on the diagonal
  real(dp), allocatable :: friction(:,:,:)                    ! (5, ns, ns): T^1.5/(p D_ij) as a polynomial in T^(-1/4)

  ! Takahashi's rows less 1 as cubics of the place in a window of 1/(1 + Tr). Row 0 is 1, the factor at Pr = 0.
  integer, parameter :: windows = 512
  real(real32), allocatable :: cubics(:,:)                    ! (0:3, 0:), row + (nrow + 1)*window

contains

  !> Constants of the mixture of the last speciesTablesSetup.
  subroutine prepare()
    real(dp) :: s15
    integer  :: i, j

    lowest_mid = minval(T_mid)
    highest_mid = maxval(T_mid)
    call remake(weights, ns, NSUMS)
    call remake(nasa_above, ns, 6)

    do i = 1, ns
      weights(i, 1) = b(i)/W(i)
      weights(i, AT_MOLES) = 1/W(i)
      weights(i, AT_NASA:AT_NASA + 5) = nasa_low(1:6, i)*(Rgas/W(i))
      nasa_above(i, :) = nasa_high(1:6, i)*(Rgas/W(i))
      s15 = sigma(i)*sqrt(sigma(i))
      weights(i, AT_CHUNG:NSUMS) = [s15, s15*sqrt(eps(i)), s15*acentric(i), dip(i)**2/s15, sqrt(assoc(i))]/W(i)
    end do

    g = [(sqrt(a_crit(i))*(1 + kappa(i))/W(i), i=1, ns)]
    q = [(sqrt(a_crit(i))*kappa(i)/(sqrt(Tc(i))*W(i)), i=1, ns)]
    bend_slope = kappa/(sqrt(Tc)*(1 - bend))
    bend_offset = (kappa + bend)/(1 - bend)
    bend_size = [(sqrt(a_crit(i))*(1 - bend)/W(i), i=1, ns)]
    bend_from = minval(sqrt(Tc)*(1 + bend/kappa), mask=kappa > 0)
    family = [(i, i=1, ns)]
    founder = [(.true., i=1, ns)]
    nfamily = 0

    do i = 1, ns
      do j = 1, i - 1
        if (.not. all(k_ij(:, i) == k_ij(:, j))) cycle
        family(i) = family(j)
        founder(i) = .false.
        exit
      end do

      if (.not. founder(i)) cycle
      nfamily = nfamily + 1
      family(i) = nfamily
    end do

    call remake(half_attraction, nfamily, nfamily)
    half_attraction = 0

    do i = 1, ns
      do j = 1, i
        if (founder(i) .and. founder(j)) half_attraction(family(j), family(i)) = (1 - k_ij(j, i))*merge(0.5_dp, 1.0_dp, i == j)
      end do
    end do

    call remake(half_mass, ns, ns)
    call remake(friction_fuller, ns, ns)
    half_mass = 0

    do i = 1, ns
      do j = 1, i
        half_mass(j, i) = eps_sig2_rootM(j, i)/(W(i)*W(j))*merge(0.5_dp, 1.0_dp, i == j)
      end do
    end do

    friction_fuller = 0
    if (diffusion_form == DIFFUSION_FULLER) friction_fuller = 1/pD_fuller

    if (ns > 1) then
      do i = 1, ns
        friction_fuller(i, i) = 0
      end do
    end if

    friction = pair_fit

    E_of = E_table
    B_of = B_table

    if (chung_form == CHUNG_CANTERA) then
      E_of(3, 6) = c6_cantera
      B_of(1, 1) = b1_cantera
    end if

    if (chung_form == CHUNG_POLEFREE) E_of(4, :) = 0
    if (.not. allocated(cubics)) call makeCubics()
    made_for = setups

  contains

    subroutine remake(table, rows, columns)
      real(dp), allocatable, intent(inout) :: table(:,:)
      integer, intent(in) :: rows, columns

      if (allocated(table)) deallocate(table)
      allocate(table(rows, columns))
    end subroutine remake

  end subroutine prepare

  !> The cubics through the formula at the four Chebyshev points of each window. Beyond a zero of a bracket the factor
  !! is 0; the window that contains the zero keeps the smooth curve.
  subroutine makeCubics()
    real(dp) :: angle(4), f(4), c(0:3), z_start, z(4)
    integer  :: window, row, k

    angle = [((k - 0.5_dp)*acos(-1.0_dp)/4, k=1, 4)]
    allocate(cubics(0:3, 0:(nrow + 1)*windows - 1))
    cubics = 0

    do window = 0, windows - 1
      z_start = real(window, dp)/(windows - window)           ! 1/Tr
      z = (window + 0.5_dp + 0.5_dp*cos(angle))/windows       ! 1/(1 + Tr)
      z = z/(1 - z)

      do row = 1, nrow
        if (1 - taka(3, row)*z_start**taka(4, row) <= 0 .or. 1 - taka(5, row)*z_start**taka(6, row) <= 0) then
          cubics(0, row + (nrow + 1)*window) = -1
          cycle
        end if

        f = taka(2, row)*(1 - taka(3, row)*z**taka(4, row))*(1 - taka(5, row)*z**taka(6, row)) - 1
        c = [sum(f)/4, (sum(f*cos(k*angle))/2, k=1, 3)]       ! of Chebyshev's polynomials, then of powers
        cubics(:, row + (nrow + 1)*window) = real([c(0) - c(2), c(1) - 3*c(3), 2*c(2), 4*c(3)], real32)
      end do
    end do
  end subroutine makeCubics

  !> u(:, i) = sum_j c(j, i) y(:, j), for j <= i only where `half`. Four by four, so that each loaded number is used
  !! several times.
  pure subroutine products(n, m, half, c, y, u)
    integer, intent(in)   :: n, m
    logical, intent(in)   :: half
    real(dp), intent(in)  :: c(n, m), y(nb, n)
    real(dp), intent(out) :: u(nb, m)
    integer :: i, j, t, last

    u = 0

    do i = 1, m - 3, 4
      last = n
      if (half) last = i + 3

      do j = 1, last - 3, 4
        do t = 1, nb
          u(t, i) = u(t, i) + c(j, i)*y(t, j) + c(j + 1, i)*y(t, j + 1) + c(j + 2, i)*y(t, j + 2) + c(j + 3, i)*y(t, j + 3)
          u(t, i + 1) = u(t, i + 1) + c(j, i + 1)*y(t, j) + c(j + 1, i + 1)*y(t, j + 1) + c(j + 2, i + 1)*y(t, j + 2) &
                        + c(j + 3, i + 1)*y(t, j + 3)
          u(t, i + 2) = u(t, i + 2) + c(j, i + 2)*y(t, j) + c(j + 1, i + 2)*y(t, j + 1) + c(j + 2, i + 2)*y(t, j + 2) &
                        + c(j + 3, i + 2)*y(t, j + 3)
          u(t, i + 3) = u(t, i + 3) + c(j, i + 3)*y(t, j) + c(j + 1, i + 3)*y(t, j + 1) + c(j + 2, i + 3)*y(t, j + 2) &
                        + c(j + 3, i + 3)*y(t, j + 3)
        end do
      end do

      do j = last - mod(last, 4) + 1, last
        do t = 1, nb
          u(t, i) = u(t, i) + c(j, i)*y(t, j)
          u(t, i + 1) = u(t, i + 1) + c(j, i + 1)*y(t, j)
          u(t, i + 2) = u(t, i + 2) + c(j, i + 2)*y(t, j)
          u(t, i + 3) = u(t, i + 3) + c(j, i + 3)*y(t, j)
        end do
      end do
    end do

    do i = m - mod(m, 4) + 1, m
      last = n
      if (half) last = i

      do j = 1, last - 3, 4
        do t = 1, nb
          u(t, i) = u(t, i) + c(j, i)*y(t, j) + c(j + 1, i)*y(t, j + 1) + c(j + 2, i)*y(t, j + 2) + c(j + 3, i)*y(t, j + 3)
        end do
      end do

      do j = last - mod(last, 4) + 1, last
        do t = 1, nb
          u(t, i) = u(t, i) + c(j, i)*y(t, j)
        end do
      end do
    end do
  end subroutine products

end module reducedTables
