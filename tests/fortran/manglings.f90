! Old style under another mangling of names: the same external is called and, elsewhere, used as a function.
program manglings
  implicit none
  external :: frame_initialize
  integer :: status = 0
  call frame_initialize(%val(-1), %val(64), %val(2), %val(7), %val(0))
  call frame_laststatus(status)
  print '(a,i0)', 'call: ', status
  call as_function()
  call frame_finalize()
contains
  subroutine as_function()
    integer, external :: frame_setparameter
    print '(a,i0)', 'function: ', frame_setparameter('timers'//char(0), %val(1d0))
  end subroutine
end program
