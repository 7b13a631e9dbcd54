!> The input of the program, and the part of the brick of elements that a rank has.
module nekboneCase
  use, intrinsic :: iso_fortran_env, only : dp => real64
  use mpi
  implicit none
  private
  public :: dp, BrickCase, Part, readCase, sharePart

  !> The entries of `&NekboneCase`; nekbone.nml explains each.
  type BrickCase
    character(len=8)  :: method = 'both', mask = 'all'
    character(len=256) :: kernels = 'examples/nekbone/nekbone.py'
    integer :: points = 12, elements(3) = 8, iterations = 100, repeats = 3
  end type BrickCase

  !> first: number of the rank's first element in each direction, from 0; n: elements it has. low, high: ranks that
  !! have the neighbours, MPI_PROC_NULL at the brick's ends.
  type Part
    integer :: first(3), n(3), low(3), high(3), comm
  end type Part

contains

  !> message: what is wrong with the file, blank if nothing is.
  subroutine readCase(file, c, message)
    character(len=*), intent(in)  :: file
    type(BrickCase), intent(out)  :: c
    character(len=*), intent(out) :: message
    character(len=8) :: method, mask
    character(len=256) :: kernels
    integer :: points, elements(3), iterations, repeats, unit, stat
    namelist /NekboneCase/ method, mask, kernels, points, elements, iterations, repeats
    method = c%method; mask = c%mask; kernels = c%kernels; points = c%points; elements = c%elements
    iterations = c%iterations; repeats = c%repeats
    message = ''
    open(newunit=unit, file=file, status='old', action='read', iostat=stat, iomsg=message)
    if (stat /= 0) return
    read(unit, nml=NekboneCase, iostat=stat, iomsg=message)
    close(unit)
    if (stat < 0) message = 'no group &NekboneCase ... / in it.'
    if (stat /= 0) return
    message = ''
    if (all(method /= ['plain ', 'layer ', 'both  ', 'device', 'all   '])) &
      message = 'method = '''//trim(method)//''', wanted plain, layer, both, device or all.'
    if (all(mask /= ['all    ', 'shipped'])) message = 'mask = '''//trim(mask)//''', wanted all or shipped.'
    if (any(method == ['device', 'all   ']) .and. mask /= 'all') &
      message = 'method = '''//trim(method)//''' has mask = ''all'' only.'
    if (points < 2 .or. points > 32) write(message, '(a,i0,a)') 'points = ', points, ', wanted 2 to 32.'
    if (any(elements < 1)) write(message, '(a,3(1x,i0),a)') 'elements =', elements, ', wanted at least 1 in each direction.'
    if (iterations < 1) write(message, '(a,i0,a)') 'iterations = ', iterations, ', wanted at least 1.'
    if (repeats < 1) write(message, '(a,i0,a)') 'repeats = ', repeats, ', wanted at least 1.'
    c = BrickCase(method, mask, kernels, points, elements, iterations, repeats)
  end subroutine readCase

  !> Ranks form the grid with the smallest faces between them that gives each at least one element.
  subroutine sharePart(elements, comm, p, message)
    integer, intent(in)           :: elements(3), comm
    type(Part), intent(out)       :: p
    character(len=*), intent(out) :: message
    integer  :: ranks, rank, grid(3), best(3), place(3), i, j, d, stride, ierr
    real(dp) :: face, least
    call MPI_Comm_size(comm, ranks, ierr)
    call MPI_Comm_rank(comm, rank, ierr)
    least = huge(1.0_dp)
    do i = 1, ranks
      do j = 1, ranks/i
        if (mod(ranks, i*j) /= 0) cycle
        grid = [i, j, ranks/(i*j)]
        if (any(grid > elements)) cycle
        face = sum((grid - 1)*(product(real(elements, dp))/elements))
        if (face < least) best = grid
        least = min(least, face)
      end do
    end do
    message = ''
    if (least == huge(1.0_dp)) then
      write(message, '(i0,a,3(1x,i0),a)') ranks, ' ranks cannot share', elements, ' elements.'
      return
    end if
    place = [mod(rank, best(1)), mod(rank/best(1), best(2)), rank/(best(1)*best(2))]
    p%comm = comm
    stride = 1
    do d = 1, 3
      p%first(d) = elements(d)*place(d)/best(d)
      p%n(d) = elements(d)*(place(d) + 1)/best(d) - p%first(d)
      p%low(d) = merge(rank - stride, MPI_PROC_NULL, place(d) > 0)
      p%high(d) = merge(rank + stride, MPI_PROC_NULL, place(d) < best(d) - 1)
      stride = stride*best(d)
    end do
  end subroutine sharePart

end module nekboneCase
