!> Binary and mixture-averaged diffusion with Takahashi's correction for pressure, one grid point at a time.
module diffusionModule
  use speciesTables
  implicit none
  private
  public :: diffCalcTakahashi, diffCalcBinary, diffCalcMixtureAveraged
  public :: diffFactorError, diffCalcPairFactor, tiny_x, taka, nrow

  real(dp), parameter :: tiny_x = 1.0e-20_dp
  integer, parameter  :: nrow = 17
  ! Columns: Pr, D0, A, B, C, E of (D0)(1 - A Tr^-B)(1 - C Tr^-E), as Takahashi's table
  real(dp), parameter :: taka(6, nrow) = reshape([ &
                                                 0.1_dp, 1.01_dp, 0.038042_dp, 1.52267_dp, 0.0_dp,      1.0_dp, &
                                                 0.2_dp, 1.01_dp, 0.067433_dp, 2.16794_dp, 0.0_dp,      1.0_dp, &
                                                 0.3_dp, 1.01_dp, 0.098317_dp, 2.42910_dp, 0.0_dp,      1.0_dp, &
                                                 0.4_dp, 1.01_dp, 0.137610_dp, 2.77605_dp, 0.0_dp,      1.0_dp, &
                                                 0.5_dp, 1.01_dp, 0.175081_dp, 2.98256_dp, 0.0_dp,      1.0_dp, &
                                                 0.6_dp, 1.01_dp, 0.216376_dp, 3.11384_dp, 0.0_dp,      1.0_dp, &
                                                 0.8_dp, 1.01_dp, 0.314051_dp, 3.50264_dp, 0.0_dp,      1.0_dp, &
                                                 1.0_dp, 1.02_dp, 0.385736_dp, 3.07773_dp, 0.141211_dp, 13.45454_dp, &
                                                 1.2_dp, 1.02_dp, 0.514553_dp, 3.54744_dp, 0.278407_dp, 14.0_dp, &
                                                 1.4_dp, 1.02_dp, 0.599184_dp, 3.61216_dp, 0.372683_dp, 10.00900_dp, &
                                                 1.6_dp, 1.02_dp, 0.557725_dp, 3.41882_dp, 0.504894_dp, 8.57519_dp, &
                                                 1.8_dp, 1.03_dp, 0.593007_dp, 3.18415_dp, 0.678469_dp, 10.37483_dp, &
                                                 2.0_dp, 1.03_dp, 0.696001_dp, 3.37660_dp, 0.665702_dp, 11.21674_dp, &
                                                 2.5_dp, 1.04_dp, 0.790770_dp, 3.27984_dp, 0.0_dp,      1.0_dp, &
                                                 3.0_dp, 1.05_dp, 0.502100_dp, 3.39031_dp, 0.602907_dp, 6.19043_dp, &
                                                 4.0_dp, 1.06_dp, 0.837452_dp, 3.23513_dp, 0.0_dp,      1.0_dp, &
                                                 5.0_dp, 1.07_dp, 0.890390_dp, 3.13001_dp, 0.0_dp,      1.0_dp], [6, nrow])

contains

  !> One row of the table at Tr. In cold liquids both brackets are negative and their product is positive: `smooth`
  !! takes 0 for each then.
  pure subroutine takahashiRow(row, Tr, f)
    integer, intent(in)   :: row
    real(dp), intent(in)  :: Tr
    real(dp), intent(out) :: f
    real(dp) :: first, second

    first = 1 - taka(3, row)*Tr**(-taka(4, row))
    second = 1
    if (taka(5, row) /= 0) second = 1 - taka(5, row)*Tr**(-taka(6, row))

    if (takahashi_form == TAKAHASHI_SMOOTH) then
      first = max(first, 0.0_dp)
      second = max(second, 0.0_dp)
    end if

    f = taka(2, row)*first*second
  end subroutine takahashiRow

  !> (D p)/(D p at low pressure) at Pr, Tr: linear in Pr between rows, the last row beyond Pr = 5. Below 0.1 the table
  !! has no row: `table` takes 1 (and jumps at 0.1), `smooth` is linear from 1 at Pr = 0. The factor is at least 0.01 in
  !! `smooth`, 1e-20 in `table`.
  pure subroutine diffCalcTakahashi(Pr, Tr, factor)
    real(dp), intent(in)  :: Pr, Tr
    real(dp), intent(out) :: factor
    real(dp) :: f1, f2, weight
    integer  :: row

    if (takahashi_form == TAKAHASHI_OFF) then
      factor = 1
    else if (Pr < taka(1, 1)) then
      factor = 1

      if (takahashi_form == TAKAHASHI_SMOOTH) then
        call takahashiRow(1, Tr, f2)
        factor = 1 + (f2 - 1)*Pr/taka(1, 1)
      end if
    else if (Pr >= taka(1, nrow)) then
      call takahashiRow(nrow, Tr, factor)
    else
      row = 1
      do while (Pr >= taka(1, row + 1))
        row = row + 1
      end do
      weight = (Pr - taka(1, row))/(taka(1, row + 1) - taka(1, row))
      call takahashiRow(row, Tr, f1)
      call takahashiRow(row + 1, Tr, f2)
      factor = (1 - weight)*f1 + weight*f2
    end if

    factor = max(factor, merge(1.0e-2_dp, 1.0e-20_dp, takahashi_form == TAKAHASHI_SMOOTH))
  end subroutine diffCalcTakahashi

  !> Error bound of Takahashi's factor in the layer: 6e-7 in `smooth`, which reads it from a finer table. In `table`
  !! both programs round powers: 32 eps, and more where these are steep and large, in the cold.
  pure real(dp) function diffFactorError(Tr, factor) result(error)
    real(dp), intent(in) :: Tr, factor

    error = 0
    if (takahashi_form == TAKAHASHI_SMOOTH) error = 6.0e-7_dp

    if (takahashi_form == TAKAHASHI_TABLE) then
      error = 32*epsilon(1.0_dp)
      if (Tr < 1) error = 100*error*max(1.0_dp, abs(factor))
    end if
  end function diffFactorError

  !> The factor of a pair at its own reduced state, and the state's Tr.
  pure subroutine diffCalcPairFactor(T, p, X, i, j, Tr, factor)
    real(dp), intent(in)  :: T, p, X(ns)
    integer, intent(in)   :: i, j
    real(dp), intent(out) :: Tr, factor
    real(dp) :: xi, xj, Pr

    Tr = 1
    factor = 1
    if (takahashi_form == TAKAHASHI_OFF) return
    xi = max(X(i), tiny_x)
    xj = max(X(j), tiny_x)
    Tr = T*(xi + xj)/(xi*Tc(i) + xj*Tc(j))
    Pr = p*(xi + xj)/(xi*pc(i) + xj*pc(j))
    call diffCalcTakahashi(Pr, Tr, factor)
  end subroutine diffCalcPairFactor

  !> Binary coefficients D_ij [m2/s] with the correction of each pair at its own reduced state. shift: 0, or -1 or 1 to
  !! change the factor by its error bound. D_ii is set only where there is one species.
  pure subroutine diffCalcBinary(T, p, X, shift, D)
    real(dp), intent(in)  :: T, p, X(ns)
    integer, intent(in)   :: shift
    real(dp), intent(out) :: D(ns, ns)
    real(dp) :: z, Tpow, Tr, factor
    integer  :: i, j

    z = log(T)
    Tpow = T**1.5_dp
    if (diffusion_form == DIFFUSION_KINETIC) z = T**(-0.25_dp)
    if (diffusion_form == DIFFUSION_FULLER) Tpow = T**1.75_dp

    do j = 1, ns
      do i = 1, j
        if (i == j .and. ns > 1) cycle
        call diffCalcPairFactor(T, p, X, i, j, Tr, factor)
        if (shift /= 0) factor = factor + shift*diffFactorError(Tr, factor)

        if (diffusion_form == DIFFUSION_FULLER) then
          D(i, j) = pD_fuller(i, j)
        else
          D(i, j) = pair_fit(1, i, j) + z*(pair_fit(2, i, j) + z*(pair_fit(3, i, j) + z*(pair_fit(4, i, j) + z*pair_fit(5, i, j))))
          if (diffusion_form == DIFFUSION_KINETIC) D(i, j) = 1/D(i, j)           ! a fit of T^1.5/(p D_ij) in T^(-1/4)
        end if

        D(i, j) = D(i, j)*Tpow*factor/p
        D(j, i) = D(i, j)
      end do
    end do
  end subroutine diffCalcBinary

  !> D_k = sum_{j/=k} x_j W_j/(M sum_{j/=k} x_j/D_kj) [m2/s]. Traces have a floor, so that a pure point has its limit:
  !! 1e-20 mol/kg, in the form `table` a mole fraction of 1e-20. The layer has the same floor, since it matters where
  !! all other species are traces.
  pure subroutine diffCalcMixtureAveraged(T, p, X, Wmix, shift, D)
    real(dp), intent(in)  :: T, p, X(ns), Wmix
    integer, intent(in)   :: shift
    real(dp), intent(out) :: D(ns)
    real(dp) :: Dij(ns, ns), amount(ns), mass, friction
    integer  :: j, k

    amount = X
    if (takahashi_form /= TAKAHASHI_TABLE) amount = X/Wmix
    amount = max(amount, tiny_x)
    call diffCalcBinary(T, p, amount, shift, Dij)

    if (ns == 1) then
      D(1) = Dij(1, 1)
      return
    end if

    do k = 1, ns
      mass = 0
      friction = 0

      do j = 1, ns
        if (j == k) cycle
        mass = mass + amount(j)*W(j)
        friction = friction + amount(j)/Dij(j, k)
      end do

      D(k) = mass/(Wmix*friction)
    end do
  end subroutine diffCalcMixtureAveraged

end module diffusionModule
