!> Constants of the species and of their pairs, filled once by speciesTablesSetup and read by every property subroutine.
!! SI, per mole, unless the name states another unit. This is the plain Fortran with which libframe is compared.
module speciesTables
  use, intrinsic :: ieee_arithmetic, only : ieee_is_nan
  use, intrinsic :: iso_c_binding, only : c_int, c_double
  implicit none
  public

  integer, parameter  :: dp = kind(1.0d0)
  real(dp), parameter :: Rgas = 8.31446261815324_dp          ! J/mol/K
  real(dp), parameter :: omega_a = 0.45723552892138218_dp    ! Peng-Robinson's numbers, from the triple root at Tc, pc
  real(dp), parameter :: omega_b = 0.0777960739038885_dp
  real(dp), parameter :: omega_vc = 0.307401308698703833_dp

  integer, parameter :: ROOT_GIBBS = 1, ROOT_VAPOUR = 2, ROOT_LIQUID = 3
  integer, parameter :: ALPHA_SMOOTH = 1, ALPHA_PUBLISHED = 2, ALPHA_CANTERA = 3
  integer, parameter :: CHUNG_POLEFREE = 1, CHUNG_PUBLISHED = 2, CHUNG_CANTERA = 3
  integer, parameter :: DIFFUSION_KINETIC = 1, DIFFUSION_FULLER = 2, DIFFUSION_CANTERA = 3
  integer, parameter :: TAKAHASHI_SMOOTH = 1, TAKAHASHI_TABLE = 2, TAKAHASHI_OFF = 3
  integer, parameter :: NOPTIONS = 5                         ! root, alpha, chung, diffusion, takahashi

  integer :: ns = 0
  integer :: setups = 0                                      ! number of fillings, for tables derived from these
  integer :: root_rule, alpha_form, chung_form, diffusion_form, takahashi_form

  real(dp), allocatable :: W(:), Tc(:), pc(:)                ! kg/mol, K, Pa
  real(dp), allocatable :: kappa(:), b(:), aij(:,:)          ! Peng-Robinson: -, m3/mol, Pa m6/mol2 with (1 - k_ij)
  real(dp), allocatable :: nasa_low(:,:), nasa_high(:,:), T_mid(:)   ! (7, ns), K

  ! Data behind the pair tables, for code without these tables (textbook.f90): sigma [A], eps/k [K], dipole [debye], a
  ! at Tc without k_ij [Pa m6/mol2], cube root of Fuller's volume
  real(dp), allocatable :: a_crit(:), k_ij(:,:), sigma(:), eps(:), acentric(:), dip(:), assoc(:), fuller_root(:)

  ! Chung: sigma [A], eps/k [K], M [g/mol], dipole [debye]
  real(dp), allocatable :: sig3(:,:)                         ! sigma_ij^3
  real(dp), allocatable :: eps_sig3(:,:)                     ! eps_ij sigma_ij^3
  real(dp), allocatable :: eps_sig2_rootM(:,:)               ! eps_ij sigma_ij^2 sqrt(M_ij)
  real(dp), allocatable :: omega_sig3(:,:)                   ! omega_ij sigma_ij^3
  real(dp), allocatable :: dip4_sig3(:,:)                    ! mu_i^2 mu_j^2 / sigma_ij^3
  real(dp), allocatable :: kappa_ij(:,:)                     ! sqrt(kappa_i kappa_j), association

  ! (5, ns, ns), p D_ij [Pa m2/s]: `kinetic` T^1.5/sum_k c_k T^(-(k-1)/4), `cantera` T^1.5 sum_k c_k (ln T)^(k-1)
  real(dp), allocatable :: pair_fit(:,:,:)
  real(dp), allocatable :: pD_fuller(:,:)                    ! p D_ij = c_ij T^1.75 [Pa m2/s]

contains

  !> Fill the tables. W [kg/mol], Tc [K], pc [Pa], Vc [m3/mol] (NaN: unknown), dipole [debye] (NaN: none),
  !! k_ij (ns, ns), NASA-7 (7, ns),
  !! binary_fit (5, ns, ns), fuller_volume [cm3/mol] (NaN: unknown). status: 0 done, 1 an option is out of range,
  !! 2 ns < 1, 3 a volume is missing for Fuller's model.
  subroutine speciesTablesSetup(n, W_in, Tc_in, pc_in, omega, Vc_in, dipole, kappa_assoc, kij, low, high, T_mid_in, &
                                binary_fit, fuller_volume, options, status)
    integer, intent(in)  :: n, options(NOPTIONS)
    real(dp), intent(in) :: W_in(n), Tc_in(n), pc_in(n), omega(n), Vc_in(n), dipole(n), kappa_assoc(n), kij(n, n)
    real(dp), intent(in) :: low(7, n), high(7, n), T_mid_in(n), binary_fit(5, n, n), fuller_volume(n)
    integer, intent(out) :: status
    real(dp) :: Vc(n), s, Mij
    integer  :: i, j

    status = 0
    if (n < 1) status = 2
    if (any(options < 1) .or. any(options > [3, 3, 3, 3, 3])) status = 1
    if (options(4) == DIFFUSION_FULLER .and. any(ieee_is_nan(fuller_volume))) status = 3
    if (status /= 0) return
    ns = n
    setups = setups + 1
    root_rule = options(1); alpha_form = options(2); chung_form = options(3)
    diffusion_form = options(4); takahashi_form = options(5)

    W = W_in; Tc = Tc_in; pc = pc_in; T_mid = T_mid_in
    nasa_low = low; nasa_high = high; pair_fit = binary_fit

    a_crit = omega_a*(Rgas*Tc)**2/pc
    k_ij = kij; acentric = omega
    b = omega_b*Rgas*Tc/pc
    if (.not. allocated(kappa)) allocate(kappa(n))

    if (size(kappa) /= n) then
      deallocate(kappa)
      allocate(kappa(n))
    end if

    do i = 1, n
      if (omega(i) <= 0.491_dp) then
        kappa(i) = 0.37464_dp + (1.54226_dp - 0.26992_dp*omega(i))*omega(i)
      else if (alpha_form /= ALPHA_CANTERA) then
        kappa(i) = 0.379642_dp + (1.48503_dp + (-0.164423_dp + 0.016666_dp*omega(i))*omega(i))*omega(i)
      else                             ! the digits in Cantera 3.2's code
        kappa(i) = 0.374642_dp + (1.487503_dp + (-0.164423_dp + 0.016666_dp*omega(i))*omega(i))*omega(i)
      end if
    end do

    Vc = Vc_in
    assoc = kappa_assoc
    do i = 1, n                        ! Chung's Vc: measured where known, else Peng-Robinson's own
      if (ieee_is_nan(Vc(i)) .or. chung_form == CHUNG_CANTERA) Vc(i) = omega_vc*Rgas*Tc(i)/pc(i)
    end do
    if (chung_form == CHUNG_CANTERA) assoc = 0
    dip = dipole
    where (ieee_is_nan(dip)) dip = 0            ! unknown: none
    sigma = 0.809_dp*(1.0e6_dp*Vc)**(1.0_dp/3.0_dp)
    eps = Tc/1.2593_dp
    fuller_root = fuller_volume**(1.0_dp/3.0_dp)

    call pairs(aij); call pairs(sig3); call pairs(eps_sig3); call pairs(eps_sig2_rootM)
    call pairs(omega_sig3); call pairs(dip4_sig3); call pairs(kappa_ij); call pairs(pD_fuller)

    do j = 1, n
      do i = 1, n
        aij(i, j) = sqrt(a_crit(i)*a_crit(j))*(1 - kij(i, j))
        s = sqrt(sigma(i)*sigma(j))
        Mij = 2.0e3_dp*W(i)*W(j)/(W(i) + W(j))
        sig3(i, j) = s**3
        eps_sig3(i, j) = sqrt(eps(i)*eps(j))*s**3
        eps_sig2_rootM(i, j) = sqrt(eps(i)*eps(j))*s**2*sqrt(Mij)
        omega_sig3(i, j) = 0.5_dp*(omega(i) + omega(j))*s**3
        dip4_sig3(i, j) = (dip(i)*dip(j))**2/s**3
        kappa_ij(i, j) = sqrt(assoc(i)*assoc(j))
        ! 0.00143 T^1.75/(p sqrt(M_ij) ...) in cm2/s and bar: 1e-4 m2/cm2 x 1e5 Pa/bar
        pD_fuller(i, j) = 0.0143_dp/(sqrt(Mij)*(fuller_root(i) + fuller_root(j))**2)
      end do
    end do

  contains

    subroutine pairs(table)
      real(dp), allocatable, intent(inout) :: table(:,:)

      if (allocated(table)) deallocate(table)
      allocate(table(n, n))
    end subroutine pairs

  end subroutine speciesTablesSetup

  !> The same for callers in C; options in the order root, alpha, chung, diffusion, takahashi.
  integer(c_int) function realgas_setup(n, W_in, Tc_in, pc_in, omega, Vc_in, dipole, kappa_assoc, kij, low, high, T_mid_in, &
                                        binary_fit, fuller_volume, options) bind(c, name='realgas_setup') result(status)
    integer(c_int), value :: n
    real(c_double), intent(in) :: W_in(n), Tc_in(n), pc_in(n), omega(n), Vc_in(n), dipole(n), kappa_assoc(n), kij(n, n)
    real(c_double), intent(in) :: low(7, n), high(7, n), T_mid_in(n), binary_fit(5, n, n), fuller_volume(n)
    integer(c_int), intent(in) :: options(NOPTIONS)

    call speciesTablesSetup(n, W_in, Tc_in, pc_in, omega, Vc_in, dipole, kappa_assoc, kij, low, high, T_mid_in, binary_fit, &
                            fuller_volume, options, status)
  end function realgas_setup

end module speciesTables
