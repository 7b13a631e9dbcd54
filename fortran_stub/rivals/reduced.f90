!> The same properties as a Fortran programmer writes them for speed, with the algebra of libframe: the strongest plain
!! Fortran with which it is compared. Points are processed in blocks, and loops over points are innermost, so that the
!! compiler vectorises them. All per kg inside: Y/W are moles of a species in a kilogram, b is in m3/kg, a in Pa m6/kg2.
!! Linked in place of properties.f90, behind the same symbol.
module reducedModule
  use, intrinsic :: iso_c_binding, only : c_int, c_double
  use, intrinsic :: iso_fortran_env, only : real32
  use speciesTables
  use diffusionModule, only : diffCalcTakahashi, taka, nrow, tiny_x
  use chungTransModule, only : E_table, B_table, c6_cantera, b1_cantera
  implicit none
  private

  integer, parameter  :: nb = 64                              ! points of a block, whose arrays stay in the caches
  integer, parameter  :: nscalar = 16                         ! places as in properties.f90
  real(dp), parameter :: root2 = sqrt(2.0_dp), tiny_value = 1.0e-300_dp

  integer :: made_for = 0                                     ! number of the setup of the constants below
  ! Weights of sums over the species with Y: b, 1/W, six NASA-7 coefficients of the lower range, five sums of Chung's
  integer, parameter :: AT_MOLES = 2, AT_NASA = 3, AT_CHUNG = 9, NSUMS = 13
  real(dp), allocatable :: weights(:,:), nasa_above(:,:)      ! (ns, NSUMS), (ns, 6) of the upper range
  real(dp) :: lowest_mid, highest_mid                         ! of T_mid [K]

  ! sqrt(a_i) = |g_i - q_i sqrt(T)|, or smooth: bent in x = bend_slope sqrt(T) - bend_offset. Species with the same row of k_ij form one family, and sums over pairs become sums
  ! over families: one without k_ij, ns where all rows differ.
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

  !> Columns first to last of the sums over the species. NASA's coefficients come from each species' own range.
  pure subroutine speciesSums(first, last, T, Y, s)
    integer, intent(in)     :: first, last
    real(dp), intent(in)    :: T(nb), Y(nb, ns)
    real(dp), intent(inout) :: s(nb, NSUMS)
    real(dp) :: above(nb, 6), low(nb, ns), high(nb, ns)
    integer  :: i, k, l
    call products(ns, last - first + 1, .false., weights(:, first:last), Y, s(:, first:last))
    if (maxval(T) <= lowest_mid) return
    if (minval(T) > highest_mid) then
      call products(ns, 6, .false., nasa_above, Y, s(:, AT_NASA:AT_NASA + 5))
    else if (lowest_mid == highest_mid) then
      call products(ns, 6, .false., nasa_above, Y, above)
      do k = 1, 6
        do l = 1, nb
          s(l, AT_NASA + k - 1) = merge(s(l, AT_NASA + k - 1), above(l, k), T(l) <= lowest_mid)
        end do
      end do
    else
      do i = 1, ns
        do l = 1, nb
          low(l, i) = merge(Y(l, i), 0.0_dp, T(l) <= T_mid(i))
          high(l, i) = Y(l, i) - low(l, i)
        end do
      end do
      call products(ns, 6, .false., weights(:, AT_NASA:AT_NASA + 5), low, s(:, AT_NASA:AT_NASA + 5))
      call products(ns, 6, .false., nasa_above, high, above)
      s(:, AT_NASA:AT_NASA + 5) = s(:, AT_NASA:AT_NASA + 5) + above
    end if
  end subroutine speciesSums

  !> yKy, yKz, zKz + yKw, K = 1 - k_ij, with y_i = Y_i f_i, z_i = -Y_i df_i/ds, w_i = Y_i d2f_i/ds2 in s = sqrt(T);
  !! f_i = |g_i - q_i s|, or the smooth form, which bends from T = bend_from on.
  pure subroutine attraction(root_T, Y, yy, yz, zz)
    real(dp), intent(in)  :: root_T(nb), Y(nb, ns)
    real(dp), intent(out) :: yy(nb), yz(nb), zz(nb)
    real(dp) :: y_of(nb, nfamily), z_of(nb, nfamily), w_of(nb, nfamily), Ky(nb, nfamily), Kz(nb, nfamily), Kw(nb, nfamily)
    logical  :: bent
    integer  :: k, l
    bent = alpha_form == ALPHA_SMOOTH .and. maxval(root_T) > bend_from
    if (bent) then
      call bentVectors(root_T, Y, y_of, z_of, w_of)
    else
      call straightVectors(root_T, Y, y_of, z_of)
    end if
    call products(nfamily, nfamily, .true., half_attraction, y_of, Ky)
    call products(nfamily, nfamily, .true., half_attraction, z_of, Kz)
    yy = 0
    yz = 0
    zz = 0
    do k = 1, nfamily
      do l = 1, nb
        yy(l) = yy(l) + 2*y_of(l, k)*Ky(l, k)
        yz(l) = yz(l) + y_of(l, k)*Kz(l, k) + z_of(l, k)*Ky(l, k)
        zz(l) = zz(l) + 2*z_of(l, k)*Kz(l, k)
      end do
    end do
    if (.not. bent) return
    call products(nfamily, nfamily, .true., half_attraction, w_of, Kw)
    do k = 1, nfamily
      do l = 1, nb
        zz(l) = zz(l) + y_of(l, k)*Kw(l, k) + w_of(l, k)*Ky(l, k)
      end do
    end do
  end subroutine attraction

  !> Sums over the species of a family: those with the same k_ij.
  pure subroutine straightVectors(root_T, Y, y_of, z_of)
    real(dp), intent(in)  :: root_T(nb), Y(nb, ns)
    real(dp), intent(out) :: y_of(nb, nfamily), z_of(nb, nfamily)
    real(dp) :: root_a, signed
    integer  :: i, k, l
    do i = 1, ns
      k = family(i)
      if (founder(i)) then
        do l = 1, nb
          root_a = g(i) - q(i)*root_T(l)
          signed = sign(1.0_dp, root_a)*Y(l, i)
          y_of(l, k) = signed*root_a
          z_of(l, k) = signed*q(i)
        end do
      else
        do l = 1, nb
          root_a = g(i) - q(i)*root_T(l)
          signed = sign(1.0_dp, root_a)*Y(l, i)
          y_of(l, k) = y_of(l, k) + signed*root_a
          z_of(l, k) = z_of(l, k) + signed*q(i)
        end do
      end if
    end do
  end subroutine straightVectors

  !> The same of the smooth form, and w.
  pure subroutine bentVectors(root_T, Y, y_of, z_of, w_of)
    real(dp), intent(in)  :: root_T(nb), Y(nb, ns)
    real(dp), intent(out) :: y_of(nb, nfamily), z_of(nb, nfamily), w_of(nb, nfamily)
    real(dp) :: x, P, Px, inverse, steep, root_a, slope, curve
    integer  :: i, k, l
    y_of = 0
    z_of = 0
    w_of = 0
    do i = 1, ns
      k = family(i)
      do l = 1, nb
        x = max(bend_slope(i)*root_T(l) - bend_offset(i), 0.0_dp)
        P = 1 + x*(1 + x*(1 + x))
        Px = 1 + x*(2 + 3*x)
        inverse = 1/P
        steep = Px*inverse*inverse
        root_a = g(i) - q(i)*root_T(l) + bend_size(i)*(inverse - 1 + x)
        slope = q(i)*steep
        curve = 2*bend_size(i)*bend_slope(i)**2*(steep*Px*inverse - (1 + 3*x)*inverse*inverse)
        y_of(l, k) = y_of(l, k) + Y(l, i)*root_a
        z_of(l, k) = z_of(l, k) + Y(l, i)*slope
        w_of(l, k) = w_of(l, k) + Y(l, i)*curve
      end do
    end do
  end subroutine bentVectors

  !> One step of Halley towards the outer root of t^3 - 3 e t = f >= 0.
  elemental real(dp) function halley(t, e, f)
    real(dp), intent(in) :: t, e, f
    real(dp) :: off, slope
    off = t*(t*t - 3*e) - f
    slope = t*t - e
    halley = t - off*slope/max(3*slope*slope - t*off, tiny_value)
  end function halley

  !> u = p (v - b)/(R T) of the stable root, which lies between 0 and 1, and p/(R T), R T/p.
  pure subroutine cubicRoot(T, p, R_s, a, bm, u, inv_ideal, v_ideal)
    real(dp), intent(in), dimension(nb)  :: T, p, R_s, a, bm
    real(dp), intent(out), dimension(nb) :: u, inv_ideal, v_ideal
    real(dp), dimension(nb) :: AA, BB, centre, e, f, near, discriminant
    real(dp) :: RT, inv, c2, c1, c0, h, G, G2, P_, below, over, under, tt, width, outer, far, largest, smallest, gap
    real(dp) :: slope, off, step, positive
    logical  :: liquid
    integer  :: l, k, many, list(nb)
    do l = 1, nb
      RT = R_s(l)*T(l)
      inv = 1/(RT*p(l))
      v_ideal(l) = inv*RT*RT
      inv_ideal(l) = inv*p(l)*p(l)
      BB(l) = bm(l)*inv_ideal(l)
      AA(l) = a(l)*inv*p(l)*inv_ideal(l)
      c2 = 4*BB(l) - 1
      c1 = AA(l) + BB(l)*(2*BB(l) - 4)
      c0 = -2*BB(l)*BB(l)
      centre(l) = -c2/3
      e(l) = (c2*c2 - 3*c1)/9
      f(l) = ((centre(l) + c2)*centre(l) + c1)*centre(l) + c0
      h = abs(f(l)) + tiny_value
      G = exp(log(h)*(2.0_dp/3.0_dp))
      G2 = G*G
      ! Start value, good to 1 %: rational functions fitted to the cosine and the hyperbolic forms of the root
      P_ = G2 - e(l)*(1.72_dp*G - 5.493_dp*e(l))
      below = G + 1.1737_dp*e(l)
      over = merge(3*e(l)*below + G*(G + 0.15494_dp*e(l)), h*P_, e(l) >= 0)
      under = merge(below, G2*G - 3*e(l)*P_, e(l) >= 0)
      near(l) = over/under
      near(l) = merge(sqrt(abs(near(l))), near(l), e(l) >= 0)
      near(l) = halley(near(l), e(l), abs(f(l)))
      u(l) = centre(l) - sign(near(l), f(l))
      ! Three real roots where the discriminant is not negative. The other roots matter where all are positive (the
      ! signs of the coefficients alternate), or where this one is not the largest
      positive = merge(1.0_dp, f(l), c2 < 0 .and. c1 > 0)
      discriminant(l) = merge(c1*c1*(c2*c2 - 4*c1) + c0*(c2*(18*c1 - 4*c2*c2) - 27*c0), -1.0_dp, positive > 0)
    end do
    many = 0
    do l = 1, nb
      if (discriminant(l) < 0) cycle
      many = many + 1
      list(many) = l
    end do
    do k = 1, many
      l = list(k)
      tt = halley(near(l), e(l), abs(f(l)))
      width = sqrt(discriminant(l))/max(3*(tt*tt - e(l)), tiny_value)
      outer = centre(l) - sign(tt, f(l))
      far = centre(l) + 0.5_dp*sign(tt + width, f(l))
      largest = max(outer, far)
      smallest = min(outer, far)
      liquid = 4*BB(l) < 1 .and. AA(l) + BB(l)*(2*BB(l) - 4) > 0 .and. root_rule /= ROOT_VAPOUR
      if (root_rule == ROOT_GIBBS) then                       ! of two stable roots, the one with the lower Gibbs energy
        gap = 2*root2*BB(l)
        off = smallest - largest - log(smallest/largest) - AA(l)/gap &
              *log((smallest + (2 + root2)*BB(l))*(largest + (2 - root2)*BB(l)) &
                   /((smallest + (2 - root2)*BB(l))*(largest + (2 + root2)*BB(l))))
        liquid = liquid .and. off < 0
      end if
      u(l) = merge(smallest, largest, liquid)
    end do
    do l = 1, nb                                              ! a last step on the cubic itself
      c2 = 4*BB(l) - 1
      c1 = AA(l) + BB(l)*(2*BB(l) - 4)
      off = ((u(l) + c2)*u(l) + c1)*u(l) - 2*BB(l)*BB(l)
      slope = (3*u(l) + 2*c2)*u(l) + c1
      step = off*slope/(slope*slope - off*(3*u(l) + c2) + tiny_value)
      if (abs(step) < 1.0e-5_dp) u(l) = u(l) - step
    end do
  end subroutine cubicRoot

  !> Z to h0 of a block, in the order of properties.f90. s: the species' sums.
  pure subroutine thermalBlock(T, p, Y, s, scal)
    real(dp), intent(in)    :: T(nb), p(nb), Y(nb, ns), s(nb, NSUMS)
    real(dp), intent(inout) :: scal(nb, nscalar)
    real(dp), dimension(nb) :: root_T, R_s, yy, yz, zz, u, inv_ideal, v_ideal
    real(dp) :: aT, aTT, v, v_free, bm, D, centred, inv, inv_free, inv_D, inv_v, L_, x, p_v, p_T, v_p, h_ig, cp_ig, cv, cp
    integer  :: l, k
    do l = 1, nb
      root_T(l) = sqrt(T(l))
      R_s(l) = Rgas*s(l, AT_MOLES)
    end do
    call attraction(root_T, Y, yy, yz, zz)
    call cubicRoot(T, p, R_s, yy, s(:, 1), u, inv_ideal, v_ideal)
    k = AT_NASA
    do l = 1, nb
      bm = s(l, 1)
      aT = -yz(l)/root_T(l)
      aTT = (zz(l) - aT)*0.5_dp/T(l)
      v_free = u(l)*v_ideal(l)
      v = v_free + bm
      D = v_free*v_free + bm*(4*v_free + 2*bm)
      centred = v + bm
      inv = 1/(v_free*D*v*centred)
      inv_free = inv*(v*centred)*D
      inv_D = inv*(v*centred)*v_free
      inv_v = inv*(v_free*D)*centred
      x = root2*bm*(inv*(v_free*D)*v)
      L_ = atanh(x)/(root2*bm)
      p_v = yy(l)*(2*v_free + 4*bm)*inv_D*inv_D - R_s(l)*T(l)*inv_free*inv_free
      p_T = R_s(l)*inv_free - aT*inv_D
      v_p = 1/p_v
      cp_ig = s(l, k) + T(l)*(s(l, k + 1) + T(l)*(s(l, k + 2) + T(l)*(s(l, k + 3) + T(l)*s(l, k + 4))))
      h_ig = T(l)*(s(l, k + 2)*(1.0_dp/3) + T(l)*(s(l, k + 3)*0.25_dp + T(l)*s(l, k + 4)*0.2_dp))
      h_ig = s(l, k + 5) + T(l)*(s(l, k) + T(l)*(s(l, k + 1)*0.5_dp + h_ig))
      cv = cp_ig - R_s(l) + T(l)*aTT*L_
      cp = cv - T(l)*p_T*p_T*v_p
      scal(l, 1) = 1/s(l, AT_MOLES)
      scal(l, 2) = u(l) + bm*inv_ideal(l)
      scal(l, 3) = inv_v
      scal(l, 4) = h_ig + R_s(l)*T(l)*(scal(l, 2) - 1) + (T(l)*aT - yy(l))*L_
      scal(l, 5) = scal(l, 4) - p(l)*v
      scal(l, 6) = cp
      scal(l, 7) = cv
      scal(l, 8) = cp/cv
      scal(l, 9) = v*sqrt(-p_v*scal(l, 8))
      scal(l, 10) = -inv_v*inv_v*v_p
      scal(l, 11) = inv_v*inv_v*v_p*p_T
      scal(l, 12) = v + T(l)*p_T*v_p
      scal(l, 13) = cp
      scal(l, 14) = scal(l, 4)
    end do
  end subroutine thermalBlock

  !> exp(x) - 1 without cancellation: near 0 by its series.
  elemental real(dp) function less_one(x)
    real(dp), intent(in) :: x
    real(dp), parameter :: c(10) = 1/[1.0_dp, 2.0_dp, 6.0_dp, 24.0_dp, 120.0_dp, 720.0_dp, 5040.0_dp, 40320.0_dp, 362880.0_dp, &
                                      3628800.0_dp]
    real(dp) :: series
    series = x*(1 + x*(c(2) + x*(c(3) + x*(c(4) + x*(c(5) + x*(c(6) + x*(c(7) + x*(c(8) + x*(c(9) + x*c(10))))))))))
    less_one = merge(series, exp(x) - 1, abs(x) < 0.25_dp)
  end function less_one

  !> mu and lam of a block.
  pure subroutine chungBlock(T, Y, s, scal)
    real(dp), intent(in)    :: T(nb), Y(nb, ns), s(nb, NSUMS)
    real(dp), intent(inout) :: scal(nb, nscalar)
    real(dp), parameter :: a1 = 6.324_dp, b1 = 50.412_dp, c1 = -51.680_dp, a4 = 6.623_dp, b4 = 38.096_dp, c4 = -8.464_dp
    real(dp) :: Ky(nb, ns), pairs(nb), W_, t1, t2, sigma2, sig3, eps_, omega, kappa_, root_M, M, mur4, fill, gap3
    real(dp) :: Tstar, collision, Fc, root_m_, eta0, w_E, d_E, k_E, linear, constant, G1, G2, H2, E(10), Bc(7), cp_ig, alpha
    real(dp) :: beta, zeta, psi, Vcm, etas, q_, Tr
    integer  :: i, k, l
    call products(ns, ns, .true., half_mass, Y, Ky)
    pairs = 0
    do i = 1, ns
      do l = 1, nb
        pairs(l) = pairs(l) + 2*Y(l, i)*Ky(l, i)
      end do
    end do
    k = AT_NASA
    do l = 1, nb
      W_ = 1/s(l, AT_MOLES)
      t1 = s(l, AT_CHUNG)*W_                                  ! sum of x sigma^1.5, whose square is sigma_m^3
      t2 = s(l, AT_CHUNG + 1)*W_
      sigma2 = exp((4.0_dp/3.0_dp)*log(t1))
      sig3 = t1*t1
      eps_ = (t2/t1)**2
      omega = s(l, AT_CHUNG + 2)*W_/t1
      kappa_ = (s(l, AT_CHUNG + 4)*W_)**2
      root_M = pairs(l)*W_*W_/(eps_*sigma2)
      M = root_M*root_M
      Vcm = sig3/0.809_dp**3
      mur4 = (131.3_dp**2*s(l, AT_CHUNG + 3)*W_*t1/(Vcm*1.2593_dp*eps_))**2
      fill = 1.0e-6_dp/6*scal(l, 3)*Vcm/W_
      if (chung_form == CHUNG_CANTERA) fill = 1.0e-3_dp/6*scal(l, 3)*Vcm/M
      gap3 = (1 - fill)**3
      Tstar = T(l)/eps_
      collision = 1.16145_dp*exp(-0.14874_dp*log(Tstar)) + 0.52487_dp*exp(-0.77320_dp*Tstar) &
                  + 2.16178_dp*exp(-2.43787_dp*Tstar)
      Fc = 1 - 0.2756_dp*omega + 0.059035_dp*mur4 + kappa_
      root_m_ = root_M*sqrt(T(l))/sigma2
      eta0 = 26.69e-7_dp*Fc*root_m_/collision
      w_E = omega
      d_E = mur4
      k_E = kappa_
      if (chung_form == CHUNG_POLEFREE) then                  ! see chungCalcPoleFree
        w_E = max(omega, 0.0_dp)
        linear = (c4*a1 + c1*a4 - 6.257e-3_dp - 168.48_dp) + (c4*b1 + c1*b4)*w_E
        constant = (a1*a4 + 1.210e-3_dp + 5.283_dp) + w_E*((a1*b4 + a4*b1 - 1.154e-3_dp + 254.209_dp) + (b1*b4)*w_E)
        d_E = min(mur4, constant/(-linear + sqrt(linear*linear - (4*c1*c4)*constant)))
      end if
      E = E_of(1, :) + E_of(2, :)*w_E + E_of(3, :)*d_E + E_of(4, :)*k_E
      if (chung_form == CHUNG_POLEFREE) E(2) = max(E(2), 0.0_dp)
      G1 = (1 - 0.5_dp*fill)/gap3
      G2 = (-E(1)*less_one(-E(4)*fill)/fill + G1*(E(2)*exp(E(5)*fill) + E(3)))/(E(1)*E(4) + E(2) + E(3))
      etas = sqrt(Tstar)/collision*Fc*(1/G2 + E(6)*fill) &
             + E(7)*fill*fill*G2*exp(E(8) + (E(9) + E(10)/Tstar)/Tstar)
      scal(l, 15) = etas*(36.344e-7_dp*0.809_dp**2)*root_M*sqrt(1.2593_dp*eps_)/sigma2
      Bc = B_of(1, :) + B_of(2, :)*omega + B_of(3, :)*mur4 + B_of(4, :)*kappa_
      if (chung_form == CHUNG_POLEFREE) Bc(7) = max(Bc(7), 0.0_dp)
      H2 = (-Bc(1)*less_one(-Bc(4)*fill)/fill + G1*(Bc(2)*exp(Bc(5)*fill) + Bc(3)))/(Bc(1)*Bc(4) + Bc(2) + Bc(3))
      if (chung_form == CHUNG_CANTERA) then
        alpha = scal(l, 7)*W_/Rgas - 1.5_dp
      else
        cp_ig = s(l, k) + T(l)*(s(l, k + 1) + T(l)*(s(l, k + 2) + T(l)*(s(l, k + 3) + T(l)*s(l, k + 4))))
        alpha = cp_ig*W_/Rgas - 2.5_dp
      end if
      Tr = Tstar/1.2593_dp
      beta = 0.7862_dp - 0.7109_dp*omega + 1.3168_dp*omega**2
      zeta = 2 + 10.5_dp*Tr**2
      psi = 1 + alpha*(0.215_dp + 0.28288_dp*alpha - 1.061_dp*beta + 0.26665_dp*zeta)/(0.6366_dp + beta*(zeta + 1.061_dp*alpha))
      q_ = 3.586e-3_dp*sqrt(1.0e3_dp*T(l))*0.809_dp**2/(root_M*sigma2)
      scal(l, 16) = 31.2e3_dp*eta0*psi/M*(1/H2 + Bc(6)*fill) + q_*Bc(7)*fill**2*H2
    end do
  end subroutine chungBlock

  !> D [m2/s] of a block: D_k = sum_{j/=k} Y_j/(W sum_{j/=k} n_j/D_kj) with moles n of a kilogram.
  pure subroutine diffusionBlock(T, p, Y, s, D)
    real(dp), intent(in)  :: T(nb), p(nb), Y(nb, ns), s(nb, NSUMS)
    real(dp), intent(out) :: D(nb, ns)
    real(dp) :: x(nb, ns), below(nb, ns), z(nb), scale(nb), moles(nb)
    integer  :: i, l
    do l = 1, nb
      z(l) = 1/sqrt(sqrt(T(l)))
      scale(l) = z(l)**6
      if (diffusion_form == DIFFUSION_FULLER) scale(l) = scale(l)*z(l)
      moles(l) = 1
      if (takahashi_form == TAKAHASHI_TABLE) moles(l) = s(l, AT_MOLES)
    end do
    if (diffusion_form == DIFFUSION_CANTERA) z = log(T)
    do i = 1, ns
      do l = 1, nb
        x(l, i) = max(Y(l, i)/(W(i)*moles(l)), tiny_x)
      end do
    end do
    if (takahashi_form == TAKAHASHI_OFF .and. diffusion_form == DIFFUSION_FULLER .and. ns > 1) then
      call products(ns, ns, .false., friction_fuller, x, below)
    else if (takahashi_form == TAKAHASHI_OFF .and. diffusion_form == DIFFUSION_KINETIC .and. ns > 1) then
      call frictionPairs(z, x, below)
    else
      call frictionCorrected(T, p, z, x, below)
    end if
    if (ns == 1) then
      do l = 1, nb
        D(l, 1) = 1/(scale(l)*p(l)*below(l, 1))
      end do
      return
    end if
    do i = 1, ns
      do l = 1, nb
        x(l, i) = x(l, i)*W(i)
      end do
    end do
    do l = 1, nb
      moles(l) = 0
      scale(l) = scale(l)*p(l)/s(l, AT_MOLES)
    end do
    do i = 1, ns                      ! sum of the species before, then of those after: no cancellation
      do l = 1, nb
        D(l, i) = moles(l)
        moles(l) = moles(l) + x(l, i)
      end do
    end do
    moles = 0
    do i = ns, 1, -1
      do l = 1, nb
        D(l, i) = (D(l, i) + moles(l))/(below(l, i)*scale(l))
        moles(l) = moles(l) + x(l, i)
      end do
    end do
  end subroutine diffusionBlock

  !> below(:, k) = sum_{j/=k} x_j f_kj, f_ij a polynomial in z; two rows and two columns at a time, each pair once.
  pure subroutine frictionPairs(z, x, below)
    real(dp), intent(in)  :: z(nb), x(nb, ns)
    real(dp), intent(out) :: below(nb, ns)
    real(dp) :: f11, f12, f21, f22, c(5), c12(5), c21(5), c22(5)
    integer  :: i, j, l
    below = 0
    do i = 1, ns - 1, 2
      do j = 1, i - 2, 2
        c = friction(:, i, j)
        c12 = friction(:, i, j + 1)
        c21 = friction(:, i + 1, j)
        c22 = friction(:, i + 1, j + 1)
        do l = 1, nb
          f11 = c(1) + z(l)*(c(2) + z(l)*(c(3) + z(l)*(c(4) + z(l)*c(5))))
          f12 = c12(1) + z(l)*(c12(2) + z(l)*(c12(3) + z(l)*(c12(4) + z(l)*c12(5))))
          f21 = c21(1) + z(l)*(c21(2) + z(l)*(c21(3) + z(l)*(c21(4) + z(l)*c21(5))))
          f22 = c22(1) + z(l)*(c22(2) + z(l)*(c22(3) + z(l)*(c22(4) + z(l)*c22(5))))
          below(l, i) = below(l, i) + x(l, j)*f11 + x(l, j + 1)*f12
          below(l, i + 1) = below(l, i + 1) + x(l, j)*f21 + x(l, j + 1)*f22
          below(l, j) = below(l, j) + x(l, i)*f11 + x(l, i + 1)*f21
          below(l, j + 1) = below(l, j + 1) + x(l, i)*f12 + x(l, i + 1)*f22
        end do
      end do
      call onePair(friction(:, i, i + 1), z, x(:, i), x(:, i + 1), below(:, i), below(:, i + 1))
    end do
    if (mod(ns, 2) == 1) then
      do j = 1, ns - 1
        call onePair(friction(:, j, ns), z, x(:, j), x(:, ns), below(:, j), below(:, ns))
      end do
    end if
  end subroutine frictionPairs

  pure subroutine onePair(c, z, x_i, x_j, below_i, below_j)
    real(dp), intent(in)    :: c(5), z(nb), x_i(nb), x_j(nb)
    real(dp), intent(inout) :: below_i(nb), below_j(nb)
    real(dp) :: f
    integer  :: l
    do l = 1, nb
      f = c(1) + z(l)*(c(2) + z(l)*(c(3) + z(l)*(c(4) + z(l)*c(5))))
      below_i(l) = below_i(l) + x_j(l)*f
      below_j(l) = below_j(l) + x_i(l)*f
    end do
  end subroutine onePair

  !> The same for every model, each pair divided by its own factor of pressure. A single species is paired with itself.
  pure subroutine frictionCorrected(T, p, z, x, below)
    real(dp), intent(in)  :: T(nb), p(nb), z(nb), x(nb, ns)
    real(dp), intent(out) :: below(nb, ns)
    real(dp) :: f(nb), tenfold_p(nb), tc_i(nb), pc_i(nb), c(5), xx, tcs, pcs, width, inv, place, number, low, high
    real(dp) :: places(nb), shares(nb)
    integer  :: i, j, l, window, row, at(nb)
    below = 0
    tenfold_p = 10*p
    do i = 1, ns
      do l = 1, nb
        tc_i(l) = x(l, i)*Tc(i)
        pc_i(l) = x(l, i)*pc(i)
      end do
      do j = 1, i
        if (i == j .and. ns > 1) cycle
        if (takahashi_form == TAKAHASHI_OFF) then
          f = 1
        else if (takahashi_form == TAKAHASHI_TABLE) then
          do l = 1, nb
            xx = x(l, i) + x(l, j)
            call diffCalcTakahashi(p(l)*xx/(pc_i(l) + x(l, j)*pc(j)), T(l)*xx/(tc_i(l) + x(l, j)*Tc(j)), f(l))
            f(l) = 1/f(l)
          end do
        else
          do l = 1, nb
            xx = x(l, i) + x(l, j)
            tcs = tc_i(l) + x(l, j)*Tc(j)
            pcs = pc_i(l) + x(l, j)*pc(j)
            width = tcs + xx*T(l)
            inv = 1/(width*pcs)
            place = min(tcs*pcs*inv*windows, windows - 1.0e-9_dp)
            window = int(place)
            places(l) = 2*(place - window) - 1
            number = tenfold_p(l)*xx*width*inv                ! ten times Pr, then the row number
            number = min(number, 3 + 0.5_dp*number, 9 + 0.2_dp*number, 12 + 0.1_dp*number, real(nrow, dp))
            row = int(min(number, nrow - 0.5_dp))
            shares(l) = number - row
            at(l) = row + (nrow + 1)*window
          end do
          !GCC$ novector
          do l = 1, nb
            place = places(l)
            low = cubics(0, at(l)) + place*(cubics(1, at(l)) + place*(cubics(2, at(l)) + place*cubics(3, at(l))))
            high = cubics(0, at(l) + 1) + place*(cubics(1, at(l) + 1) + place*(cubics(2, at(l) + 1) + place*cubics(3, at(l) + 1)))
            low = max(low, -1.0_dp)
            f(l) = 1 + low + shares(l)*(max(high, -1.0_dp) - low)
          end do
          do l = 1, nb
            f(l) = 1/max(f(l), 0.01_dp)
          end do
        end if
        c = friction(:, i, j)
        if (diffusion_form == DIFFUSION_FULLER) c = [1/pD_fuller(i, j), 0.0_dp, 0.0_dp, 0.0_dp, 0.0_dp]
        do l = 1, nb
          xx = c(1) + z(l)*(c(2) + z(l)*(c(3) + z(l)*(c(4) + z(l)*c(5))))
          if (diffusion_form == DIFFUSION_CANTERA) xx = 1/xx
          f(l) = f(l)*xx
        end do
        if (ns == 1) then
          below(:, 1) = f
        else
          do l = 1, nb
            below(l, i) = below(l, i) + x(l, j)*f(l)
            below(l, j) = below(l, j) + x(l, i)*f(l)
          end do
        end if
      end do
    end do
  end subroutine frictionCorrected

  !> Loop over n points, with the arrays and the parts of realgas_points in properties.f90.
  subroutine points(n, part, T, p, Y, scal, D) bind(c, name='realgas_points')
    integer(c_int), value :: n, part
    real(c_double), intent(in)    :: T(n), p(n), Y(n, ns)
    real(c_double), intent(inout) :: scal(n, nscalar), D(n, ns)
    real(dp) :: T_(nb), p_(nb), Y_(nb, ns), D_(nb, ns), s_(nb, nscalar), s(nb, NSUMS)
    integer  :: first, last, k
    if (made_for /= setups) call prepare()
    do first = 1, n, nb
      last = min(first + nb - 1, n)
      k = last - first + 1
      T_(:k) = T(first:last)
      p_(:k) = p(first:last)
      Y_(:k, :) = Y(first:last, :)
      s_(:k, 3) = scal(first:last, 3)
      s_(:k, 7) = scal(first:last, 7)
      if (k < nb) then                ! a last block that is not full is filled with its last point
        T_(k + 1:) = T_(k)
        p_(k + 1:) = p_(k)
        Y_(k + 1:, :) = spread(Y_(k, :), 1, nb - k)
        s_(k + 1:, 3) = s_(k, 3)
        s_(k + 1:, 7) = s_(k, 7)
      end if
      call speciesSums(merge(1, AT_MOLES, iand(part, 1) /= 0), merge(NSUMS, AT_CHUNG - 1, iand(part, 2) /= 0), T_, Y_, s)
      if (iand(part, 1) /= 0) then
        call thermalBlock(T_, p_, Y_, s, s_)
        scal(first:last, 1:14) = s_(:k, 1:14)
      end if
      if (iand(part, 2) /= 0) then
        call chungBlock(T_, Y_, s, s_)
        call diffusionBlock(T_, p_, Y_, s, D_)
        scal(first:last, 15:16) = s_(:k, 15:16)
        D(first:last, :) = D_(:k, :)
      end if
    end do
  end subroutine points

end module reducedModule
