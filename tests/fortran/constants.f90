! A host that sets the constants of its own kernels: constants FILE [FILE for after finalize]. Through the module with
! stat=, and by the old symbols.
program constants
  use frame_interface, only: register => frame_registerkernel, init => frame_initialize, put => frame_put, get => frame_get, &
                             launch => frame_launch, setconstant => frame_setconstant, frame_block, frame_in, frame_out, &
                             laststatus => frame_laststatus, finalize => frame_finalize
  implicit none
  external :: frame_setconstant, frame_setconstants
  character(300) :: file, second
  character(4000) :: message
  double precision, target :: T(6), mu(6)
  double precision :: weight(3), zero
  integer :: status

  call get_command_argument(1, file)
  call get_command_argument(2, second)
  T = 300; mu = -1; zero = 0
  call setconstant('MU0', 2d0, status); call tell('early')
  call register(file, status); call tell('register')
  call init(-1, 4, 3, 1, 0, status); call tell('init')
  call put('T', T(:4), stat=status)
  call launch('viscosity', 4, status); call tell('not set')
  call setconstant('MU0', 2d0, status); call tell('one')
  call setconstant('weight', [1d0, 10d0, 100d0], status); call tell('several')
  call launched('launch')
  call setconstant('MU0', 3d0, status)
  call launched('changed')
  call blocked('block')                         ! two chunks
  call setconstant('T0', 150d0, status)
  call blocked('block changed')
  call frame_setconstant('MU0'//char(0), %val(5d0)); call laststatus(status); call tell('old')
  weight = [0d0, 0d0, 1d0]
  call frame_setconstants('weight'//char(0), weight, %val(3)); call laststatus(status); call tell('old several')
  call launched('old changed')
  call setconstant('MU00', 1d0, status); call tell('unknown')
  call setconstant('weight', 1d0, status); call tell('one for several')
  call setconstant('weight', [1d0, 2d0], status); call tell('too few')
  call setconstant('MU0', [1d0], status); call tell('several for one')
  call setconstant('MU0', zero/zero, status); call tell('nan')
  call launched('unchanged')
  call finalize(status)
  call init(-1, 4, 3, 1, 0, status)
  call launched('after finalize')
  if (second == '') stop
  call finalize(status)
  call register(second, status); call tell('again')
  call init(-1, 4, 3, 1, 0, status)
  call launched('declared otherwise')

contains

  include 'tell.inc'

  subroutine launched(what)
    character(*), intent(in) :: what
    call put('T', T(:4), stat=status)              ! a block call has used the views
    call launch('viscosity', 4, status)
    if (status /= 0) call tell(what)
    call get('mu', mu(:4), stat=status)
    print '(a,a,es12.5)', what, ' = ', mu(4)
  end subroutine

  subroutine blocked(what)
    character(*), intent(in) :: what
    call frame_block('viscosity', [frame_in('T', T), frame_out('mu', mu)], stat=status)
    if (status /= 0) call tell(what)
    print '(a,a,2es12.5)', what, ' = ', mu(1), mu(6)
  end subroutine
end program
