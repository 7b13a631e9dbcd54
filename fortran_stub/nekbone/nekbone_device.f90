!> Conjugate gradients with all vectors where the kernels of the layer run: on a GPU nothing is copied in an iteration, and
!! the host waits once, at the end. The operator of the elements is the tensor expression 'ax'; the rest are team kernels
!! of examples/nekbone/nekbone.py.
module nekboneDevice
  use, intrinsic :: iso_c_binding, only : c_intptr_t
  use mpi, only : MPI_Wtime
  use frame_interface
  use nekboneCase, only : dp
  implicit none
  private
  public :: DeviceTimes, startDevice, solveOnDevice, endDevice

  !> Seconds: of copies to the device before a solution, of the solution, of the copy of x back.
  type DeviceTimes
    real(dp) :: in = 0, solution = 0, out = 0
  end type DeviceTimes

  integer, target :: n, mx, my, mz                    ! numbers of the kernels: points, elements in each direction
  integer :: iterations
  real(dp), pointer :: D(:,:), g(:,:,:,:,:)
  real(dp), pointer, contiguous :: f(:,:,:,:), x(:,:,:,:), r(:,:,:,:), p(:,:,:,:), w(:,:,:,:), v(:,:,:,:)
  real(dp), pointer, contiguous :: all_r(:), all_p(:) ! the same as r and p
  real(dp), pointer :: rho(:), pap(:)                 ! <r, r> before and after each iteration, from 2; <p, A p>

contains

  !> Allocates, and copies what stays. points: of an element in a direction; many: iterations of a solution.
  subroutine startDevice(kernels, points, elements, many, host_D, host_g)
    character(len=*), intent(in) :: kernels
    integer, intent(in)          :: points, elements(3), many
    real(dp), intent(in), target :: host_D(:,:), host_g(:,:,:,:,:)
    integer :: shape4(4)
    n = points
    mx = elements(1); my = elements(2); mz = elements(3)
    iterations = many
    shape4 = [n, n, n, mx*my*mz]
    call frame_registerkernel(kernels)
    call frame_setstream(0_c_intptr_t)                ! calls on arrays of the device return at once
    call frame_allocate(D, [n, n])
    call frame_allocate(g, [shape4, 6])
    call frame_allocate(f, shape4)
    call frame_allocate(x, shape4)
    call frame_allocate(r, shape4)
    call frame_allocate(p, shape4)
    call frame_allocate(w, shape4)
    call frame_allocate(v, shape4)
    call frame_allocate(rho, [many + 2])
    call frame_allocate(pap, [many])
    all_r(1:product(shape4)) => r
    all_p(1:product(shape4)) => p
    call frame_copy(D, host_D)
    call frame_copy(g, host_g)
  end subroutine startDevice

  !> A solution for the right side f, each element's own: x, norms of the residual before and after each iteration, steps.
  subroutine solveOnDevice(host_f, host_x, norms, alphas, times)
    real(dp), intent(in), target    :: host_f(:,:,:,:)
    real(dp), intent(inout), target :: host_x(:,:,:,:)
    real(dp), intent(out)           :: norms(0:), alphas(:)
    type(DeviceTimes), intent(out)  :: times
    real(dp), target :: rhos(iterations + 2), steps(iterations)
    real(dp) :: start
    integer  :: k
    rhos = 1
    start = MPI_Wtime()
    call frame_copy(f, host_f)
    call frame_copy(rho, rhos)
    times%in = MPI_Wtime() - start

    start = MPI_Wtime()
    call frame_block('nek_start', [numbers(), frame_in('f', f), frame_out('r', r), frame_out('x', x), frame_out('p', p), &
                                   frame_out('rho', rho(2:2))])
    do k = 1, iterations
      call frame_block('nek_direction', [frame_in('r', all_r), frame_out('p', all_p), frame_in('rho', rho(k + 1:k + 1)), &
                                         frame_in('rho_old', rho(k:k))])
      call frame_contract('ax', [frame_in('u', p), frame_in('D', D), frame_in('g1', g(:, :, :, :, 1)), &
                                 frame_in('g2', g(:, :, :, :, 2)), frame_in('g3', g(:, :, :, :, 3)), &
                                 frame_in('g4', g(:, :, :, :, 4)), frame_in('g5', g(:, :, :, :, 5)), &
                                 frame_in('g6', g(:, :, :, :, 6)), frame_out('w', w)])
      call frame_block('nek_gather', [numbers(), frame_in('w', w), frame_in('p', p), frame_out('v', v), &
                                      frame_out('pap', pap(k:k))])
      call frame_block('nek_step', [numbers(), frame_out('x', x), frame_out('r', r), frame_in('p', p), frame_in('v', v), &
                                    frame_in('rho', rho(k + 1:k + 1)), frame_in('pap', pap(k:k)), &
                                    frame_out('rho_new', rho(k + 2:k + 2))])
    end do
    call frame_copy(rhos, rho)                        ! waits for all of it
    times%solution = MPI_Wtime() - start

    start = MPI_Wtime()
    call frame_copy(host_x, x)
    times%out = MPI_Wtime() - start
    call frame_copy(steps, pap)
    norms(0:iterations) = sqrt(rhos(2:))
    alphas(:iterations) = rhos(2:iterations + 1)/steps
  end subroutine solveOnDevice

  subroutine endDevice()
    call frame_deallocate(D)
    call frame_deallocate(g)
    call frame_deallocate(f)
    call frame_deallocate(x)
    call frame_deallocate(r)
    call frame_deallocate(p)
    call frame_deallocate(w)
    call frame_deallocate(v)
    call frame_deallocate(rho)
    call frame_deallocate(pap)
  end subroutine endDevice

  function numbers() result(fields)
    type(frame_field) :: fields(4)
    fields = [frame_in('n', n), frame_in('mx', mx), frame_in('my', my), frame_in('mz', mz)]
  end function numbers

end module nekboneDevice
