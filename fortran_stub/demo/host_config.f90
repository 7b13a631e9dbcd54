!> The demo's input: one namelist. Rank 0 reads the file and every rank parses the same text, so that all ranks find the
!! same error.
module hostConfig
  use, intrinsic :: iso_fortran_env, only : output_unit
  use mpi
  use speciesTables, only : dp
  implicit none
  private
  public :: HostInputs, readInputs, checkLayer, endRanks, oneOf, fractions, max_species, line_length

  integer, parameter :: max_species = 128, line_length = 512

  !> The entries of `&FrameInputs`; demo.nml explains each.
  type :: HostInputs
    character(len=512) :: mixture = 'examples/mixtures/ch4_o2.yaml', phase = '', output = 'build/demo'
    character(len=32)  :: backend = 'auto', collection = 'thermal_viscous'
    character(len=32)  :: root = 'gibbs', alpha = 'smooth', mixing = 'vdw', chung = 'polefree', diffusion = 'kinetic'
    character(len=32)  :: takahashi = 'smooth'
    character(len=32)  :: calls = 'chunks'
    integer  :: num_devices = 0, chunk = 12288, ns = 0, steps = 3, repeats = 1
    integer  :: cells(3) = [96, 72, 8], grow(3) = 0, rank_more(3) = 0
    integer  :: fringe_x(2) = [3, 3], fringe_y(2) = [2, 1], fringe_z(2) = [0, 0]
    real(dp) :: pressure = 100.0e5_dp, T_oxygen = 120, T_fuel = 200, T_products = 3000, T_wall = 500
    real(dp) :: Y_oxygen(max_species) = 0, Y_fuel(max_species) = 0, Y_products(max_species) = 0, Y_wall(max_species) = 0
    real(dp) :: tolerance_factor = 1, reserve = 1.5_dp
  contains
    procedure :: parse, check                ! another host's inputs extend these with their own
  end type HostInputs

contains

  !> Read the file. ok is the same on every rank; message names the error.
  subroutine readInputs(file, comm, inputs, ok, message)
    character(len=*), intent(in)     :: file
    integer, intent(in)              :: comm
    class(HostInputs), intent(inout) :: inputs
    logical, intent(out)             :: ok
    character(len=*), intent(out)    :: message
    character(len=line_length), allocatable :: text(:)
    call readText(file, comm, text, ok, message)
    if (.not. ok) return
    call inputs%parse(text, message)
    if (message == '') call inputs%check(message)
    ok = message == ''
    if (.not. ok) message = 'input file '//trim(file)//': '//message
  end subroutine readInputs

  !> The lines of the file on every rank; ok is the same on all of them.
  subroutine readText(file, comm, text, ok, message)
    character(len=*), intent(in)  :: file
    integer, intent(in)           :: comm
    character(len=line_length), allocatable, intent(out) :: text(:)
    logical, intent(out)          :: ok
    character(len=*), intent(out) :: message
    integer :: rank, nline, ierr

    call MPI_Comm_rank(comm, rank, ierr)
    nline = -1
    message = ''
    allocate(text(0))
    if (rank == 0) call readLines(file, text, nline, message)
    call MPI_Bcast(nline, 1, MPI_INTEGER, 0, comm, ierr)
    call MPI_Bcast(message, len(message), MPI_CHARACTER, 0, comm, ierr)
    ok = nline >= 0
    if (.not. ok) return
    if (rank /= 0) then
      deallocate(text)
      allocate(text(nline))
    end if
    call MPI_Bcast(text, nline*line_length, MPI_CHARACTER, 0, comm, ierr)
  end subroutine readText

  subroutine readLines(file, text, nline, message)
    character(len=*), intent(in)  :: file
    character(len=line_length), allocatable, intent(inout) :: text(:)
    integer, intent(out)          :: nline
    character(len=*), intent(out) :: message
    character(len=line_length) :: line
    integer :: unit, stat, pass
    message = ''
    nline = -1
    open(newunit=unit, file=file, status='old', action='read', iostat=stat, iomsg=message)
    if (stat /= 0) return
    message = ''
    do pass = 1, 2
      nline = 0
      rewind(unit)
      do
        read(unit, '(a)', iostat=stat) line
        if (stat /= 0) exit
        nline = nline + 1
        if (pass == 2) text(nline) = line
      end do
      if (pass == 1) then
        deallocate(text)
        allocate(text(nline))
      end if
    end do
    close(unit)
  end subroutine readLines

  subroutine parse(inputs, text, message)
    class(HostInputs), intent(inout) :: inputs
    character(len=*), intent(in)     :: text(:)
    character(len=*), intent(out)    :: message
    character(len=512) :: mixture, phase, output
    character(len=32)  :: backend, calls, collection, root, alpha, mixing, chung, diffusion, takahashi
    integer  :: num_devices, chunk, n_species, steps, repeats, stat
    integer  :: cells(3), grow(3), rank_more(3), fringe_x(2), fringe_y(2), fringe_z(2)
    real(dp) :: pressure, T_oxygen, T_fuel, T_products, T_wall, tolerance_factor, reserve
    real(dp) :: Y_oxygen(max_species), Y_fuel(max_species), Y_products(max_species), Y_wall(max_species)
    namelist /FrameInputs/ mixture, phase, output, backend, calls, collection, root, alpha, mixing, chung, diffusion, takahashi, &
      num_devices, chunk, n_species, steps, repeats, cells, grow, rank_more, fringe_x, fringe_y, fringe_z, &
      pressure, T_oxygen, T_fuel, T_products, T_wall, Y_oxygen, Y_fuel, Y_products, Y_wall, &
      tolerance_factor, reserve

    mixture = inputs%mixture; phase = inputs%phase; output = inputs%output
    backend = inputs%backend; calls = inputs%calls; collection = inputs%collection
    root = inputs%root; alpha = inputs%alpha; mixing = inputs%mixing; chung = inputs%chung
    diffusion = inputs%diffusion; takahashi = inputs%takahashi
    num_devices = inputs%num_devices; chunk = inputs%chunk; n_species = inputs%ns
    steps = inputs%steps; repeats = inputs%repeats
    cells = inputs%cells; grow = inputs%grow; rank_more = inputs%rank_more
    fringe_x = inputs%fringe_x; fringe_y = inputs%fringe_y; fringe_z = inputs%fringe_z
    pressure = inputs%pressure; T_oxygen = inputs%T_oxygen; T_fuel = inputs%T_fuel
    T_products = inputs%T_products; T_wall = inputs%T_wall; tolerance_factor = inputs%tolerance_factor
    reserve = inputs%reserve
    Y_oxygen = 0; Y_fuel = 0; Y_products = 0; Y_wall = 0

    message = 'no group &FrameInputs ... / in it.'
    if (.not. any(index(adjustl(text), '&FrameInputs') == 1)) return
    message = ''
    read(text, nml=FrameInputs, iostat=stat, iomsg=message)
    if (stat < 0) message = 'the group &FrameInputs has no end: a line with / is missing.'
    if (stat /= 0) return
    message = ''

    inputs%mixture = mixture; inputs%phase = phase; inputs%output = output
    inputs%backend = backend; inputs%calls = calls; inputs%collection = collection
    inputs%root = root; inputs%alpha = alpha; inputs%mixing = mixing; inputs%chung = chung
    inputs%diffusion = diffusion; inputs%takahashi = takahashi
    inputs%num_devices = num_devices; inputs%chunk = chunk; inputs%ns = n_species
    inputs%steps = steps; inputs%repeats = repeats
    inputs%cells = cells; inputs%grow = grow; inputs%rank_more = rank_more
    inputs%fringe_x = fringe_x; inputs%fringe_y = fringe_y; inputs%fringe_z = fringe_z
    inputs%pressure = pressure; inputs%T_oxygen = T_oxygen; inputs%T_fuel = T_fuel
    inputs%T_products = T_products; inputs%T_wall = T_wall; inputs%tolerance_factor = tolerance_factor
    inputs%reserve = reserve
    inputs%Y_oxygen = Y_oxygen; inputs%Y_fuel = Y_fuel; inputs%Y_products = Y_products
    inputs%Y_wall = Y_wall
  end subroutine parse

  !> The mass fractions are scaled to a sum of one. Any other wrong value is refused; message has it and the wanted one.
  subroutine check(inputs, message)
    class(HostInputs), intent(inout) :: inputs
    character(len=*), intent(out)    :: message
    integer :: ns
    call checkLayer(inputs, message)
    if (message /= '') return
    ns = inputs%ns
    if (any([inputs%fringe_x, inputs%fringe_y, inputs%fringe_z] < 0)) message = 'a fringe width is negative.'
    if (any(inputs%cells + (inputs%steps - 1)*min(inputs%grow, 0) + min(inputs%rank_more, 0) < 1)) &
      message = 'cells and grow leave a block without points at a later step.'
    if (.not. min(inputs%T_oxygen, inputs%T_fuel, inputs%T_products, inputs%T_wall) > 0) message = 'a temperature is not positive.'
    if (.not. inputs%tolerance_factor > 0) message = 'tolerance_factor is not positive.'
    if (.not. inputs%reserve >= 1) message = 'reserve is below 1: a block would not fit its memory.'
    call oneOf('calls', inputs%calls, 'chunks blocks', message)
    call oneOf('collection', inputs%collection, 'thermal viscous thermal_viscous', message)
    call fractions('Y_oxygen', inputs%Y_oxygen, ns, message)
    call fractions('Y_fuel', inputs%Y_fuel, ns, message)
    call fractions('Y_products', inputs%Y_products, ns, message)
    call fractions('Y_wall', inputs%Y_wall, ns, message)
  end subroutine check

  !> Checks the entries that every host has; message is '' where all are valid.
  subroutine checkLayer(inputs, message)
    class(HostInputs), intent(in) :: inputs
    character(len=*), intent(out) :: message
    message = ''
    if (inputs%ns < 1 .or. inputs%ns > max_species) then
      write(message, '(a,i0,a,i0,a)') 'n_species = ', inputs%ns, ', wanted 1 to ', max_species, ' (as in the mixture file).'
      return
    end if
    if (inputs%chunk < 1) write(message, '(a,i0,a)') 'chunk = ', inputs%chunk, ', wanted at least 1.'
    if (inputs%steps < 1) write(message, '(a,i0,a)') 'steps = ', inputs%steps, ', wanted at least 1.'
    if (inputs%repeats < 1) write(message, '(a,i0,a)') 'repeats = ', inputs%repeats, ', wanted at least 1.'
    if (inputs%num_devices < 0) write(message, '(a,i0,a)') 'num_devices = ', inputs%num_devices, ', wanted 0 or more.'
    if (.not. inputs%pressure > 0) message = 'pressure is not positive.'
    call oneOf('backend', inputs%backend, 'auto cpu cuda', message)
    call oneOf('root', inputs%root, 'gibbs vapour liquid', message)
    call oneOf('alpha', inputs%alpha, 'smooth published cantera', message)
    call oneOf('mixing', inputs%mixing, 'vdw', message)
    call oneOf('chung', inputs%chung, 'polefree published cantera', message)
    call oneOf('diffusion', inputs%diffusion, 'kinetic fuller cantera', message)
    call oneOf('takahashi', inputs%takahashi, 'smooth table off', message)
  end subroutine checkLayer

  !> End every rank of a program with the same exit code; rank 0 prints the reason.
  subroutine endRanks(program, code, text)
    character(len=*), intent(in) :: program, text
    integer, intent(in)          :: code
    integer :: rank, ierr
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    if (rank == 0 .and. text /= '') print '(3a)', program, ': ', text
    flush(output_unit)
    call MPI_Finalize(ierr)
    if (code /= 0) stop code, quiet=.true.
    stop
  end subroutine endRanks

  subroutine oneOf(name, value, words, message)
    character(len=*), intent(in)    :: name, value, words
    character(len=*), intent(inout) :: message
    if (index(' '//words//' ', ' '//trim(value)//' ') == 0 .or. value == '') &
      message = trim(name)//" = '"//trim(value)//"', wanted one of: "//words//'.'
  end subroutine oneOf

  subroutine fractions(name, Y, ns, message)
    character(len=*), intent(in)    :: name
    real(dp), intent(inout)         :: Y(:)
    integer, intent(in)             :: ns
    character(len=*), intent(inout) :: message
    if (any(abs(Y(ns + 1:)) > 0)) then
      message = name//' gives more than n_species mass fractions.'
    else if (any(.not. Y >= 0) .or. .not. sum(Y) > 0) then
      message = name//' needs n_species mass fractions, none negative, not all zero.'
    else
      Y = Y/sum(Y)
    end if
  end subroutine fractions

end module hostConfig
