!> Nekbone, the kernel of a spectral-element flow solver: conjugate gradients for a Helmholtz problem on a brick of
!! elements. The operator of the elements is plain Fortran or one tensor expression of the layer; all else is the same.
!! With method device all vectors lie where the kernels run (nekbone_device.f90).
!!   mpirun -n 2 nekbone fortran_stub/nekbone/nekbone.nml
!! Exit code: 0; 1 if an answer is wrong; 2 for a bad input file.
program nekbone
  use, intrinsic :: iso_fortran_env, only : output_unit
  use, intrinsic :: iso_c_binding, only : c_loc, c_intptr_t
  use mpi
  use frame_interface, only : frame_initialize, frame_setcomm, frame_registercontraction, frame_contract, frame_in, frame_out, &
                              frame_pin, frame_unpin, frame_report, frame_finalize
  use nekboneCase
  use nekboneDevice
  use nekboneMesh
  use nekbonePlain, only : plainAx
  implicit none

  !> Lg3, the factors of the geometry at each point, and the transpose of Lg3, for the elements e
  character(len=*), parameter :: AX = &
                           'ur(i,j,k,e) = D(i,l) u(l,j,k,e); us(i,j,k,e) = D(j,l) u(i,l,k,e); ut(i,j,k,e) = D(k,l) u(i,j,l,e); '// &
                                 'wr = g1 ur + g2 us + g3 ut; ws = g2 ur + g4 us + g5 ut; wt = g3 ur + g5 us + g6 ut; '// &
                                 'w(i,j,k,e) = D(l,i) wr(l,j,k,e) + D(l,j) ws(i,l,k,e) + D(l,k) wt(i,j,l,e); '// &
                                 'batch e; constant D; local ur us ut wr ws wt'
  character(len=6), parameter :: METHODS(3) = ['plain ', 'layer ', 'device']

  type(BrickCase) :: c
  type(Part) :: s
  character(len=256) :: file, message
  integer  :: rank, ranks, ierr, n, ne, m, round
  logical  :: ok
  real(dp), allocatable, target :: D(:,:), room(:), x(:,:,:,:), own(:,:,:,:)
  real(dp), pointer, contiguous :: g(:,:,:,:,:), p(:,:,:,:), w(:,:,:,:)
  real(dp), allocatable :: r(:,:,:,:), f(:,:,:,:), share(:,:,:)
  type(DeviceTimes), allocatable :: copied(:)
  real(dp), allocatable :: norms(:,:), alphas(:,:), times(:,:), parts(:,:)
  real(dp) :: operator_time

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  file = 'fortran_stub/nekbone/nekbone.nml'
  if (command_argument_count() > 0) call get_command_argument(1, file)
  call readCase(trim(file), c, message)
  if (message == '') call sharePart(c%elements, MPI_COMM_WORLD, s, message)
  if (message == '' .and. used(3) .and. ranks > 1) &
    message = 'method '''//trim(c%method)//''' is for 1 rank: its vectors stay on a device.'
  if (message /= '') call endRanks(2, 'input file '//trim(file)//': '//trim(message))

  call makeProblem()
  if (c%method /= 'plain') then
    call frame_initialize(-1, 1, 1, 1, 0)
    call frame_setcomm(MPI_COMM_WORLD)
    call frame_registercontraction('ax', AX)
    call frame_pin(p)                                 ! for the copies to and from a GPU; nothing happens on a CPU
    call frame_pin(w)
    call frame_pin(g)
    if (used(3)) call startDevice(trim(c%kernels), n, c%elements, c%iterations, D, g)
  end if
  if (rank == 0) print '(a,i0,a,3(i0,a),i0,a)', 'Nekbone: ', n, ' points a direction, ', c%elements(1), ' x ', c%elements(2), &
    ' x ', c%elements(3), ' elements, ', ranks, ' ranks'

  allocate(norms(0:c%iterations, 3), alphas(c%iterations, 3), times(c%repeats, 3), parts(c%repeats, 3), copied(c%repeats))
  norms = 0; alphas = 0; times = huge(1.0_dp); parts = huge(1.0_dp)
  do m = 1, 2
    if (used(m)) call operator(m)                     ! the layer compiles at the first call
  end do
  if (used(3)) call solveOnDevice(own, x, norms(:, 3), alphas(:, 3), copied(1))
  do round = 1, c%repeats                             ! in turns, so that all have the same load
    do m = 1, 3
      if (used(m)) call solve(m, times(round, m), parts(round, m))
    end do
  end do
  ok = .true.
  do m = 1, 3
    if (used(m)) call report(m)
  end do
  if (used(1) .and. used(2)) call compare(2)
  if (used(1) .and. used(3)) call compare(3)
  if (c%method /= 'plain') then
    if (used(3)) call endDevice()
    call frame_unpin(p)
    call frame_unpin(w)
    call frame_unpin(g)
    if (timersAreOn()) call frame_report()            ! copies in, kernels and copies out of the operator, apart
    call frame_finalize()
  end if
  call endRanks(merge(0, 1, ok), '')

contains

  logical function used(m)
    integer, intent(in) :: m
    used = c%method == METHODS(m) .or. (c%method == 'both' .and. m < 3) .or. c%method == 'all'
  end function used

  !> Whether the layer has timers: FRAME_TIMERS=1
  logical function timersAreOn()
    character(len=8) :: text
    call get_environment_variable('FRAME_TIMERS', text)
    timersAreOn = text == '1'
  end function timersAreOn

  !> Elements are cubes of [-1, 1]: the factors are products of weights, and g2, g3, g5 are zero. They are read all the
  !! same, as for elements of any shape.
  subroutine makeProblem()
    real(dp), allocatable :: points(:), weight(:)
    integer :: i, j, k, many
    n = c%points
    ne = product(s%n)
    many = n**3*ne
    allocate(points(n), weight(n), D(n, n), x(n, n, n, ne), r(n, n, n, ne), f(n, n, n, ne), share(n, n*n, ne), &
             room(8*(many + 8)))
    ! Vectors of 64 bytes want arrays that begin at multiples of that; ALLOCATE gives 16.
    k = 1
    do while (mod(transfer(c_loc(room(k)), 0_c_intptr_t), 64_c_intptr_t) /= 0)
      k = k + 1
    end do
    p(1:n, 1:n, 1:n, 1:ne) => room(k:k + many - 1)
    k = k + (many + 7)/8*8
    w(1:n, 1:n, 1:n, 1:ne) => room(k:k + many - 1)
    k = k + (many + 7)/8*8
    g(1:n, 1:n, 1:n, 1:ne, 1:6) => room(k:k + 6*many - 1)
    call lobatto(n, points, weight, D)
    g = 0
    do k = 1, n
      do j = 1, n
        do i = 1, n
          g(i, j, k, :, 1) = weight(i)*weight(j)*weight(k)
        end do
      end do
    end do
    g(:, :, :, :, 4) = g(:, :, :, :, 1)
    g(:, :, :, :, 6) = g(:, :, :, :, 1)
    share = 1
    call addShared(n, s, share)
    share = 1/share                                   ! of a point that several elements have
    call rightSide(n, c%elements, s, f)
    own = f
    call addShared(n, s, f)
    f = f*reshape(share, shape(f))
    p = f
    w = 0
  end subroutine makeProblem

  !> w = A p: the elements by method m; sums over shared points; 0.1 p, which makes it definite; boundary conditions.
  subroutine operator(m)
    integer, intent(in) :: m
    real(dp) :: start
    integer  :: e
    start = MPI_Wtime()
    if (m == 1) then
      call plainAx(n, ne, D, p, g, w)
    else
      call frame_contract('ax', [frame_in('u', p), frame_in('D', D), frame_in('g1', g(:, :, :, :, 1)), &
                                 frame_in('g2', g(:, :, :, :, 2)), frame_in('g3', g(:, :, :, :, 3)), &
                                 frame_in('g4', g(:, :, :, :, 4)), frame_in('g5', g(:, :, :, :, 5)), &
                                 frame_in('g6', g(:, :, :, :, 6)), frame_out('w', w)])
    end if
    operator_time = operator_time + MPI_Wtime() - start
    call addShared(n, s, w)
    do e = 1, ne
      w(:, :, :, e) = w(:, :, :, e) + 0.1_dp*p(:, :, :, e)
    end do
    call clearBoundary(n, s, w, c%mask == 'shipped')
  end subroutine operator

  !> Conjugate gradients from x = 0, without a preconditioner; norms and steps of this method. time [s]: of the slowest
  !! rank; part: of the operator of the elements, mean over ranks.
  subroutine solve(m, time, part)
    integer, intent(in)   :: m
    real(dp), intent(out) :: time, part
    real(dp) :: rho, rho_old, alpha, beta, start
    integer  :: iteration, e
    if (m == 3) then
      call solveOnDevice(own, x, norms(:, 3), alphas(:, 3), copied(round))
      time = copied(round)%solution
      return
    end if
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    start = MPI_Wtime()
    operator_time = 0
    x = 0
    p = 0
    r = f
    call clearBoundary(n, s, r, .false.)              ! Nekbone's first call has all points, whatever the rule
    norms(0, m) = sqrt(dot(r, r))
    rho = 1
    do iteration = 1, c%iterations
      rho_old = rho
      rho = dot(r, r)
      beta = merge(0.0_dp, rho/rho_old, iteration == 1)
      do e = 1, ne
        p(:, :, :, e) = r(:, :, :, e) + beta*p(:, :, :, e)
      end do
      call operator(m)
      alpha = rho/dot(w, p)
      do e = 1, ne
        x(:, :, :, e) = x(:, :, :, e) + alpha*p(:, :, :, e)
        r(:, :, :, e) = r(:, :, :, e) - alpha*w(:, :, :, e)
      end do
      norms(iteration, m) = sqrt(dot(r, r))
      alphas(iteration, m) = alpha
    end do
    time = MPI_Wtime() - start
    part = operator_time
    call MPI_Allreduce(MPI_IN_PLACE, time, 1, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, ierr)
    call MPI_Allreduce(MPI_IN_PLACE, part, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
    part = part/ranks
  end subroutine solve

  !> Over all points, each counted once. One sum for each i: a compiler makes vectors of them, and keeps their order.
  real(dp) function dot(a, b)
    real(dp), intent(in) :: a(n, n*n, ne), b(n, n*n, ne)
    real(dp) :: sums(n)
    integer  :: j, e
    sums = 0
    do e = 1, ne
      do j = 1, n*n
        sums = sums + a(:, j, e)*share(:, j, e)*b(:, j, e)
      end do
    end do
    dot = sum(sums)
    call MPI_Allreduce(MPI_IN_PLACE, dot, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
  end function dot

  !> Flops as Nekbone counts them: 12 n + 19 a point for the operator, 15 for the vectors.
  subroutine report(m)
    integer, intent(in) :: m
    real(dp) :: time, part, all_points, unknowns
    integer  :: k
    time = median(times(:, m))
    part = median(parts(:, m))
    all_points = product(real(c%elements, dp))*n**3*c%iterations
    unknowns = product(real(c%elements*(n - 1) - 1, dp))*c%iterations
    if (m == 3) then
      print '(/,a,f9.5,a,f9.5,a,f9.5)', 'device: time [s]', time, ', copies before it', median(copied%in), ', of x behind it', &
        median(copied%out)
      print '(a,f9.3,a,es10.3,a)', '  GF/s', all_points*(12*n + 34)*1e-9_dp/time, '; unknowns a second', unknowns/time, &
        ' (inner points, each once)'
    else if (rank == 0) then
      print '(/,2a,f9.3,a,f8.3,a)', trim(METHODS(m)), ': time [s]', time, ', of this the operator of the elements', part
      print '(a,f9.3,a,f9.3,a,es10.3,a)', '  GF/s', all_points*(12*n + 34)*1e-9_dp/time, '; of the operator alone', &
        all_points*(12*n + 17)*1e-9_dp/part, '; unknowns a second', unknowns/time, ' (inner points, each once)'
    end if
    do k = 0, c%iterations
      if (rank == 0 .and. any(k == [0, 1, 10, 20, 50, c%iterations])) &
        print '(a,i4,a,es14.6)', '  iteration', k, ': norm', norms(k, m)
    end do
    if (n == 10 .and. all(c%elements == [5, 5, 2]) .and. c%iterations == 100 .and. c%mask == 'all') call checkKnown(m)
    flush(output_unit)
  end subroutine report

  !> The known answer. The right side is chaotic in the last digits of cos, so other libraries agree to some digits only.
  subroutine checkKnown(m)
    integer, intent(in) :: m
    integer, parameter  :: at(6) = [0, 1, 10, 20, 50, 100]
    real(dp), parameter :: known(6) = [1.206441384e2_dp, 6.793130e1_dp, 5.448778_dp, 5.298850e-1_dp, 4.850574e-4_dp, &
                                       3.243876e-9_dp], tolerance(6) = [1e-4_dp, 1e-4_dp, 1e-4_dp, 1e-4_dp, 1e-4_dp, 1e-2_dp]
    real(dp) :: off(6)
    logical  :: right
    off = abs(norms(at, m)/known - 1)
    right = all(off <= tolerance) .and. abs(alphas(100, m)/4.178151e-1_dp - 1) <= 1e-2_dp
    ok = ok .and. right
    if (rank == 0) print '(a,6es8.1,3a)', '  off the known answer by', off, ': ', trim(merge('right', 'WRONG', right)), '.'
  end subroutine checkKnown

  !> Plain Fortran and method m have the same norms: roundings are amplified, so that few digits are left after many
  !! iterations.
  subroutine compare(m)
    integer, intent(in) :: m
    real(dp) :: off, ratio(c%repeats), of_operator(c%repeats)
    logical  :: same
    off = maxval(abs(norms(:min(50, c%iterations), 1)/norms(:min(50, c%iterations), m) - 1))
    same = off <= 1e-4_dp
    ok = ok .and. same
    ratio = times(:, 1)/times(:, m)
    of_operator = parts(:, 1)/parts(:, m)
    if (rank > 0) return
    print '(/,a,es8.1,3a)', 'Norms of both differ by', off, ' up to iteration 50: ', trim(merge('the same', 'NOT SAME', same)), '.'
    if (m == 3) then
      print '(a,f9.3,a)', 'The device over plain Fortran, median of the turns: ', median(ratio), ' times as fast.'
    else
      print '(2(a,f7.3),a)', 'The layer over plain Fortran, median of the turns: ', median(ratio), &
        ' times as fast; the operator alone ', median(of_operator), '.'
    end if
  end subroutine compare

  real(dp) function median(values)
    real(dp), intent(in) :: values(:)
    real(dp) :: sorted(size(values)), low
    integer  :: i, at
    sorted = values
    do i = 1, size(sorted) - 1
      at = i - 1 + minloc(sorted(i:), 1)
      low = sorted(at)
      sorted(at) = sorted(i)
      sorted(i) = low
    end do
    median = (sorted((size(sorted) + 1)/2) + sorted(size(sorted)/2 + 1))/2
  end function median

  subroutine endRanks(code, text)
    integer, intent(in)          :: code
    character(len=*), intent(in) :: text
    if (rank == 0 .and. text /= '') print '(2a)', 'nekbone: ', text
    flush(output_unit)
    call MPI_Finalize(ierr)
    stop code, quiet=.true.
  end subroutine endRanks

end program nekbone
