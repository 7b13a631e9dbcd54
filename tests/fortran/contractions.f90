! Tensor expressions from Fortran: contractions [FILE | -] [values | errors | all]. FILE is registered first: it may bring
! another backend. Values are compared with plain loops, within 4 K eps of the sum of the terms' sizes; K roundings in a row.
program contractions
  use, intrinsic :: iso_c_binding, only: c_loc, c_ptr, c_null_ptr
  use frame_interface, only: register => frame_registerkernel, init => frame_initialize, lasterror => frame_lasterror, &
                             laststatus => frame_laststatus, finalize => frame_finalize, frame_setcomm, frame_report, &
                             registercontraction => frame_registercontraction, contract => frame_contract, frame_in, frame_out, &
                             frame_inout, frame_field
  implicit none
#ifdef WITH_MPI
#ifdef MPIF
  include MPIF
#else
  include 'mpif.h'
#endif
#endif
  external :: frame_contract, frame_registercontraction
  character(*), parameter :: lg3 = 'ur(i,j,k,e) = D(i,l) u(l,j,k,e); us(i,j,k,e) = D(j,l) u(i,l,k,e); '// &
                             'ut(i,j,k,e) = D(k,l) u(i,j,l,e); constant D'
  character(*), parameter :: lg3t = 'w(i,j,k,e) = D(l,i) ur(l,j,k,e) + D(l,j) us(i,l,k,e) '// &
                             '+ D(l,k) ut(i,j,l,e)   # a comment'//new_line('a')//'constant D'
  integer, parameter :: n = 5, elements = 7
  real(8), parameter :: eps = epsilon(1d0)
  character(300) :: file, what
  character(4000) :: message
  integer :: status, wrong, rank
  real(8), allocatable, target :: ur(:, :, :, :), us(:, :, :, :), ut(:, :, :, :)
  real(8), allocatable :: want(:, :, :, :, :), size_of(:, :, :, :, :)
#ifdef WITH_MPI
  integer :: ierr
#endif

  wrong = 0; rank = 0
#ifdef WITH_MPI
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
#endif
  call get_command_argument(1, file)
  call get_command_argument(2, what)
  if (file /= '-') call register(file)
  call registercontraction('lg3', lg3)
  call init(-1, 1, 1, 1, 0)
#ifdef WITH_MPI
  call frame_setcomm(MPI_COMM_WORLD)
#endif
  if (what /= 'errors') call values()
  if (what /= 'values') call errors()
  call frame_report()
  call finalize()
  print '(a,i0,a,i0)', 'rank ', rank, ' wrong: ', wrong
#ifdef WITH_MPI
  call MPI_Finalize(ierr)
#endif

contains

  ! a number of its own for each place, of size about 1
  elemental function number(i, seed) result(x)
    integer, intent(in) :: i, seed
    real(8) :: x
    x = modulo(i*0.6180339887498949d0 + seed*0.7548776662466927d0, 1d0) - 0.5d0
  end function

  function filled(count, seed) result(x)
    integer, intent(in) :: count, seed
    real(8) :: x(count)
    integer :: i
    x = number([(i, i=1, count)], seed + 10*rank)
  end function

  ! size: of the terms' absolute values; roundings: in a row
  subroutine compare(case, got, want, size, roundings, unit)
    character(*), intent(in) :: case
    real(8), intent(in) :: got(:), want(:), size(:), unit
    integer, intent(in) :: roundings
    integer :: bad
    bad = count(.not. abs(got - want) <= 4*roundings*unit*size)         ! counts NaN
    print '(a,a,i0,a,i0)', case, ': ', bad, ' of ', ubound(got, 1)
    if (bad > 0 .or. ubound(got, 1) == 0) wrong = wrong + 1
  end subroutine

  subroutine values()
    real(8), allocatable, target :: D(:, :), u(:, :, :, :), w(:, :, :, :)
    real(4), allocatable, target :: D4(:, :), u4(:, :, :, :), r4(:, :, :, :), s4(:, :, :, :), t4(:, :, :, :)
    real(8), allocatable, target :: both(:, :, :, :, :), A(:, :), B(:, :), C(:, :), V(:, :, :, :), old(:, :, :, :), &
                                    U6(:, :, :, :), VW(:, :, :, :), VS(:, :, :, :)
    real(8), allocatable, target :: T3(:, :, :, :, :, :), T3W(:, :, :, :, :, :), t1(:, :), v2(:, :, :, :)
    real(8), allocatable, target :: left(:, :, :), right(:, :, :), out(:, :, :), outwant(:, :, :), data(:, :), field(:, :, :), &
                                    made(:, :), total(:)

    integer :: i, j, k, e, l, m, x, extents(18)
    type(c_ptr) :: places(5)

    allocate(D(n, n), u(n, n, n, elements), ur(n, n, n, elements), us(n, n, n, elements), ut(n, n, n, elements), &
             w(n, n, n, elements), want(n, n, n, elements, 4), size_of(n, n, n, elements, 4))
    D = reshape(filled(n*n, 1), [n, n])
    u = reshape(filled(n**3*elements, 2), [n, n, n, elements])
    want = 0; size_of = 0
    do e = 1, elements
      do k = 1, n
        do j = 1, n
          do i = 1, n
            do l = 1, n
              want(i, j, k, e, 1) = want(i, j, k, e, 1) + D(i, l)*u(l, j, k, e)
              want(i, j, k, e, 2) = want(i, j, k, e, 2) + D(j, l)*u(i, l, k, e)
              want(i, j, k, e, 3) = want(i, j, k, e, 3) + D(k, l)*u(i, j, l, e)
              size_of(i, j, k, e, 1) = size_of(i, j, k, e, 1) + abs(D(i, l)*u(l, j, k, e))
              size_of(i, j, k, e, 2) = size_of(i, j, k, e, 2) + abs(D(j, l)*u(i, l, k, e))
              size_of(i, j, k, e, 3) = size_of(i, j, k, e, 3) + abs(D(k, l)*u(i, j, l, e))
            end do
          end do
        end do
      end do
    end do
    call nothing(ur); call nothing(us); call nothing(ut); call nothing(w)
    call contract('lg3', [frame_in('u', u), frame_in('D', D), frame_out('ur', ur), frame_out('us', us), frame_out('ut', ut)])
    call lg3_is('lg3')
    ur = 0
    call contract('lg3', [frame_in('u', u), frame_in('D', D), frame_out('ur', ur), frame_out('us', us), frame_out('ut', ut)])
    call lg3_is('lg3 again')

    ! the constant changes between two calls on the same arrays
    D = 2*D; want(:, :, :, :, 1:3) = 2*want(:, :, :, :, 1:3); size_of(:, :, :, :, 1:3) = 2*size_of(:, :, :, :, 1:3)
    call contract('lg3', [frame_in('u', u), frame_in('D', D), frame_out('ur', ur), frame_out('us', us), frame_out('ut', ut)])
    call lg3_is('another D')

    ! a smaller batch
    ur = -1
    call contract('lg3', [frame_in('u', u(:, :, :, 2:3)), frame_in('D', D), frame_out('ur', ur(:, :, :, 2:3)), &
                          frame_out('us', us(:, :, :, 2:3)), frame_out('ut', ut(:, :, :, 2:3))])
    if (any(ur(:, :, :, [1, 4]) /= -1)) wrong = wrong + 1
    call compare('two elements', pack(ur(:, :, :, 2:3), .true.), pack(want(:, :, :, 2:3, 1), .true.), &
                 pack(size_of(:, :, :, 2:3, 1), .true.), n + 1, eps)

    ! old style
    call nothing(ur); call nothing(us); call nothing(ut)
    places = [c_loc(u), c_loc(D), c_loc(ur), c_loc(us), c_loc(ut)]
    extents = [n, n, n, elements, n, n, n, n, n, elements, n, n, n, elements, n, n, n, elements]
    call frame_contract('lg3'//char(0), 'u, D, ur, us, ut'//char(0), places, %val(5), extents, %val(18), %val(8))
    call lg3_is('old style')

    ! variables of one array: elements lie further apart than they are long
    allocate(both(n, n, n, 4, elements))
    both = -1
    both(:, :, :, 1, :) = u
    call contract('lg3', [frame_in('u', both(:, :, :, 1, :)), frame_in('D', D), frame_out('ur', both(:, :, :, 3, :)), &
                          frame_out('us', both(:, :, :, 2, :)), frame_out('ut', both(:, :, :, 4, :))])
    ur = both(:, :, :, 3, :); us = both(:, :, :, 2, :); ut = both(:, :, :, 4, :)
    call lg3_is('variables of one array')
    if (any(both(:, :, :, 1, :) /= u)) wrong = wrong + 1

    ! single precision
    D4 = real(D, 4); u4 = real(u, 4)
    allocate(r4(n, n, n, elements), s4(n, n, n, elements), t4(n, n, n, elements))
    call contract('lg3', [frame_out('ur', r4), frame_out('us', s4), frame_out('ut', t4), frame_in('D', D4), frame_in('u', u4)])
    ur = r4; us = s4; ut = t4
    do x = 1, 3
      call compare('single precision', pack(merge(ur, merge(us, ut, x == 2), x == 1), .true.), pack(want(:, :, :, :, x), .true.), &
                   pack(size_of(:, :, :, :, x), .true.), n + 3, real(epsilon(1.), 8))      ! D and u were rounded too
    end do

    ! the adjoint, with lines and a comment in the text
    call registercontraction('lg3t', lg3t)
    ur = reshape(filled(n**3*elements, 3), [n, n, n, elements])
    us = 2*ur - 0.1d0; ut = ur + 0.3d0
    want(:, :, :, :, 4) = 0; size_of(:, :, :, :, 4) = 0
    do e = 1, elements
      do k = 1, n
        do j = 1, n
          do i = 1, n
            do l = 1, n
              want(i, j, k, e, 4) = want(i, j, k, e, 4) + D(l, i)*ur(l, j, k, e) + D(l, j)*us(i, l, k, e) + D(l, k)*ut(i, j, l, e)
              size_of(i, j, k, e, 4) = size_of(i, j, k, e, 4) + abs(D(l, i)*ur(l, j, k, e)) + abs(D(l, j)*us(i, l, k, e)) &
                                       + abs(D(l, k)*ut(i, j, l, e))
            end do
          end do
        end do
      end do
    end do
    call contract('lg3t', [frame_in('ur', ur), frame_in('us', us), frame_in('ut', ut), frame_in('D', D), frame_out('w', w)])
    call compare('lg3t', pack(w, .true.), pack(want(:, :, :, :, 4), .true.), pack(size_of(:, :, :, :, 4), .true.), 3*n + 2, eps)

    ! Eqn. (1) of Nelson et al., six extents, added to
    call registercontraction('eqn1', 'V(i,j,k,e) += A(l,k) B(m,j) C(n,i) U(l,m,n,e)')
    allocate(A(3, 4), B(5, 2), C(6, 7), U6(3, 5, 6, elements), V(7, 2, 4, elements), VW(7, 2, 4, elements), VS(7, 2, 4, elements))
    A = reshape(filled(12, 4), [3, 4]); B = reshape(filled(10, 5), [5, 2]); C = reshape(filled(42, 6), [6, 7])
    U6 = reshape(filled(90*elements, 7), [3, 5, 6, elements]); V = reshape(filled(56*elements, 8), [7, 2, 4, elements])
    old = V; VW = V; VS = abs(V)
    do e = 1, elements
      do k = 1, 4
        do j = 1, 2
          do i = 1, 7
            do x = 1, 6
              do m = 1, 5
                do l = 1, 3
                  VW(i, j, k, e) = VW(i, j, k, e) + A(l, k)*B(m, j)*C(x, i)*U6(l, m, x, e)
                  VS(i, j, k, e) = VS(i, j, k, e) + abs(A(l, k)*B(m, j)*C(x, i)*U6(l, m, x, e))
                end do
              end do
            end do
          end do
        end do
      end do
    end do
    call contract('eqn1', [frame_in('A', A), frame_in('B', B), frame_in('C', C), frame_in('U', U6), frame_inout('V', V)])
    call compare('eqn1', pack(V, .true.), pack(VW, .true.), pack(VS, .true.), 3*5*6 + 5, eps)

    ! Intrepid's, in Fortran's order, with nothing registered; frame_inout adds
    allocate(left(9, 3, elements), right(9, 4, elements), out(4, 3, elements), outwant(4, 3, elements))
    left = reshape(filled(27*elements, 9), shape(left)); right = reshape(filled(36*elements, 10), shape(right))
    outwant = 0
    do e = 1, elements
      do l = 1, 3
        do k = 1, 4
          outwant(k, l, e) = dot_product(left(:, l, e), right(:, k, e))
        end do
      end do
    end do
    call contract('contractFieldFieldScalar', [frame_in('left', left), frame_in('right', right), frame_out('out', out)])
    call compare('field field', pack(out, .true.), pack(outwant, .true.), spread(9*0.25d0, 1, size(out)), 10, eps)
    call contract('contractFieldFieldScalar', [frame_in('left', left), frame_in('right', right), frame_inout('out', out)])
    call compare('field field added', pack(out, .true.), pack(2*outwant, .true.), spread(18*0.25d0, 1, size(out)), 20, eps)
    allocate(data(1, elements), field(9, 3, elements), made(3, elements), total(elements))
    data = reshape(filled(elements, 11), shape(data)); field = left
    call contract('contractDataFieldScalar', [frame_in('data', data), frame_in('field', field), frame_out('out', made)])
    call compare('constant data', pack(made, .true.), [((data(1, e)*sum(field(:, l, e)), l=1, 3), e=1, elements)], &
                 spread(9*0.25d0, 1, size(made)), 11, eps)
    call contract('contractDataDataScalar', [frame_in('left', left(:, 2, :)), frame_in('right', right(:, 1, :)), &
                                             frame_out('out', total)])
    call compare('data data', total, [(dot_product(left(:, 2, e), right(:, 1, e)), e=1, elements)], &
                 spread(9*0.25d0, 1, elements), 10, eps)

    ! one of NWChem's triples kernels: six dimensions; the batch index d is the fastest one of t1
    call registercontraction('s1', 'T(c,b,a,f,e,d) += t1(d,a) v2(c,b,f,e)')
    allocate(T3(2, 3, 4, 3, 2, 5), T3W(2, 3, 4, 3, 2, 5), t1(5, 4), v2(2, 3, 3, 2))
    t1 = reshape(filled(20, 12), [5, 4]); v2 = reshape(filled(36, 13), shape(v2)); T3 = 1; T3W = 1
    do e = 1, 5
      do l = 1, 4
        T3W(:, :, l, :, :, e) = T3W(:, :, l, :, :, e) + t1(e, l)*v2
      end do
    end do
    call contract('s1', [frame_in('t1', t1), frame_in('v2', v2), frame_inout('T', T3)])
    call compare('six dimensions', pack(T3, .true.), pack(T3W, .true.), spread(1.25d0, 1, size(T3)), 3, eps)

    ! no batch index: one number, which Fortran has as an array of one
    call registercontraction('norm', 's() = u(i,j) u(i,j)')
    call contract('norm', [frame_in('u', A), frame_out('s', total(:1))])
    call compare('one number', total(:1), [sum(A**2)], [sum(A**2)], 13, eps)

  end subroutine

  subroutine errors()
    type point
      real(8) :: x, y
    end type
    type(point), target :: cells(n, n, n, 2)
    real(8), pointer :: x(:, :, :, :)
    real(8), target :: D(n, n), u(n, n, n, 2), wide(2*n, n, n, 2), D6(6, 6), &
                       none(n, n, n, 0), flat(n**3*2), pair(n, n, n, 3)
    real(4), target :: single(n, n)
    type(frame_field) :: f(5)
    type(c_ptr) :: places(5)
    integer :: extents(18)
    if (allocated(ur)) deallocate(ur, us, ut)
    allocate(ur(n, n, n, 2), us(n, n, n, 2), ut(n, n, n, 2))
    D = 1; u = 1; ur = -1; us = -1; ut = -1; wide = 1; D6 = 1; single = 1; flat = 1; pair = -1; cells = point(1, 1)

    call registercontraction('bad', 'w(i) = ', stat=status); call tell('no term')
    call registercontraction('bad', 'w(i) = a(i) / b(i)', stat=status); call tell('division')
    call registercontraction('bad', 'map q(i) = f(a(i))', stat=status); call tell('a map')
    call registercontraction('bad', 'w(i) = a(i); local b', stat=status); call tell('a local')
    call registercontraction('bad', 'w(i,e) = a(i,e); batch e; batch i', stat=status); call tell('two batches')
    call registercontraction('lg3', lg3, stat=status); call tell('the same text')
    call registercontraction('lg3', lg3t, stat=status); call tell('another text')
    call contract('lg4', [frame_in('u', u)], stat=status); call tell('unknown')

    f = [frame_in('u', u), frame_in('D', D), frame_out('ur', ur), frame_out('us', us), frame_out('ut', ut)]
    call contract('lg3', f(:4), stat=status); call tell('missing')
    call contract('lg3', [f, frame_in('g', u)], stat=status); call tell('too many')
    call contract('lg3', [f, frame_out('us', us)], stat=status); call tell('twice')
    call contract('lg3', [frame_out('u', u), f(2:)], stat=status); call tell('out for in')
    call contract('lg3', [f(:4), frame_in('ut', ut)], stat=status); call tell('in for out')
    call contract('lg3', [f(:4), frame_inout('ut', ut)], stat=status); call tell('inout for out')
    call contract('lg3', [f(1), frame_in('D', single), f(3:)], stat=status); call tell('kind')
    call contract('lg3', [frame_in('u', flat), f(2:)], stat=status); call tell('rank')
    call contract('lg3', [f(1), frame_in('D', D6), f(3:)], stat=status); call tell('extent')
    call contract('lg3', [f(1), frame_in('D', D6(:n, :)), f(3:)], stat=status); call tell('one extent')
    call contract('lg3', [f(:4), frame_out('ut', pair)], stat=status); call tell('batch')
    call contract('lg3', [frame_in('u', wide(::2, :, :, :)), f(2:)], stat=status); call tell('every other')
    call contract('lg3', [frame_in('u', wide(:n, :, :, :)), f(2:)], stat=status); call tell('a part')
    call contract('lg3', [f(1), frame_in('D', D(:, n:1:-1)), f(3:)], stat=status); call tell('backwards')
    x => cells%x
    call contract('lg3', [frame_in('u', x, first=x(1, 1, 1, 1)), f(2:)], stat=status); call tell('components')
    call contract('lg3', [f(:4), frame_out('ut', us)], stat=status); call tell('one array twice')
    call contract('lg3', [frame_in('u', pair(:, :, :, 1:2)), f(2:4), frame_out('ut', pair(:, :, :, 2:3))], stat=status)
    call tell('overlap')
    call contract('lg3', [frame_in('u', none), f(2), frame_out('ur', none), frame_out('us', none), frame_out('ut', none)], &
                  stat=status)
    call tell('batch 0')
    call contract('lg3', [frame_in('u', none), frame_in('D', D6), frame_out('ur', none), frame_out('us', none), &
                          frame_out('ut', none)], stat=status)
    call tell('batch 0 and extent')
    call contract('contractFieldFieldVector', [frame_in('left', u), frame_in('right', u(:, :, :3, :)), &
                                               frame_out('out', ur(:, :, 1, :))], &
                  stat=status)
    call tell('intrepid')
    call contract('contractDataFieldScalar', [frame_in('data', D), frame_in('field', D), frame_out('out', D)], stat=status)
    call tell('intrepid rank')

    places = [c_loc(u), c_loc(D), c_loc(ur), c_loc(us), c_loc(ut)]
    extents = [n, n, n, 2, n, n, n, n, n, 2, n, n, n, 2, n, n, n, 2]
    call old('u, D, ur, us', places, 4, extents, 14, 8); call tell('old: missing')
    call old('u, D, ur, us, ut', places, 4, extents, 18, 8); call tell('old: addresses')
    call old('u, D, ur, us, ut', places, 5, extents, 17, 8); call tell('old: extents')
    call old('u, D, ur, us, ut', places, 5, extents, 18, 2); call tell('old: bytes')
    call old('u, D, ur, us, utt', places, 5, extents, 18, 8); call tell('old: unknown')
    extents(17) = -5
    call old('u, D, ur, us, ut', places, 5, extents, 18, 8); call tell('old: negative')
    extents(17) = n
    places(2) = c_null_ptr
    call old('u, D, ur, us, ut', places, 5, extents, 18, 8); call tell('old: null')
    places(2) = c_loc(D)
    extents(18) = 3
    call old('u, D, ur, us, ut', places, 5, extents, 18, 8); call tell('old: extent')
    if (any([ur, us, ut] /= -1) .or. any(pair /= -1)) wrong = wrong + 1            ! nothing was written

  end subroutine

  subroutine lg3_is(case)
    character(*), intent(in) :: case
    call compare(case//' ur', pack(ur, .true.), pack(want(:, :, :, :, 1), .true.), pack(size_of(:, :, :, :, 1), .true.), n + 1, eps)
    call compare(case//' us', pack(us, .true.), pack(want(:, :, :, :, 2), .true.), pack(size_of(:, :, :, :, 2), .true.), n + 1, eps)
    call compare(case//' ut', pack(ut, .true.), pack(want(:, :, :, :, 3), .true.), pack(size_of(:, :, :, :, 3), .true.), n + 1, eps)
  end subroutine

  ! NaN: `=` never reads the old values
  subroutine nothing(array)
    real(8), intent(out) :: array(:, :, :, :)
    array = transfer(-1_8, 1d0)
  end subroutine

  subroutine old(names, places, count, extents, lengths, bytes)
    character(*), intent(in) :: names
    type(c_ptr), intent(in) :: places(:)
    integer, intent(in) :: count, extents(:), lengths, bytes
    call frame_contract('lg3'//char(0), names//char(0), places, %val(count), extents, %val(lengths), %val(bytes))
    call laststatus(status)
  end subroutine

  subroutine tell(case)
    character(*), intent(in) :: case
    message = ''
    if (status /= 0) call lasterror(message)
    print '(a,a,i0,a,a)', case, ': status ', status, ' ', trim(message)
  end subroutine
end program
