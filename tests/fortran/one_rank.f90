! A rank that fails in a collective call: do the others come back, so that the host can agree on what to do? A rank with
! LATE in its environment comes 6 seconds late to this call; one with JUNK passes a number that is no communicator.
program one_rank
  use frame_interface
  implicit none
#ifdef MPIF
  include MPIF
#else
  include 'mpif.h'
#endif
  integer :: error, rank, stat, worst, comm
  character(200) :: message, late, junk
  call MPI_INIT(error)
  call MPI_COMM_RANK(MPI_COMM_WORLD, rank, error)
  comm = MPI_COMM_WORLD
  call get_environment_variable('JUNK', junk)
  call get_environment_variable('LATE', late)
  if (late == 'frame_setcomm') call sleep(6)
  if (junk /= '') comm = 123456
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
