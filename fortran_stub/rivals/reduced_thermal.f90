!> Thermal properties of the rival in reduced.f90, a block of points at a time: sums over the species, Peng-Robinson's
!! root, and what follows from it.
module reducedThermal
  use speciesTables
  use reducedTables
  implicit none
  private
  public :: speciesSums, thermalBlock

contains

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

end module reducedThermal
