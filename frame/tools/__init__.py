"""Commands for people: nothing on a host's path imports this folder."""

# Arguments that several commands take.
BACKEND = dict(choices=("auto", "cpu", "cuda"), default=None, help="default: FRAME_BACKEND, else auto")
REGISTER = dict(metavar="FILE", action="append", default=[], help="declarations of the host's own kernels")
