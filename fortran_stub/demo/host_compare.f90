!> The plain Fortran loop over the same points, and the comparison of the two sets of results over all ranks.
module hostCompare
  use mpi
  use speciesTables
  use hostConfig, only : HostInputs
  use hostField, only : Block, UNSET
  use chungTransModule, only : chungCalcPoleDistance
  use diffusionModule, only : diffCalcMixtureAveraged
  use preosModule, only : prEOSCalcMoleFractions, prEOSHasTwoRoots
  use propertiesModule
  implicit none
  private
  public :: fortranProperties, Worst, nworst, wantedScalars, updateWorst, printWorst, fringeUntouched, fieldSummary

  integer, parameter :: iZ = 2, irho = 3, ih = 4, ie = 5, icp = 6, irhop = 10, irhoT = 11, ihp = 12, ih0 = 14, imu = 15

  integer, parameter :: nworst = nscalar + 2        ! the scalars, D, and the difference of D over the allowed one

  !> The largest difference of one quantity so far, and its place.
  type :: Worst
    real(dp) :: difference = 0
    integer  :: rank = 0, step = 0, at(3) = 0
  end type Worst

contains

  !> wanted: the scalar_names that the collection gives. transport: whether it gives mu, lam and D.
  subroutine wantedScalars(collection, wanted, transport)
    character(len=*), intent(in) :: collection
    logical, intent(out)         :: wanted(nscalar), transport
    transport = collection /= 'thermal'
    wanted(:14) = collection /= 'viscous'
    wanted(15:) = transport
  end subroutine wantedScalars

  !> The host's own loop: every interior point, one at a time.
  subroutine fortranProperties(b, thermal, viscous)
    type(Block), intent(inout) :: b
    logical, intent(in)        :: thermal, viscous
    real(dp) :: Y(ns), scal(nscalar), D(ns)
    integer  :: i, j, k
    do k = b%SptZ, b%EptZ
      do j = b%SptY, b%EptY
        do i = b%SptX, b%EptX
          Y = b%Q(i, j, k, 6:)
          if (.not. thermal) scal = b%fortran(i, j, k, :nscalar)       ! rho and cv are known
          call propertiesPoint(b%Q(i, j, k, 5), b%Q(i, j, k, 1), Y, b%Q(i, j, k, 2), b%Q(i, j, k, 3), b%Q(i, j, k, 4), &
                               thermal, viscous, scal, D)
          b%fortran(i, j, k, :nscalar) = scal
          if (viscous) b%fortran(i, j, k, nscalar + 1:) = D
        end do
      end do
    end do
  end subroutine fortranProperties

  !> Scale of a difference; TY = T, Y_1.., f: the plain results. h, e, h0 and h_p cross zero: their scale is the size of
  !! the terms that cancel. The scale of mu grows near a pole (the pole-free form has none).
  pure real(dp) function scaleOf(m, TY, f)
    integer, intent(in)  :: m
    real(dp), intent(in) :: TY(:), f(:)
    real(dp) :: T, X(ns), Wmix, distance
    T = TY(1)
    select case (m)
    case (ih, ie, ih0)
      scaleOf = abs(f(m)) + f(icp)*T
    case (ihp)                                   ! h_p = (1 + T rho_T/rho)/rho
      scaleOf = (1 + abs(T*f(irhoT)/f(irho)))/f(irho)
    case (imu)
      scaleOf = abs(f(m))
      if (chung_form /= CHUNG_POLEFREE) then
        call prEOSCalcMoleFractions(TY(2:), X, Wmix)
        call chungCalcPoleDistance(X, distance)
        scaleOf = abs(f(m))/distance
      end if
    case default
      scaleOf = abs(f(m))
    end select
  end function scaleOf

  !> Include this rank's block in the worst differences; for D the worst of the species counts.
  subroutine updateWorst(b, rank, step, wanted, transport, found)
    type(Block), intent(in)    :: b
    integer, intent(in)        :: rank, step
    logical, intent(in)        :: wanted(nscalar), transport
    type(Worst), intent(inout) :: found(nworst)
    real(dp) :: scale(ns)
    integer  :: i, j, k, m
    do k = b%SptZ, b%EptZ
      do j = b%SptY, b%EptY
        do i = b%SptX, b%EptX
          do m = 1, nscalar
            if (wanted(m)) call note(m, m, scaleOf(m, b%Q(i, j, k, 5:), b%fortran(i, j, k, :)))
          end do
          if (transport) then
            call diffusionScale(b%Q(i, j, k, 5), b%Q(i, j, k, 1), b%Q(i, j, k, 6:), b%fortran(i, j, k, nscalar + 1:), scale)
            do m = 1, ns
              call note(nscalar + 1, nscalar + m, b%fortran(i, j, k, nscalar + m))
              call note(nscalar + 2, nscalar + m, scale(m))
            end do
          end if
        end do
      end do
    end do

  contains

    subroutine note(slot, m, scale)
      integer, intent(in)  :: slot, m
      real(dp), intent(in) :: scale
      real(dp) :: d
      d = abs(b%layer(i, j, k, m) - b%fortran(i, j, k, m))/scale
      if (.not. d < huge(d)) d = huge(d)                       ! NaN counts as the largest difference
      if (d > found(slot)%difference .or. found(slot)%step == 0) found(slot) = Worst(d, rank, step, [i, j, k])
    end subroutine note

  end subroutine updateWorst

  !> Scale of a difference of D: the change of D by the largest error of Takahashi's factor, up or down
  !! (diffFactorError; D is monotonic in it), plus the roundings of D itself. The tolerance is then 1. In cold liquids
  !! the factor goes to zero, and a relative difference of D would have no meaning.
  subroutine diffusionScale(T, p, Y, D, scale)
    real(dp), intent(in)  :: T, p, Y(ns), D(ns)
    real(dp), intent(out) :: scale(ns)
    real(dp) :: X(ns), Wmix, low(ns), high(ns)
    call prEOSCalcMoleFractions(Y, X, Wmix)
    call diffCalcMixtureAveraged(T, p, X, Wmix, -1, low)
    call diffCalcMixtureAveraged(T, p, X, Wmix, 1, high)
    scale = max(high - D, D - low) + roundings()*epsilon(1.0_dp)*D
  end subroutine diffusionScale

  !> Number of roundings in one quantity: 3 operations for each species pair (sums of ns^2 terms, worst case linear),
  !! 100 more for exp, log, powers and the cubic.
  real(dp) function roundings()
    roundings = 100 + 3.0_dp*ns*ns
  end function roundings

  !> Differences of all ranks to rank 0's table; ok, on every rank, if each is within its tolerance.
  !!
  !! Both programs round. The allowed difference is the number of roundings times the amplification of one rounding. The
  !! field's amplification A = max(p rho_p/rho, T|rho_T|/rho) is measured on the plain Fortran result: 1 for an ideal
  !! gas, large where the isotherm is flat. A quantity that depends on the root alone carries A. Its derivatives carry
  !! A^2 (their own sensitivity, and that of the rho at which they are taken), and so do quotients of derivatives. For D
  !! see diffusionScale.
  subroutine printWorst(comm, found, wanted, transport, amplification, factor, ok)
    integer, intent(in)     :: comm
    type(Worst), intent(in) :: found(nworst)
    logical, intent(in)     :: wanted(nscalar), transport
    real(dp), intent(in)    :: amplification, factor
    logical, intent(out)    :: ok
    real(dp) :: mine(2), all(2), tolerance, A
    integer  :: m, rank, ierr, where(5)
    character(len=5) :: name
    character(len=10) :: limit
    call MPI_Comm_rank(comm, rank, ierr)
    call MPI_Allreduce(amplification, A, 1, MPI_DOUBLE_PRECISION, MPI_MAX, comm, ierr)
    ok = .true.
    if (rank == 0) then
      print '(/,a,f0.1,a)', 'Layer against plain Fortran. In this field a relative change of p or T moves rho by up to ', A, &
        ' times as much.'
      print '(a)', '  quantity   largest relative difference   tolerance    rank   step      i     j     k'
    end if
    do m = 1, nworst
      if (m > nscalar) then
        if (.not. transport) exit
        name = merge('D    ', 'D/tol', m == nscalar + 1)
      else
        if (.not. wanted(min(m, nscalar))) cycle
        name = scalar_names(min(m, nscalar))
      end if
      tolerance = factor*epsilon(1.0_dp)*roundings()
      select case (name)
      case ('W')                                 ! it does not depend on the root
      case ('D')                                 ! judged in the next row
        tolerance = huge(tolerance)
      case ('D/tol')
        tolerance = factor
      case ('Z', 'rho', 'h', 'e', 'h0', 'mu', 'lam')
        tolerance = tolerance*A
      case default
        tolerance = tolerance*A**2
      end select
      mine = [found(m)%difference, real(rank, dp)]
      call MPI_Allreduce(mine, all, 1, MPI_2DOUBLE_PRECISION, MPI_MAXLOC, comm, ierr)
      where = [found(m)%rank, found(m)%step, found(m)%at]
      call MPI_Bcast(where, 5, MPI_INTEGER, nint(all(2)), comm, ierr)
      if (all(1) > tolerance) ok = .false.
      write(limit, '(es10.1)') tolerance
      if (name == 'D') limit = 'see D/tol'
      if (rank == 0) print '(2x,a,t22,es10.2,t42,a10,t54,i6,i7,2x,3i6,a)', name, all(1), limit, where, &
        merge('   ABOVE', '        ', all(1) > tolerance)
    end do
    if (rank == 0 .and. transport) print '(a)', '  (D/tol: the difference of D as a share of what the layer''s stated error ' &
      //'of Takahashi''s factor makes of it)'
  end subroutine printWorst

  !> Whether every value outside the interior is unchanged.
  logical function fringeUntouched(b) result(ok)
    type(Block), intent(in) :: b
    integer :: i, j, k
    ok = .true.
    do k = 1, b%NumZ
      do j = 1, b%NumY
        do i = 1, b%NumX
          if (i >= b%SptX .and. i <= b%EptX .and. j >= b%SptY .and. j <= b%EptY .and. k >= b%SptZ .and. k <= b%EptZ) cycle
          if (any(abs(b%layer(i, j, k, :) - UNSET) > 0)) ok = .false.
        end do
      end do
    end do
  end function fringeUntouched

  !> Extremes of T, rho and Z over the interior, the field's amplification of roundings (see printWorst), and the number
  !! of points at which the root rule matters.
  subroutine fieldSummary(b, low, high, amplification, two_roots)
    type(Block), intent(in)  :: b
    real(dp), intent(out)    :: low(3), high(3), amplification
    integer, intent(out)     :: two_roots
    real(dp) :: v(3), rho, X(ns), Wmix
    integer  :: i, j, k
    low = huge(1.0_dp)
    high = -huge(1.0_dp)
    amplification = 1
    two_roots = 0
    do k = b%SptZ, b%EptZ
      do j = b%SptY, b%EptY
        do i = b%SptX, b%EptX
          rho = b%fortran(i, j, k, irho)
          v = [b%Q(i, j, k, 5), rho, b%fortran(i, j, k, iZ)]
          low = min(low, v)
          high = max(high, v)
          call prEOSCalcMoleFractions(b%Q(i, j, k, 6:), X, Wmix)
          if (prEOSHasTwoRoots(b%Q(i, j, k, 5), b%Q(i, j, k, 1), X)) two_roots = two_roots + 1
          amplification = max(amplification, b%Q(i, j, k, 1)*b%fortran(i, j, k, irhop)/rho, &
                              b%Q(i, j, k, 5)*abs(b%fortran(i, j, k, irhoT))/rho)
        end do
      end do
    end do
  end subroutine fieldSummary

end module hostCompare
