!> Input of the solver: one namelist, read like that of the demo.
module castlesConfig
  use speciesTables, only : dp
  use hostConfig
  implicit none
  private
  public :: CastlesInputs

  !> The entries of `&CastlesCase`; castles.nml explains each. Those of layer and models are the demo's.
  type, extends(HostInputs) :: CastlesInputs
    character(len=32)  :: properties = 'both'
    integer  :: every = 25, grow_x = 4
    real(dp) :: spacing(3) = 1.0e-4_dp, cfl = 0.5_dp, u_low = 20, u_high = 80, T_low = 160, T_high = 900, tolerance = 1.0e-9_dp
    real(dp) :: Y_low(max_species) = 0, Y_high(max_species) = 0
  contains
    procedure :: parse => parseCastles, check => checkCastles
  end type CastlesInputs

contains

  subroutine parseCastles(inputs, text, message)
    class(CastlesInputs), intent(inout) :: inputs
    character(len=*), intent(in)        :: text(:)
    character(len=*), intent(out)       :: message
    character(len=512) :: mixture, phase
    character(len=32)  :: properties, backend, chung, diffusion, takahashi
    integer  :: num_devices, chunk, n_species, steps, repeats, every, grow_x, cells(3), stat
    real(dp) :: spacing(3), cfl, pressure, u_low, u_high, T_low, T_high, tolerance, Y_low(max_species), Y_high(max_species)

    namelist /CastlesCase/ mixture, phase, properties, backend, chung, diffusion, takahashi, num_devices, chunk, n_species, &
      steps, repeats, every, grow_x, cells, spacing, cfl, pressure, u_low, u_high, T_low, T_high, tolerance, Y_low, Y_high

    inputs%cells = [48, 32, 16]
    inputs%steps = 100
    mixture = inputs%mixture; phase = inputs%phase; properties = inputs%properties; backend = inputs%backend
    chung = inputs%chung; diffusion = inputs%diffusion; takahashi = inputs%takahashi
    num_devices = inputs%num_devices; chunk = inputs%chunk; n_species = inputs%ns
    steps = inputs%steps; repeats = inputs%repeats; every = inputs%every; grow_x = inputs%grow_x; cells = inputs%cells
    spacing = inputs%spacing; cfl = inputs%cfl; pressure = inputs%pressure; tolerance = inputs%tolerance
    u_low = inputs%u_low; u_high = inputs%u_high; T_low = inputs%T_low; T_high = inputs%T_high
    Y_low = 0; Y_high = 0

    message = 'no group &CastlesCase ... / in it.'
    if (.not. any(index(adjustl(text), '&CastlesCase') == 1)) return
    message = ''
    read(text, nml=CastlesCase, iostat=stat, iomsg=message)
    if (stat < 0) message = 'the group &CastlesCase has no end: a line with / is missing.'
    if (stat /= 0) return
    message = ''

    inputs%mixture = mixture; inputs%phase = phase; inputs%properties = properties; inputs%backend = backend
    inputs%chung = chung; inputs%diffusion = diffusion; inputs%takahashi = takahashi
    inputs%num_devices = num_devices; inputs%chunk = chunk; inputs%ns = n_species
    inputs%steps = steps; inputs%repeats = repeats; inputs%every = every; inputs%grow_x = grow_x; inputs%cells = cells
    inputs%spacing = spacing; inputs%cfl = cfl; inputs%pressure = pressure; inputs%tolerance = tolerance
    inputs%u_low = u_low; inputs%u_high = u_high; inputs%T_low = T_low; inputs%T_high = T_high
    inputs%Y_low = Y_low; inputs%Y_high = Y_high
  end subroutine parseCastles

  subroutine checkCastles(inputs, message)
    class(CastlesInputs), intent(inout) :: inputs
    character(len=*), intent(out)       :: message

    call checkLayer(inputs, message)
    if (message /= '') return
    if (inputs%every < 1) write(message, '(a,i0,a)') 'every = ', inputs%every, ', wanted at least 1.'
    if (inputs%grow_x < 0) write(message, '(a,i0,a)') 'grow_x = ', inputs%grow_x, ', wanted 0 or more.'
    if (any(inputs%cells < 2)) write(message, '(a,3(1x,i0),a)') 'cells =', inputs%cells, ', wanted at least 2 in each direction.'
    if (.not. minval(inputs%spacing) > 0) message = 'a spacing is not positive.'
    if (.not. (inputs%cfl > 0 .and. inputs%cfl <= 1)) write(message, '(a,g0,a)') 'cfl = ', inputs%cfl, &
      ', wanted above 0, up to 1.'
    if (.not. min(inputs%T_low, inputs%T_high) > 0) message = 'a temperature is not positive.'
    if (.not. min(inputs%u_low, inputs%u_high) > 0) message = 'u_low and u_high have to be positive: x = 0 is an inlet.'
    if (.not. inputs%tolerance > 0) message = 'tolerance is not positive.'
    call oneOf('properties', inputs%properties, 'fortran frame both', message)
    call fractions('Y_low', inputs%Y_low, inputs%ns, message)
    call fractions('Y_high', inputs%Y_high, inputs%ns, message)
  end subroutine checkCastles

end module castlesConfig
