"""How an entry of the oracle takes the declared reads of a kernel."""

from types import SimpleNamespace


def at_once(entry):
    """The entry for kernels of many reads: they come as one namespace q, entry(sp, options, q)."""

    def of_reads(sp, o, **reads):
        return entry(sp, o, SimpleNamespace(**reads))

    return of_reads
