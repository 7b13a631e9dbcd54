
  function described_{n}(tag, way, array, first) result(field)
    character(*), intent(in) :: tag
    integer(c_int), intent(in) :: way
    real({real}), pointer, intent(in) :: array({shape})
    real({real}), intent(in), target, optional :: first
    type(frame_field) :: field
    type :: holder
      real({real}), pointer :: array({shape})
    end type
    type(holder) :: held
    integer(c_intptr_t) :: words(5)
    integer(c_int64_t) :: low({rank})
    field = named(tag, way, {size}_c_int)
    if (.not. associated(array)) return
    low = lbound(array, kind=c_int64_t)
    field%problem = none
    field%rank = {rank}
    field%lower(:{rank}) = low
    field%extent(:{rank}) = shape(array, kind=c_int64_t)
    if (any(field%extent(:{rank}) == 0)) return
    field%address = place(c_loc({first}))
{strides}
    held%array => array
    words = transfer(held, words, 5)
    if (present(first)) then
      call settle(field, words, place(c_loc(first)))
    else
      call settle(field, words, 0_c_intptr_t)
    end if
  end function

  function frame_in_{n}(tag, array, first) result(field)
    character(*), intent(in) :: tag
    real({real}), pointer, asynchronous, intent(in) :: array({shape})
    real({real}), intent(in), target, optional :: first
    type(frame_field) :: field
    field = described(tag, 0_c_int, array, first)
  end function

  function frame_out_{n}(tag, array, first) result(field)
    character(*), intent(in) :: tag
    real({real}), pointer, asynchronous, intent(in) :: array({shape})
    real({real}), intent(in), target, optional :: first
    type(frame_field) :: field
    field = described(tag, 1_c_int, array, first)
  end function

  subroutine frame_pin_{n}(array, stat, first)
    real({real}), pointer, asynchronous, intent(in) :: array({shape})
    integer, intent(out), optional :: stat
    real({real}), intent(in), target, optional :: first
    integer(c_int) :: status
    status = c_pin_array(keep(present(stat)), [described('pin', 1_c_int, array, first)], 1_c_int)
    if (present(stat)) stat = status
  end subroutine

  subroutine frame_unpin_{n}(array, stat, first)
    real({real}), pointer, asynchronous, intent(in) :: array({shape})
    integer, intent(out), optional :: stat
    real({real}), intent(in), target, optional :: first
    integer(c_int) :: status
    status = c_unpin_array(keep(present(stat)), [described('unpin', 1_c_int, array, first)], 1_c_int)
    if (present(stat)) stat = status
  end subroutine

  subroutine frame_put_{n}(tag, array, lo, hi, first, last, stat)
    character(*), intent(in) :: tag
    real({real}), intent(in), target :: array({shape})
    integer, intent(in), optional :: lo(:), hi(:), first, last
    integer, intent(out), optional :: stat
    integer(c_int) :: status
    status = c_put(keep(present(stat)), [described(tag, 0_c_int, array)], 1_c_int, corner(lo), corner(hi), &
                   index_or_0(first), index_or_0(last))
    if (present(stat)) stat = status
  end subroutine

  subroutine frame_get_{n}(tag, array, lo, hi, first, last, stat)
    character(*), intent(in) :: tag
    real({real}), intent(inout), target :: array({shape})
    integer, intent(in), optional :: lo(:), hi(:), first, last
    integer, intent(out), optional :: stat
    integer(c_int) :: status
    status = c_get(keep(present(stat)), [described(tag, 1_c_int, array)], 1_c_int, corner(lo), corner(hi), &
                   index_or_0(first), index_or_0(last))
    if (present(stat)) stat = status
  end subroutine
