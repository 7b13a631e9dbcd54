"""A compiled kernel or collection with its name and its views."""

from __future__ import annotations

import kernels


class Launcher:
    """name: as hosts call it. run: run[first](n) launches n points; the program is bound to the views from column
    `first` on. reads, writes: the views. groups: (sources, results) pairs of views; the results depend on these inputs,
    through all kernels of the launch."""

    def __init__(self, name: str, program, views: dict):
        self.name, self.program = name, program
        self.reads = tuple(views[q] for q in program.reads)
        self.writes = tuple(views[q] for q in program.writes)
        self.run = _Bound(program, views)
        self.groups = tuple(
            (tuple(views[q] for q in sources), tuple(views[q] for q in results))
            for sources, results in _ancestry(program).items()
        )


class _Bound(dict):
    """{first column of the views: run(n)}, bound at its first use."""

    def __init__(self, program, views):
        super().__init__()
        self.program, self.views = program, views
        self[0]  # so that an array that does not fit is refused now, not at the first launch

    def __missing__(self, first: int):
        run = self[first] = self.program.bind({q: v.array[..., first:] for q, v in self.views.items()})
        return run


def _ancestry(program) -> dict[tuple, list]:
    """{names of the inputs: names of the results made from them}. An input that the launch overwrites is left out: its
    old values are gone, so a later change of them cannot be seen."""
    came_from: dict[str, set] = {}
    for name in program.kernels:
        kernel = kernels.registry.kernels[name]
        sources = set().union(*(came_from.get(read, {read}) for read in kernel.reads))
        came_from.update(dict.fromkeys(kernel.writes, sources))
    kept = [q for q in program.reads if q not in program.writes]
    groups: dict[tuple, list] = {}
    for write in program.writes:
        groups.setdefault(tuple(q for q in kept if q in came_from[write]), []).append(write)
    return groups
