! A rank that fails in a collective call: do the others come back, so that the host can agree on what to do? A rank with
! LATE in its environment comes 6 seconds late to this call; one with JUNK passes a number that is no communicator. A rank
! with OUTSIDE has MPI_COMM_NULL from a split, the others their own communicator; one with FORGOT passes MPI_COMM_NULL, where
! the others pass MPI_COMM_WORLD, and passes this 3 seconds later; FORGOT=for good: never, it waits for the others instead.
! STARTED: all have started Python before they begin.
program one_rank
  use frame_interface
  implicit none
#ifdef MPIF
  include MPIF
#else
  include 'mpif.h'
#endif
  integer :: error, rank, stat, worst, comm, color
  character(200) :: message, late, junk, outside, forgot
  call MPI_INIT(error)
  call MPI_COMM_RANK(MPI_COMM_WORLD, rank, error)
  comm = MPI_COMM_WORLD
  call get_environment_variable('JUNK', junk)
  call get_environment_variable('LATE', late)
  if (late == 'frame_setcomm') call sleep(6)
  if (junk /= '') comm = 123456
  call get_environment_variable('SPLIT', outside)
  if (outside /= '') then
    call get_environment_variable('OUTSIDE', outside)
    color = merge(MPI_UNDEFINED, 1, outside /= '')
    call MPI_COMM_SPLIT(MPI_COMM_WORLD, color, rank, comm, error)
  end if
  call get_environment_variable('STARTED', late)
  if (late /= '') then
    call frame_version(message, stat=stat)
    call MPI_BARRIER(MPI_COMM_WORLD, error)
  end if
  call get_environment_variable('LATE', late)
  call get_environment_variable('FORGOT', forgot)
  if (forgot /= '') then
    call frame_setcomm(MPI_COMM_NULL, stat=stat)
    call frame_lasterror(message)
    print '(a,i0,a,i0,2a)', 'rank ', rank, ' without ', stat, ' ', trim(message)
    if (forgot == 'for good') call MPI_BARRIER(MPI_COMM_WORLD, error)
    call sleep(3)
  end if
  call frame_setcomm(comm, stat=stat)
  call frame_lasterror(message)
  print '(a,i0,a,i0,2a)', 'rank ', rank, ' setcomm ', stat, ' ', trim(message)
  if (late == 'frame_initialize') call sleep(6)
  call frame_initialize(-1, 100, 1, 1, 0, stat=stat)
  print '(a,i0,a,i0)', 'rank ', rank, ' initialize ', stat
  call MPI_ALLREDUCE(stat, worst, 1, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, error)
  if (late == 'frame_report') call sleep(6)
  if (worst == 0) call frame_report()
  call frame_finalize(stat=stat)
  print '(a,i0,a,i0,a,i0)', 'rank ', rank, ' finalize ', stat, ' worst ', worst
  call MPI_FINALIZE(error)
end program
