! Arrays of every geometry through the module, by kernels whose results are exact (copies.py): p = 2 T, X = 3 Y. Each case
! prints how many values are wrong: results that are not as computed here, and elements outside the selection that changed.
! Argument 1: the declaration file. -DWITH_MPI: under MPI; -DMPIF: by that header, where the module is another compiler's.
program geometry
  use, intrinsic :: iso_c_binding, only: r8 => c_double, r4 => c_float, c_loc, c_f_pointer
  use frame_interface

#if defined(WITH_MPI) && !defined(MPIF)
  use mpi
#endif
  implicit none
#ifdef MPIF
#include MPIF
#endif
  integer, parameter :: nx = 5, ny = 4, nz = 3, ns = 2, ng = 2
  real(r8), parameter :: untouched = -999

  type :: inner
    real(r8) :: before, T
  end type
  type :: cell
    real(r8) :: T, p
    real(r4) :: T4, p4
    integer :: number
    type(inner) :: in
  end type

  character(300) :: file
  character(1000) :: message
  integer :: stat = 0, wrong_in_all = 0
#ifdef WITH_MPI
  integer :: ierr
  call MPI_Init(ierr)
#endif
  call get_command_argument(1, file)
  call frame_initialize(-1, 37, ns, 1, 0)
#ifdef WITH_MPI
  call frame_setcomm(int(MPI_COMM_WORLD))
#endif
  call frame_registerkernel(file)
  call components()
  call complex_parts()
  call pointers()
  call sections()
  call own_bounds()
  call boxes_outside()
  call slabs()
  call one_array()
  call kinds_and_ranks()
  call ways_to_allocate()
  call empty()
  call shapes()
  call copied()
  call pinned()
  call from_dummies()
  call frame_finalize()
  print '(a,i0)', 'all: ', wrong_in_all
#ifdef WITH_MPI
  call MPI_Finalize(ierr)
#endif

contains

  subroutine tell(what, wrong)
    character(*), intent(in) :: what
    integer, intent(in) :: wrong

    message = ''
    if (stat /= 0) call frame_lasterror(message)
    print '(a,a,i0,a,i0,1x,a)', what, ': ', wrong, ' status ', stat, trim(message)
    wrong_in_all = wrong_in_all + wrong
  end subroutine

  elemental function start(i, j, k) result(T)
    integer, intent(in) :: i, j, k
    real(r8) :: T

    T = 300 + i + 16*j + 256*k
  end function

  subroutine fill(a, low)
    integer, intent(in) :: low(3)
    real(r8), intent(out) :: a(low(1):, low(2):, low(3):)
    integer :: i, j, k

    do k = low(3), ubound(a, 3)
      do j = low(2), ubound(a, 2)
        do i = low(1), ubound(a, 1)
          a(i, j, k) = start(i, j, k)
        end do
      end do
    end do
  end subroutine

  ! gfortran needs a pointer to a component; no compiler may give wrong numbers without it.
  subroutine components()
    type(cell), target :: c(0:nx - 1, ny, -1:nz - 2)
    type(cell), allocatable, target :: d(:)
    real(r8), target :: Y(nx, ny, nz, ns)
    real(r8), pointer :: T(:, :, :), p(:, :, :), in_T(:, :, :), dT(:), dp(:)
    real(r4), pointer :: T4(:, :, :), p4(:, :, :)
    integer :: i
    Y = 0.5_r8
    T => c%T; p => c%p; T4 => c%T4; p4 => c%p4; in_T => c%in%T
    call fill(c%T, [0, 1, -1])
    c%in%T = c%T + 1; c%T4 = real(c%T, r4); c%number = 7; c%in%before = -3
    c%p = untouched; c%p4 = -1
    call frame_block('copies', [frame_in('T', T, T(1, 1, 1)), frame_in('Y', Y), frame_out('p', p, c(0, 1, -1)%p)], stat=stat)
    call tell('components', count(c%p /= 2*c%T) + count(c%number /= 7) + count(c%in%before /= -3))
    call frame_block('copies', [frame_in('T', T4, first=T4(1, 1, 1)), frame_in('Y', Y), &
                                frame_out('p', p4, first=p4(1, 1, 1))], stat=stat)
    call tell('real(4) components', count(c%p4 /= 2*c%T4) + count(c%number /= 7))
    call frame_block('copies', [frame_in('T', in_T, in_T(1, 1, 1)), frame_in('Y', Y), frame_out('p', p, p(1, 1, 1))], stat=stat)
    call tell('inner components', count(c%p /= 2*c%in%T))
    c%p = untouched
    T => c(::2, ny:1:-1, :)%T; p => c(::2, ny:1:-1, :)%p
    call frame_block('copies', [frame_in('T', T, T(1, 1, 1)), frame_in('Y', Y(::2, :, :, :)), frame_out('p', p, p(1, 1, 1))], &
                     stat=stat)
    call tell('sections of components', count(c(::2, :, :)%p /= 2*c(::2, :, :)%T) + count(c(1::2, :, :)%p /= untouched))
    c%p = untouched
    T => c%T; p => c%p
    call frame_block('copies', [frame_in('T', T, c(0, 1, -1)%p), frame_in('Y', Y), frame_out('p', p, p(1, 1, 1))], stat=stat)
    call tell('first of another component', merge(1, 0, stat /= 3) + count(c%p /= untouched))
    call frame_block('copies', [frame_in('T', T, T(2, 1, 1)), frame_in('Y', Y), frame_out('p', p, p(1, 1, 1))], stat=stat)
    call tell('another first', merge(1, 0, stat /= 3) + count(c%p /= untouched))
    call frame_block('copies', [frame_in('T', c%T, c(0, 1, -1)%T), frame_in('Y', Y), frame_out('p', c%p, c(0, 1, -1)%p)], stat=stat)
    call tell('components and first', merge(count(c%p /= 2*c%T), count(c%p /= untouched), stat == 0))
    call frame_block('copies', [frame_in('T', c%T), frame_in('Y', Y), frame_out('p', c%p)], stat=stat)
    call tell('components alone', merge(count(c%p /= 2*c%T), count(c%p /= untouched), stat == 0))
    allocate(d(nx))
    d%T = [(300 + i, i=1, nx)]
    d%p = untouched
    dT => d(:)%T; dp => d(:)%p
    call frame_block('copies', [frame_in('T', dT, dT(1)), frame_in('Y', Y(:, 1, 1, :)), frame_out('p', dp, dp(1))], stat=stat)
    call tell('allocated components', count(d%p /= 2*d%T))
    d%p = untouched
    dT => d%T; dp => d%p
    call frame_block('copies', [frame_in('T', dT, dT(1)), frame_in('Y', Y(:, 1, 1, :)), frame_out('p', dp, dp(1))], stat=stat)
    call tell('allocated components without colons', merge(0, 1, stat == 0) + count(d%p /= 2*d%T))
    call frame_pin(dp, stat, dp(1))
    call tell('pin a component', merge(0, 1, stat == 0))
    call frame_unpin(dp, stat, first=d(1)%p)
    call tell('unpin a component', merge(0, 1, stat == 0))
    d%p = untouched
    call frame_put('T', d%T, stat=stat); call frame_put('Y', Y(:, 1, 1, :), stat=stat)
    call frame_launch('copies', nx, stat); call frame_get('p', d%p, stat=stat)
    call tell('copied components', count(d%p /= 2*d%T))
  end subroutine

  subroutine complex_parts()
    complex(r8), target :: z(nx)
    real(r8), target :: Y(nx, ns)
    real(r8), pointer :: re(:), im(:)
    integer :: i

    z = [(cmplx(300 + i, -1, r8), i=1, nx)]
    Y = 0.5_r8
    re => z%re; im => z%im
    call frame_block('copies', [frame_in('T', re, re(1)), frame_in('Y', Y), frame_out('p', im, im(1))], stat=stat)
    call tell('parts of complex numbers', count(z%im /= 2*z%re))
  end subroutine

  ! A pointer to components, whole and a section of it, with and without its first element.
  subroutine pointers()
    type(cell), target :: c(2*nx)
    real(r8), target :: Y(nx, ns), given(2*nx)
    real(r8), pointer :: T(:), p(:), q(:)
    integer :: i
    Y = 0.5_r8
    c%T = [(300 + i, i=1, 2*nx)]
    c%p = untouched
    T => c(nx:1:-1)%T
    p(-3:) => c(nx:1:-1)%p
    call frame_block('copies', [frame_in('T', T, T(1)), frame_in('Y', Y), frame_out('p', p, p(-3))], stat=stat)
    call tell('pointers to components', count(c(:nx)%p /= 2*c(:nx)%T) + count(c(nx + 1:)%p /= untouched))
    c%p = untouched
    T => c%T; p => c%p
    call frame_block('copies', [frame_in('T', T(nx + 1:)), frame_in('Y', Y), frame_out('p', p(nx + 1:))], stat=stat)
    call tell('sections of these alone', merge(count(c(nx + 1:)%p /= 2*c(nx + 1:)%T), count(c%p /= untouched), stat == 0))
    call frame_block('copies', [frame_in('T', T(nx + 1:), T(nx + 1)), frame_in('Y', Y), frame_out('p', p(nx + 1:), p(nx + 1))], stat=stat)
    call tell('sections of these', merge(count(c(nx + 1:)%p /= 2*c(nx + 1:)%T), count(c%p /= untouched), stat == 0))
    given = c%T
    T => given; allocate(p(-nx:nx - 1), source=untouched)
    q(0:) => p(-nx:nx - 1:2)
    call frame_block('copies', [frame_in('T', T(2::2)), frame_in('Y', Y), frame_out('p', q)], stat=stat)
    call tell('pointers', count(p(-nx::2) /= 2*given(2::2)) + count(p(1 - nx::2) /= untouched))
    deallocate(p)
  end subroutine

  subroutine sections()
    real(r8), target :: a(10), b(10), T(2*nx, 3*ny, nz), p(nx, 2*ny, nz), Y(2*nx, 3*ny, nz, ns), X(nx, 2*ny, 2*nz, ns)
    integer :: i

    a = [(300 + i, i=1, 10)]
    b = untouched
    Y = 0.25_r8; Y(:, :, :, 2) = 0.75_r8
    call frame_block('copies', [frame_in('T', a(10:1:-1)), frame_in('Y', Y(:10, 1, 1, :)), frame_out('p', b)], stat=stat)
    call tell('reversed', count(b /= 2*a(10:1:-1)))
    b = untouched
    call frame_block('copies', [frame_in('T', a(::3)), frame_in('Y', Y(:4, 1, 1, :)), frame_out('p', b(7:1:-2))], stat=stat)
    call tell('every third, back', count(b(7:1:-2) /= 2*a(::3)) + count(b([2, 4, 6, 8, 9, 10]) /= untouched))
    call fill(T, [1, 1, 1])
    p = untouched; X = untouched
    call frame_block('copies', [frame_in('T', T(2*nx:1:-2, ::3, nz:1:-1)), frame_in('Y', Y(::2, 3:3*ny:3, :, :)), &
                                frame_out('p', p(:, 2*ny:2:-2, :)), frame_out('X', X(:, ::2, 2*nz - 1:1:-2, ns:1:-1))], stat=stat)
    call tell('strides of any sign', count(p(:, 2*ny:2:-2, :) /= 2*T(2*nx:1:-2, ::3, nz:1:-1)) + count(p(:, 1::2, :) /= untouched) &
              + count(X(:, ::2, ::2, 2) /= 0.75_r8) + count(X(:, ::2, ::2, 1) /= 2.25_r8) + count(X(:, 2::2, :, :) /= untouched) &
              + count(X(:, :, 2::2, :) /= untouched))
  end subroutine

  ! Arrays with fringes of different widths, all in the host's own bounds.
  subroutine own_bounds()
    real(r8), target :: T(1 - ng:nx + ng, 1 - ng:ny + ng, nz), p(nx, ny, nz), Y(0:nx + 1, ny, -1:nz, ns), X(nx, ny, 0:nz, ns)
    real(r8), allocatable, target :: q(:,:,:)
    integer :: i, j, k

    call fill(T, [1 - ng, 1 - ng, 1])
    Y = 0.25_r8; Y(:, :, :, 2) = 0.75_r8
    p = untouched; X = untouched
    call frame_block('copies', [frame_in('T', T), frame_in('Y', Y), frame_out('p', p), frame_out('X', X)], &
                     lo=[1, 1, 1], hi=[nx, ny, nz], stat=stat)
    call tell('own bounds', count(p /= 2*T(1:nx, 1:ny, :)) + count(X(:, :, 1:, 1) /= 0.75_r8) + count(X(:, :, 0, :) /= untouched))
    allocate(q(-1:nx, -7:ny + 1, 1:nz + 9), source=untouched)
    call frame_block('copies', [frame_in('T', T), frame_in('Y', Y), frame_out('p', q)], lo=[0, 1, 2], hi=[3, 2, 2], stat=stat)
    k = 0

    do j = lbound(q, 2), ubound(q, 2)
      do i = lbound(q, 1), ubound(q, 1)
        if (i >= 0 .and. i <= 3 .and. j >= 1 .and. j <= 2) then
          if (q(i, j, 2) /= 2*start(i, j, 2)) k = k + 1
          q(i, j, 2) = untouched
        end if
      end do
    end do

    call tell('a box', k + count(q /= untouched))
    p = untouched
    call frame_block('copies', [frame_in('T', T(1:nx, 1:ny, :)), frame_in('Y', Y(1:nx, :, 1:, :)), frame_out('p', p)], hi=[2], stat=stat)
    call tell('hi alone', count(p(:2, :, :) /= 2*T(1:2, 1:ny, :)) + count(p(3:, :, :) /= untouched))
  end subroutine

  subroutine boxes_outside()
    real(r8), target :: T(1 - ng:nx + ng), p(nx), Y(1 - ng:nx + ng, ns)

    T = 300; Y = 0.5_r8; p = untouched
    call frame_block('copies', [frame_in('T', T), frame_in('Y', Y), frame_out('p', p)], lo=[0], hi=[nx], stat=stat)
    call tell('a box outside', merge(0, 1, stat == 3) + count(p /= untouched))
    call frame_block('copies', [frame_in('T', T), frame_in('Y', Y), frame_out('p', p)], lo=[1], hi=[nx + 1], stat=stat)
    call tell('a box above', merge(0, 1, stat == 3) + count(p /= untouched))
    call frame_block('copies', [frame_in('T', T), frame_in('Y', Y), frame_out('p', p)], lo=[1, 1], hi=[nx, 1], stat=stat)
    call tell('two bounds', merge(0, 1, stat == 3) + count(p /= untouched))
    call frame_block('copies', [frame_in('T', T), frame_in('Y', Y), frame_out('p', p)], lo=[1 - ng], stat=stat)
    call tell('lo alone outside', merge(0, 1, stat == 3) + count(p /= untouched))
  end subroutine

  ! The six slabs of the fringe, then the inside: each element once.
  subroutine slabs()
    real(r8), target :: T(1 - ng:nx + ng, 1 - ng:ny + ng, 1 - ng:nz + ng), p(1 - ng:nx + ng, 1 - ng:ny + ng, 1 - ng:nz + ng)
    real(r8), target :: Y(1 - ng:nx + ng, 1 - ng:ny + ng, 1 - ng:nz + ng, ns)
   integer, parameter :: lo(3, 7) = reshape([1 - ng, 1 - ng, 1 - ng, 1 - ng, 1 - ng, nz + 1, 1 - ng, 1 - ng, 1, 1 - ng, ny + 1, 1, &
                                              1 - ng, 1, 1, nx + 1, 1, 1, 1, 1, 1], [3, 7])
   integer, parameter :: hi(3, 7) = reshape([nx + ng, ny + ng, 0, nx + ng, ny + ng, nz + ng, nx + ng, 0, nz, nx + ng, ny + ng, nz, &
                                              0, ny, nz, nx + ng, ny, nz, nx, ny, nz], [3, 7])
    integer :: i, wrong

    call fill(T, [1 - ng, 1 - ng, 1 - ng])
    p = untouched; Y = 0.5_r8; wrong = 0

    do i = 1, 7
      if (i == 7) wrong = wrong + count(p(1:nx, 1:ny, 1:nz) /= untouched) + count(p == untouched) - nx*ny*nz
      call frame_block('copies', [frame_in('T', T), frame_in('Y', Y), frame_out('p', p)], lo(:, i), hi(:, i), stat)
      wrong = wrong + stat
    end do

    call tell('slabs', wrong + count(p /= 2*T))
  end subroutine

  ! All variables in one array, as sections of it, in place; and by pointers that keep the bounds.
  subroutine one_array()
    real(r8), target :: w(1 - ng:nx + ng, 1 - ng:ny + ng, 1:nz, 2 + 2*ns)
    real(r8), pointer :: T(:,:,:), p(:,:,:), Y(:,:,:,:)

    call fill(w(:, :, :, 1), [1 - ng, 1 - ng, 1])
    w(:, :, :, 2) = untouched; w(:, :, :, 3) = 0.25_r8; w(:, :, :, 4) = 0.75_r8; w(:, :, :, 5:) = untouched
    call frame_block('copies', [frame_in('T', w(:, :, :, 1)), frame_in('Y', w(:, :, :, 3:4)), frame_out('p', w(:, :, :, 2)), &
                                frame_out('X', w(:, :, :, 6:5:-1))], lo=[1 + ng, 1 + ng, 1], hi=[nx + ng, ny + ng, nz], stat=stat)
    call tell('one array', count(w(1:nx, 1:ny, :, 2) /= 2*w(1:nx, 1:ny, :, 1)) + count(w(1:nx, 1:ny, :, 6) /= 0.75_r8) &
              + count(w(1:nx, 1:ny, :, 5) /= 2.25_r8) + count(w(:, :, :, 2) == untouched) - ((nx + 2*ng)*(ny + 2*ng) - nx*ny)*nz)
    w(:, :, :, 2) = untouched
    T(1 - ng:, 1 - ng:, 1:) => w(:, :, :, 1); p(1 - ng:, 1 - ng:, 1:) => w(:, :, :, 2); Y(1 - ng:, 1 - ng:, 1:, 1:) => w(:, :, :, 3:4)
    call frame_block('copies', [frame_in('T', T), frame_in('Y', Y), frame_out('p', p)], [1, 1, 1], [nx, ny, nz], stat)
    call tell('pointers with bounds', count(w(1:nx, 1:ny, :, 2) /= 2*w(1:nx, 1:ny, :, 1)) &
              + count(w(:, :, :, 2) == untouched) - ((nx + 2*ng)*(ny + 2*ng) - nx*ny)*nz)
call frame_block('copies', [frame_in('T', w(:, :, :, 1)), frame_in('Y', w(:, :, :, 3:4)), frame_out('p', w(:, :, :, 1))], stat=stat)
    call tell('in place', count(w(1:nx, 1:ny, :, 1) /= w(1:nx, 1:ny, :, 2)))
  end subroutine

  subroutine kinds_and_ranks()
    real(r4), target :: T1(nx), T2(nx, ny), T3(nx, ny, nz), T4(nx, ny, nz, 1), T5(nx, ny, nz, 1, 1), X4(nx, ny, nz, ns)
    real(r8), target :: p1(nx), p2(nx, ny), p3(nx, ny, nz), p4(nx, ny, nz, 1), p5(nx, ny, nz, 1, 1), Y(nx, ny, nz, ns), D(nx, ny, nz, ns, ns)
    real(r8), target :: D4(nx, ny, nz, ns*ns)
    real(r4), target :: D5(nx, ny, nz, ns + 1, ns)

    call fill(p3, [1, 1, 1])
    T3 = real(p3, r4); T1 = T3(:, 1, 1); T2 = T3(:, :, 1); T4(:, :, :, 1) = T3; T5(:, :, :, 1, 1) = T3
    Y = 0.25_r8; Y(:, :, :, 2) = 0.75_r8
    p1 = untouched; p2 = untouched; p3 = untouched; p4 = untouched; p5 = untouched; X4 = -1; D = untouched; D4 = untouched; D5 = -1
    call frame_block('copies', [frame_in('T', T1), frame_in('Y', Y(:, 1, 1, :)), frame_out('p', p1)], stat=stat)
    call tell('rank 1', count(p1 /= 2*T1))
    call frame_block('copies', [frame_in('T', T2), frame_in('Y', Y(:, :, 1, :)), frame_out('p', p2)], stat=stat)
    call tell('rank 2', count(p2 /= 2*T2))
    call frame_block('copies', [frame_in('T', T3), frame_in('Y', Y), frame_out('p', p3), frame_out('X', X4)], stat=stat)
    call tell('rank 3', count(p3 /= 2*T3) + count(X4(:, :, :, 1) /= 0.75) + count(X4(:, :, :, 2) /= 2.25))
    call frame_block('copies', [frame_in('T', T4), frame_in('Y', Y), frame_out('p', p4), frame_out('D_ij', D4)], stat=stat)
    call tell('rank 4', count(p4 /= 2*T4) + count(D4(:, :, :, 2) /= 3.25_r8) + count(D4(:, :, :, 3) /= 1.75_r8))
    call frame_block('copies', [frame_in('T', T5), frame_in('Y', Y), frame_out('p', p5), frame_out('D_ij', D)], stat=stat)
    call tell('rank 5', count(p5 /= 2*T5) + count(D(:, :, :, 1, 1) /= 1.25_r8) + count(D(:, :, :, 2, 1) /= 3.25_r8) &
              + count(D(:, :, :, 1, 2) /= 1.75_r8) + count(D(:, :, :, 2, 2) /= 3.75_r8))
    call frame_block('copies', [frame_in('T', T5), frame_in('Y', Y), frame_out('D_ij', D5(:, :, :, :ns, :))], stat=stat)
    call tell('a section of variables', merge(0, 1, stat == 3) + count(D5 /= -1))
    call frame_block('copies', [frame_in('T', T3(1:1, :, :)), frame_in('Y', Y(1, :, :, :)), frame_out('p', p3(2, :, :))], stat=stat)
    call tell('a plane', count(p3(2, :, :) /= 2*T3(1, :, :)) + count(p3([1, 3, 4, 5], :, :) /= 2*T3([1, 3, 4, 5], :, :)))
  end subroutine

  subroutine ways_to_allocate()
    real(r8), allocatable, target :: a(:), b(:), c(:), p(:)
    real(r8), target :: Y(nx, ns)
    real(r8), pointer :: f(:), g(:)
    integer :: i

    Y = 0.5_r8
    allocate(p(nx), source=untouched)
    a = [(300._r8 + i, i=1, nx)]
    call frame_block('copies', [frame_in('T', a), frame_in('Y', Y), frame_out('p', p)], stat=stat)
    call tell('by assignment', count(p /= 2*a))
    allocate(b, source=a(nx:1:-1))
    call frame_block('copies', [frame_in('T', b), frame_in('Y', Y), frame_out('p', p)], stat=stat)
    call tell('by source', count(p /= 2*b))
    call move_alloc(b, c)
    p = untouched
    call frame_block('copies', [frame_in('T', c), frame_in('Y', Y), frame_out('p', p)], stat=stat)
    call tell('moved', count(p /= 2*c))
    b = c + 1
    call frame_block('copies', [frame_in('T', b), frame_in('Y', Y), frame_out('p', p)], stat=stat)
    call tell('by an expression', count(p /= 2*b))
    call c_f_pointer(c_loc(p), f, [nx])
    g(-1:) => a(2:)
    call frame_block('copies', [frame_in('T', g), frame_in('Y', Y(2:, :)), frame_out('p', f(2:))], stat=stat)
    call tell('from C', count(p(2:) /= 2*a(2:)) + merge(0, 1, p(1) == 2*b(1)))
    p = untouched
    call frame_block('copies', [frame_in('T', given(a)), frame_in('Y', Y), frame_out('p', p)], stat=stat)
    call tell('a function', count(p /= 2*a))
  end subroutine

  function given(array) result(place)
    real(r8), intent(in), target :: array(:)
    real(r8), pointer :: place(:)

    place => array
  end function

  subroutine empty()
    real(r8), target :: T(nx), p(nx), Y(nx, ns), none(0), nowhere(0, ns), plane(3, 0, 2), more(3, 0, 2, ns)
    real(r8), allocatable, target :: z(:)

    T = 300; p = untouched; Y = 0.5_r8
    allocate(z(0))
    call frame_block('copies', [frame_in('T', T), frame_in('Y', Y), frame_out('p', p)], lo=[4], hi=[3], stat=stat)
    call tell('hi below lo', stat + count(p /= untouched))
    call frame_block('copies', [frame_in('T', T), frame_in('Y', Y), frame_out('p', p)], lo=[40], hi=[-30], stat=stat)
    call tell('hi far below lo', stat + count(p /= untouched))
    call frame_block('copies', [frame_in('T', none), frame_in('Y', nowhere), frame_out('p', z)], stat=stat)
    call tell('no elements', stat)
    call frame_block('copies', [frame_in('T', T(3:2)), frame_in('Y', Y(5:1, :)), frame_out('p', p(1:0))], stat=stat)
    call tell('empty sections', stat + count(p /= untouched))
    call frame_block('copies', [frame_in('T', plane), frame_in('Y', more), frame_out('p', plane)], [1, 1, 1], [3, 0, 2], stat)
    call tell('empty planes', stat)
    call frame_put('T', none, stat=stat); call tell('empty put', stat)
    call frame_put('T', T, hi=[0], stat=stat); call tell('empty put of a box', stat)
    call frame_get('T', p(3:2), stat=stat); call tell('empty get', stat)
    call frame_pin(none, stat); call tell('empty pin', stat)
    call frame_unpin(none, stat); call tell('empty unpin', stat)
    call frame_block('copies', [frame_in('T', T), frame_in('Y', Y), frame_out('p', z)], stat=stat)
    call tell('only one is empty', merge(0, 1, stat == 3))
  end subroutine

  subroutine shapes()
    real(r8), target :: T(2, 3), p(3, 2), Y(2, 3, ns)

    type(frame_field) :: forgotten(2)
    T = 300; p = untouched; Y = 0.5_r8
    forgotten(1) = frame_in('T', T)
    call frame_block('copies', forgotten, stat=stat)
    call tell('a field forgotten', merge(0, 1, stat == 3))
    call frame_block('copies', [frame_in('T', T), frame_in('Y', Y), frame_out('p', p)], stat=stat)
    call tell('other shapes', merge(0, 1, stat == 3) + count(p /= untouched))
  end subroutine

  ! frame_put and frame_get: no TARGET, bounds from 1, expressions.
  subroutine copied()
    real(r8) :: T(-1:nx, 0:ny), p(-1:nx, 0:ny)
    real(r8), parameter :: Y(ns) = [0.25_r8, 0.75_r8]
    integer :: i, j

    do j = 0, ny
      T(:, j) = [(start(i, j, 0), i=-1, nx)]
    end do
    p = untouched
    call frame_put('T', T + 1, [1, 1], [3, 4], stat=stat)
    call frame_put('Y', spread(spread(Y, 1, 3), 2, 4), stat=stat)
    call frame_launch('copies', 12, stat)
    call frame_get('p', p, [2, 2], [4, 5], stat=stat)
    call tell('copied', count(p(0:2, 1:4) /= 2*T(-1:1, 0:3) + 2) + count(p == untouched) - (nx + 2)*(ny + 1) + 12)
    p = untouched
    call frame_get('p', p(nx:0:-2, 4:1:-1), first=1, last=12, stat=stat)
    call tell('copied back to a section', count(p(nx:0:-2, 4:1:-1) /= 2*T(-1:1, 0:3) + 2) &
              + count(p == untouched) - (nx + 2)*(ny + 1) + 12)
    call frame_get('p', p, [-1, 0], [1, 3], stat=stat)
    call tell('copied from 1', merge(0, 1, stat == 3))
  end subroutine

  subroutine pinned()
    real(r8), target :: a(20, 3), b(20)

    call frame_pin(a, stat); call tell('pin', stat)
    call frame_pin(a(2, :), stat); call tell('pin a part', merge(0, 1, stat == 3))
    call frame_unpin(a, stat); call tell('unpin', stat)
    call frame_pin(b(19:1:-3), stat); call tell('pin a section', stat)
    call frame_pin(b(2:3), stat); call tell('pin what lies in it', merge(0, 1, stat == 3))
    call frame_unpin(b(19:1:-3), stat); call tell('unpin a section', stat)
  end subroutine

  ! The array reaches the call through dummy arguments of the host: their bounds count.
  subroutine from_dummies()
    real(r8), target :: T(1 - ng:nx + ng), p(1 - ng:nx + ng), Y(1 - ng:nx + ng, ns)
    integer :: i

    T = [(300 + i, i=1 - ng, nx + ng)]
    p = untouched; Y = 0.5_r8
    call assumed_shape(T, Y, p)
    call tell('assumed shape', count(p(1:nx) /= 2*T(1:nx)) + count(p(:0) /= untouched) + count(p(nx + 1:) /= untouched))
    p = untouched
    call assumed_shape_from(T, Y, p)
    call tell('assumed shape with bounds', count(p(1:nx) /= 2*T(1:nx)) + count(p(:0) /= untouched) + count(p(nx + 1:) /= untouched))
    p = untouched
    call explicit_shape(nx, T, Y, p)
    call tell('explicit shape', count(p(1:nx) /= 2*T(1:nx)) + count(p(:0) /= untouched) + count(p(nx + 1:) /= untouched))
  end subroutine

  subroutine assumed_shape(T, Y, p)
    real(r8), intent(in), target :: T(:), Y(:,:)
    real(r8), intent(inout), target :: p(:)

    call frame_block('copies', [frame_in('T', T), frame_in('Y', Y), frame_out('p', p)], lo=[1 + ng], hi=[nx + ng], stat=stat)
  end subroutine

  subroutine assumed_shape_from(T, Y, p)
    real(r8), intent(in), target :: T(1 - ng:), Y(1 - ng:, :)
    real(r8), intent(inout), target :: p(1 - ng:)

    call frame_block('copies', [frame_in('T', T), frame_in('Y', Y), frame_out('p', p)], lo=[1], hi=[nx], stat=stat)
  end subroutine

  subroutine explicit_shape(n, T, Y, p)
    integer, intent(in) :: n
    real(r8), intent(in), target :: T(1 - ng:n + ng), Y(1 - ng:n + ng, *)
    real(r8), intent(inout), target :: p(1 - ng:n + ng)

    ! Y is a section, since its last extent is unknown: it counts from 1, and so have the others
    call frame_block('copies', [frame_in('T', T(:)), frame_in('Y', Y(:, 1:ns)), frame_out('p', p(:))], lo=[1 + ng], hi=[n + ng], &
                     stat=stat)
  end subroutine
end program
