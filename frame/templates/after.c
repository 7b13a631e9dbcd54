/* ---- served without Python ---- */

/* The message of the calling thread's last call, empty after a success, filled with blanks to n characters. Returns its
 * whole length. */
EXPORT int frame_lasterror_(char *buf, int n) {
    int length = (int)strlen(frame_error), i;
    if (frame_check_pointer("buf", buf) || n < 0 || n > (1 << 20)) return -1;
    for (i = 0; i < n; i++) buf[i] = i < length ? frame_error[i] : ' ';
    return length;
}

/* The status of the calling thread's last call. */
EXPORT int frame_laststatus_(int *status) {
    if ((uintptr_t)status >= 65536) *status = frame_status;
    return frame_status;
}
