!> Transport properties of the rival in reduced.f90, a block of points at a time: Chung's viscosity and conductivity,
!! diffusion with Takahashi's factor.
module reducedTransport
  use, intrinsic :: iso_fortran_env, only : real32
  use speciesTables
  use diffusionModule, only : diffCalcTakahashi, nrow, tiny_x
  use reducedTables
  implicit none
  private
  public :: chungBlock, diffusionBlock

contains

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

end module reducedTransport
