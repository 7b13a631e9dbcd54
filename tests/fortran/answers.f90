! A host that asks for a version, numbers and names: answers FILE NS. Through the module, with and without stat=, and by
! the old symbols.
program answers
  use frame_interface, only: version => frame_version, getnumber => frame_getnumber, getname => frame_getname, &
                             init => frame_initialize, loadmixture => frame_loadmixture, finalize => frame_finalize, &
                             laststatus => frame_laststatus
  implicit none
  external :: frame_version, frame_getnumber, frame_getname
  character(300) :: file, word
  character(4000) :: message
  character(60) :: text
  character(2) :: short
  integer :: ns, value, status, i

  call get_command_argument(1, file)
  call get_command_argument(2, word)
  read (word, *) ns
  call version(text)
  print '(3a)', 'version [', trim(text), ']'
  value = -1
  call getnumber('ns', value, status); call tell('early')
  print '(a,i0)', 'after a failure ', value
  call init(-1, 16, ns, ns + 5, 0)
  text = 'unchanged'
  call getname('species', 1, text, status); call tell('no mixture')
  print '(3a)', 'after a failure [', trim(text), ']'
  call loadmixture(trim(file), '')
  call getnumber('ns', value); print '(a,i0)', 'ns ', value
  call getnumber('nq', value); print '(a,i0)', 'nq ', value
  call getnumber('nGridPoints', value); print '(a,i0)', 'nGridPoints ', value
  call getnumber('nr', value); print '(a,i0)', 'nr ', value
  do i = 1, ns
    call getname('species', i, text)
    print '(a,i0,3a)', 'species ', i, ' [', trim(text), ']'
  end do
  call getname('reaction', 2, text); print '(3a)', 'reaction 2 [', trim(text), ']'
  call getnumber('nS', value, status); call tell('another case')
  call getname('species', 0, text, status); call tell('before the first')
  call getname('species', ns + 1, text, status); call tell('behind the last')
  call getname('reaction', 2, short, status); call tell('too short')
  print '(3a)', 'too short [', short, ']'

  call frame_getnumber('nr'//char(0), value); print '(a,i0)', 'old nr ', value
  call frame_getname('species'//char(0), %val(2), text, %val(len(text))); print '(3a)', 'old species 2 [', trim(text), ']'
  text = 'kept'
  call frame_version(text, %val(3)); call laststatus(status); call tell('old too short')
  print '(3a)', 'old too short [', trim(text), ']'
  call frame_getnumber('nr'//char(0), %val(7)); call laststatus(status); call tell('by value')
  call finalize()

contains

  include 'tell.inc'
end program
