!> A rank of `bench blocks --host fortran`: the lines of blocks_rank.py from a Fortran host, for mixtures of 4 and 10 species.
!! First argument: the folder of the mixtures. Arrays are pageable, or pinned by frame_pin.
program blocks
  use frame_interface
  use, intrinsic :: iso_fortran_env, only : int64, real64
  implicit none
  integer, parameter :: dp = real64
  real(dp), allocatable, target :: T(:, :, :), p(:, :, :), Y(:, :, :, :), rho(:, :, :), h(:, :, :), c(:, :, :), mu(:, :, :), &
                                   lam(:, :, :), D(:, :, :, :)
  integer :: n(3), fringe(6), ns, chunk, status, low(3), high(3), hi(3), before(2)
  integer, parameter :: lo(3) = 1
  logical :: pinned
  real(dp) :: seconds
  character(len=1024) :: line, folder
  character(len=16) :: verb, way, memory

  call get_command_argument(1, folder)
  before = 0
  pinned = .false.
  do
    read (*, '(a)', iostat=status) line
    if (status /= 0) exit
    read (line, *) verb
    select case (verb)
    case ('facts')
      print '(a)', 'a Fortran host'
    case ('case')
      read (line, *) verb, way, memory, n, fringe, ns, chunk, seconds
      call prepare()
    case ('go')
      call measure()
    case default
      print '(a)', 'wrong: a Fortran host does not know '//trim(verb)
    end select
    flush (6)
  end do
  call frame_finalize()

contains

  subroutine prepare()
    integer :: s, k
    if (pinned) call hold(.false.)
    if (any(before /= [ns, chunk])) then
      call frame_finalize()
      call frame_initialize(-1, chunk, ns, 1, 0)
      call frame_loadmixture(trim(folder)//merge('/ch4_o2_4.yaml', '/ch4_o2.yaml  ', ns == 4))
      before = [ns, chunk]
    end if
    low = 1 - fringe(1::2)
    high = n + fringe(2::2)
    hi = n
    if (allocated(T)) deallocate (T, p, Y, rho, h, c, mu, lam, D)
    allocate (T(low(1):high(1), low(2):high(2), low(3):high(3)))
    allocate (p, rho, h, c, mu, lam, mold=T)
    allocate (Y(low(1):high(1), low(2):high(2), low(3):high(3), ns))
    allocate (D, mold=Y)
    T = -1; p = -1; Y = -1; rho = -1; h = -1; c = -1; mu = -1; lam = -1; D = -1
    do k = 1, n(3)
      T(1:n(1), 1:n(2), k) = 400 + 1500.0_dp*k/n(3)
      p(1:n(1), 1:n(2), k) = 5.0e6_dp
      do s = 1, ns
        Y(1:n(1), 1:n(2), k, s) = 1.0_dp/ns
      end do
    end do
    pinned = memory == 'pinned'
    if (pinned) call hold(.true.)
    call frame_setparameter('queue', merge(1.0_dp, 0.0_dp, way == 'queue'))
    call once()
    call once()
    if (any(rho(1:n(1), 1:n(2), 1:n(3)) < 0.1_dp) .or. any(mu(1:n(1), 1:n(2), 1:n(3)) <= 0) &
        .or. any(D(1:n(1), 1:n(2), 1:n(3), :) <= 0)) then
      print '(a)', 'wrong: a result is not positive'
    else if (count(abs(rho + 1) > 0) /= product(n) .or. count(abs(D + 1) > 0) /= ns*product(n)) then
      print '(a)', 'wrong: more or less than the box was written'
    else
      print '(a)', 'ready'
    end if
  end subroutine prepare

  subroutine hold(on)
    logical, intent(in) :: on
    if (on) then
      call frame_pin(T); call frame_pin(p); call frame_pin(Y); call frame_pin(rho); call frame_pin(h)
      call frame_pin(c); call frame_pin(mu); call frame_pin(lam); call frame_pin(D)
    else
      call frame_unpin(T); call frame_unpin(p); call frame_unpin(Y); call frame_unpin(rho); call frame_unpin(h)
      call frame_unpin(c); call frame_unpin(mu); call frame_unpin(lam); call frame_unpin(D)
    end if
  end subroutine hold

  subroutine once()
    integer :: first, last
    if (way == 'block') then
      call frame_block('thermal_viscous', [frame_in('T', T), frame_in('p', p), frame_in('Y', Y), frame_out('rho', rho), &
                                           frame_out('h', h), frame_out('c', c), frame_out('mu', mu), frame_out('lam', lam), &
                                           frame_out('D', D)], lo=lo, hi=hi)
      return
    end if
    do first = 1, product(n), chunk
      last = min(first + chunk - 1, product(n))
      call put('T', T, first, last)
      call put('p', p, first, last)
      call frame_put('Y', Y, lo - low + 1, hi - low + 1, first, last)
      call frame_launch('thermal_viscous', last - first + 1)
      call get('rho', rho, first, last)
      call get('h', h, first, last)
      call get('c', c, first, last)
      call get('mu', mu, first, last)
      call get('lam', lam, first, last)
      call frame_get('D', D, lo - low + 1, hi - low + 1, first, last)
    end do
    if (way == 'queue') call frame_wait()
  end subroutine once

  subroutine put(name, a, first, last)
    character(len=*), intent(in) :: name
    real(dp), intent(in) :: a(:, :, :)
    integer, intent(in) :: first, last
    call frame_put(name, a, lo - low + 1, hi - low + 1, first, last)
  end subroutine put

  subroutine get(name, a, first, last)
    character(len=*), intent(in) :: name
    real(dp), intent(inout) :: a(:, :, :)
    integer, intent(in) :: first, last
    call frame_get(name, a, lo - low + 1, hi - low + 1, first, last)
  end subroutine get

  subroutine measure()
    integer(int64) :: begin, now, rate
    integer :: calls
    real(dp) :: taken
    calls = 0
    call system_clock(begin, rate)
    do
      call once()
      calls = calls + 1
      call system_clock(now)
      taken = real(now - begin, dp)/rate
      if (taken > seconds .and. calls > 2) exit
    end do
    print '(a,i0,1x,es20.12)', 'done ', calls, taken
  end subroutine measure
end program blocks
