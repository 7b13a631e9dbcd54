!> The switch: properties of arrays of points, by the layer with one call for each array, or by plain Fortran, point by
!! point.
module castlesProperties
  use mpi
  use speciesTables, only : dp
  use frame_interface, only : frame_block, frame_in, frame_out, frame_pin, frame_unpin
  use castlesPlain
  implicit none
  private
  public :: Cells, allocateCells, releaseCells, propertiesOfFaces, propertiesOfCells, temperatureOfInlet, use_frame, property_time

  logical  :: use_frame = .false.
  real(dp) :: property_time = 0           ! s, copies in and out included

  type :: Cells
    real(dp), allocatable, dimension(:,:,:)   :: rho, h, c, rhop, rhoT, hp, hT, mu, lam
    real(dp), allocatable, dimension(:,:,:,:) :: rhoY, hY, D
  end type Cells

contains

  !> Pins the arrays: their memory stays in place until releaseCells, and the layer relies on that.
  subroutine allocateCells(n, ns, s)
    integer, intent(in)        :: n(3), ns
    type(Cells), intent(inout), target :: s

    call releaseCells(s)
    allocate(s%rho(n(1), n(2), n(3)), s%h(n(1), n(2), n(3)), s%c(n(1), n(2), n(3)), s%rhop(n(1), n(2), n(3)), &
             s%rhoT(n(1), n(2), n(3)), s%hp(n(1), n(2), n(3)), s%hT(n(1), n(2), n(3)), s%mu(n(1), n(2), n(3)), &
             s%lam(n(1), n(2), n(3)), s%rhoY(n(1), n(2), n(3), ns), s%hY(n(1), n(2), n(3), ns), s%D(n(1), n(2), n(3), ns))
    call frame_pin(s%rho); call frame_pin(s%h); call frame_pin(s%c); call frame_pin(s%rhop); call frame_pin(s%rhoT)
    call frame_pin(s%hp); call frame_pin(s%hT); call frame_pin(s%mu); call frame_pin(s%lam)
    call frame_pin(s%rhoY); call frame_pin(s%hY); call frame_pin(s%D)
  end subroutine allocateCells

  subroutine releaseCells(s)
    type(Cells), intent(inout), target :: s

    if (.not. allocated(s%rho)) return
    call frame_unpin(s%rho); call frame_unpin(s%h); call frame_unpin(s%c); call frame_unpin(s%rhop); call frame_unpin(s%rhoT)
    call frame_unpin(s%hp); call frame_unpin(s%hT); call frame_unpin(s%mu); call frame_unpin(s%lam)
    call frame_unpin(s%rhoY); call frame_unpin(s%hY); call frame_unpin(s%D)
    deallocate(s%rho, s%h, s%c, s%rhop, s%rhoT, s%hp, s%hT, s%mu, s%lam, s%rhoY, s%hY, s%D)
  end subroutine releaseCells

  !> rho and h0 at every point of Q(:, :, :, p u v w T Y): interpolated states at faces.
  subroutine propertiesOfFaces(Q, rho, h0)
    real(dp), intent(in), target, contiguous    :: Q(:,:,:,:)
    real(dp), intent(inout), target, contiguous :: rho(:,:,:), h0(:,:,:)
    real(dp) :: Y(size(Q, 4) - 5), t0
    integer  :: i, j, k

    t0 = MPI_Wtime()

    if (use_frame) then
      call frame_block('rho_h0_from_T_p', [frame_in('Q', Q), frame_out('rho', rho), frame_out('h0', h0)])
    else
      do k = 1, size(Q, 3)
        do j = 1, size(Q, 2)
          do i = 1, size(Q, 1)
            Y = Q(i, j, k, 6:)
            call plainRhoH0FromTP(Q(i, j, k, 5), Q(i, j, k, 1), Y, Q(i, j, k, 2), Q(i, j, k, 3), Q(i, j, k, 4), rho(i, j, k), &
                                  h0(i, j, k))
          end do
        end do
      end do
    end if

    property_time = property_time + MPI_Wtime() - t0
  end subroutine propertiesOfFaces

  !> All properties of the cells lo to hi. The plain loop leaves out the edges of that box: no flux reads them.
  subroutine propertiesOfCells(Q, lo, hi, s)
    real(dp), intent(in), target, contiguous :: Q(:,:,:,:)
    integer, intent(in)                      :: lo(3), hi(3)
    type(Cells), intent(inout), target       :: s
    real(dp) :: Y(size(Q, 4) - 5), rhoY(size(Q, 4) - 5), hY(size(Q, 4) - 5), D(size(Q, 4) - 5), t0
    integer  :: i, j, k

    t0 = MPI_Wtime()

    if (use_frame) then
      ! mu, lam and D are not among the collection's outputs: a block call computes any outputs that it names
      call frame_block('gamma_jacobian_properties', &
                       [frame_in('Q', Q), frame_out('rho', s%rho), frame_out('h', s%h), frame_out('c', s%c), &
                        frame_out('rho_p', s%rhop), frame_out('rho_T', s%rhoT), frame_out('h_p', s%hp), &
                        frame_out('h_T', s%hT), frame_out('rho_Y', s%rhoY), frame_out('h_Y', s%hY), &
                        frame_out('mu', s%mu), frame_out('lam', s%lam), frame_out('D', s%D)], lo, hi)
    else
      do k = lo(3), hi(3)
        do j = lo(2), hi(2)
          do i = lo(1), hi(1)
            if (count([i, j, k] == lo .or. [i, j, k] == hi) > 1) cycle
            Y = Q(i, j, k, 6:)
            call plainCell(Q(i, j, k, 5), Q(i, j, k, 1), Y, s%rho(i, j, k), s%h(i, j, k), s%c(i, j, k), s%rhop(i, j, k), &
                           s%rhoT(i, j, k), s%hp(i, j, k), s%hT(i, j, k), rhoY, hY, s%mu(i, j, k), s%lam(i, j, k), D)
            s%rhoY(i, j, k, :) = rhoY
            s%hY(i, j, k, :) = hY
            s%D(i, j, k, :) = D
          end do
        end do
      end do
    end if

    property_time = property_time + MPI_Wtime() - t0
  end subroutine propertiesOfCells

  !> T(ny, nz) at the inlet from h, p and Y there; the values in T start the iteration.
  subroutine temperatureOfInlet(h, p, Y, T)
    real(dp), intent(in), target, contiguous    :: h(:,:), p(:,:), Y(:,:,:)
    real(dp), intent(inout), target, contiguous :: T(:,:)
    real(dp), target :: start(size(T, 1), size(T, 2))
    real(dp) :: Y1(size(Y, 3)), t0
    integer  :: j, k

    t0 = MPI_Wtime()

    if (use_frame) then
      start = T
      call frame_block('T_from_h_p', [frame_in('h', h), frame_in('p', p), frame_in('Y', Y), frame_in('T_start', start), &
                                      frame_out('T', T)])
    else
      do k = 1, size(T, 2)
        do j = 1, size(T, 1)
          Y1 = Y(j, k, :)
          call plainTFromHP(h(j, k), p(j, k), Y1, T(j, k))
        end do
      end do
    end if

    property_time = property_time + MPI_Wtime() - t0
  end subroutine temperatureOfInlet

end module castlesProperties
