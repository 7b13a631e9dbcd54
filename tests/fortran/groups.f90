! Ranks in groups: all but the last compute a flow, the last one particles, of which it has none. GROUPS says what is passed
! to frame_setcomm: apart: each group its own communicator; bridge: first an intercommunicator between both; grid: a
! Cartesian communicator of all, which is freed behind; flow: particles call nothing of the layer; again: all, then the
! groups, then each rank itself.
program groups
  use frame_interface
  implicit none
#ifdef MPIF
  include MPIF
#else
  include 'mpif.h'
#endif
  integer :: error, rank, ranks, group, bridge, grid, stat
  logical :: flow
  character(20) :: mode
  character(300) :: mixture
  call MPI_INIT(error)
  call MPI_COMM_RANK(MPI_COMM_WORLD, rank, error)
  call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, error)
  call get_environment_variable('GROUPS', mode)
  call get_environment_variable('MIXTURE', mixture)
  flow = rank < ranks - 1
  call MPI_COMM_SPLIT(MPI_COMM_WORLD, merge(0, 1, flow), rank, group, error)

  select case (mode)
  case ('bridge')
    call MPI_INTERCOMM_CREATE(group, 0, MPI_COMM_WORLD, merge(ranks - 1, 0, flow), 7, bridge, error)
    call frame_setcomm(bridge, stat=stat)
    call say('bridge', stat)
    call begin(group)
  case ('grid')
    call MPI_CART_CREATE(MPI_COMM_WORLD, 1, [ranks], [.true.], .true., grid, error)
    call begin(grid)
    call MPI_COMM_FREE(grid, error)
  case ('again')
    call begin(MPI_COMM_WORLD)
    call work()
    call frame_setcomm(group, stat=stat)
    call say('group', stat)
    call work()
    call frame_setcomm(MPI_COMM_SELF, stat=stat)
    call say('self', stat)
  case default
    if (flow .or. mode == 'apart') call begin(group)
  end select

  if (flow .or. mode /= 'flow') then
    call work()
    call frame_report(stat=stat)
    call say('report', stat)
    call frame_finalize(stat=stat)
    call say('finalize', stat)
  end if
  call MPI_BARRIER(MPI_COMM_WORLD, error)
  call MPI_FINALIZE(error)

contains

  subroutine begin(comm)
    integer, intent(in) :: comm
    integer :: stat
    call frame_setcomm(comm, stat=stat)
    call say('setcomm', stat)
    call frame_initialize(-1, 64, 1, 1, 0, stat=stat)
    call say('initialize', stat)
  end subroutine

  !> A block of this rank; that of the last one is empty.
  subroutine work()
    real(8), target, allocatable, dimension(:, :) :: T, p, rho
    integer :: n, stat
    n = merge(3 + rank, 0, flow)
    allocate (T(n, 2), p(n, 2), rho(n, 2))
    T = 300
    p = 1d5
    rho = 0
    call frame_loadmixture(trim(mixture), '')
    call frame_block('thermal', [frame_in('T', T), frame_in('p', p), frame_out('rho', rho)], stat=stat)
    if (stat == 0 .and. any(rho < 1)) stat = 99
    call say('block', stat)
  end subroutine

  subroutine say(what, stat)
    character(*), intent(in) :: what
    integer, intent(in) :: stat
    character(300) :: message
    message = ''
    if (stat /= 0) call frame_lasterror(message)
    print '(a,i0,3a,i0,2a)', 'rank ', rank, ' ', what, ' ', stat, ' ', trim(message)
  end subroutine
end program
