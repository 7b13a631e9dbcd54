! Ids of a pool that two team kernels share: shared_pool FILE. Prints whether all ids that are held differ.
program shared_pool
  use frame_interface
  implicit none
  character(300) :: file
  integer(8), target :: first(40) = -1, second(24) = -1, third(40) = -1

  call get_command_argument(1, file)
  call frame_registerkernel(trim(file))
  call frame_initialize(-1, 1, 1, 1, 0)
  call frame_block('take_ids', [frame_out('id', first)])
  call frame_block('take_ids', [frame_out('id', second)])       ! 64 are held: the pool is empty
  print '(l2)', differ([first, second])
  call frame_block('give_ids', [frame_in('id', first)])
  call frame_block('take_ids', [frame_out('id', third)])
  print '(l2)', differ([third, second])
  call frame_finalize()

contains

  logical function differ(ids)
    integer(8), intent(in) :: ids(:)
    integer :: i
    differ = all(ids >= 0 .and. ids < 64) .and. all([(count(ids == ids(i)) == 1, i=1, size(ids))])
  end function
end program
