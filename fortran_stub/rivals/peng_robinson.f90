!> Peng-Robinson properties of a mixture, one grid point at a time, one subroutine for each quantity.
!! Molar inside (m3/mol, J/mol), per kg where a density or W is an argument. a' and a'' are exact derivatives in T.
module preosModule
  use speciesTables
  implicit none
  private
  public :: prEOSCalcMoleFractions, prEOSCalcIdealGas, prEOSCalcRootAlpha, prEOSCalcAmix, prEOSCalcBmix, prEOSCalcMolarVolume
  public :: prEOSCalcSmoothRoot
  public :: prEOSCalcDepartureLog, prEOSCalcPressureDerivatives, prEOSCalcDensity, prEOSCalcEnthalpy
  public :: prEOSCalcInternalEnergy, prEOSCalcCv, prEOSCalcCp, prEOSCalcRhop, prEOSCalcRhoT, prEOSCalcHp
  public :: prEOSCalcSoundSpeed, prEOSCalcH0, prEOSCriticalState, prEOSThermalProperties, prEOSHasTwoRoots
  public :: prEOSThermalOfAmix

  real(dp), parameter :: root2 = sqrt(2.0_dp)
  real(dp), parameter :: bend = 0.75_dp                  ! of x, up to which the smooth alpha is the published one

contains

  !> X_s = (Y_s/W_s) / sum(Y/W) and the mean molar mass Wmix [kg/mol].
  pure subroutine prEOSCalcMoleFractions(Y, X, Wmix)
    real(dp), intent(in)  :: Y(ns)
    real(dp), intent(out) :: X(ns), Wmix
    integer :: s

    Wmix = 0

    do s = 1, ns
      X(s) = Y(s)/W(s)
      Wmix = Wmix + X(s)
    end do

    Wmix = 1/Wmix
    do s = 1, ns
      X(s) = X(s)*Wmix
    end do
  end subroutine prEOSCalcMoleFractions

  !> Ideal-gas enthalpy [J/mol] and heat capacity [J/mol/K] of the mixture, NASA-7.
  pure subroutine prEOSCalcIdealGas(T, X, h_ig, cp_ig)
    real(dp), intent(in)  :: T, X(ns)
    real(dp), intent(out) :: h_ig, cp_ig
    real(dp) :: c(7)
    integer  :: s

    h_ig = 0
    cp_ig = 0

    do s = 1, ns
      if (T <= T_mid(s)) then
        c = nasa_low(:, s)
      else
        c = nasa_high(:, s)
      end if

      cp_ig = cp_ig + X(s)*(c(1) + T*(c(2) + T*(c(3) + T*(c(4) + T*c(5)))))
      h_ig = h_ig + X(s)*(c(6) + T*(c(1) + T*(c(2)/2 + T*(c(3)/3 + T*(c(4)/4 + T*c(5)/5)))))
    end do

    cp_ig = Rgas*cp_ig
    h_ig = Rgas*h_ig
  end subroutine prEOSCalcIdealGas

  !> F(x), x = kappa (sqrt(T/Tc) - 1), and its two derivatives in x: 1 - x, from x = 3/4 on a cubic's reciprocal.
  elemental subroutine prEOSCalcSmoothRoot(x, F, Fx, Fxx)
    real(dp), intent(in)  :: x
    real(dp), intent(out) :: F, Fx, Fxx
    real(dp) :: y, P, Py

    F = 1 - x
    Fx = -1
    Fxx = 0
    if (x <= bend) return
    y = (x - bend)/(1 - bend)
    P = 1 + y*(1 + y*(1 + y))
    Py = 1 + y*(2 + 3*y)
    F = (1 - bend)/P
    Fx = -Py/P**2
    Fxx = (2*Py**2/P - (2 + 6*y))/(P**2*(1 - bend))
  end subroutine prEOSCalcSmoothRoot

  !> sqrt(alpha_i) and its derivative in T. Published: |f_i|, and f changes its sign at Tc(1 + 1/kappa)^2, a temperature
  !! reached in combustion.
  pure subroutine prEOSCalcRootAlpha(T, g, gT)
    real(dp), intent(in)  :: T
    real(dp), intent(out) :: g(ns), gT(ns)
    real(dp) :: gTT(ns)

    call prEOSCalcRootAlphaCurved(T, g, gT, gTT)
  end subroutine prEOSCalcRootAlpha

  !> The same with the second derivative.
  pure subroutine prEOSCalcRootAlphaCurved(T, g, gT, gTT)
    real(dp), intent(in)  :: T
    real(dp), intent(out) :: g(ns), gT(ns), gTT(ns)
    real(dp) :: x, xT, f, Fx, Fxx
    integer  :: i

    do i = 1, ns
      x = kappa(i)*(sqrt(T/Tc(i)) - 1)
      xT = kappa(i)/(2*sqrt(T*Tc(i)))

      if (alpha_form == ALPHA_SMOOTH) then
        call prEOSCalcSmoothRoot(x, f, Fx, Fxx)
      else
        f = abs(1 - x)
        Fx = -sign(1.0_dp, 1 - x)
        Fxx = 0
      end if

      g(i) = f
      gT(i) = Fx*xT
      gTT(i) = Fxx*xT**2 - Fx*xT/(2*T)
    end do
  end subroutine prEOSCalcRootAlphaCurved

  !> a, da/dT, d2a/dT2 of the mixture by the van der Waals rule.
  pure subroutine prEOSCalcAmix(T, X, a, aT, aTT)
    real(dp), intent(in)  :: T, X(ns)
    real(dp), intent(out) :: a, aT, aTT
    real(dp) :: g(ns), gT(ns), gTT(ns), xx
    integer  :: i, j

    call prEOSCalcRootAlphaCurved(T, g, gT, gTT)
    a = 0
    aT = 0
    aTT = 0

    do j = 1, ns
      do i = 1, ns
        xx = X(i)*X(j)*aij(i, j)
        a = a + xx*g(i)*g(j)
        aT = aT + xx*(gT(i)*g(j) + g(i)*gT(j))
        aTT = aTT + xx*(gTT(i)*g(j) + 2*gT(i)*gT(j) + g(i)*gTT(j))
      end do
    end do
  end subroutine prEOSCalcAmix

  pure subroutine prEOSCalcBmix(X, bm)
    real(dp), intent(in)  :: X(ns)
    real(dp), intent(out) :: bm
    integer :: s

    bm = 0
    do s = 1, ns
      bm = bm + X(s)*b(s)
    end do
  end subroutine prEOSCalcBmix

  !> Residual Gibbs energy / RT, without the terms that two roots at the same T, p have in common.
  pure subroutine prEOSCalcRootGibbs(Z, A, B, g)
    real(dp), intent(in)  :: Z, A, B
    real(dp), intent(out) :: g

    g = Z - log(Z - B) - A/(2*root2*B)*log((Z + (1 + root2)*B)/(Z + (1 - root2)*B))
  end subroutine prEOSCalcRootGibbs

  !> Newton steps on the cubic, from a root of the closed form. The closed form loses digits.
  pure subroutine prEOSPolishRoot(c2, c1, c0, Z)
    real(dp), intent(in)    :: c2, c1, c0
    real(dp), intent(inout) :: Z
    real(dp) :: slope, dZ
    integer  :: it

    do it = 1, 20
      slope = (3*Z + 2*c2)*Z + c1
      if (slope == 0) exit
      dZ = (((Z + c2)*Z + c1)*Z + c0)/slope
      Z = Z - dZ
      if (abs(dZ) <= 4*epsilon(Z)*abs(Z)) exit
    end do
  end subroutine prEOSPolishRoot

  !> Molar volume [m3/mol]: Cardano, or the cosines where three roots are real. A root with v <= b does not count.
  pure subroutine prEOSCalcMolarVolume(T, p, a_mix, b_mix, v)
    real(dp), intent(in)  :: T, p, a_mix, b_mix
    real(dp), intent(out) :: v
    real(dp), parameter :: third = 1.0_dp/3.0_dp, twopi = 6.283185307179586_dp
    real(dp) :: RT, A, B, c2, c1, c0, Q, R, theta, Zl, Zv, gl, gv, Z

    RT = Rgas*T
    A = a_mix*p/RT**2
    B = b_mix*p/RT
    c2 = B - 1
    c1 = A - (3*B + 2)*B
    c0 = (B*B + B - A)*B
    Q = (c2*c2 - 3*c1)/9
    R = ((2*c2*c2 - 9*c1)*c2 + 27*c0)/54

    if (R*R < Q**3) then
      theta = acos(R/sqrt(Q**3))
      Zv = -2*sqrt(Q)*cos((theta + twopi)*third) - c2*third      ! largest
      Zl = -2*sqrt(Q)*cos(theta*third) - c2*third                ! smallest
      call prEOSPolishRoot(c2, c1, c0, Zv)
      call prEOSPolishRoot(c2, c1, c0, Zl)

      if (Zl <= B) then
        Z = Zv
      else if (root_rule == ROOT_VAPOUR) then
        Z = Zv
      else if (root_rule == ROOT_LIQUID) then
        Z = Zl
      else
        call prEOSCalcRootGibbs(Zl, A, B, gl)
        call prEOSCalcRootGibbs(Zv, A, B, gv)
        Z = Zv
        if (gl < gv) Z = Zl
      end if
    else
      Z = -sign((abs(R) + sqrt(R*R - Q**3))**third, R)
      if (Z /= 0) Z = Z + Q/Z
      Z = Z - c2*third
      call prEOSPolishRoot(c2, c1, c0, Z)
    end if

    v = Z*RT/p
  end subroutine prEOSCalcMolarVolume

  !> Whether the cubic has a vapour and a liquid root at this point. The root rule then chooses.
  pure logical function prEOSHasTwoRoots(T, p, X) result(two)
    real(dp), intent(in) :: T, p, X(ns)
    real(dp) :: a_mix, aT, aTT, b_mix, A, B, c2, c1, c0, Q, R

    call prEOSCalcAmix(T, X, a_mix, aT, aTT)
    call prEOSCalcBmix(X, b_mix)
    A = a_mix*p/(Rgas*T)**2
    B = b_mix*p/(Rgas*T)
    c2 = B - 1
    c1 = A - (3*B + 2)*B
    c0 = (B*B + B - A)*B
    Q = (c2*c2 - 3*c1)/9
    R = ((2*c2*c2 - 9*c1)*c2 + 27*c0)/54
    two = R*R < Q**3
    if (two) two = -2*sqrt(Q)*cos(acos(R/sqrt(Q**3))/3) - c2/3 > B
  end function prEOSHasTwoRoots

  !> L = ln[(v + (1 + sqrt 2) b)/(v + (1 - sqrt 2) b)]/(2 sqrt 2 b)  [mol/m3]
  pure subroutine prEOSCalcDepartureLog(v, bm, L)
    real(dp), intent(in)  :: v, bm
    real(dp), intent(out) :: L

    L = log((v + (1 + root2)*bm)/(v + (1 - root2)*bm))/(2*root2*bm)
  end subroutine prEOSCalcDepartureLog

  !> dp/dT at constant v and dp/dv at constant T.
  pure subroutine prEOSCalcPressureDerivatives(T, v, a, aT, bm, pT, pv)
    real(dp), intent(in)  :: T, v, a, aT, bm
    real(dp), intent(out) :: pT, pv
    real(dp) :: d

    d = v*v + 2*bm*v - bm*bm
    pT = Rgas/(v - bm) - aT/d
    pv = -Rgas*T/(v - bm)**2 + 2*a*(v + bm)/d**2
  end subroutine prEOSCalcPressureDerivatives

  pure subroutine prEOSCalcDensity(v, Wmix, rho)
    real(dp), intent(in)  :: v, Wmix
    real(dp), intent(out) :: rho

    rho = Wmix/v
  end subroutine prEOSCalcDensity

  !> h [J/kg] = (h_ig + p v - R T + (T a' - a) L)/W
  pure subroutine prEOSCalcEnthalpy(T, p, v, a, aT, L, h_ig, Wmix, h)
    real(dp), intent(in)  :: T, p, v, a, aT, L, h_ig, Wmix
    real(dp), intent(out) :: h

    h = (h_ig + p*v - Rgas*T + (T*aT - a)*L)/Wmix
  end subroutine prEOSCalcEnthalpy

  pure subroutine prEOSCalcInternalEnergy(p, rho, h, e)
    real(dp), intent(in)  :: p, rho, h
    real(dp), intent(out) :: e

    e = h - p/rho
  end subroutine prEOSCalcInternalEnergy

  !> cv [J/kg/K] = (cp_ig - R + T a'' L)/W
  pure subroutine prEOSCalcCv(T, aTT, L, cp_ig, Wmix, cv)
    real(dp), intent(in)  :: T, aTT, L, cp_ig, Wmix
    real(dp), intent(out) :: cv

    cv = (cp_ig - Rgas + T*aTT*L)/Wmix
  end subroutine prEOSCalcCv

  !> cp = cv - T (dp/dT)^2/(dp/dv), which is h_T too.
  pure subroutine prEOSCalcCp(T, pT, pv, cv, Wmix, cp)
    real(dp), intent(in)  :: T, pT, pv, cv, Wmix
    real(dp), intent(out) :: cp

    cp = cv - T*pT*pT/(pv*Wmix)
  end subroutine prEOSCalcCp

  pure subroutine prEOSCalcRhop(v, pv, rho, rhop)
    real(dp), intent(in)  :: v, pv, rho
    real(dp), intent(out) :: rhop

    rhop = -rho/(v*pv)
  end subroutine prEOSCalcRhop

  pure subroutine prEOSCalcRhoT(v, pT, pv, rho, rhoT)
    real(dp), intent(in)  :: v, pT, pv, rho
    real(dp), intent(out) :: rhoT

    rhoT = rho*pT/(v*pv)
  end subroutine prEOSCalcRhoT

  !> h_p = (1 + T rho_T/rho)/rho
  pure subroutine prEOSCalcHp(T, rho, rhoT, hp)
    real(dp), intent(in)  :: T, rho, rhoT
    real(dp), intent(out) :: hp

    hp = (1 + T*rhoT/rho)/rho
  end subroutine prEOSCalcHp

  pure subroutine prEOSCalcSoundSpeed(rho, rhop, rhoT, hp, hT, c)
    real(dp), intent(in)  :: rho, rhop, rhoT, hp, hT
    real(dp), intent(out) :: c

    c = sqrt(rho*hT/(rho*rhop*hT + rhoT*(1 - rho*hp)))
  end subroutine prEOSCalcSoundSpeed

  pure subroutine prEOSCalcH0(h, u, v, w, h0)
    real(dp), intent(in)  :: h, u, v, w
    real(dp), intent(out) :: h0

    h0 = h + 0.5_dp*(u*u + v*v + w*w)
  end subroutine prEOSCalcH0

  !> Pseudo-critical state of the mixture [K, Pa, m3/mol]: not its true critical point.
  pure subroutine prEOSCriticalState(X, Tcm, pcm, vcm)
    real(dp), intent(in)  :: X(ns)
    real(dp), intent(out) :: Tcm, pcm, vcm
    real(dp) :: a, bm
    integer  :: i, j

    a = 0

    do j = 1, ns
      do i = 1, ns
        a = a + X(i)*X(j)*aij(i, j)
      end do
    end do

    call prEOSCalcBmix(X, bm)
    Tcm = a*omega_b/(bm*omega_a*Rgas)
    pcm = omega_b*Rgas*Tcm/bm
    vcm = omega_vc*Rgas*Tcm/pcm
  end subroutine prEOSCriticalState

  !> All thermal properties of one point, and cp_ig, which the transport model needs.
  pure subroutine prEOSThermalProperties(T, p, X, Wmix, Z, rho, h, e, cp, cv, gam, c, rhop, rhoT, hp, hT, cp_ig)
    real(dp), intent(in)  :: T, p, X(ns), Wmix
    real(dp), intent(out) :: Z, rho, h, e, cp, cv, gam, c, rhop, rhoT, hp, hT, cp_ig
    real(dp) :: a, aT, aTT

    call prEOSCalcAmix(T, X, a, aT, aTT)
    call prEOSThermalOfAmix(T, p, X, Wmix, a, aT, aTT, Z, rho, h, e, cp, cv, gam, c, rhop, rhoT, hp, hT, cp_ig)
  end subroutine prEOSThermalProperties

  !> The same from given a, a', a'' of the mixture.
  pure subroutine prEOSThermalOfAmix(T, p, X, Wmix, a, aT, aTT, Z, rho, h, e, cp, cv, gam, c, rhop, rhoT, hp, hT, cp_ig)
    real(dp), intent(in)  :: T, p, X(ns), Wmix, a, aT, aTT
    real(dp), intent(out) :: Z, rho, h, e, cp, cv, gam, c, rhop, rhoT, hp, hT, cp_ig
    real(dp) :: bm, v, L, pT, pv, h_ig

    call prEOSCalcBmix(X, bm)
    call prEOSCalcIdealGas(T, X, h_ig, cp_ig)
    call prEOSCalcMolarVolume(T, p, a, bm, v)
    call prEOSCalcDepartureLog(v, bm, L)
    call prEOSCalcPressureDerivatives(T, v, a, aT, bm, pT, pv)
    Z = p*v/(Rgas*T)
    call prEOSCalcDensity(v, Wmix, rho)
    call prEOSCalcEnthalpy(T, p, v, a, aT, L, h_ig, Wmix, h)
    call prEOSCalcInternalEnergy(p, rho, h, e)
    call prEOSCalcCv(T, aTT, L, cp_ig, Wmix, cv)
    call prEOSCalcCp(T, pT, pv, cv, Wmix, cp)
    gam = cp/cv
    call prEOSCalcRhop(v, pv, rho, rhop)
    call prEOSCalcRhoT(v, pT, pv, rho, rhoT)
    call prEOSCalcHp(T, rho, rhoT, hp)
    hT = cp
    call prEOSCalcSoundSpeed(rho, rhop, rhoT, hp, hT, c)
  end subroutine prEOSThermalOfAmix

end module preosModule
