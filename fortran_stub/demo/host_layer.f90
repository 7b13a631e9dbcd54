!> The change in the host: its loop over points is replaced, and its block now goes through the layer in chunks.
!! Old style: no interfaces, integers by %VAL, arrays by reference, names ended by char(0).
module hostLayer
  use speciesTables
  use hostConfig, only : HostInputs
  use hostField, only : Block
  use propertiesModule, only : nscalar, scalar_names
  implicit none
  private
  public :: layerStart, layerSpecies, layerProperties, layerBlock, layerTimes, layerKeeps, layerForgets

  external :: frame_setoption, frame_setparameter, frame_setcomm, frame_initialize, frame_tvproperties_loadmixture
  external :: frame_getspecies, frame_castles_populateinputstripe, frame_castles_populateoutputstripe
  external :: frame_tvproperties_eosthermalproperties, frame_tvproperties_eosviscousproperties
  external :: frame_tvproperties_eosthermalandviscousproperties, frame_pin, frame_unpin, frame_wait

contains

  !> Start the layer. It allocates its buffers here, for `chunk` points, and never again, for blocks of any size.
  subroutine layerStart(inputs, comm, node_rank)
    type(HostInputs), intent(in) :: inputs
    integer, intent(in)          :: comm, node_rank
    integer :: KokkosDeviceID, KokkosMaxBlock, nq, iTurbType

    ! 'auto' leaves the choice to the layer, and so to the environment: FRAME_BACKEND=cuda
    if (inputs%backend /= 'auto') call frame_setoption('backend'//char(0), trim(inputs%backend)//char(0))
    ! Its calls are queued or for a whole block: 'auto' need not count a wait for each
    call frame_setoption('calls'//char(0), 'blocks'//char(0))
    call frame_setoption('equation'//char(0), 'pr'//char(0))    ! the plain Fortran's
    call frame_setoption('root'//char(0), trim(inputs%root)//char(0))
    call frame_setoption('alpha'//char(0), trim(inputs%alpha)//char(0))
    call frame_setoption('mixing'//char(0), trim(inputs%mixing)//char(0))
    call frame_setoption('chung'//char(0), trim(inputs%chung)//char(0))
    call frame_setoption('diffusion'//char(0), trim(inputs%diffusion)//char(0))
    call frame_setoption('takahashi'//char(0), trim(inputs%takahashi)//char(0))

    KokkosDeviceID = -1                                 ! the layer chooses: rank on the node modulo the devices it sees
    if (inputs%num_devices > 0) KokkosDeviceID = mod(node_rank, inputs%num_devices)
    KokkosMaxBlock = inputs%chunk
    nq = inputs%ns + 5
    iTurbType = 0
    call frame_setcomm(%VAL(comm))
    call frame_initialize(%VAL(KokkosDeviceID), %VAL(KokkosMaxBlock), %VAL(inputs%ns), %VAL(nq), %VAL(iTurbType))
    call frame_tvproperties_loadmixture(trim(inputs%mixture)//char(0), trim(inputs%phase)//char(0))
    call frame_setparameter('queue'//char(0), %VAL(1.0_dp))   ! calls for a stripe return at once; frame_wait waits for all
  end subroutine layerStart

  !> From now on the layer times what it does. On a GPU that takes marks in its queues, and now and then a wait for them.
  subroutine layerTimes()
    call frame_setparameter('timers'//char(0), %VAL(1.0_dp))
  end subroutine layerTimes

  !> Give the plain Fortran module the species data that the layer has read, so that both work on the same mixture.
  subroutine layerSpecies(inputs, status)
    type(HostInputs), intent(in) :: inputs
    integer, intent(out)         :: status
    real(dp), allocatable :: mass(:), Tcrit(:), pcrit(:), omega(:), Vc(:), dipole(:), assoc(:), kij(:), low(:), high(:)
    real(dp), allocatable :: Tm(:), fit(:), fuller(:)
    integer :: n, options(NOPTIONS)
    n = inputs%ns
    call fetch('W', n, mass)
    call fetch('Tc', n, Tcrit)
    call fetch('pc', n, pcrit)
    call fetch('omega', n, omega)
    call fetch('Vc', n, Vc)
    call fetch('dipole', n, dipole)
    call fetch('kappa', n, assoc)
    call fetch('kij', n*n, kij)
    call fetch('nasa_low', 7*n, low)
    call fetch('nasa_high', 7*n, high)
    call fetch('T_mid', n, Tm)
    call fetch('binary_fit', 5*n*n, fit)
    call fetch('fuller_volume', n, fuller)
    options(1) = place(inputs%root, [character(len=9) :: 'gibbs', 'vapour', 'liquid'])
    options(2) = place(inputs%alpha, [character(len=9) :: 'smooth', 'published', 'cantera'])
    options(3) = place(inputs%chung, [character(len=9) :: 'polefree', 'published', 'cantera'])
    options(4) = place(inputs%diffusion, [character(len=9) :: 'kinetic', 'fuller', 'cantera'])
    options(5) = place(inputs%takahashi, [character(len=9) :: 'smooth', 'table', 'off'])
    call speciesTablesSetup(n, mass, Tcrit, pcrit, omega, Vc, dipole, assoc, reshape(kij, [n, n]), reshape(low, [7, n]), &
                            reshape(high, [7, n]), Tm, reshape(fit, [5, n, n]), fuller, options, status)
  end subroutine layerSpecies

  subroutine fetch(name, n, values)
    character(len=*), intent(in)       :: name
    integer, intent(in)                :: n
    real(dp), allocatable, intent(out) :: values(:)
    allocate(values(n))
    call frame_getspecies(name//char(0), values, %VAL(n))
  end subroutine fetch

  pure integer function place(word, words) result(i)
    character(len=*), intent(in) :: word, words(:)
    do i = size(words), 2, -1
      if (words(i) == word) return
    end do
  end function place

  !> Pin the memory of blocks that has just been allocated: it stays in place, so that a GPU copies straight from and to
  !! it. One range, once: pinning costs about as much as some calls (docs/howto/gpus.md).
  subroutine layerKeeps(b)
    type(Block), intent(inout) :: b
    call frame_pin(b%memory, %VAL(size(b%memory)))
  end subroutine layerKeeps

  !> Unpin the memory, before it is deallocated.
  subroutine layerForgets(b)
    type(Block), intent(inout) :: b
    if (associated(b%memory)) call frame_unpin(b%memory, %VAL(size(b%memory)))
  end subroutine layerForgets

  !> Properties of the block's interior: chunk by chunk, in, compute, out. The last chunk is partly full.
  !! wanted(1:nscalar): the scalars to bring back. transport: whether D is brought back too.
  subroutine layerProperties(inputs, b, wanted, transport)
    type(HostInputs), intent(in) :: inputs
    type(Block), intent(inout)   :: b
    logical, intent(in)          :: wanted(nscalar), transport
    integer :: SptStripe, EptStripe, NumThisStripe, m

    do SptStripe = 1, b%points, inputs%chunk
      EptStripe = min(SptStripe + inputs%chunk - 1, b%points)
      NumThisStripe = EptStripe - SptStripe + 1

      call putStripe('Q', b%Q, 1, b%nq)
      select case (inputs%collection)
      case ('thermal')
        call frame_tvproperties_eosthermalproperties(%VAL(NumThisStripe))
      case ('viscous')                                  ! the host has the density already
        call putStripe('rho', b%fortran, 3, 3)
        call frame_tvproperties_eosviscousproperties(%VAL(NumThisStripe))
      case default
        call frame_tvproperties_eosthermalandviscousproperties(%VAL(NumThisStripe))
      end select
      do m = 1, nscalar
        if (wanted(m)) call getStripe(trim(scalar_names(m)), b%layer, m, m)
      end do
      if (transport) call getStripe('D', b%layer, nscalar + 1, b%nout)
    end do
    call frame_wait()

  contains

    subroutine putStripe(name, data, SptData, EptData)
      character(len=*), intent(in) :: name
      real(dp), pointer            :: data(:,:,:,:)
      integer, intent(in)          :: SptData, EptData
      character(len=8) :: tag
      tag = name//char(0)
      call frame_castles_populateinputstripe(tag, data, %VAL(b%NumX), %VAL(b%NumY), %VAL(b%NumZ), &
                                             %VAL(b%SptX), %VAL(b%EptX), %VAL(b%SptY), %VAL(b%EptY), %VAL(b%SptZ), %VAL(b%EptZ), &
                                             %VAL(SptData), %VAL(EptData), %VAL(SptStripe), %VAL(EptStripe))
    end subroutine putStripe

    subroutine getStripe(name, data, SptData, EptData)
      character(len=*), intent(in) :: name
      real(dp), pointer            :: data(:,:,:,:)
      integer, intent(in)          :: SptData, EptData
      character(len=8) :: tag
      tag = name//char(0)
      call frame_castles_populateoutputstripe(tag, data, %VAL(b%NumX), %VAL(b%NumY), %VAL(b%NumZ), &
                                              %VAL(b%SptX), %VAL(b%EptX), %VAL(b%SptY), %VAL(b%EptY), %VAL(b%SptZ), %VAL(b%EptZ), &
                                              %VAL(SptData), %VAL(EptData), %VAL(SptStripe), %VAL(EptStripe))
    end subroutine getStripe

  end subroutine layerProperties

  !> The same by one block call, through the module: the layer runs the loop over chunks.
  subroutine layerBlock(inputs, b, wanted, transport)
    use frame_interface, only : frame_block, frame_field, frame_in, frame_out
    type(HostInputs), intent(in) :: inputs
    type(Block), intent(inout)   :: b
    logical, intent(in)          :: wanted(nscalar), transport
    type(frame_field) :: fields(nscalar + 3)
    integer :: n, m
    n = 1
    fields(n) = frame_in('Q', b%Q)
    if (inputs%collection == 'viscous') then             ! the host has the density already
      n = n + 1
      fields(n) = frame_in('rho', b%fortran(:, :, :, 3))
    end if
    do m = 1, nscalar
      if (.not. wanted(m)) cycle
      n = n + 1
      fields(n) = frame_out(trim(scalar_names(m)), b%layer(:, :, :, m))
    end do
    if (transport) then
      n = n + 1
      fields(n) = frame_out('D', b%layer(:, :, :, nscalar + 1:))
    end if
    call frame_block(trim(inputs%collection), fields(:n), lo=[b%SptX, b%SptY, b%SptZ], hi=[b%EptX, b%EptY, b%EptZ])
  end subroutine layerBlock

end module hostLayer
