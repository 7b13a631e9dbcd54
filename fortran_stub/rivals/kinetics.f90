!> Rates of an ideal gas's reactions in plain Fortran, two ways, for the benchmark. "textbook": one point at a time, for
!! each reaction an exponential for its rate coefficient and one for its equilibrium constant. "reduced": the strongest
!! plain Fortran that we could write, with the layer's own algebra. Points are in blocks, and loops over points innermost,
!! so that the compiler vectorises them. All rate coefficients with the same T^b exp(-E/T) share one exponential. Each
!! species has two, in the place of one for each equilibrium constant. It has not the layer's shorter sums over third
!! bodies. Both read the same tables of reactions. SI units with mol.
module kineticsModule
  use, intrinsic :: iso_c_binding, only : c_int, c_double
  implicit none
  private

  integer, parameter  :: dp = c_double
  integer, parameter  :: nb = 64                              ! points of a block: its arrays stay in L1 and L2
  real(dp), parameter :: Rgas = 8.31446261815324_dp, inv_ln10 = 0.434294481903251828_dp, tiny_value = 1.0e-300_dp
  integer, parameter  :: ELEMENTARY = 0, THREE_BODY = 1, LINDEMANN = 2, TROE = 3

  integer :: ns = 0, nr = 0, nexp = 0, nset = 0               ! nexp: of those exponents that are a rate's own
  integer :: nlog = 0                                         ! sets of falloffs, the first of all
  real(dp) :: p_ref
  real(dp), allocatable :: inv_W(:), W(:), T_mid(:)
  real(dp), allocatable :: low(:,:), high(:,:)                ! (7, ns): g/RT = h/RT - s/R by the powers in gibbs
  real(dp), allocatable :: exponents(:,:)                     ! (2, :): the different b, E [K]; first those of at
  real(dp), allocatable :: weights(:,:)                       ! (ns, nset): [M] of a set is the sum of weights C
  integer, allocatable  :: kind(:), at(:), at_low(:), set(:)  ! (nr): at, at_low: place in exponents
  logical, allocatable  :: reversible(:)
  real(dp), allocatable :: A(:), A_low(:), form(:,:)          ! (nr), of a falloff A is of high pressure; (4, nr): Troe's
  integer, allocatable  :: nleft(:), nright(:), left(:,:), right(:,:) ! (nr), (3, nr): species, each as often as it counts

contains

  !> Tables of a mechanism; nothing else is known of it. 0, or 1 where a kind of reaction is none of the four above.
  integer(c_int) function kinetics_setup(ns_, nr_, nexp_, nall_, nset_, nlog_, p_ref_, W_, T_mid_, nasa_low, nasa_high, &
                                         exponents_, weights_, kind_, at_, at_low_, set_, reversible_, A_, A_low_, form_, left_, &
                                         right_) bind(C)
    integer(c_int), value, intent(in) :: ns_, nr_, nexp_, nall_, nset_, nlog_
    real(c_double), value, intent(in) :: p_ref_
    real(c_double), intent(in) :: W_(ns_), T_mid_(ns_), nasa_low(7, ns_), nasa_high(7, ns_), exponents_(2, nall_)
    real(c_double), intent(in) :: weights_(ns_, nset_), A_(nr_), A_low_(nr_), form_(4, nr_)
    integer(c_int), intent(in) :: kind_(nr_), at_(nr_), at_low_(nr_), set_(nr_), reversible_(nr_)
    integer(c_int), intent(in) :: left_(3, nr_), right_(3, nr_)

    kinetics_setup = 1
    if (any(kind_ < ELEMENTARY) .or. any(kind_ > TROE)) return
    kinetics_setup = 0
    ns = ns_
    nr = nr_
    nexp = nexp_
    nset = nset_
    nlog = nlog_
    p_ref = p_ref_
    W = W_
    inv_W = 1/W_
    T_mid = T_mid_
    low = gibbs(nasa_low)
    high = gibbs(nasa_high)
    exponents = exponents_
    weights = weights_
    kind = kind_
    at = at_
    at_low = at_low_
    set = set_
    reversible = reversible_ /= 0
    A = A_
    A_low = A_low_
    form = form_
    left = left_
    right = right_
    nleft = count(left > 0, 1)
    nright = count(right > 0, 1)
  end function kinetics_setup

  !> Coefficients of ln T, 1, T, T^2, T^3, T^4, 1/T in g/RT.
  pure function gibbs(nasa) result(g)
    real(dp), intent(in) :: nasa(:,:)
    real(dp) :: g(7, size(nasa, 2))

    g(1, :) = -nasa(1, :)
    g(2, :) = nasa(1, :) - nasa(7, :)
    g(3, :) = -nasa(2, :)/2
    g(4, :) = -nasa(3, :)/6
    g(5, :) = -nasa(4, :)/12
    g(6, :) = -nasa(5, :)/20
    g(7, :) = nasa(6, :)
  end function gibbs

  !> omega [kg/m3/s] of n points, (n, ns) as Y is. style: 1 textbook, 2 reduced.
  subroutine kinetics_points(n, style, T, rho, Y, omega) bind(C)
    integer(c_int), value, intent(in) :: n, style
    real(c_double), intent(in)  :: T(n), rho(n), Y(n, ns)
    real(c_double), intent(out) :: omega(n, ns)
    real(dp) :: Y_of(nb, ns), T_of(nb), rho_of(nb), w_of(nb, ns)
    integer  :: first, many, i

    if (style == 1) then
      do i = 1, n
        call onePoint(T(i), rho(i)*Y(i, :)*inv_W, omega(i, :))
      end do
      return
    end if

    do first = 1, n, nb
      many = min(nb, n - first + 1)
      T_of = T(first)                                         ! places behind the last point are copies of a good one
      rho_of = rho(first)
      T_of(:many) = T(first:first + many - 1)
      rho_of(:many) = rho(first:first + many - 1)

      do i = 1, ns
        Y_of(:, i) = Y(first, i)
        Y_of(:many, i) = Y(first:first + many - 1, i)
      end do

      call manyPoints(T_of, rho_of, Y_of, w_of)
      do i = 1, ns
        omega(first:first + many - 1, i) = w_of(:many, i)
      end do
    end do
  end subroutine kinetics_points

  !> One point, as textbooks and most codes have it. C: mol/m3.
  subroutine onePoint(T, C, omega)
    real(dp), intent(in)  :: T, C(ns)
    real(dp), intent(out) :: omega(ns)
    real(dp) :: g(ns), third(nset), lnT, k, k_low, Pr, f_cent, logF, forward, reverse, lnKc, n_, c_
    integer  :: i, j

    lnT = log(T)

    do i = 1, ns
      if (T <= T_mid(i)) then
        g(i) = gibbsOf(low(:, i))
      else
        g(i) = gibbsOf(high(:, i))
      end if
    end do

    do j = 1, nset
      third(j) = sum(weights(:, j)*C)
    end do
    omega = 0

    do i = 1, nr
      k = A(i)*exp(exponents(1, at(i))*lnT - exponents(2, at(i))/T)
      if (kind(i) == THREE_BODY) k = k*third(set(i))

      if (kind(i) >= LINDEMANN) then
        k_low = A_low(i)*exp(exponents(1, at_low(i))*lnT - exponents(2, at_low(i))/T)
        Pr = k_low*third(set(i))/k
        k = k*Pr/(1 + Pr)

        if (kind(i) == TROE) then
          f_cent = (1 - form(1, i))*exp(-T/form(2, i)) + form(1, i)*exp(-T/form(3, i))
          if (form(4, i) > 0) f_cent = f_cent + exp(-form(4, i)/T)
          f_cent = log10(max(f_cent, tiny_value))
          c_ = log10(max(Pr, tiny_value)) - 0.4_dp - 0.67_dp*f_cent
          n_ = 0.75_dp - 1.27_dp*f_cent
          logF = f_cent/(1 + (c_/(n_ - 0.14_dp*c_))**2)
          k = k*10**logF
        end if
      end if

      forward = k
      do j = 1, nleft(i)
        forward = forward*C(left(j, i))
      end do
      reverse = 0

      if (reversible(i)) then
        lnKc = (nright(i) - nleft(i))*log(p_ref/(Rgas*T))
        do j = 1, nleft(i)
          lnKc = lnKc + g(left(j, i))
        end do
        do j = 1, nright(i)
          lnKc = lnKc - g(right(j, i))
        end do
        reverse = k*exp(-lnKc)
        do j = 1, nright(i)
          reverse = reverse*C(right(j, i))
        end do
      end if

      do j = 1, nleft(i)
        omega(left(j, i)) = omega(left(j, i)) - (forward - reverse)
      end do
      do j = 1, nright(i)
        omega(right(j, i)) = omega(right(j, i)) + (forward - reverse)
      end do
    end do

    omega = omega*W

  contains

    pure real(dp) function gibbsOf(x)
      real(dp), intent(in) :: x(7)

      gibbsOf = x(1)*lnT + x(2) + T*(x(3) + T*(x(4) + T*(x(5) + T*x(6)))) + x(7)/T
    end function gibbsOf

  end subroutine onePoint

  !> A block of points. With E = exp(g/RT) RT/p_ref and D = C E a net rate is k (product of 1/E of the reactants)
  !! (product of D of the reactants - product of D of the products).
  subroutine manyPoints(T, rho, Y, omega)
    real(dp), intent(in)  :: T(nb), rho(nb), Y(nb, ns)
    real(dp), intent(out) :: omega(nb, ns)
    real(dp) :: C(nb, ns), D(nb, ns), I_(nb, ns), k(nb, nexp), third(nb, nset), log_third(nb, nlog)
    real(dp), dimension(nb) :: lnT, invT, ln_RT, g, above, k_i, x, q
    logical  :: hot, cold
    integer  :: i, j, p

    do p = 1, nb
      lnT(p) = log(T(p))
      invT(p) = 1/T(p)
      ln_RT(p) = log(Rgas*T(p)/p_ref)
    end do

    hot = all(T > maxval(T_mid))
    cold = all(T <= minval(T_mid))

    do i = 1, ns
      if (.not. hot) g = polynomial(low(:, i))

      if (.not. cold) then
        above = polynomial(high(:, i))

        if (hot) then
          g = above
        else
          g = merge(g, above, T <= T_mid(i))
        end if
      end if

      do p = 1, nb
        C(p, i) = rho(p)*Y(p, i)*inv_W(i)
        I_(p, i) = exp(-(g(p) + ln_RT(p)))
        D(p, i) = C(p, i)/I_(p, i)
        omega(p, i) = 0
      end do
    end do

    do j = 1, nset
      third(:, j) = 0
      do i = 1, ns
        third(:, j) = third(:, j) + weights(i, j)*C(:, i)
      end do
      if (j <= nlog) log_third(:, j) = log(max(third(:, j), tiny_value))
    end do

    do j = 1, nexp
      do p = 1, nb
        k(p, j) = exp(exponents(1, j)*lnT(p) - exponents(2, j)*invT(p))
      end do
    end do

    do i = 1, nr
      k_i = A(i)*k(:, at(i))
      if (kind(i) == THREE_BODY) k_i = k_i*third(:, set(i))
      if (kind(i) >= LINDEMANN) call falloff(i)

      select case (10*nleft(i) + nright(i))
      case (22)
        x = k_i*I_(:, left(1, i))*I_(:, left(2, i))

        if (reversible(i)) then
          q = x*(D(:, left(1, i))*D(:, left(2, i)) - D(:, right(1, i))*D(:, right(2, i)))
        else
          q = k_i*C(:, left(1, i))*C(:, left(2, i))
        end if

        omega(:, left(1, i)) = omega(:, left(1, i)) - q
        omega(:, left(2, i)) = omega(:, left(2, i)) - q
        omega(:, right(1, i)) = omega(:, right(1, i)) + q
        omega(:, right(2, i)) = omega(:, right(2, i)) + q
      case (21)
        x = k_i*I_(:, left(1, i))*I_(:, left(2, i))

        if (reversible(i)) then
          q = x*(D(:, left(1, i))*D(:, left(2, i)) - D(:, right(1, i)))
        else
          q = k_i*C(:, left(1, i))*C(:, left(2, i))
        end if

        omega(:, left(1, i)) = omega(:, left(1, i)) - q
        omega(:, left(2, i)) = omega(:, left(2, i)) - q
        omega(:, right(1, i)) = omega(:, right(1, i)) + q
      case default
        x = k_i
        q = 0
        if (reversible(i)) q = 1

        do j = 1, nleft(i)
          x = x*C(:, left(j, i))
          k_i = k_i*I_(:, left(j, i))
        end do

        do j = 1, nright(i)
          q = q*D(:, right(j, i))
        end do
        q = x - k_i*q
        do j = 1, nleft(i)
          omega(:, left(j, i)) = omega(:, left(j, i)) - q
        end do
        do j = 1, nright(i)
          omega(:, right(j, i)) = omega(:, right(j, i)) + q
        end do
      end select
    end do

    do i = 1, ns
      omega(:, i) = omega(:, i)*W(i)
    end do

  contains

    pure function polynomial(a) result(y)
      real(dp), intent(in) :: a(7)
      real(dp) :: y(nb)

      y = a(1)*lnT + a(2) + T*(a(3) + T*(a(4) + T*(a(5) + T*a(6)))) + a(7)*invT
    end function polynomial

    !> k_i of high pressure becomes that of the falloff
    subroutine falloff(i)
      integer, intent(in) :: i
      real(dp) :: ratio, Pr, lnPr, centre, L, above, below
      real(dp) :: b, E
      integer  :: p

      ratio = log(A_low(i)/A(i))
      b = exponents(1, at_low(i)) - exponents(1, at(i))
      E = exponents(2, at_low(i)) - exponents(2, at(i))

      if (kind(i) == LINDEMANN) then
        do p = 1, nb
          Pr = exp(ratio + b*lnT(p) - E*invT(p) + log_third(p, set(i)))
          k_i(p) = k_i(p)*Pr/(1 + Pr)
        end do

        return
      end if

      do p = 1, nb
        lnPr = ratio + b*lnT(p) - E*invT(p) + log_third(p, set(i))
        Pr = exp(lnPr)
        centre = (1 - form(1, i))*exp(-T(p)/form(2, i)) + form(1, i)*exp(-T(p)/form(3, i))
        if (form(4, i) > 0) centre = centre + exp(-form(4, i)*invT(p))
        centre = log(max(centre, tiny_value))
        L = centre*inv_ln10
        above = lnPr*inv_ln10 - 0.4_dp - 0.67_dp*L
        below = 0.75_dp - 1.27_dp*L - 0.14_dp*above
        k_i(p) = k_i(p)*Pr/(1 + Pr)*exp(centre*below**2/(below**2 + above**2))
      end do
    end subroutine falloff

  end subroutine manyPoints

end module kineticsModule
