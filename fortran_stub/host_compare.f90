!> The plain Fortran loop over the same points, and the comparison of the two sets of results over all ranks.
module hostCompare
  use mpi
  use speciesTables
  use hostConfig, only : HostInputs
  use hostField, only : Block, UNSET
  use preosModule, only : prEOSCalcMoleFractions, prEOSHasTwoRoots
  use propertiesModule
  implicit none
  private
  public :: fortranProperties, Worst, wantedScalars, updateWorst, printWorst, fringeUntouched, fieldSummary

  integer, parameter :: iW = 1, iZ = 2, irho = 3, ih = 4, ie = 5, icp = 6, irhop = 10, irhoT = 11, ihp = 12, ih0 = 14

  !> The largest difference of one quantity so far, and where; conditioning is the field's own (see printWorst).
  type :: Worst
    real(dp) :: difference = 0
    integer  :: rank = 0, step = 0, at(3) = 0
  end type Worst

contains

  !> Which of scalar_names the collection gives; transport: mu, lam and D.
  subroutine wantedScalars(collection, wanted, transport)
    character(len=*), intent(in) :: collection
    logical, intent(out)         :: wanted(nscalar), transport
    transport = collection /= 'thermal'
    wanted(:14) = collection /= 'viscous'
    wanted(15:) = transport
  end subroutine wantedScalars

  !> What the host did before: every interior point, one at a time.
  subroutine fortranProperties(b, thermal, viscous)
    type(Block), intent(inout) :: b
    logical, intent(in)        :: thermal, viscous
    real(dp) :: Y(ns), scal(nscalar), D(ns)
    integer  :: i, j, k
    do k = b%SptZ, b%EptZ
      do j = b%SptY, b%EptY
        do i = b%SptX, b%EptX
          Y = b%Q(i, j, k, 6:)
          if (.not. thermal) scal = b%fortran(i, j, k, :nscalar)       ! rho and cv are there already
          call propertiesPoint(b%Q(i, j, k, 5), b%Q(i, j, k, 1), Y, b%Q(i, j, k, 2), b%Q(i, j, k, 3), b%Q(i, j, k, 4), &
                               thermal, viscous, scal, D)
          b%fortran(i, j, k, :nscalar) = scal
          if (viscous) b%fortran(i, j, k, nscalar + 1:) = D
        end do
      end do
    end do
  end subroutine fortranProperties

  !> Size against which a difference is relative. h, e, h0 and h_p cross zero: there it is the size of the terms that cancel.
  pure real(dp) function scaleOf(m, T, f)
    integer, intent(in)  :: m
    real(dp), intent(in) :: T, f(:)
    select case (m)
    case (ih, ie, ih0)
      scaleOf = abs(f(m)) + f(icp)*T
    case (ihp)                                   ! h_p = (1 + T rho_T/rho)/rho
      scaleOf = (1 + abs(T*f(irhoT)/f(irho)))/f(irho)
    case default
      scaleOf = abs(f(m))
    end select
  end function scaleOf

  !> Fold this rank's block into the worst differences; slot nscalar + 1 is D, over the species.
  subroutine updateWorst(b, rank, step, wanted, transport, found)
    type(Block), intent(in)    :: b
    integer, intent(in)        :: rank, step
    logical, intent(in)        :: wanted(nscalar), transport
    type(Worst), intent(inout) :: found(nscalar + 1)
    real(dp) :: d
    integer  :: i, j, k, m, slot
    do m = 1, b%nout
      slot = min(m, nscalar + 1)
      if (m <= nscalar) then
        if (.not. wanted(m)) cycle
      else if (.not. transport) then
        cycle
      end if
      do k = b%SptZ, b%EptZ
        do j = b%SptY, b%EptY
          do i = b%SptX, b%EptX
            d = abs(b%layer(i, j, k, m) - b%fortran(i, j, k, m))/scaleOf(m, b%Q(i, j, k, 5), b%fortran(i, j, k, :))
            if (.not. d < huge(d)) d = huge(d)                         ! NaN is the largest difference there is
            if (d > found(slot)%difference .or. found(slot)%step == 0) found(slot) = Worst(d, rank, step, [i, j, k])
          end do
        end do
      end do
    end do
  end subroutine updateWorst

  !> Differences of all ranks to rank 0's table; ok, on every rank, if each is within its tolerance.
  !!
  !! Both programs round; what they may differ by follows from how far the quantity amplifies a rounding. The field's own
  !! amplification A = max(p rho_p/rho, T|rho_T|/rho) is measured on the pure Fortran result: 1 for an ideal gas, large where
  !! the isotherm is flat. A root carries A roundings' worth, a first derivative of rho A^2 (its own amplification times that
  !! of the rho it is taken at), a quotient of derivatives the same. n counts roundings: about 3 operations a species pair
  !! (sums of ns^2 terms, worst case linear), 100 more for exp, log, powers and the cubic.
  subroutine printWorst(comm, found, wanted, transport, amplification, factor, ok)
    integer, intent(in)     :: comm
    type(Worst), intent(in) :: found(nscalar + 1)
    logical, intent(in)     :: wanted(nscalar), transport
    real(dp), intent(in)    :: amplification, factor
    logical, intent(out)    :: ok
    real(dp) :: mine(2), all(2), tolerance, A, roundings
    integer  :: m, rank, ierr, where(5)
    character(len=5) :: name
    call MPI_Comm_rank(comm, rank, ierr)
    call MPI_Allreduce(amplification, A, 1, MPI_DOUBLE_PRECISION, MPI_MAX, comm, ierr)
    roundings = 100 + 3.0_dp*ns*ns
    ok = .true.
    if (rank == 0) then
      print '(/,a,f0.1,a)', 'Layer against plain Fortran. In this field a relative change of p or T moves rho by up to ', A, &
        ' times as much.'
      print '(a)', '  quantity   largest relative difference   tolerance    rank   step      i     j     k'
    end if
    do m = 1, nscalar + 1
      if (m > nscalar) then
        if (.not. transport) exit
        name = 'D'
      else
        if (.not. wanted(min(m, nscalar))) cycle
        name = scalar_names(min(m, nscalar))
      end if
      tolerance = factor*epsilon(1.0_dp)*roundings
      select case (name)
      case ('W', 'D')                            ! no root in them
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
      if (rank == 0) print '(2x,a,t22,es10.2,t42,es10.1,t54,i6,i7,2x,3i6,a)', name, all(1), tolerance, where, &
        merge('   ABOVE', '        ', all(1) > tolerance)
    end do
  end subroutine printWorst

  !> Every value outside the interior is still what it was.
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

  !> Extremes of T, rho and Z over the interior, the field's amplification of roundings (see printWorst), and the number of
  !! points at which the root rule decides.
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
