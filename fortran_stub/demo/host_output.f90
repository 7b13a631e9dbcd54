!> The field for plot_fields.py: each rank writes the middle plane of its block, as raw doubles and a text file with a
!! header of one line.
module hostOutput
  use, intrinsic :: iso_c_binding, only : c_int, c_char, c_null_char
  use speciesTables, only : dp
  use hostField, only : Block
  implicit none
  private
  public :: writePlane

  interface
    integer(c_int) function c_mkdir(path, mode) bind(c, name='mkdir')   ! of the C library: no shell in an MPI job
      import :: c_int, c_char
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int), value :: mode
    end function c_mkdir
  end interface

contains

  !> folder/plane_RRRR.txt: "nx ny names..."; folder/plane_RRRR.bin: that many (nx, ny) arrays of doubles, x fastest.
  subroutine writePlane(folder, rank, wanted, b)
    character(len=*), intent(in) :: folder
    integer, intent(in)          :: rank
    logical, intent(in)          :: wanted(:)
    type(Block), intent(in)      :: b
    character(len=len_trim(folder) + 16) :: stem
    integer :: unit, i, k, stat, rc
    do i = 2, len_trim(folder)
      if (folder(i:i) == '/') rc = c_mkdir(folder(:i - 1)//c_null_char, int(o'755', c_int))
    end do
    rc = c_mkdir(trim(folder)//c_null_char, int(o'755', c_int))          ! an error is ignored: the folder may exist
    write(stem, '(2a,i4.4)') trim(folder), '/plane_', rank
    k = (b%SptZ + b%EptZ)/2
    open(newunit=unit, file=trim(stem)//'.txt', action='write', status='replace', iostat=stat)
    if (stat /= 0) then
      print '(a,i0,3a)', 'rank ', rank, ': cannot write to ', trim(folder), '; no field output.'
      return
    end if
    write(unit, '(i0,1x,i0,a)') b%EptX - b%SptX + 1, b%EptY - b%SptY + 1, ' T rho cp mu'
    close(unit)
    open(newunit=unit, file=trim(stem)//'.bin', action='write', status='replace', access='stream', form='unformatted')
    write(unit) b%Q(b%SptX:b%EptX, b%SptY:b%EptY, k, 5)
    call put(3)
    call put(6)
    call put(15)
    close(unit)

  contains

    subroutine put(slot)
      integer, intent(in) :: slot
      if (wanted(slot)) then
        write(unit) b%layer(b%SptX:b%EptX, b%SptY:b%EptY, k, slot)
      else                                              ! not part of the collection
        write(unit) b%fortran(b%SptX:b%EptX, b%SptY:b%EptY, k, slot)
      end if
    end subroutine put
  end subroutine writePlane

end module hostOutput
