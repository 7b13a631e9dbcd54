!> The same properties as a Fortran programmer writes them for speed, with the algebra of libframe: the strongest plain
!! Fortran with which it is compared. Points are processed in blocks, and loops over points are innermost, so that the
!! compiler vectorises them. All per kg inside: Y/W are moles of a species in a kilogram, b is in m3/kg, a in Pa m6/kg2.
!! Linked in place of properties.f90, behind the same symbol.
module reducedModule
  use, intrinsic :: iso_c_binding, only : c_int, c_double
  use speciesTables
  use reducedTables
  use reducedThermal
  use reducedTransport
  implicit none
  private

contains

  !> Loop over n points, with the arrays and the parts of realgas_points in properties.f90.
  subroutine points(n, part, T, p, Y, scal, D) bind(c, name='realgas_points')
    integer(c_int), value :: n, part
    real(c_double), intent(in)    :: T(n), p(n), Y(n, ns)
    real(c_double), intent(inout) :: scal(n, nscalar), D(n, ns)
    real(dp) :: T_(nb), p_(nb), Y_(nb, ns), D_(nb, ns), s_(nb, nscalar), s(nb, NSUMS)
    integer  :: first, last, k

    if (made_for /= setups) call prepare()

    do first = 1, n, nb
      last = min(first + nb - 1, n)
      k = last - first + 1
      T_(:k) = T(first:last)
      p_(:k) = p(first:last)
      Y_(:k, :) = Y(first:last, :)
      s_(:k, 3) = scal(first:last, 3)
      s_(:k, 7) = scal(first:last, 7)

      if (k < nb) then                ! a last block that is not full is filled with its last point
        T_(k + 1:) = T_(k)
        p_(k + 1:) = p_(k)
        Y_(k + 1:, :) = spread(Y_(k, :), 1, nb - k)
        s_(k + 1:, 3) = s_(k, 3)
        s_(k + 1:, 7) = s_(k, 7)
      end if

      call speciesSums(merge(1, AT_MOLES, iand(part, 1) /= 0), merge(NSUMS, AT_CHUNG - 1, iand(part, 2) /= 0), T_, Y_, s)

      if (iand(part, 1) /= 0) then
        call thermalBlock(T_, p_, Y_, s, s_)
        scal(first:last, 1:14) = s_(:k, 1:14)
      end if

      if (iand(part, 2) /= 0) then
        call chungBlock(T_, Y_, s, s_)
        call diffusionBlock(T_, p_, Y_, s, D_)
        scal(first:last, 15:16) = s_(:k, 15:16)
        D(first:last, :) = D_(:k, :)
      end if
    end do
  end subroutine points

end module reducedModule
