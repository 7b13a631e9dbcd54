!> T and p from conserved variables, as a code of many years has them: constants in a COMMON block, one point at a time, Newton
!! on e(T) with the polynomials of all species in each step. It begins from the T of the step before, which is its advantage over
!! a call that knows the conserved variables only. SI units, per kg and m3.
subroutine conserved_setup(ns_, R, W_, middle_, nasa_low, nasa_high) bind(C)
  use, intrinsic :: iso_c_binding, only : c_int, c_double
  implicit none
  integer, parameter :: most = 60                             ! species
  integer(c_int), value, intent(in) :: ns_
  real(c_double), value, intent(in) :: R
  real(c_double), intent(in) :: W_(ns_), middle_(ns_), nasa_low(7, ns_), nasa_high(7, ns_)
  integer :: ns, s
  real(c_double) :: R_of, middle, low, high

  common /thermo/ R_of(most), middle(most), low(7, most), high(7, most), ns

  ns = ns_

  do s = 1, ns
    R_of(s) = R/W_(s)                                         ! J/kg/K
    middle(s) = middle_(s)
    low(:, s) = nasa_low(:, s)
    high(:, s) = nasa_high(:, s)
  end do
end subroutine conserved_setup

!> n points. rhoY: kg/m3; rhou, rhov, rhow: kg/m2/s; rhoE: J/m3; before: T of the step before [K].
subroutine conserved_points(n, ns, rhoY, rhou, rhov, rhow, rhoE, before, T, p) bind(C)
  use, intrinsic :: iso_c_binding, only : c_int, c_double
  implicit none
  integer(c_int), value, intent(in) :: n, ns
  real(c_double), intent(in)  :: rhoY(n, ns), rhou(n), rhov(n), rhow(n), rhoE(n), before(n)
  real(c_double), intent(out) :: T(n), p(n)
  real(c_double) :: Y(ns), rho, e
  integer :: i

  do i = 1, n
    Y = rhoY(i, :)
    rho = sum(Y)
    Y = Y/rho
    e = rhoE(i)/rho - 0.5_c_double*(rhou(i)**2 + rhov(i)**2 + rhow(i)**2)/rho**2
    T(i) = before(i)
    call temperature(e, Y, T(i))
    call pressure(rho, Y, T(i), p(i))
  end do

contains

  !> Newton on e(T) = e until a step is below 1e-9 T: the next error is below rounding. Enters with a first T.
  subroutine temperature(e, Y, T)
    real(c_double), intent(in) :: e, Y(:)
    real(c_double), intent(inout) :: T
    integer, parameter :: most = 60, steps = 50
    real(c_double) :: R_of, middle, low, high, a(7), found, slope, change
    integer :: species, s, step

    common /thermo/ R_of(most), middle(most), low(7, most), high(7, most), species

    do step = 1, steps
      found = 0
      slope = 0

      do s = 1, ns
        if (T <= middle(s)) then
          a = low(:, s)
        else
          a = high(:, s)
        end if

        found = found + Y(s)*R_of(s)*(a(6) + T*(a(1) - 1 + T*(a(2)/2 + T*(a(3)/3 + T*(a(4)/4 + T*a(5)/5)))))
        slope = slope + Y(s)*R_of(s)*(a(1) - 1 + T*(a(2) + T*(a(3) + T*(a(4) + T*a(5)))))
      end do

      change = (e - found)/slope
      T = T + change
      if (abs(change) <= 1.0e-9_c_double*T) exit
    end do
  end subroutine temperature

  subroutine pressure(rho, Y, T, p)
    real(c_double), intent(in)  :: rho, Y(:), T
    real(c_double), intent(out) :: p
    integer, parameter :: most = 60
    real(c_double) :: R_of, middle, low, high
    integer :: species

    common /thermo/ R_of(most), middle(most), low(7, most), high(7, most), species

    p = rho*T*sum(Y*R_of(:ns))
  end subroutine pressure
end subroutine conserved_points
