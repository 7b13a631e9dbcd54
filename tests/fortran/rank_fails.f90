! A host of which one rank ends, or does not do what the others do: rank_fails MODE MIXTURE.
program rank_fails
  use frame_interface
  implicit none
  include 'mpif.h'
  integer :: error, rank, ranks, stat
  logical :: odd
  character(20) :: mode
  character(300) :: file
  real(8), target :: T(8), p(8), Y(8), rho(8)

  call get_command_argument(1, mode)
  call get_command_argument(2, file)
  call MPI_INIT(error)
  call MPI_COMM_RANK(MPI_COMM_WORLD, rank, error)
  call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, error)
  odd = rank == ranks - 1
  T = 300; p = 1d6; Y = 1; rho = -1

  if (mode == 'exit early' .and. odd) stop 7
  call frame_setcomm(MPI_COMM_WORLD)
  if (mode == 'no chunk') then
    call frame_initialize(-1, merge(0, 100, odd), 1, 1, 0, stat=stat)
    if (stat /= merge(3, 0, odd)) stop 8
    call frame_finalize()
    call frame_setcomm(MPI_COMM_WORLD)
  end if
  call frame_initialize(-1, 100, merge(2, 1, mode == 'other ns' .and. odd), 1, 0)
  if (mode == 'no file' .and. odd) call frame_loadmixture('/nowhere.yaml', '', stat=stat)
  if (.not. (mode == 'no mixture' .and. odd)) call frame_loadmixture(file)
  if (mode == 'abort' .and. odd) call MPI_ABORT(MPI_COMM_WORLD, 9, error)
  if (mode == 'stop' .and. odd) stop 5

  call frame_block('thermal', [frame_in('T', T), frame_in('p', p), frame_in('Y', Y), frame_out('rho', rho)])
  if (.not. (mode == 'no finalize' .and. odd)) call frame_finalize()
  call MPI_BARRIER(MPI_COMM_WORLD, error)
  call MPI_FINALIZE(error)
  print '(a,i0,f9.5)', 'end of rank ', rank, rho(8)
end program
