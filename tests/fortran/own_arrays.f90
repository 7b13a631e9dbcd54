! A host with arrays where kernels work: own_arrays [FILE | -]. Prints statuses, messages, and what is right.
program own_arrays
  use, intrinsic :: iso_c_binding, only : c_ptr, c_intptr_t, c_f_pointer, c_null_ptr, c_loc
  use frame_interface
  implicit none
  integer, parameter :: n = 5, e = 7
  character(300) :: file
  character(4000) :: message
  real(8), target :: host_u(n, n, e), host_D(n, n), host_w(n, n, e)
  real(4), target :: singles(3), others(3)
  integer, target :: whole(4), same(4)
  real(8), pointer :: u(:, :, :), D(:, :), w(:, :, :), freed(:, :), none(:), unset(:)
  real(4), pointer :: a4(:)
  integer, pointer :: ai(:)
  type(c_ptr) :: place
  integer :: status, i

  call get_command_argument(1, file)
  if (file /= '-') call frame_registerkernel(trim(file))
  nullify (D, unset)
  call frame_allocate(D, [n, n], status); call tell('before init')
  print '(a,l2)', 'null', .not. associated(D)
  call frame_initialize(-1, 8, 1, 1, 0)
  call frame_registercontraction('rows', 'w(i,j,e) = D(i,l) u(l,j,e)')
  call random_number(host_u); call random_number(host_D)
  host_u = anint(9*host_u); host_D = anint(9*host_D)

  call frame_allocate(D, [n, n], status); call tell('allocate')
  call frame_allocate(u, [n, n, e]); call frame_allocate(w, shape(host_w))
  print '(a,2l2)', 'shapes', all(shape(u) == [n, n, e]), all(lbound(w) == 1)
  call frame_copy(D, host_D, status); call tell('copy')
  call frame_copy(u, host_u)
  call run(D, u, w); call tell('device')
  call frame_copy(host_w, w)
  print '(a,l2)', 'device', right()

  ! Some arrays of the device, some of the host; sections of the batch.
  host_w = -1
  call run(D, u, host_w); call tell('out')
  print '(a,l2)', 'out', right()
  host_D = 2*host_D
  call run(host_D, u, w); call tell('in')
  call frame_copy(host_w, w)
  print '(a,l2)', 'in', right()
  call frame_copy(w(:, :, 2:3), u(:, :, 4:5)); call frame_copy(host_w, w)
  print '(a,l2)', 'from device to device', all(host_w(:, :, 2:3) == host_u(:, :, 4:5))

  ! Other kinds; no elements; bytes.
  singles = [1, 2, 3]; others = 0
  call frame_allocate(a4, [3]); call frame_copy(a4, singles); call frame_copy(others, a4)
  whole = [4, 3, 2, 1]; same = 0
  call frame_allocate(ai, [4]); call frame_copy(ai, whole); call frame_copy(same, ai)
  call frame_allocate(none, [-1], status); call tell('nothing')
  print '(a,3l2)', 'kinds', all(others == singles), all(same == whole), size(none) == 0
  call frame_deallocate(a4); call frame_deallocate(ai); call frame_deallocate(none, status); call tell('of nothing')
  call frame_deallocate(unset, status); call tell('unset')
  call frame_allocate(24_c_intptr_t, place)
  call frame_copy(place, c_loc(host_D), 24_c_intptr_t)
  call c_f_pointer(place, none, [3])
  host_w = 0
  call frame_copy(host_w(1:3, 1, 1), none)
  print '(a,l2)', 'bytes', all(host_w(1:3, 1, 1) == host_D(1:3, 1))
  call frame_deallocate(place, status); call tell('bytes')

  ! What cannot be.
  call frame_allocate(-8_c_intptr_t, place, status); call tell('negative')
  call frame_copy(u(:, :, 1:2), host_u(:, :, 1:3), status); call tell('extents')
  call frame_copy(u(:, 1:2, 1:2), host_u(:, 1:2, 1:2), status); call tell('gaps')
  freed => D
  call frame_deallocate(D, status); call tell('deallocate')
  print '(a,l2)', 'gone', .not. associated(D)
  call frame_deallocate(freed, status); call tell('twice')
  call frame_deallocate(u, status); call tell('other')
  u => w(:, :, 2:)
  call frame_deallocate(u, status); call tell('inside')
  call run(freed, w, host_u); call tell('freed')
  call frame_copy(freed, host_D, status); call tell('to freed')
  call frame_finalize()
  call frame_initialize(-1, 8, 1, 1, 0)
  call frame_deallocate(w, status); call tell('finalized')
  call frame_finalize()

contains

  subroutine run(D, u, w)
    real(8), pointer, intent(in) :: D(:, :), u(:, :, :), w(:, :, :)
    call frame_contract('rows', [frame_in('D', D), frame_in('u', u), frame_out('w', w)], status)
  end subroutine

  logical function right()
    right = .true.
    do i = 1, e
      right = right .and. all(host_w(:, :, i) == matmul(host_D, host_u(:, :, i)))
    end do
  end function

  include 'tell.inc'

end program
