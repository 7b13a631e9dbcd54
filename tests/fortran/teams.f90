! A host that calls a team kernel by its name: teams FILE. Prints statuses and messages, and results.
program teams
  use frame_interface
  implicit none
  integer, parameter :: n = 37, m = 101
  character(300) :: file
  character(4000) :: message
  real(8), target :: A(m, n), x(m), y(n), largest(n), total(1), wide(2*m, n)
  real(8) :: expected(n)
  integer :: i, j, status

  call get_command_argument(1, file)
  do i = 1, n
    do j = 1, m
      A(j, i) = mod(7*i + 3*j, 19) - 9
    end do
  end do
  x = [(mod(5*j, 11) - 5, j=1, m)]
  call frame_registerkernel(trim(file), status); call tell('register')
  call frame_initialize(-1, 8, 1, 1, 0, status); call tell('init')
  y = -1; largest = -1; total = -1
  call run('run')
  call frame_setconstant('factor', 2d0, status)
  A(1, 1) = A(1, 1) + 1
  call run('again')
  call frame_block('rows', [frame_in('A', A), frame_in('x', x), frame_out('y', y), frame_out('largest', largest), &
                            frame_out('total', total)], lo=[1], hi=[2], stat=status); call tell('lo')
  call frame_block('rows', [frame_in('A', A), frame_in('x', x(2:)), frame_out('y', y), frame_out('largest', largest), &
                            frame_out('total', total)], stat=status); call tell('extent')
  call frame_block('rows', [frame_in('A', wide(::2, :)), frame_in('x', x), frame_out('y', y), frame_out('largest', largest), &
                            frame_out('total', total)], stat=status); call tell('section')
  call frame_block('rows', [frame_in('A', A), frame_in('x', x), frame_in('y', y), frame_out('largest', largest), &
                            frame_out('total', total)], stat=status); call tell('in')
  call frame_block('rows', [frame_in('A', A), frame_in('x', x), frame_out('y', y), frame_out('largest', y), &
                            frame_out('total', total)], stat=status); call tell('shared')
  call frame_block('rows', [frame_in('A', A), frame_in('z', x)], stat=status); call tell('unknown')
  call frame_block('rows', [frame_in('A', A), frame_in('x', x)], stat=status); call tell('missing')
  call frame_launch('rows', 5, status); call tell('launch')
  call frame_finalize(status); call tell('finalize')

contains

  subroutine run(what)
    character(*), intent(in) :: what
    call frame_block('rows', [frame_in('A', A), frame_in('x', x), frame_out('y', y), frame_out('largest', largest), &
                              frame_out('total', total)], stat=status); call tell(what)
    expected = merge(1d0, 2d0, what == 'run')*matmul(x, A)
    print '(2a,l2,l2,l2)', what, ' right = ', all(y == expected), all(largest == maxval(A, 1)), total(1) == sum(expected)
  end subroutine

  include 'tell.inc'
end program
