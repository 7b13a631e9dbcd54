!> Chung's viscosity and conductivity of dense gas mixtures, one grid point at a time.
!! Inside Chung's own units: sigma [A], Vc [cm3/mol], M [g/mol], dipole [debye]. Equation numbers of Poling et al., 5th
!! ed.
module chungTransModule
  use, intrinsic :: iso_c_binding, only : c_double
  use speciesTables
  implicit none
  private
  public :: chungCalcMixture, chungCalcCollisionIntegral, chungCalcPoleFree, chungCalcViscosity, chungCalcConductivity
  public :: chungCalcTransProp, chungCalcPoleDistance, chungCalcFromSums, chungCalcOfMixture
  public :: E_table, B_table, c6_cantera, b1_cantera

  ! Rows i = 1..10 of table 9-6: a_i + b_i omega + c_i mu_r^4 + d_i kappa
  real(dp), parameter :: E_table(4, 10) = reshape([ &
                                                  6.324_dp,    50.412_dp,   -51.680_dp,   1189.0_dp, &
                                                  1.210e-3_dp, -1.154e-3_dp, -6.257e-3_dp, 0.03728_dp, &
                                                  5.283_dp,    254.209_dp,  -168.48_dp,   3898.0_dp, &
                                                  6.623_dp,    38.096_dp,   -8.464_dp,    31.42_dp, &
                                                  19.745_dp,   7.630_dp,    -14.354_dp,   31.53_dp, &
                                                  -1.900_dp,   -12.537_dp,  4.985_dp,     -18.15_dp, &
                                                  24.275_dp,   3.450_dp,    -11.291_dp,   69.35_dp, &
                                                  0.7972_dp,   1.117_dp,    0.01235_dp,   -4.117_dp, &
                                                  -0.2382_dp,  0.06770_dp,  -0.8163_dp,   4.025_dp, &
                                                  0.06863_dp,  0.3479_dp,   0.5926_dp,    -0.727_dp], [4, 10])
  ! Rows i = 1..7 of table 10-3
  real(dp), parameter :: B_table(4, 7) = reshape([ &
                                                 2.4166_dp,   0.74824_dp,  -0.91858_dp,  121.72_dp, &
                                                 -0.50924_dp, -1.5094_dp,  -49.991_dp,   69.983_dp, &
                                                 6.6107_dp,   5.6207_dp,   64.760_dp,    27.039_dp, &
                                                 14.543_dp,   -8.9139_dp,  -5.6379_dp,   74.344_dp, &
                                                 0.79274_dp,  0.82019_dp,  -0.69369_dp,  6.3173_dp, &
                                                 -5.8634_dp,  12.801_dp,   9.5893_dp,    65.529_dp, &
                                                 91.089_dp,   128.11_dp,   -54.217_dp,   523.81_dp], [4, 7])
  real(dp), parameter :: c6_cantera = 4.958_dp, b1_cantera = 2.44166_dp   ! Cantera 3.2's digits

  interface
    pure real(c_double) function expm1(x) bind(c, name='expm1')   ! exp(x) - 1 without cancellation, from the C library
      import :: c_double
      real(c_double), value :: x
    end function expm1
  end interface

contains

  !> Mixture parameters by Chung's rules (9-5.25 to 9-5.44), textbook double sums over precomputed pair tables.
  pure subroutine chungCalcMixture(X, sig3m, epsm, Mm, omegam, mur4, kapm, Vcm, Tcm)
    real(dp), intent(in)  :: X(ns)
    real(dp), intent(out) :: sig3m, epsm, Mm, omegam, mur4, kapm, Vcm, Tcm
    real(dp) :: xx, dip4
    integer  :: i, j

    sig3m = 0; epsm = 0; Mm = 0; omegam = 0; dip4 = 0; kapm = 0

    do j = 1, ns
      do i = 1, ns
        xx = X(i)*X(j)
        sig3m = sig3m + xx*sig3(i, j)
        epsm = epsm + xx*eps_sig3(i, j)
        Mm = Mm + xx*eps_sig2_rootM(i, j)
        omegam = omegam + xx*omega_sig3(i, j)
        dip4 = dip4 + xx*dip4_sig3(i, j)
        kapm = kapm + xx*kappa_ij(i, j)
      end do
    end do

    call chungCalcFromSums(dip4, sig3m, epsm, Mm, omegam, mur4, Vcm, Tcm)
  end subroutine chungCalcMixture

  !> On entry the double sums of (9-5.25), (9-5.27) to (9-5.30); on return the parameters of the correlations.
  pure subroutine chungCalcFromSums(dip4, sig3m, epsm, Mm, omegam, mur4, Vcm, Tcm)
    real(dp), intent(in)    :: sig3m
    real(dp), intent(inout) :: dip4, epsm, Mm, omegam
    real(dp), intent(out)   :: mur4, Vcm, Tcm

    epsm = epsm/sig3m
    Mm = (Mm/(epsm*sig3m**(2.0_dp/3.0_dp)))**2
    omegam = omegam/sig3m
    dip4 = dip4*sig3m
    Vcm = sig3m/0.809_dp**3
    Tcm = 1.2593_dp*epsm
    mur4 = 131.3_dp**4*dip4/(Vcm*Tcm)**2
  end subroutine chungCalcFromSums

  !> Neufeld's fit (9-4.3) at T* = T/eps_m.
  pure subroutine chungCalcCollisionIntegral(Tstar, Omega)
    real(dp), intent(in)  :: Tstar
    real(dp), intent(out) :: Omega

    Omega = 1.16145_dp*Tstar**(-0.14874_dp) + 0.52487_dp*exp(-0.77320_dp*Tstar) + 2.16178_dp*exp(-2.43787_dp*Tstar)
  end subroutine chungCalcCollisionIntegral

  !> The arguments of E_1..E_10 that keep E1 E4 + E2 + E3 away from zero: omega >= 0 and mu_r^4 at most half way to the
  !! smallest positive root of that denominator, a quadratic in mu_r^4 (association left out).
  pure subroutine chungCalcPoleFree(omegam, mur4, omega_E, mur4_E)
    real(dp), intent(in)  :: omegam, mur4
    real(dp), intent(out) :: omega_E, mur4_E
    real(dp) :: q2, q1, q0, A1, A4

    omega_E = max(omegam, 0.0_dp)
    A1 = E_table(1, 1) + E_table(2, 1)*omega_E
    A4 = E_table(1, 4) + E_table(2, 4)*omega_E
    q2 = E_table(3, 1)*E_table(3, 4)
    q1 = A1*E_table(3, 4) + A4*E_table(3, 1) + E_table(3, 2) + E_table(3, 3)
    q0 = A1*A4 + E_table(1, 2) + E_table(1, 3) + (E_table(2, 2) + E_table(2, 3))*omega_E
    mur4_E = min(mur4, q0/(-q1 + sqrt(q1*q1 - 4*q2*q0)))        ! half of 2 q0/(-q1 + sqrt(...)); q1 < 0 < q2, q0
  end subroutine chungCalcPoleFree

  !> E_1..E_10 of the form in force.
  pure subroutine chungCalcE(omegam, mur4, kapm, E)
    real(dp), intent(in)  :: omegam, mur4, kapm
    real(dp), intent(out) :: E(10)
    real(dp) :: omega_E, mur4_E, kap_E
    integer  :: i

    omega_E = omegam; mur4_E = mur4; kap_E = kapm

    if (chung_form == CHUNG_POLEFREE) then
      call chungCalcPoleFree(omegam, mur4, omega_E, mur4_E)
      kap_E = 0
    end if

    do i = 1, 10
      E(i) = E_table(1, i) + E_table(2, i)*omega_E + E_table(3, i)*mur4_E + E_table(4, i)*kap_E
    end do
    if (chung_form == CHUNG_POLEFREE) E(2) = max(E(2), 0.0_dp)        ! with exp(E5 y) it is the largest term of G2
    if (chung_form == CHUNG_CANTERA) E(6) = E(6) + (c6_cantera - E_table(3, 6))*mur4_E
  end subroutine chungCalcE

  !> Low-pressure viscosity eta0 (9-4.10) and viscosity mu (9-6.18), both [Pa s]. conc [mol/cm3].
  pure subroutine chungCalcViscosity(T, conc, sig3m, epsm, Mm, omegam, mur4, kapm, Vcm, Tcm, eta0, mu)
    real(dp), intent(in)  :: T, conc, sig3m, epsm, Mm, omegam, mur4, kapm, Vcm, Tcm
    real(dp), intent(out) :: eta0, mu
    real(dp) :: E(10), Tstar, Omega, Fc, y, G1, G2, etass, etas

    call chungCalcE(omegam, mur4, kapm, E)
    Tstar = T/epsm
    call chungCalcCollisionIntegral(Tstar, Omega)
    Fc = 1 - 0.2756_dp*omegam + 0.059035_dp*mur4 + kapm
    eta0 = 26.69e-7_dp*Fc*sqrt(Mm*T)/(sig3m**(2.0_dp/3.0_dp)*Omega)
    y = conc*Vcm/6
    G1 = (1 - 0.5_dp*y)/(1 - y)**3
    G2 = (-E(1)*expm1(-E(4)*y)/y + E(2)*G1*exp(E(5)*y) + E(3)*G1)/(E(1)*E(4) + E(2) + E(3))
    etass = E(7)*y*y*G2*exp(E(8) + E(9)/Tstar + E(10)/Tstar**2)
    etas = sqrt(Tstar)/Omega*Fc*(1/G2 + E(6)*y) + etass
    mu = etas*36.344e-7_dp*sqrt(Mm*Tcm)/Vcm**(2.0_dp/3.0_dp)
  end subroutine chungCalcViscosity

  !> Conductivity [W/m/K] (10-5.5); cv_mol [J/mol/K], eta0 [Pa s] from chungCalcViscosity.
  pure subroutine chungCalcConductivity(T, conc, Mm, omegam, mur4, kapm, Vcm, Tcm, eta0, cv_mol, lam)
    real(dp), intent(in)  :: T, conc, Mm, omegam, mur4, kapm, Vcm, Tcm, eta0, cv_mol
    real(dp), intent(out) :: lam
    real(dp) :: Bc(7), y, G1, H2, Tr, alpha, beta, zeta, psi, q, Mp
    integer  :: i

    do i = 1, 7
      Bc(i) = B_table(1, i) + B_table(2, i)*omegam + B_table(3, i)*mur4 + B_table(4, i)*kapm
    end do
    if (chung_form == CHUNG_CANTERA) Bc(1) = Bc(1) + (b1_cantera - B_table(1, 1))
    if (chung_form == CHUNG_POLEFREE) Bc(7) = max(Bc(7), 0.0_dp)       ! negative for dipoles beyond the fit
    y = conc*Vcm/6
    G1 = (1 - 0.5_dp*y)/(1 - y)**3
    H2 = (-Bc(1)*expm1(-Bc(4)*y)/y + Bc(2)*G1*exp(Bc(5)*y) + Bc(3)*G1)/(Bc(1)*Bc(4) + Bc(2) + Bc(3))
    Tr = T/Tcm
    alpha = cv_mol/Rgas - 1.5_dp
    beta = 0.7862_dp - 0.7109_dp*omegam + 1.3168_dp*omegam**2
    zeta = 2.0_dp + 10.5_dp*Tr**2
    psi = 1 + alpha*(0.215_dp + 0.28288_dp*alpha - 1.061_dp*beta + 0.26665_dp*zeta) &
          /(0.6366_dp + beta*zeta + 1.061_dp*alpha*beta)
    Mp = 1.0e-3_dp*Mm
    q = 3.586e-3_dp*sqrt(Tcm/Mp)/Vcm**(2.0_dp/3.0_dp)
    lam = 31.2_dp*eta0*psi/Mp*(1/H2 + Bc(6)*y) + q*Bc(7)*y**2*sqrt(Tr)*H2
  end subroutine chungCalcConductivity

  !> mu and lam of one point. cv [J/kg/K] is that of the real gas; only the form `cantera` uses it.
  pure subroutine chungCalcTransProp(T, rho, X, Wmix, cp_ig, cv, mu, lam)
    real(dp), intent(in)  :: T, rho, X(ns), Wmix, cp_ig, cv
    real(dp), intent(out) :: mu, lam
    real(dp) :: sig3m, epsm, Mm, omegam, mur4, kapm, Vcm, Tcm

    call chungCalcMixture(X, sig3m, epsm, Mm, omegam, mur4, kapm, Vcm, Tcm)
    call chungCalcOfMixture(T, rho, Wmix, cp_ig, cv, sig3m, epsm, Mm, omegam, mur4, kapm, Vcm, Tcm, mu, lam)
  end subroutine chungCalcTransProp

  !> The same from given parameters of the mixture.
  pure subroutine chungCalcOfMixture(T, rho, Wmix, cp_ig, cv, sig3m, epsm, Mm, omegam, mur4, kapm, Vcm, Tcm, mu, lam)
    real(dp), intent(in)  :: T, rho, Wmix, cp_ig, cv, sig3m, epsm, Mm, omegam, mur4, kapm, Vcm, Tcm
    real(dp), intent(out) :: mu, lam
    real(dp) :: conc, eta0, cv_mol

    if (chung_form == CHUNG_CANTERA) then
      conc = 1.0e-3_dp*rho/Mm              ! Cantera divides by Chung's own mean mass
      cv_mol = cv*Wmix
    else
      conc = 1.0e-6_dp*rho/Wmix
      cv_mol = cp_ig - Rgas
    end if

    call chungCalcViscosity(T, conc, sig3m, epsm, Mm, omegam, mur4, kapm, Vcm, Tcm, eta0, mu)
    call chungCalcConductivity(T, conc, Mm, omegam, mur4, kapm, Vcm, Tcm, eta0, cv_mol, lam)
  end subroutine chungCalcOfMixture

  !> Distance of the composition from a pole of mu: E1 E4 + E2 + E3 over the sum of the sizes of its terms. A relative
  !! rounding error of mu is divided by this. The published form has poles, and mixtures come close to them.
  pure subroutine chungCalcPoleDistance(X, distance)
    real(dp), intent(in)  :: X(ns)
    real(dp), intent(out) :: distance
    real(dp) :: sig3m, epsm, Mm, omegam, mur4, kapm, Vcm, Tcm, E(10)

    call chungCalcMixture(X, sig3m, epsm, Mm, omegam, mur4, kapm, Vcm, Tcm)
    call chungCalcE(omegam, mur4, kapm, E)
    distance = abs(E(1)*E(4) + E(2) + E(3))/(abs(E(1)*E(4)) + abs(E(2)) + abs(E(3)))
  end subroutine chungCalcPoleDistance

end module chungTransModule
