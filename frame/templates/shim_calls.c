/* Entry points whose effect the shim itself records: called with checked arguments. */

static int own_initialize(int device_id, int nGridPoints, int ns, int nq, int iTurb) {
    const int now[5] = {device_id, nGridPoints, ns, nq, iTurb}, *was = frame_first_arguments;
    int status;
    if (frame_is_initialized) {
        if (!memcmp(now, was, sizeof now)) return FRAME_DONE;
        return frame_refuse(
            FRAME_OTHER_ARGUMENTS,
            "called again with (%d, %d, %d, %d, %d), was (%d, %d, %d, %d, %d); call frame_finalize first.", now[0],
            now[1], now[2], now[3], now[4], was[0], was[1], was[2], was[3], was[4]);
    }
    if ((status = frame_from_python(py_initialize(device_id, nGridPoints, ns, nq, iTurb)))) return status;
    memcpy(frame_first_arguments, now, sizeof now);
    frame_is_initialized = 1;
    return FRAME_DONE;
}

static int own_finalize(void) {
    int status = frame_from_python(py_finalize());
    if (status) return status;
    frame_is_initialized = 0;
    return FRAME_DONE;
}
