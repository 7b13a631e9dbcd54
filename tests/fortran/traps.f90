! One case a run, chosen by the first argument: what bites when Fortran calls embedded Python.
! Calls go both ways: implicit interfaces with %VAL (old style) and the module with stat= (new style).
! -DWITH_MPI builds the cases that need MPI.
program traps
  use frame_interface, only: lasterror => frame_lasterror, laststatus => frame_laststatus, put => frame_put, get => frame_get, &
                   init => frame_initialize, register => frame_registerkernel, launch => frame_launch, finalize => frame_finalize, &
                             setoption => frame_setoption, setcomm => frame_setcomm, pin => frame_pin, unpin => frame_unpin, &
                             report => frame_report, setparameter => frame_setparameter

#ifdef WITH_MPI
  use mpi
#endif
  implicit none
  external :: frame_initialize, frame_registerkernel, frame_launch, frame_finalize, frame_castles_populateinputstripe, frame_setcomm
  external :: frame_pin, frame_unpin
  character(300) :: what, file
  character(4000) :: message
  character(200) :: open_tag = repeat('A', 200)
  integer :: status, i, bad
  double precision :: p(6), rho(6), e(6), zero
  double precision, target :: T(6), many(4000)
  double precision, allocatable, target :: none(:)
#ifdef WITH_MPI
  integer :: ierr, rank, ranks
  ! beyond a table of handles, negative, of MPICH's pattern for communicators
  integer, parameter :: junk(7) = [123456, -7, 9, int(z'04000005'), int(z'44000007'), -2080374779, -2063597569]
#endif

  call get_command_argument(1, what)
  call get_command_argument(2, file)
  T = 300; rho = 1.2d0; e = 690*320d0 + 0.045d0*320d0**2
#ifdef WITH_MPI
  if (what == 'setcomm') then           ! MPI is linked, but not initialised
    call setcomm(MPI_COMM_WORLD, status); call tell('setcomm')
  end if
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
#endif

  select case (what)
  case ('early')                        ! before frame_initialize
    call launch('thermal', 1, status); call tell('launch')
    call put('T', T, stat=status); call tell('put')
  case ('early_old')
    call frame_launch('thermal'//char(0), %val(1))
    call laststatus(status); call tell('launch')
  case ('twice')
    call init(-1, 10, 1, 6, 0, status); call tell('first')
    call init(-1, 10, 1, 6, 0, status); call tell('same')
    call init(-1, 11, 1, 6, 0, status); call tell('other')
    call finalize(status); call tell('finalize')
    call launch('thermal', 1, status); call tell('between')
    call init(-1, 11, 1, 6, 0, status); call tell('again')
    call own_work()
  case ('finalize_first')
    call finalize(status); call tell('finalize')
  case ('python')                       ! run a Python file inside the layer
    call init(-1, 6, 1, 1, 0, status); call tell('init')
    call register(file, status); call tell('file')
    print '(a)', 'host goes on'
  case ('python_first')                 ! the file runs before the layer starts, and starts again
    call register(file, status); call tell('file')
    call init(-1, 6, 1, 1, 0, status); call tell('init')
    call finalize(status)
    call init(-1, 6, 1, 1, 0, status); call tell('again')
  case ('python_old')
    call frame_initialize(%val(-1), %val(6), %val(1), %val(1), %val(0))
    call frame_registerkernel(trim(file)//char(0))
    call laststatus(status); call tell('file')
    print '(a)', 'host goes on'
  case ('no_val')                       ! every integer by reference
    call frame_initialize(-1, 6, 1, 1, 0)
    call laststatus(status); call tell('init')
  case ('no_val_stripe')
    call init(-1, 6, 1, 1, 0, status)
    call frame_castles_populateinputstripe('T'//char(0), T, 6, 1, 1, 1, 6, 1, 1, 1, 1, 1, 1, 1, 6)
    call laststatus(status); call tell('stripe')
  case ('no_val_launch')
    call init(-1, 6, 1, 1, 0, status)
    call frame_launch('thermal'//char(0), 6)
    call laststatus(status); call tell('launch')
  case ('array_by_val')
    call init(-1, 6, 1, 1, 0, status)
    call frame_castles_populateinputstripe('T'//char(0), %val(0), %val(6), %val(1), %val(1), %val(1), %val(6), %val(1), %val(1), &
                                           %val(1), %val(1), %val(1), %val(1), %val(1), %val(6))
    call laststatus(status); call tell('stripe')
  case ('bounds')
    call init(-1, 6, 1, 1, 0, status)
    call old_stripe('T'//char(0), 1, 7, 1, 1, 6); call tell('beyond the block')
    call old_stripe('T'//char(0), 0, 6, 1, 1, 6); call tell('zero')
    call old_stripe('T'//char(0), 4, 3, 1, 1, 1); call tell('reversed')
    call old_stripe('T'//char(0), 1, 6, 2, 1, 6); call tell('two variables')
    call old_stripe('T'//char(0), 1, 6, 1, 1, 7); call tell('stripe')
    call old_stripe('T'//char(0), 1, 6, 1, 1, 6); call tell('right')
  case ('tags')
    call init(-1, 6, 1, 1, 0, status)
    call old_stripe('nonsense'//char(0), 1, 6, 1, 1, 6); call tell('unknown')
    call old_stripe('t'//char(0), 1, 6, 1, 1, 6); call tell('close')
    call old_stripe(open_tag, 1, 6, 1, 1, 6); call tell('no end')
    call old_stripe('T   and no end', 1, 6, 1, 1, 6); call tell('blank ends')
    call frame_launch('thermalX', %val(1)); call laststatus(status); call tell('no char(0)')
    call setoption('rooot', 'gibbs', status); call tell('option')
  case ('section')                      ! old style: an array section comes as a temporary; nothing may point to it later
    call init(-1, 3, 1, 1, 0, status)
    call register(file, status)
    call old_section('rho', rho); call old_section('e', e); call old_section('T', T)
    call frame_launch('air_ideal_gas'//char(0), %val(3)); call laststatus(status); call tell('launch')
    p = 0
    call get('T', p(2:6:2), stat=status); call tell('get')
    print '(a,6f9.3)', 'T =', p
  case ('shapes')
    call init(-1, 6, 1, 1, 0, status)
    call put('T', real(T), stat=status); call tell('single')
    call put('T', none, stat=status); call tell('not allocated')
    call put('T', T, hi=[7], stat=status); call tell('bounds')
    call put('T', T, lo=[0], stat=status); call tell('bound 0')
    call put('T', T, first=0, last=3, stat=status); call tell('first 0')
    call put('Y', reshape(T, [3, 2]), stat=status); call tell('a matrix is two directions')
    call assumed_size(T); call tell('assumed size')
  case ('report')                       ! the old way: a failure would end the run
    call frame_initialize(%val(-1), %val(6), %val(1), %val(1), %val(0))
    call report()
    call frame_finalize()
    stop 5
  case ('lasterror')
    call init(-1, 6, 1, 1, 0, status); message = 'old text'; call lasterror(message); call show('at first')
    call launch('nothing', 1, status); call lasterror(message); call show('failure')
    call put('T', T, stat=status); call lasterror(message); call show('success')
  case ('pin')
    call pin(T, status); call tell('early')
    call init(-1, 6, 1, 1, 0, status)
    call pin(many, status); call tell('pin')
    call pin(many, status); call tell('twice')
    call pin(many(10:20), status); call tell('part')
    call pin(T, status); call tell('another')
    call unpin(many(:3000), status); call tell('other size')
    call unpin(many(4000:1:-1), status); call tell('the same memory')
    call unpin(many, status); call tell('unpinned twice')
    call pin(none, status); call tell('not allocated')
    call pin(many(:0), status); call tell('nothing')
    call unpin(many(:0), status); call tell('nothing again')
    call frame_pin(many, %val(4000)); call laststatus(status); call tell('old')
    call frame_pin(many(11), %val(2)); call laststatus(status); call tell('old part')
    call frame_unpin(many, %val(2000)); call laststatus(status); call tell('old other size')
    call frame_pin(T, %val(-1)); call laststatus(status); call tell('negative')
    call frame_unpin(many, %val(4000)); call laststatus(status); call tell('old unpin')
    call finalize(status)
    call init(-1, 6, 1, 1, 0, status)
    call pin(T, status); call tell('after finalize')
    call finalize(status); call tell('finalize')
  case ('fpe')                          ! built with -ffpe-trap=invalid,zero,overflow
    call init(-1, 6, 1, 1, 0, status); call tell('init')
    call register(file, status); call tell('file')
    T(2) = 0; call poison(rho(3))
    call own_work()
    print '(a)', 'now the host divides by zero:'
    zero = T(2); T(1) = 1/zero
    print '(a)', 'HOST TRAP LOST', T(1)
  case ('fpe_threads')                  ! the host's OpenMP threads trap too, and the kernels run on them
    !$omp parallel num_threads(2)
    bad = 0
    !$omp end parallel
    many = -5
    call init(-1, size(many), 1, 1, 0, status); call register(file, status)
    call put('T', many, stat=status); call launch('air_sutherland', size(many), status); call tell('launch')
    call get('mu', many, stat=status)
    print '(a,l2)', 'square root of a negative T is NaN:', all(transfer(many, 0_8, size(many)) == transfer(many(1), 0_8)) .and. isnan(many(1))
  case ('subnormal')                    ! what the host's own mode is, before and after
    call subnormals('before')
    call init(-1, 6, 1, 1, 0, status); call register(file, status)
    rho = 2; e = 1; T = 0; T(1) = transfer(1024_8, zero)       ! a subnormal
    call put('T', T, stat=status); call launch('twice_T', 6, status); call tell('launch')
    call get('p', p, stat=status)
    print '(a,l2)', 'kept in the layer:', transfer(p(1), 0_8) == 2048_8
    call subnormals('after')
  case ('threads')
    call init(-1, 6, 1, 1, 0, status)
    call register(file, status)
    bad = 0

    !$omp parallel do num_threads(4) private(status) reduction(+:bad)
    do i = 1, 20000
      call put('rho', rho, stat=status)
      if (status /= 0) bad = bad + 1
    end do

    print '(a,i0)', 'bad: ', bad
  case ('first_call_in_parallel')
    bad = 0
    !$omp parallel num_threads(4) private(status) reduction(+:bad)
    call init(-1, 6, 1, 1, 0, status)
    if (status /= 0) bad = bad + 1
    !$omp end parallel
    print '(a,i0)', 'bad: ', bad
#ifdef WITH_MPI
  case ('setcomm')
    call setcomm(MPI_COMM_WORLD, status); call tell('then')
  case ('abort')                        ! one rank fails, the others wait for it
    call frame_initialize(%val(-1), %val(6), %val(1), %val(1), %val(0))
    call frame_setcomm(%val(MPI_COMM_WORLD))
    if (rank == ranks - 1) call frame_launch('nothing'//char(0), %val(1))
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    print '(a)', 'NOT REACHED'
  case ('abort_before_setcomm')
    call frame_initialize(%val(-1), %val(6), %val(1), %val(1), %val(0))
    if (rank == ranks - 1) call frame_launch('nothing'//char(0), %val(1))
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    print '(a)', 'NOT REACHED'
  case ('host_error')                   ! the host's own MPI mistake has to stop it, as without the layer
    call init(-1, 6, 1, 1, 0, status)
    call setcomm(MPI_COMM_WORLD, status); call tell('setcomm')
    call MPI_Send(T, 1, MPI_DOUBLE_PRECISION, ranks + 5, 0, MPI_COMM_WORLD, ierr)
    print '(a)', 'NOT REACHED'
  case ('after_mpi')
    call init(-1, 6, 1, 1, 0, status)
    call setcomm(MPI_COMM_WORLD, status); call tell('setcomm')
    call MPI_Finalize(ierr)
    call finalize(status); call tell('finalize')
    stop
  case ('report_after_mpi')
    call init(-1, 6, 1, 1, 0, status)
    call setcomm(MPI_COMM_WORLD, status); call tell('setcomm')
    call MPI_Finalize(ierr)
    call report(status); call tell('report')
    call setcomm(MPI_COMM_WORLD, status); call tell('again')
    call finalize(status); call tell('finalize')
    stop
  case ('junk')                         ! what is no communicator, and then the host's own mistake
    call init(-1, 6, 1, 1, 0, status)
    do i = 1, size(junk)
      call setcomm(junk(i), status); write (file, '(a,i0)') 'junk ', i; call tell(trim(file))
    end do
    call MPI_Comm_dup(MPI_COMM_WORLD, i, ierr); bad = i
    call MPI_Comm_free(i, ierr)
    call setcomm(bad, status); call tell('freed')
    call setcomm(MPI_COMM_NULL, status); call tell('null')
    call frame_setcomm(MPI_COMM_WORLD); call laststatus(status); call tell('no val')
    call setcomm(MPI_COMM_WORLD, status); call tell('right')
    flush (6)
    call MPI_Send(T, 1, MPI_DOUBLE_PRECISION, ranks + 5, 0, MPI_COMM_WORLD, ierr)
    print '(a)', 'NOT REACHED'
  case ('junk_old')
    call frame_setcomm(%val(123456))
    print '(a)', 'NOT REACHED'
  case ('split')                        ! a communicator that is not the world; also twice
    call init(-1, 6, 1, 1, 0, status)
    call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), rank, i, ierr)
    call setcomm(i, status); call tell('setcomm')
    call setcomm(MPI_COMM_WORLD, status); call tell('setcomm')
    call register(file, status)
    call finalize(status); call tell('finalize')
#else
  case ('setcomm')
    call setcomm(0, status); call tell('setcomm')
#endif
  case default
    stop 'no such case'
  end select

#ifdef WITH_MPI
  call MPI_Finalize(ierr)
#endif

contains

  include 'tell.inc'

  subroutine show(what_is)
    character(*), intent(in) :: what_is

    print '(4a)', what_is, ': [', trim(message), ']'
  end subroutine

  subroutine old_stripe(tag, x0, x1, variables, first, last)
    character(*), intent(in) :: tag
    integer, intent(in) :: x0, x1, variables, first, last

 call frame_castles_populateinputstripe(tag, T, %val(6), %val(1), %val(1), %val(x0), %val(x1), %val(1), %val(1), %val(1), %val(1), &
                                           %val(1), %val(variables), %val(first), %val(last))
    call laststatus(status)
  end subroutine

  subroutine old_section(tag, array)
    character(*), intent(in) :: tag
    double precision, intent(in) :: array(6)

 call frame_castles_populateinputstripe(tag//char(0), array(2:6:2), %val(3), %val(1), %val(1), %val(1), %val(3), %val(1), %val(1), &
                                           %val(1), %val(1), %val(1), %val(1), %val(1), %val(3))
    call laststatus(status); call tell(tag)
  end subroutine

  subroutine assumed_size(array)
    double precision, intent(in) :: array(*)

    call put('T', array(1:6), stat=status)
  end subroutine

  subroutine own_work()
    call register(file, status); call tell('register')
    call put('rho', rho, stat=status); call tell('rho')
    call put('e', e, stat=status); call tell('e')
    call put('T', T, stat=status); call tell('T')
    call launch('air_ideal_gas', 6, status); call tell('launch')
    call get('T', p, stat=status); call tell('get')
  end subroutine

  subroutine poison(x)
    double precision, intent(out) :: x

    x = transfer(9221120237041090560_8, x)      ! a quiet NaN
  end subroutine

  subroutine subnormals(when)
    character(*), intent(in) :: when
    double precision, volatile :: small

    small = tiny(small)
    small = small/4
    print '(a,a,l2)', when, ': host keeps subnormals', small > 0
  end subroutine
end program
