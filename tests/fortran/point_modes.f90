!> A function of one point in a host with floating-point modes of its own: traps (-ffpe-trap=...), subnormals flushed to zero
!! (-ffast-math). The function computes as in any host, and leaves modes and flags as they were. Prints what holds, T or F.
program point_modes
  use frame_interface
  use, intrinsic :: ieee_exceptions
  implicit none
  integer, parameter :: ns = 9
  integer(8), parameter :: tiny_bits = 1024_8 ! a subnormal number
  procedure(frame_point), pointer :: thermal
  real(8) :: point(2 + ns), made(2 + ns)
  real(8), volatile :: half ! not computed by the compiler
  logical :: before(size(ieee_all)), after(size(ieee_all))

  call frame_initialize(-1, 16, ns, ns + 5, 0)
  call frame_setoption('equation', 'ideal')
  call frame_loadmixture('examples/mechanisms/h2_o2.yaml')
  call frame_getpoint('T, p, Y', 'rho, h, X', thermal)
  point = 0
  point(1:2) = [1000d0, 1d5]
  point(11) = 1 ! N2
  half = transfer(tiny_bits, 0d0)

  print '(a,l2)', 'the host keeps subnormals:', .not. is_zero(0.5d0*half)
  point(3) = half
  call ieee_get_flag(ieee_all, before)
  call thermal(point, made)
  call ieee_get_flag(ieee_all, after)
  print '(a,l2)', 'the function keeps subnormals:', .not. is_zero(made(3))
  print '(a,l2)', 'flags stay:', all(before .eqv. after)

  point(1) = -5
  call ieee_get_flag(ieee_all, before)
  call thermal(point, made)
  call ieee_get_flag(ieee_all, after)
  print '(a,l2)', 'out of range is NaN:', is_nan(made(1))
  print '(a,l2)', 'flags stay:', all(before .eqv. after)
  print '(a,l2)', 'the host keeps subnormals:', .not. is_zero(0.5d0*half)
  call frame_finalize()

contains

  ! by their bits: with -ffast-math a compiler takes for granted that there is no NaN
  pure logical function is_zero(x)
    real(8), intent(in) :: x
    is_zero = ibits(transfer(x, 0_8), 0, 63) == 0
  end function is_zero

  pure logical function is_nan(x)
    real(8), intent(in) :: x
    is_nan = ibits(transfer(x, 0_8), 52, 11) == 2047 .and. ibits(transfer(x, 0_8), 0, 52) /= 0
  end function is_nan
end program point_modes
