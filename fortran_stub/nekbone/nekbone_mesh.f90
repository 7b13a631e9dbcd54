!> Points and derivatives of an element, sums over what elements share, boundary conditions.
module nekboneMesh
  use nekboneCase, only : dp, Part
  use mpi
  implicit none
  private
  public :: lobatto, addShared, clearBoundary, rightSide

contains

  !> Points x of Gauss, Lobatto and Legendre on [-1, 1], their weights, and D: D u are the slopes of u at the points.
  subroutine lobatto(n, x, weight, D)
    integer, intent(in)   :: n
    real(dp), intent(out) :: x(n), weight(n), D(n, n)
    real(dp) :: P(0:n), slope, curve
    integer  :: i, j, k
    do i = 1, n
      x(i) = -cos(acos(-1.0_dp)*(i - 1)/(n - 1))
      do k = 1, 30                                   ! Newton's iteration on (1 - x^2) P'(x) = 0; the ends stay
        if (i == 1 .or. i == n) exit
        call legendre(x(i), P)
        slope = (n - 1)*(P(n - 2) - x(i)*P(n - 1))/(1 - x(i)**2)
        curve = (2*x(i)*slope - n*(n - 1)*P(n - 1))/(1 - x(i)**2)
        x(i) = x(i) - slope/curve
      end do
      call legendre(x(i), P)
      weight(i) = 2/(n*(n - 1)*P(n - 1)**2)
    end do
    do j = 1, n
      do i = 1, n
        if (i /= j) D(i, j) = last(x(i))/(last(x(j))*(x(i) - x(j)))
      end do
    end do
    do i = 1, n                                      ! the slope of a constant is 0
      D(i, i) = 0
      D(i, i) = -sum(D(i, :))
    end do

  contains

    subroutine legendre(at, values)
      real(dp), intent(in)  :: at
      real(dp), intent(out) :: values(0:n)
      integer :: m
      values(0:1) = [1.0_dp, at]
      do m = 2, n
        values(m) = ((2*m - 1)*at*values(m - 1) - (m - 1)*values(m - 2))/m
      end do
    end subroutine legendre

    real(dp) function last(at)
      real(dp), intent(in) :: at
      call legendre(at, P)
      last = P(n - 1)
    end function last

  end subroutine lobatto

  !> At points that elements share, each gets the sum over them. First across faces in x, then in y, then in z: edges and
  !! corners have their sums then. a + b = b + a, so all who share a point have the same bits, on any number of ranks.
  subroutine addShared(n, s, u)
    integer, intent(in)     :: n
    type(Part), intent(in)  :: s
    real(dp), intent(inout) :: u(n, n, n, s%n(1), s%n(2), s%n(3))
    integer :: e, f, g, j, k
    associate (mx => s%n(1), my => s%n(2), mz => s%n(3))
      do g = 1, mz
        do f = 1, my
          do e = 1, mx - 1
            do k = 1, n
              do j = 1, n
                u(n, j, k, e, f, g) = u(n, j, k, e, f, g) + u(1, j, k, e + 1, f, g)
                u(1, j, k, e + 1, f, g) = u(n, j, k, e, f, g)
              end do
            end do
          end do
        end do
      end do
      call exchange(u(1, :, :, 1, :, :), u(n, :, :, mx, :, :), 1)
      do g = 1, mz
        do f = 1, my - 1
          do e = 1, mx
            u(:, n, :, e, f, g) = u(:, n, :, e, f, g) + u(:, 1, :, e, f + 1, g)
            u(:, 1, :, e, f + 1, g) = u(:, n, :, e, f, g)
          end do
        end do
      end do
      call exchange(u(:, 1, :, :, 1, :), u(:, n, :, :, my, :), 2)
      do g = 1, mz - 1
        do f = 1, my
          do e = 1, mx
            u(:, :, n, e, f, g) = u(:, :, n, e, f, g) + u(:, :, 1, e, f, g + 1)
            u(:, :, 1, e, f, g + 1) = u(:, :, n, e, f, g)
          end do
        end do
      end do
      call exchange(u(:, :, 1, :, :, 1), u(:, :, n, :, :, mz), 3)
    end associate

  contains

    !> The two end faces of the rank's part in direction d get what the neighbours' faces have.
    subroutine exchange(low, high, d)
      real(dp), intent(inout) :: low(:,:,:,:), high(:,:,:,:)
      integer, intent(in)     :: d
      real(dp), allocatable :: sent(:,:,:,:,:), got(:,:,:,:,:)
      integer :: asked(4), ierr
      if (s%low(d) == MPI_PROC_NULL .and. s%high(d) == MPI_PROC_NULL) return
      allocate(sent(size(low, 1), size(low, 2), size(low, 3), size(low, 4), 2))
      allocate(got, source=0*sent)
      got = 0
      sent(:, :, :, :, 1) = low
      sent(:, :, :, :, 2) = high
      associate (many => size(low))
        call MPI_Irecv(got(:, :, :, :, 1), many, MPI_DOUBLE_PRECISION, s%low(d), 1, s%comm, asked(1), ierr)
        call MPI_Irecv(got(:, :, :, :, 2), many, MPI_DOUBLE_PRECISION, s%high(d), 2, s%comm, asked(2), ierr)
        call MPI_Isend(sent(:, :, :, :, 1), many, MPI_DOUBLE_PRECISION, s%low(d), 2, s%comm, asked(3), ierr)
        call MPI_Isend(sent(:, :, :, :, 2), many, MPI_DOUBLE_PRECISION, s%high(d), 1, s%comm, asked(4), ierr)
        call MPI_Waitall(4, asked, MPI_STATUSES_IGNORE, ierr)
      end associate
      if (s%low(d) /= MPI_PROC_NULL) low = low + got(:, :, :, :, 1)
      if (s%high(d) /= MPI_PROC_NULL) high = high + got(:, :, :, :, 2)
    end subroutine exchange

  end subroutine addShared

  !> Zero at the brick's faces: of all elements, or of the rank's first element alone.
  subroutine clearBoundary(n, s, u, first_only)
    integer, intent(in)     :: n
    type(Part), intent(in)  :: s
    real(dp), intent(inout) :: u(n, n, n, s%n(1), s%n(2), s%n(3))
    logical, intent(in)     :: first_only
    integer :: m(3)
    m = merge([1, 1, 1], s%n, first_only)
    if (s%low(1) == MPI_PROC_NULL) u(1, :, :, 1, :m(2), :m(3)) = 0
    if (s%low(2) == MPI_PROC_NULL) u(:, 1, :, :m(1), 1, :m(3)) = 0
    if (s%low(3) == MPI_PROC_NULL) u(:, :, 1, :m(1), :m(2), 1) = 0
    if (s%high(1) == MPI_PROC_NULL .and. m(1) == s%n(1)) u(n, :, :, s%n(1), :m(2), :m(3)) = 0
    if (s%high(2) == MPI_PROC_NULL .and. m(2) == s%n(2)) u(:, n, :, :m(1), s%n(2), :m(3)) = 0
    if (s%high(3) == MPI_PROC_NULL .and. m(3) == s%n(3)) u(:, :, n, :m(1), :m(2), s%n(3)) = 0
  end subroutine clearBoundary

  !> sin(1e9 cos(1e9 i i)), i over the points of all elements of the brick, from 1; i i in 32 bits, as Nekbone has it.
  subroutine rightSide(n, elements, s, f)
    integer, intent(in)    :: n, elements(3)
    type(Part), intent(in) :: s
    real(dp), intent(out)  :: f(n**3, s%n(1), s%n(2), s%n(3))
    integer, parameter :: long = selected_int_kind(18)
    integer(long) :: number, square
    integer :: e, g, h, i
    do h = 1, s%n(3)
      do g = 1, s%n(2)
        do e = 1, s%n(1)
          associate (at => s%first + [e, g, h] - 1)
            number = (int(at(3), long)*elements(2) + at(2))*elements(1) + at(1)
          end associate
          do i = 1, n**3
            square = (number*n**3 + i)**2
            square = modulo(square + 2_long**31, 2_long**32) - 2_long**31
            f(i, e, g, h) = sin(1e9_dp*cos(1e9_dp*square))
          end do
        end do
      end do
    end do
  end subroutine rightSide

end module nekboneMesh
