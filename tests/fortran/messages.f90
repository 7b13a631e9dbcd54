!> A start on a device that is not there, and one that does not fail; names and paths with blanks in front, and a folder whose name is not
!! UTF-8. Argument: that folder, which has a file h2_o2.yaml.
program messages
  use frame_interface
  implicit none
  integer, parameter :: ns = 9
  real(8), target :: T(4), p, Y(4, ns), rho(4)
  character(200) :: folder, path
  character(2000) :: message
  integer :: status

  call get_command_argument(1, folder)
  T = 300
  p = 1d5
  Y = 1d0/ns

  call frame_setoption('backend', 'cuda', stat=status)
  call frame_initialize(-1, 64, ns, ns + 5, 0, stat=status)
  call tell('failing start')
  call frame_block('thermal', [frame_in('T', T), frame_in('p', p), frame_in('Y', Y), frame_out('rho', rho)], stat=status)
  call tell('block after it')

  call frame_setoption('backend', 'cpu', stat=status)
  call frame_initialize(-1, 64, ns, ns + 5, 0, stat=status)
  call tell('start')
  call frame_setoption('   equation', '   ideal', stat=status)
  call tell('blanks before an option')
  call frame_setoption(achar(195)//'quation', 'ideal', stat=status)
  call tell('an option in UTF-8')
  call frame_setparameter('timers', 1, stat=status)
  call tell('an integer parameter')
  call frame_setparameter('timers', .false., stat=status)
  call tell('a logical parameter')
  call frame_setparameter('timers', 2, stat=status)
  call tell('another parameter')
  call frame_loadmixture('', stat=status)
  call tell('no name of a file')
  call frame_block('thermal', [frame_in('T', T), frame_in('p', p), frame_in('Y', Y), frame_out('rho', rho)], stat=status)
  call tell('no mixture')
  call frame_loadmixture('no_'//achar(228)//'.yaml', stat=status)
  call tell('no file')
  path = trim(folder)//'/h2_o2.yaml'
  path = adjustr(path)
  call frame_loadmixture(path, stat=status)
  call tell('blanks before a path')
  call frame_block('  thermal', [frame_in(' T', T), frame_in('  p', p), frame_in('Y', Y), frame_out(' rho', rho)], stat=status)
  call tell('blanks before names')
  call frame_block('', [frame_in('T', T)], stat=status)
  call tell('no name')
  call frame_block('thermic', [frame_in('T', T)], stat=status)
  call tell('another name')
  call frame_block('thermal', [frame_in('T of it', T), frame_in('p', p), frame_in('Y', Y), frame_out('rho', rho)], stat=status)
  call tell('an array with a blank within')
  call frame_block('thermal viscous', [frame_in('T', T), frame_in('p', p), frame_in('Y', Y), frame_out('rho', rho)], stat=status)
  call tell('a collection with a blank within')
  call frame_put('Y  O2', T, stat=status)
  call tell('a view with blanks within')
  call frame_setparameter('check point', 1, stat=status)
  call tell('a parameter with a blank within')
  call frame_put('T'//achar(195)//achar(164), T, stat=status)
  call tell('a view in UTF-8')
  call frame_launch('thermal'//repeat('A', 63), 4, stat=status)
  call tell('a long name')
  call frame_put('T'//achar(10)//' ', T, stat=status)
  call tell('an end of line behind a name')
  call frame_put('T'//achar(0)//'rest', T, stat=status)
  call tell('NUL behind a name')
  call frame_finalize()

contains

  include 'tell.inc'
end program messages
