! A host with its own kernels (examples/own_kernel). Blocks have a halo of 2 in x and y and none in z, and variables in
! separate arrays; T is an in-out start value. Sizes differ by rank and change between steps; the chunk does not divide them.
! Everything is done in the old style and in the new one, and compared with the formulas written out here.
! -DWITH_MPI: under MPI. Argument 1: the declaration file.
program blocks
  use frame_interface
#ifdef WITH_MPI
  use mpi
#endif
  implicit none
  integer, parameter :: chunk = 53, halo = 2
  double precision, parameter :: untouched = -999, cv = 690, slope = 0.09d0, gas = 287.05d0
  character(300) :: file
  integer :: rank = 0, ierr, step, wrong = 0

#ifdef WITH_MPI
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
#endif
  call get_command_argument(1, file)
  call frame_setparameter('timers', 1d0)
  call frame_initialize(-1, chunk, 1, 3, 0)
#ifdef WITH_MPI
  call frame_setcomm(MPI_COMM_WORLD)
#endif
  call frame_registerkernel(file)
  do step = 1, 3
    call old_style(7 + rank, 5 + step, 4)
    call new_style(7 + rank, 5 + step, 4)
    call whole_blocks(3*step + rank, 4, 6 - step)
  end do
  call new_style(1, 1, 1)
  call new_style(0, 4, 2)                 ! a rank that owns nothing of a block takes part all the same
  call new_style(3, 4, 0)
  call frame_report()
  call frame_finalize()
  print '(a,i0,a,i0)', 'rank ', rank, ' wrong values: ', wrong
#ifdef WITH_MPI
  call MPI_Allreduce(MPI_IN_PLACE, wrong, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  call MPI_Finalize(ierr)
#endif
  if (wrong > 0) error stop 1

contains

  subroutine fill(nx, ny, nz, rho, e, T, mu)
    integer, intent(in) :: nx, ny, nz
    double precision, allocatable, intent(out) :: rho(:,:,:), e(:,:,:), T(:,:,:), mu(:,:,:)
    integer :: i, j, k
    allocate(rho(nx + 2*halo, ny + 2*halo, nz), source=untouched)
    e = rho; T = rho; mu = rho
    do k = 1, nz
      do j = halo + 1, halo + ny
        do i = halo + 1, halo + nx
          rho(i,j,k) = 1 + 0.01d0*i + 0.1d0*k
          T(i,j,k) = 250 + 10*i + 3*j + 40*k + rank
          e(i,j,k) = T(i,j,k)*(cv + 0.5d0*slope*T(i,j,k))
          T(i,j,k) = T(i,j,k)*(1 + 0.2d0*sin(dble(i*j)))        ! the start value
        end do
      end do
    end do
  end subroutine

  ! Results inside, nothing changed in the halo.
  subroutine verify(what, nx, ny, nz, e, T, mu)
    character(*), intent(in) :: what
    integer, intent(in) :: nx, ny, nz
    double precision, intent(in) :: e(:,:,:), T(:,:,:), mu(:,:,:)
    double precision :: Tx, mux
    integer :: i, j, k, before
    before = wrong
    do k = 1, nz
      do j = 1, ny + 2*halo
        do i = 1, nx + 2*halo
          if (i > halo .and. i <= halo + nx .and. j > halo .and. j <= halo + ny) then
            Tx = 2*e(i,j,k)/(cv + sqrt(cv**2 + 2*slope*e(i,j,k)))
            mux = 1.458d-6*Tx*sqrt(Tx)/(Tx + 110.4d0)
            ! at most 8 rounded operations on each side, none of which amplifies an error
            if (.not. abs(T(i,j,k) - Tx) <= 16*epsilon(Tx)*Tx) wrong = wrong + 1
            if (.not. abs(mu(i,j,k) - mux) <= 16*epsilon(Tx)*mux) wrong = wrong + 1
          else if (T(i,j,k) /= untouched .or. mu(i,j,k) /= untouched) then
            wrong = wrong + 1
          end if
        end do
      end do
    end do
    if (wrong /= before) print '(a,a,i0,a)', what, ': ', wrong - before, ' wrong values'
  end subroutine

  subroutine old_style(nx, ny, nz)
    integer, intent(in) :: nx, ny, nz
    double precision, allocatable :: rho(:,:,:), e(:,:,:), T(:,:,:), mu(:,:,:)
    integer :: first, last
    call fill(nx, ny, nz, rho, e, T, mu)
    do first = 1, nx*ny*nz, chunk
      last = min(first + chunk - 1, nx*ny*nz)
      call copy(1, 'rho', rho, nx, ny, nz, first, last)
      call copy(1, 'e', e, nx, ny, nz, first, last)
      call copy(1, 'T', T, nx, ny, nz, first, last)
      call old_launch('air_ideal_gas', last - first + 1)
      call old_launch('air_sutherland', last - first + 1)
      call copy(2, 'T', T, nx, ny, nz, first, last)
      call copy(2, 'mu', mu, nx, ny, nz, first, last)
    end do
    call verify('old style', nx, ny, nz, e, T, mu)
  end subroutine

  subroutine copy(way, tag, array, nx, ny, nz, first, last)
    integer, intent(in) :: way, nx, ny, nz, first, last
    character(*), intent(in) :: tag
    double precision, intent(inout) :: array(nx + 2*halo, ny + 2*halo, nz)
    external :: frame_castles_populateinputstripe, frame_castles_populateoutputstripe
    if (way == 1) then
      call frame_castles_populateinputstripe(tag//char(0), array, %val(nx + 2*halo), %val(ny + 2*halo), %val(nz), &
     %val(halo + 1), %val(halo + nx), %val(halo + 1), %val(halo + ny), %val(1), %val(nz), %val(1), %val(1), %val(first), %val(last))
    else
      call frame_castles_populateoutputstripe(tag//char(0), array, %val(nx + 2*halo), %val(ny + 2*halo), %val(nz), &
     %val(halo + 1), %val(halo + nx), %val(halo + 1), %val(halo + ny), %val(1), %val(nz), %val(1), %val(1), %val(first), %val(last))
    end if
  end subroutine

  subroutine old_launch(tag, n)
    character(*), intent(in) :: tag
    integer, intent(in) :: n
    call frame_launch(tag, n)
  end subroutine

  subroutine new_style(nx, ny, nz)
    integer, intent(in) :: nx, ny, nz
    double precision, allocatable, target :: rho(:,:,:), e(:,:,:), T(:,:,:), mu(:,:,:)
    integer :: first, last, lo(2), hi(2), stat
    call fill(nx, ny, nz, rho, e, T, mu)
    lo = halo + 1
    hi = [halo + nx, halo + ny]
    do first = 1, nx*ny*nz, chunk
      last = min(first + chunk - 1, nx*ny*nz)
      call frame_put('rho', rho, [lo, 1], [hi, nz], first, last)
      call frame_put('e', e(lo(1):hi(1), lo(2):hi(2), :), first=first, last=last)      ! a section, without a copy
      call frame_put('T', T, [lo, 1], [hi, nz], first, last, stat)
      if (stat /= 0) wrong = wrong + 1
      call frame_launch('air', last - first + 1)
      call frame_get('T', T(lo(1):hi(1), lo(2):hi(2), :), first=first, last=last)
      call frame_get('mu', mu, [lo, 1], [hi, nz], first, last)
    end do
    call verify('new style', nx, ny, nz, e, T, mu)

    call fill(nx, ny, nz, rho, e, T, mu)
    call frame_pin(rho); call frame_pin(T); call frame_pin(mu)          ! and e not
    call frame_block('air', [frame_in('rho', rho), frame_in('e', e), frame_in('T', T), frame_out('T', T), frame_out('mu', mu)], &
                     lo=[lo, 1], hi=[hi, nz])
    call frame_unpin(rho); call frame_unpin(T); call frame_unpin(mu)    ! before fill allocates them anew
    call verify('block call', nx, ny, nz, e, T, mu)

    ! every second plane through reversed sections: strides of any sign
    call fill(nx, ny, nz, rho, e, T, mu)
    mu(lo(1):hi(1), lo(2):hi(2), :) = 0
    call frame_block('air', [frame_in('rho', rho(hi(1):lo(1):-1, lo(2):hi(2), ::2)), frame_in('e', e(hi(1):lo(1):-1, lo(2):hi(2), ::2)), &
                          frame_in('T', T(hi(1):lo(1):-1, lo(2):hi(2), ::2)), frame_out('T', T(hi(1):lo(1):-1, lo(2):hi(2), ::2)), &
                             frame_out('mu', mu(hi(1):lo(1):-1, lo(2):hi(2), ::2))])
    if (nz > 1) then
      if (any(mu(lo(1):hi(1), lo(2):hi(2), 2::2) /= 0)) wrong = wrong + 1
    end if
    call frame_block('air', [frame_in('rho', rho), frame_in('e', e), frame_in('T', T), frame_out('T', T), frame_out('mu', mu)], &
                     lo=[lo, 1], hi=[hi, nz], stat=stat)
    if (stat /= 0) wrong = wrong + 1
    call verify('reversed sections', nx, ny, nz, e, T, mu)
  end subroutine

  ! The block call of the old style: inputs one after the other in one array, outputs in another.
  subroutine whole_blocks(nx, ny, nz)
    integer, intent(in) :: nx, ny, nz
    external :: frame_castles_block
    double precision, allocatable :: rho(:,:,:), e(:,:,:), T(:,:,:), mu(:,:,:), given(:,:,:,:), got(:,:,:,:)
    call fill(nx, ny, nz, rho, e, T, mu)
    allocate(given(nx + 2*halo, ny + 2*halo, nz, 4), got(nx + 2*halo, ny + 2*halo, nz, 2), source=untouched)
    given(:,:,:,1) = rho; given(:,:,:,2) = e; given(:,:,:,3) = T
call frame_castles_block('air'//char(0), 'rho, e, T'//char(0), given, 'T, mu'//char(0), got, %val(nx + 2*halo), %val(ny + 2*halo), &
                    %val(nz), %val(halo + 1), %val(halo + nx), %val(halo + 1), %val(halo + ny), %val(1), %val(nz), %val(4), %val(2))
    call verify('old block call', nx, ny, nz, e, got(:,:,:,1), got(:,:,:,2))
  end subroutine
end program
