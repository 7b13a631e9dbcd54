!> The operator of an element in plain Fortran: what the layer is compared with. For the numbers of points that runs
!! mostly have, the compiler knows the number; that is worth a factor.
module nekbonePlain
  use nekboneCase, only : dp
  implicit none
  private
  public :: plainAx

contains

  subroutine plainAx(n, elements, D, u, g, w)
    integer, intent(in)   :: n, elements
    real(dp), intent(in)  :: D(n, n), u(n, n, n, elements), g(n, n, n, elements, 6)
    real(dp), intent(out) :: w(n, n, n, elements)
    select case (n)
    case (8)
      call ax8(elements, D, u, g, w)
    case (10)
      call ax10(elements, D, u, g, w)
    case (12)
      call ax12(elements, D, u, g, w)
    case (16)
      call ax16(elements, D, u, g, w)
    case default
      call axAny(n, elements, D, u, g, w)
    end select
  end subroutine plainAx

  subroutine ax8(elements, D, u, g, w)
    integer, parameter :: n = 8
    include 'nekbone_ax.inc'
  end subroutine ax8

  subroutine ax10(elements, D, u, g, w)
    integer, parameter :: n = 10
    include 'nekbone_ax.inc'
  end subroutine ax10

  subroutine ax12(elements, D, u, g, w)
    integer, parameter :: n = 12
    include 'nekbone_ax.inc'
  end subroutine ax12

  subroutine ax16(elements, D, u, g, w)
    integer, parameter :: n = 16
    include 'nekbone_ax.inc'
  end subroutine ax16

  subroutine axAny(n, elements, D, u, g, w)
    integer, intent(in) :: n
    include 'nekbone_ax.inc'
  end subroutine axAny

end module nekbonePlain
