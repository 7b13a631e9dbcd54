!> The same properties as most solvers write them: sums over pairs as in the book. The parameters of a pair are formed
!! inside the sum from those of its species, without a table of pairs. Code that does not depend on pairs is shared with
!! the other modules. This is the benchmark's second rival; it is linked in place of properties.f90, behind the same
!! symbol.
module textbookModule
  use, intrinsic :: iso_c_binding, only : c_int, c_double
  use speciesTables
  use preosModule
  use chungTransModule
  use diffusionModule
  implicit none
  private
  public :: textbookCalcAmix, textbookCalcChungMixture, textbookCalcDiffusion

  integer, parameter :: nscalar = 16         ! places as in properties.f90

contains

  !> a, da/dT, d2a/dT2 of the mixture: sums of sqrt(a_i a_j)(1 - k_ij) and of its derivatives. With the published alpha
  !! the second derivative cancels where an a_i is nearly zero, near T = Tc(1 + 1/kappa)^2, and is 0/0 at that T.
  pure subroutine textbookCalcAmix(T, X, a, aT, aTT)
    real(dp), intent(in)  :: T, X(ns)
    real(dp), intent(out) :: a, aT, aTT
    real(dp) :: ai(ns), aiT(ns), aiTT(ns), f, Fx, Fxx, xT, rootTTc, g, gT, gTT, root
    integer  :: i, j

    do i = 1, ns
      rootTTc = sqrt(T*Tc(i))

      if (alpha_form == ALPHA_SMOOTH) then
        xT = kappa(i)/(2*rootTTc)
        call prEOSCalcSmoothRoot(kappa(i)*(sqrt(T/Tc(i)) - 1), f, Fx, Fxx)
        ai(i) = a_crit(i)*f**2
        aiT(i) = 2*a_crit(i)*f*Fx*xT
        aiTT(i) = 2*a_crit(i)*((Fx*xT)**2 + f*(Fxx*xT**2 - Fx*xT/(2*T)))
        cycle
      end if

      f = 1 + kappa(i)*(1 - sqrt(T/Tc(i)))
      ai(i) = a_crit(i)*f**2
      aiT(i) = -a_crit(i)*kappa(i)*f/rootTTc
      aiTT(i) = 0.5_dp*a_crit(i)*kappa(i)*(1 + kappa(i))/(T*rootTTc)
    end do

    a = 0

    do j = 1, ns
      do i = 1, ns
        a = a + X(i)*X(j)*sqrt(ai(i)*ai(j))*(1 - k_ij(i, j))
      end do
    end do

    aT = 0

    do j = 1, ns
      do i = 1, ns
        aT = aT + X(i)*X(j)*(1 - k_ij(i, j))*0.5_dp*(ai(i)*aiT(j) + ai(j)*aiT(i))/sqrt(ai(i)*ai(j))
      end do
    end do

    aTT = 0

    do j = 1, ns
      do i = 1, ns
        g = ai(i)*ai(j)
        gT = ai(i)*aiT(j) + ai(j)*aiT(i)
        gTT = ai(i)*aiTT(j) + 2*aiT(i)*aiT(j) + ai(j)*aiTT(i)
        root = sqrt(g)
        aTT = aTT + X(i)*X(j)*(1 - k_ij(i, j))*(0.5_dp*gTT/root - 0.25_dp*gT**2/(g*root))
      end do
    end do
  end subroutine textbookCalcAmix

  !> Chung's rules (9-5.25) to (9-5.44), one double sum after another.
  pure subroutine textbookCalcChungMixture(X, sig3m, epsm, Mm, omegam, mur4, kapm, Vcm, Tcm)
    real(dp), intent(in)  :: X(ns)
    real(dp), intent(out) :: sig3m, epsm, Mm, omegam, mur4, kapm, Vcm, Tcm
    real(dp) :: sigma_ij, eps_ij, M_ij, omega_ij, dip4
    integer  :: i, j

    sig3m = 0

    do j = 1, ns
      do i = 1, ns
        sigma_ij = sqrt(sigma(i)*sigma(j))
        sig3m = sig3m + X(i)*X(j)*sigma_ij**3
      end do
    end do

    epsm = 0

    do j = 1, ns
      do i = 1, ns
        sigma_ij = sqrt(sigma(i)*sigma(j))
        eps_ij = sqrt(eps(i)*eps(j))
        epsm = epsm + X(i)*X(j)*eps_ij*sigma_ij**3
      end do
    end do

    Mm = 0

    do j = 1, ns
      do i = 1, ns
        sigma_ij = sqrt(sigma(i)*sigma(j))
        eps_ij = sqrt(eps(i)*eps(j))
        M_ij = 2.0e3_dp*W(i)*W(j)/(W(i) + W(j))
        Mm = Mm + X(i)*X(j)*eps_ij*sigma_ij**2*sqrt(M_ij)
      end do
    end do

    omegam = 0

    do j = 1, ns
      do i = 1, ns
        sigma_ij = sqrt(sigma(i)*sigma(j))
        omega_ij = 0.5_dp*(acentric(i) + acentric(j))
        omegam = omegam + X(i)*X(j)*omega_ij*sigma_ij**3
      end do
    end do

    dip4 = 0

    do j = 1, ns
      do i = 1, ns
        sigma_ij = sqrt(sigma(i)*sigma(j))
        dip4 = dip4 + X(i)*X(j)*(dip(i)*dip(j))**2/sigma_ij**3
      end do
    end do

    kapm = 0

    do j = 1, ns
      do i = 1, ns
        kapm = kapm + X(i)*X(j)*sqrt(assoc(i)*assoc(j))
      end do
    end do

    call chungCalcFromSums(dip4, sig3m, epsm, Mm, omegam, mur4, Vcm, Tcm)
  end subroutine textbookCalcChungMixture

  !> Low-pressure p D_ij [Pa m2/s] divided by the power of T of the model.
  pure real(dp) function textbookPairD(z, i, j) result(pD)
    real(dp), intent(in) :: z
    integer, intent(in)  :: i, j
    real(dp) :: M_ij

    if (diffusion_form == DIFFUSION_FULLER) then
      M_ij = 2.0e3_dp*W(i)*W(j)/(W(i) + W(j))
      pD = 0.0143_dp/(sqrt(M_ij)*(fuller_root(i) + fuller_root(j))**2)
    else
      pD = pair_fit(1, i, j) + z*(pair_fit(2, i, j) + z*(pair_fit(3, i, j) + z*(pair_fit(4, i, j) + z*pair_fit(5, i, j))))
      if (diffusion_form == DIFFUSION_KINETIC) pD = 1/pD
    end if
  end function textbookPairD

  !> D_k = sum_{j/=k} x_j W_j/(M sum_{j/=k} x_j/D_kj) [m2/s]; for a single species its self-diffusion.
  pure subroutine textbookCalcDiffusion(T, p, X, Wmix, D)
    real(dp), intent(in)  :: T, p, X(ns), Wmix
    real(dp), intent(out) :: D(ns)
    real(dp) :: friction(ns), mass(ns), xf(ns), z, scale, D_ij, Tr, factor
    integer  :: i, j

    z = log(T)
    if (diffusion_form == DIFFUSION_KINETIC) z = T**(-0.25_dp)
    scale = T**merge(1.75_dp, 1.5_dp, diffusion_form == DIFFUSION_FULLER)/p

    if (ns == 1) then
      call diffCalcPairFactor(T, p, X, 1, 1, Tr, factor)
      D(1) = textbookPairD(z, 1, 1)*scale*factor
      return
    end if

    xf = max(X, tiny_x)
    mass = 0
    friction = 0

    do j = 2, ns                      ! each pair once, for both of its species
      do i = 1, j - 1
        D_ij = textbookPairD(z, i, j)*scale

        if (takahashi_form /= TAKAHASHI_OFF) then
          call diffCalcPairFactor(T, p, X, i, j, Tr, factor)
          D_ij = D_ij*factor
        end if

        mass(i) = mass(i) + xf(j)*W(j)
        mass(j) = mass(j) + xf(i)*W(i)
        friction(i) = friction(i) + xf(j)/D_ij
        friction(j) = friction(j) + xf(i)/D_ij
      end do
    end do

    D = mass/(Wmix*friction)
  end subroutine textbookCalcDiffusion

  !> Loop over n points, with the arrays and the parts of realgas_points in properties.f90.
  subroutine points(n, part, T, p, Y, scal, D) bind(c, name='realgas_points')
    integer(c_int), value :: n, part
    real(c_double), intent(in)    :: T(n), p(n), Y(n, ns)
    real(c_double), intent(inout) :: scal(n, nscalar), D(n, ns)
    real(dp) :: X(ns), Y1(ns), D1(ns), s(nscalar), Wmix, a, aT, aTT, h_ig, cp_ig, sums(8)
    integer  :: i

    do i = 1, n
      Y1 = Y(i, :)
      s = scal(i, :)
      call prEOSCalcMoleFractions(Y1, X, Wmix)

      if (iand(part, 1) /= 0) then
        s(1) = Wmix
        call textbookCalcAmix(T(i), X, a, aT, aTT)
        call prEOSThermalOfAmix(T(i), p(i), X, Wmix, a, aT, aTT, s(2), s(3), s(4), s(5), s(6), s(7), s(8), s(9), s(10), s(11), &
                                s(12), s(13), cp_ig)
        s(14) = s(4)
      end if

      if (iand(part, 2) /= 0) then
        if (iand(part, 1) == 0) call prEOSCalcIdealGas(T(i), X, h_ig, cp_ig)
        call textbookCalcChungMixture(X, sums(1), sums(2), sums(3), sums(4), sums(5), sums(6), sums(7), sums(8))
        call chungCalcOfMixture(T(i), s(3), Wmix, cp_ig, s(7), sums(1), sums(2), sums(3), sums(4), sums(5), sums(6), sums(7), &
                                sums(8), s(15), s(16))
        call textbookCalcDiffusion(T(i), p(i), X, Wmix, D1)
        D(i, :) = D1
      end if

      scal(i, :) = s
    end do
  end subroutine points

end module textbookModule
