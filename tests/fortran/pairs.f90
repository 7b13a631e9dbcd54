! A host with pairs of arrays: pairs FILE. Prints statuses, messages, and what is right.
program pairs
  use frame_interface
  implicit none
  integer, parameter :: n = 37, m = 101
  character(300) :: file
  character(4000) :: message
  real(8), target :: A(m, n), x(m), y(n), largest(n), total(1)
  integer :: i, status
  logical :: on_host, on_device

  call get_command_argument(1, file)
  call random_number(A)
  A = anint(9*A)
  x = [(mod(5*i, 11) - 5, i=1, m)]
  y = -1; largest = -1; total = -1
  call frame_registerkernel(trim(file), status); call tell('register')
  call frame_initialize(-1, 8, 1, 1, 0, status); call tell('init')
  call frame_pair([frame_inout('A', A), frame_inout('y', y)], status); call tell('pair')

  ! What the layer computes is on the device, until it is asked for.
  call run(); call tell('run')
  call frame_needsync('host', [frame_inout('y', y)], on_host, status); call tell('needs')
  call frame_needsync('device', [frame_inout('A', A), frame_inout('y', y)], on_device)
  print '(a,2l2,l2)', 'after run', on_host, on_device, all(y == -1)
  call frame_sync('host', [frame_inout('y', y)], status); call tell('sync')
  call frame_needsync('host', [frame_inout('y', y)], on_host)
  print '(a,l2,l2,l2)', 'after sync', on_host, all(y == matmul(x, A)), all(largest == maxval(A, 1))

  ! What the host writes is taken over when it says so.
  A = 2*A
  call run()
  call frame_sync('host', [frame_inout('y', y)])
  print '(a,2l2)', 'unsaid', all(2*y == matmul(x, A)), all(y == matmul(x, A))
  call frame_modify('host', [frame_inout('A', A)], status); call tell('modify')
  call frame_needsync('device', [frame_inout('A', A)], on_device)
  call run()
  call frame_sync('host', [frame_inout('y', y)])
  print '(a,2l2)', 'said', on_device, all(y == matmul(x, A))

  ! A section of a paired array is in its copy; both sides written is an error; without a pair all is as before.
  call frame_block('rows', [frame_in('A', A(:, 2:3)), frame_in('x', x), frame_out('y', y(2:3)), &
                            frame_out('largest', largest(2:3)), frame_out('total', total)], stat=status); call tell('section')
  call frame_modify('host', [frame_inout('y', y)], status); call tell('both')
  call frame_sync('host', [frame_inout('y', y)], status)
  call frame_pair([frame_inout('A', A(:, 2:3))], status); call tell('overlap')
  call frame_pair([frame_inout('x', x(1:m:2))], status); call tell('gaps')
  call frame_modify('device', [frame_inout('x', x)], status); call tell('unknown')
  call frame_modify('gpu', [frame_inout('A', A)], status); call tell('side')
  call frame_unpair([frame_inout('A', A), frame_inout('y', y)], status); call tell('unpair')
  A = A + 1
  call run(); call tell('unpaired')
  print '(a,l2)', 'at the end', all(y == matmul(x, A))
  call frame_finalize(status); call tell('finalize')

contains

  subroutine run()
    call frame_block('rows', [frame_in('A', A), frame_in('x', x), frame_out('y', y), frame_out('largest', largest), &
                              frame_out('total', total)], stat=status)
  end subroutine

  include 'tell.inc'
end program
