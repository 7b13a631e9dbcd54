!> The solver's properties by plain Fortran, one point at a time. Each procedure computes only the properties that its
!! caller needs.
module castlesPlain
  use speciesTables
  use preosModule
  use chungTransModule, only : chungCalcTransProp
  use diffusionModule, only : diffCalcMixtureAveraged
  implicit none
  private
  public :: plainRhoH0FromTP, plainCell, plainTFromHP

contains

  !> a and da/dT of the mixture. The second derivative is not needed here.
  pure subroutine attraction(T, X, a, aT)
    real(dp), intent(in)  :: T, X(ns)
    real(dp), intent(out) :: a, aT
    real(dp) :: g(ns), gT(ns), xx
    integer  :: i, j

    call prEOSCalcRootAlpha(T, g, gT)
    a = 0
    aT = 0

    do j = 1, ns
      do i = 1, ns
        xx = X(i)*X(j)*aij(i, j)
        a = a + xx*g(i)*g(j)
        aT = aT + xx*(gT(i)*g(j) + g(i)*gT(j))
      end do
    end do
  end subroutine attraction

  !> rho [kg/m3] and h0 [J/kg] from T, p, Y and the velocity: the inputs of the upwind dissipation at a face.
  pure subroutine plainRhoH0FromTP(T, p, Y, u, v, w, rho, h0)
    real(dp), intent(in)  :: T, p, Y(ns), u, v, w
    real(dp), intent(out) :: rho, h0
    real(dp) :: X(ns), Wmix, a, aT, bm, vol, L, h_ig, cp_ig, h

    call prEOSCalcMoleFractions(Y, X, Wmix)
    call attraction(T, X, a, aT)
    call prEOSCalcBmix(X, bm)
    call prEOSCalcIdealGas(T, X, h_ig, cp_ig)
    call prEOSCalcMolarVolume(T, p, a, bm, vol)
    call prEOSCalcDepartureLog(vol, bm, L)
    call prEOSCalcDensity(vol, Wmix, rho)
    call prEOSCalcEnthalpy(T, p, vol, a, aT, L, h_ig, Wmix, h)
    call prEOSCalcH0(h, u, v, w, h0)
  end subroutine plainRhoH0FromTP

  !> Properties of a cell: rho, h, c, the derivatives in Gamma, mu, lam, D. rho_Y and h_Y [SI]: derivatives in each Y_k
  !! alone, at constant T and p, of V and H of masses m_k. V and H are homogeneous of degree 1.
  pure subroutine plainCell(T, p, Y, rho, h, c, rhop, rhoT, hp, hT, rhoY, hY, mu, lam, D)
    real(dp), intent(in)  :: T, p, Y(ns)
    real(dp), intent(out) :: rho, h, c, rhop, rhoT, hp, hT, rhoY(ns), hY(ns), mu, lam, D(ns)
    real(dp) :: X(ns), Wmix, a, aT, aTT, Z, e, cp, cv, gam, cp_ig, bm, v, L, den, pT, pv
    real(dp) :: g(ns), gT(ns), S, ST, v_k, h_k, co(6)
    integer  :: j, k

    call prEOSCalcMoleFractions(Y, X, Wmix)
    call prEOSCalcAmix(T, X, a, aT, aTT)
    call prEOSThermalOfAmix(T, p, X, Wmix, a, aT, aTT, Z, rho, h, e, cp, cv, gam, c, rhop, rhoT, hp, hT, cp_ig)

    call prEOSCalcBmix(X, bm)
    v = Wmix/rho
    call prEOSCalcDepartureLog(v, bm, L)
    call prEOSCalcPressureDerivatives(T, v, a, aT, bm, pT, pv)
    den = v*v + 2*bm*v - bm*bm
    call prEOSCalcRootAlpha(T, g, gT)

    do k = 1, ns
      S = 0                                            ! half the derivative of n^2 a in n_k, and its derivative in T
      ST = 0

      do j = 1, ns
        S = S + X(j)*aij(j, k)*g(j)
        ST = ST + X(j)*aij(j, k)*gT(j)
      end do

      ST = gT(k)*S + g(k)*ST
      S = g(k)*S

      if (T <= T_mid(k)) then
        co = nasa_low(:6, k)
      else
        co = nasa_high(:6, k)
      end if

      v_k = -(Rgas*T/(v - bm)*(1 + b(k)/(v - bm)) - 2*S/den + 2*a*(v - bm)*b(k)/den**2)/pv
      h_k = Rgas*(co(6) + T*(co(1) + T*(co(2)/2 + T*(co(3)/3 + T*(co(4)/4 + T*co(5)/5)))))
      h_k = h_k - Rgas*T + p*v_k + 2*(T*ST - S)*L + (T*aT - a)*((v/den - L)*b(k)/bm - v_k/den)
      rhoY(k) = -rho*rho*v_k/W(k)
      hY(k) = h_k/W(k)
    end do

    call chungCalcTransProp(T, rho, X, Wmix, cp_ig, cv, mu, lam)
    call diffCalcMixtureAveraged(T, p, X, Wmix, 0, D)
  end subroutine plainCell

  !> T [K] of h [J/kg] at p, by Newton's method from the given T; NaN where 50 steps do not converge.
  pure subroutine plainTFromHP(h_wanted, p, Y, T)
    real(dp), intent(in)    :: h_wanted, p, Y(ns)
    real(dp), intent(inout) :: T
    real(dp) :: X(ns), Wmix, Z, rho, h, e, cp, cv, gam, c, rhop, rhoT, hp, hT, cp_ig, dT
    integer  :: it

    call prEOSCalcMoleFractions(Y, X, Wmix)

    do it = 1, 50
      call prEOSThermalProperties(T, p, X, Wmix, Z, rho, h, e, cp, cv, gam, c, rhop, rhoT, hp, hT, cp_ig)
      dT = (h_wanted - h)/cp
      T = T + sign(min(abs(dT), 0.3_dp*T), dT)
      if (abs(dT) <= 1.0e-9_dp*T) return               ! the next step would be of the order of its square
    end do

    T = sqrt(-1.0_dp - abs(T))
  end subroutine plainTFromHP

end module castlesPlain
