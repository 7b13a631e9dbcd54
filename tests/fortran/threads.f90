! OpenMP threads, each with blocks of its own, and a second block that is filled in part.
program threads
  use frame_interface
  implicit none
  integer, parameter :: n = 24
  character(300) :: mixture, number
  character(1000) :: message
  integer :: status, k, total, wrong, failed
  double precision, allocatable, target :: T(:, :), p(:, :), Y(:, :), rho(:, :), serial(:, :)

  call get_command_argument(1, mixture)
  call get_command_argument(2, number)
  read (number, *) total
  allocate (T(n, total), p(n, total), Y(n, total), rho(n, total), serial(n, total))
  do k = 1, total
    T(:, k) = 300 + k*1d-2; p(:, k) = 1d6 + 1d3*k; Y(:, k) = 1
  end do
  serial = -1; rho = -1; failed = 0
  call frame_initialize(-1, n, 1, 1, 0, status); call tell('initialize')
  call frame_loadmixture(trim(mixture), stat=status); call tell('mixture')
  do k = 1, total
    failed = failed + sequence(k, serial)
  end do
  !$omp parallel do num_threads(4) schedule(static, 1) reduction(+:failed)
  do k = 1, total
    failed = failed + sequence(k, rho)
  end do
  wrong = count(any(rho /= serial, 1))
  print '(i0,a,i0,a,i0,a)', total, ' sequences: ', wrong, ' wrong, ', failed, ' failed'

  call frame_put('T', T(:, 1), stat=status); call tell('T')
  call frame_launch('thermal', n, status); call tell('launch')
  call frame_get('rho', rho(:, 1), stat=status); call tell('get')

contains

  integer function sequence(k, into) result(bad)
    integer, intent(in) :: k
    double precision, intent(inout), target :: into(:, :)
    integer :: told(5)
    call frame_put('T', T(:, k), stat=told(1))
    call frame_put('p', p(:, k), stat=told(2))
    call frame_put('Y', Y(:, k), stat=told(3))
    call frame_launch('thermal', n, told(4))
    call frame_get('rho', into(:, k), stat=told(5))
    bad = merge(1, 0, any(told /= 0))
  end function

  include 'tell.inc'
end program
