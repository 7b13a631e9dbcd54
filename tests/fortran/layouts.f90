! Layouts of hosts through the module: species in arrays of their own, numbers, lists for chunks, a function of a point.
program layouts
  use frame_interface
  implicit none
  integer, parameter :: n = 11, ng = 2, ns = 9, chunk = 16
  type scalar_field
    real(8), pointer :: sf(:, :) => null()
  end type
  type(scalar_field) :: q(ns), w(ns)
  real(8), target :: T(n, n), Y(n, n, ns), rho(n, n), omega(n, n, ns), again(n, n), p, made_rho, one_T, one_Y(ns)
  real(4), target :: p4, rho4(1 - ng:n + ng, n)
  real(8) :: made(2, n, n)
  procedure(frame_point), pointer :: thermal
  integer :: i, j, first, last, stat, wrong
  character(200) :: message

  call random_number(T)
  T = 800 + 1500*T; p = 2d5; p4 = 2e5
  do i = 1, ns
    allocate (q(i)%sf(1 - ng:n + ng, 0:n), w(i)%sf(n, n))
    q(i)%sf = 0; w(i)%sf = -1
  end do
  q(1)%sf = 0.03d0; q(2)%sf = 0.22d0; q(6)%sf = 0.001d0; q(9)%sf = 0.749d0
  do i = 1, ns
    Y(:, :, i) = q(i)%sf(1:n, 1:n)
  end do

  call frame_initialize(-1, chunk, ns, ns + 5, 0)
  call frame_setoption('  equation', ' ideal')
  call frame_loadmixture('examples/mechanisms/h2_o2.yaml')

  call frame_block('thermal', [frame_in('T', T), frame_in('p', p), frame_in('Y', Y), frame_out('rho', rho)], stat=stat)
  call tell('4-D', count(.not. rho > 0))
  call frame_block(' kinetics', [frame_in(' T', T), frame_in('p', p), frame_in('rho', rho), frame_in('Y', Y), &
                                 frame_out('omega', omega)], stat=stat)
  call tell('rates', count(omega /= omega))
  call frame_block('kinetics', [frame_in('T', T), frame_in('p', p), frame_in('rho', rho), &
                                (frame_in('Y', q(i)%sf), i=1, ns), (frame_out('omega', w(i)%sf), i=1, ns)], &
                   lo=[1, 1], hi=[n, n], stat=stat)
  wrong = 0
  do i = 1, ns
    wrong = wrong + count(w(i)%sf /= omega(:, :, i))
  end do
  call tell('apart', wrong)

  ! stripes, from lists
  again = -1
  do first = 1, n*n, chunk
    last = min(first + chunk - 1, n*n)
    call frame_put('T', T, first=first, last=last)
    call frame_put('p', spread(spread(p, 1, n), 2, n), first=first, last=last)
    call frame_put([(frame_in('Y', q(i)%sf), i=1, ns)], [1, 1], [n, n], first, last, stat)
    call frame_launch('thermal', last - first + 1)
    call frame_get([frame_out('rho', again)], first=first, last=last)
  end do
  call tell('lists', count(again /= rho))

  ! numbers: of single precision, and a point made of numbers only
  rho4 = -1
  call frame_block('thermal', [frame_in('T', T), frame_in('p', p4), frame_in('Y', Y), frame_out('rho', rho4)], &
                   lo=[1, 1], hi=[n, n], stat=stat)
  call tell('single', count(rho4(1:n, :) /= real(rho, 4)) + count(rho4(:0, :) /= -1))
  one_T = T(3, 4); one_Y = Y(3, 4, :); made_rho = -1
  call frame_block('thermal', [frame_in('T', one_T), frame_in('p', p), frame_in('Y', one_Y), frame_out('rho', made_rho)], &
                   stat=stat)
  call tell('a point of numbers', merge(0, 1, made_rho == rho(3, 4)))

  ! a function of a point: the C library's exp and log differ from the layer's by a rounding
  call frame_getpoint('T, p, Y', 'rho, X', thermal, stat)
  call tell('a function with X', merge(0, 1, associated(thermal)))
  call frame_getpoint('T, p, Y', 'rho, h', thermal, stat)
  do concurrent(i=1:n, j=1:n)
    call thermal([T(i, j), p, Y(i, j, :)], made(:, i, j))
  end do
  call tell('a function', count(abs(made(1, :, :) - rho) > 1d-14*rho))
  made = -1
  !$omp parallel do
  do j = 1, n
    do i = 1, n
      call thermal([T(i, j), p, Y(i, j, :)], made(:, i, j))
    end do
  end do
  call tell('in threads', count(abs(made(1, :, :) - rho) > 1d-14*rho))
  call frame_getpoint('T, Y', 'rho', thermal, stat)
  call tell('no function', merge(1, 0, associated(thermal)))

  ! what the messages do not say
  call frame_block('thermal', [frame_in('Tt', T), frame_out('rho', rho)], stat=stat)
  call tell('an unknown name', 0)
  call frame_launch('thermal', chunk + 1, stat)
  call tell('too many points', 0)
  call frame_finalize()

contains

  subroutine tell(what, wrong)
    character(*), intent(in) :: what
    integer, intent(in) :: wrong
    call frame_lasterror(message)
    print '(2a,i0,a,i0,2a)', what, ': wrong ', wrong, ' status ', stat, ' ', trim(message)
  end subroutine
end program
