!> All properties at one point, and the loop over points for callers in C (the tests and the benchmark load this as a
!! library).
module propertiesModule
  use, intrinsic :: iso_c_binding, only : c_int, c_double
  use speciesTables
  use preosModule
  use chungTransModule
  use diffusionModule
  implicit none
  private
  public :: propertiesPoint, propertiesIndex, nscalar, scalar_names

  integer, parameter :: nscalar = 16
  character(len=5), parameter :: scalar_names(nscalar) = [character(len=5) :: 'W', 'Z', 'rho', 'h', 'e', 'cp', 'cv', &
                                                                    'gamma', 'c', 'rho_p', 'rho_T', 'h_p', 'h_T', 'h0', 'mu', 'lam']

contains

  !> Place of a name in scalar_names, 0 if it has none.
  pure integer function propertiesIndex(name) result(i)
    character(len=*), intent(in) :: name

    do i = nscalar, 1, -1
      if (scalar_names(i) == name) return
    end do
  end function propertiesIndex

  !> All properties of one grid point: from T [K], p [Pa], Y, velocities [m/s] to scal (order of scalar_names, SI, per
  !! kg) and D [m2/s]. A part that is off is not changed; viscous needs the density of thermal.
  pure subroutine propertiesPoint(T, p, Y, u, v, w, thermal, viscous, scal, D)
    real(dp), intent(in)    :: T, p, Y(ns), u, v, w
    logical, intent(in)     :: thermal, viscous
    real(dp), intent(inout) :: scal(nscalar), D(ns)
    real(dp) :: X(ns), Wmix, cp_ig, h_ig

    call prEOSCalcMoleFractions(Y, X, Wmix)

    if (thermal) then
      scal(1) = Wmix
      call prEOSThermalProperties(T, p, X, Wmix, scal(2), scal(3), scal(4), scal(5), scal(6), scal(7), scal(8), scal(9), &
                                  scal(10), scal(11), scal(12), scal(13), cp_ig)
      call prEOSCalcH0(scal(4), u, v, w, scal(14))
    end if

    if (viscous) then
      if (.not. thermal) call prEOSCalcIdealGas(T, X, h_ig, cp_ig)
      call chungCalcTransProp(T, scal(3), X, Wmix, cp_ig, scal(7), scal(15), scal(16))
      call diffCalcMixtureAveraged(T, p, X, Wmix, 0, D)
    end if
  end subroutine propertiesPoint

  !> Loop over n points. T, p (n), Y (n, ns) in; scal (n, nscalar), D (n, ns) out; u = v = w = 0. part: 1 thermal, 2
  !! viscous (scal holds rho and, for the form `cantera`, cv), 3 both.
  subroutine realgas_points(n, part, T, p, Y, scal, D) bind(c, name='realgas_points')
    integer(c_int), value :: n, part
    real(c_double), intent(in)    :: T(n), p(n), Y(n, ns)
    real(c_double), intent(inout) :: scal(n, nscalar), D(n, ns)
    real(dp) :: Y1(ns), D1(ns), s1(nscalar)
    integer  :: i

    do i = 1, n
      Y1 = Y(i, :)
      s1 = scal(i, :)
      D1 = D(i, :)
      call propertiesPoint(T(i), p(i), Y1, 0.0_dp, 0.0_dp, 0.0_dp, iand(part, 1) /= 0, iand(part, 2) /= 0, s1, D1)
      scal(i, :) = s1
      D(i, :) = D1
    end do
  end subroutine realgas_points

  !> The root rule, for tests: molar volume [m3/mol] from a and b of the mixture.
  subroutine realgas_volume(T, p, a, bm, v) bind(c, name='realgas_volume')
    real(c_double), value :: T, p, a, bm
    real(c_double), intent(out) :: v

    call prEOSCalcMolarVolume(T, p, a, bm, v)
  end subroutine realgas_volume

end module propertiesModule
