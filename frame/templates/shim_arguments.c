/* Arguments: numbers, arrays, names and texts, checked before Python sees them. */

static int frame_check_int(const char *name, int value, int low, int high) {
    if (value >= low && value <= high) return FRAME_DONE;
    return frame_refuse(FRAME_BAD_ARGUMENT, "%s = %d, wanted %d..%d.%s", name, value, low, high,
                        frame_hint(" Did the caller forget %VAL()?"));
}

static int frame_check_pointer(const char *name, const void *pointer) {
    if ((uintptr_t)pointer >= 65536) return FRAME_DONE; /* no object lives in the first pages */
    return frame_refuse(
        FRAME_BAD_ARGUMENT,
        "%s has the address %p, wanted an array by reference; is it passed with %%VAL() or not allocated?", name,
        pointer);
}

/* Compiled loops take for granted that a number lies at a multiple of its size. */
static int frame_check_place(const char *name, intptr_t address, int size) {
    if (size < 1 || address % size == 0) return FRAME_DONE;
    return frame_refuse(
        FRAME_BAD_ARGUMENT,
        "%s has the address %p, wanted a multiple of %d bytes; in a COMMON block or a SEQUENCE type, larger "
        "numbers have to stand before smaller ones.",
        name, (void *)address, size);
}

/* size: bytes of a value of the list */
static int frame_check_list(const char *name, const void *list, int size) {
    if (frame_check_pointer(name, list)) return FRAME_BAD_ARGUMENT;
    return frame_check_place(name, (intptr_t)list, size);
}

static int frame_check_array(const char *name, const double *array) {
    return frame_check_list(name, array, (int)sizeof *array);
}

/* An array of a block; a rank without points may have no memory for it. */
static int frame_check_block(const char *name, const double *array, int nx, int ny, int nz) {
    if (!array && (nx == 0 || ny == 0 || nz == 0)) return FRAME_DONE;
    return frame_check_array(name, array);
}

static int frame_check_number(const char *name, const int *number) {
    if ((uintptr_t)number < 65536)
        return frame_refuse(FRAME_BAD_ARGUMENT,
                            "%s has the address %p, wanted an integer by reference; is it passed with %%VAL()?", name,
                            (const void *)number);
    return frame_check_place(name, (intptr_t)number, (int)sizeof *number);
}

/* Blanks in front do not count: a host may have adjusted a name to the right of its variable. */
static const char *frame_begin(const char *text) {
    int n;
    for (n = 0; text[n] == ' ' && n < FRAME_TEXT; n++) {}
    return text + n;
}

static int frame_is_printable(char c) { return c > ' ' && c < 127; }

/* A name ends at NUL, at a blank or another character that is not printable ASCII, and after 63 characters. */
static int frame_name(const char *from, char *to) {
    int n;
    from = frame_begin(from);
    for (n = 0; n < FRAME_TAG - 1 && frame_is_printable(from[n]); n++) to[n] = from[n];
    to[n] = 0;
    return n;
}

static int frame_refuse_name(const char *name, const char *text) {
    return frame_refuse(FRAME_BAD_ARGUMENT,
                        "%s is '%.80s', wanted a name: up to %d characters of printable ASCII, no blanks.", name, text,
                        FRAME_TAG - 1);
}

/* Whether only blanks stand behind a name. A caller of the symbols may have forgotten char(0): then other texts do. */
static int frame_ends(const char *text) {
    if (!frame_by_module) return 1;
    while (*text && (unsigned char)*text <= ' ') text++;
    return !*text;
}

static int frame_copy_tag(const char *name, const char *from, char *to) {
    int n;
    if (frame_check_pointer(name, from)) return FRAME_BAD_ARGUMENT;
    from = frame_begin(from);
    n = frame_name(from, to);
    if (n) return frame_ends(from + n) ? FRAME_DONE : frame_refuse_name(name, from);
    if ((unsigned char)*from > ' ')
        return frame_refuse(FRAME_BAD_ARGUMENT, "%s begins with the byte 0x%02X, wanted a name in printable ASCII.",
                            name, (unsigned char)*from);
    return frame_refuse(FRAME_BAD_ARGUMENT, "%s is empty, wanted a name%s.", name, frame_hint(" ended by char(0)"));
}

/* The name of an array of the module, as `named` there passes it. */
static int frame_check_tag(const char *tag) {
    int n;
    for (n = 0; n < FRAME_TAG && tag[n]; n++)
        if (!frame_is_printable(tag[n])) return frame_refuse_name("the name of an array", tag);
    return FRAME_DONE;
}

/* A text (file name, list of names, value) ends at NUL or a control character, other than those of `within`; blanks at
 * its end are dropped. */
static int frame_copy_text(const char *name, const char *from, char *to, int size, const char *within) {
    int n = 0;
    if (frame_check_pointer(name, from)) return FRAME_BAD_ARGUMENT;
    from = frame_begin(from);
    while (n < size - 1 && from[n] && (((unsigned char)from[n] >= ' ' && from[n] != 127) || strchr(within, from[n]))) {
        to[n] = from[n];
        n++;
    }
    if (n == size - 1)
        return frame_refuse(FRAME_BAD_ARGUMENT, "%s has no end within %d characters.%s", name, size - 1,
                            frame_hint(" Is //char(0) missing?"));
    while (n && to[n - 1] == ' ') n--;
    to[n] = 0;
    return FRAME_DONE;
}

/* Arrays of the Fortran module: address, extents, strides and bounds. */
static int frame_check_fields(const struct frame_field *fields, int n) {
    static const char *const what[] = {
        "",
        "is not allocated or not associated",
        "is a component of an array of a derived type, and this Fortran compiler does not tell where it begins; point "
        "at "
        "all of it, T => cells(:)%T, and pass the pointer with its first element: frame_in('T', T, first=T(1))",
        "does not begin at the element given as first",
        "was not made by frame_in or frame_out",
        "is a pointer to components of a derived type, and this Fortran compiler does not tell where a section of it "
        "begins; pass its first element too, as in frame_in('T', T, first=T(1))"};
    const int known = (int)(sizeof what / sizeof *what), unset = 4;
    int i;
    for (i = 0; i < n; i++) {
        const int problem = fields[i].problem;
        if (frame_check_tag(fields[i].tag)) return FRAME_BAD_ARGUMENT;
        if (problem)
            return frame_refuse(FRAME_BAD_ARGUMENT, "array for '%.63s' %s.", fields[i].tag,
                                what[problem > 0 && problem < known ? problem : unset]);
        if (frame_check_place(fields[i].tag, fields[i].address, fields[i].size)) return FRAME_BAD_ARGUMENT;
    }
    return FRAME_DONE;
}
