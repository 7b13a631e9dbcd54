"""Keys of a case that count only beside others. A run says which of its keys have no effect."""

from __future__ import annotations

import json
from dataclasses import dataclass

PICTURES = ("frames", "frames_time")
FIELDS = ("fields", "fields_time")
OFF = (False, 0, "none")  # a case that says so of what is needed wants no effect


@dataclass(frozen=True)
class Need:
    """Keys of a section that have an effect only beside others."""

    section: str
    keys: tuple[str, ...]
    of: str  # section of the others
    any_of: tuple[str, ...]  # of these one has to be...
    value: object = "other than 0"  # ... this

    def is_met(self, case) -> bool:
        """Whether the keys have an effect in this case."""
        values = [getattr(case, self.of)[key] for key in self.any_of]
        return any(values) if self.value == "other than 0" else self.value in values

    def is_switched_off(self, case) -> bool:
        """Whether the case itself says that what the keys need is off."""
        given = case.data.get(self.of, {})
        return any(given[key] in OFF for key in self.any_of if key in given)

    def __str__(self):
        value = self.value if self.value == "other than 0" else f"= {json.dumps(self.value)}"
        return f"[{self.of}] {' or '.join(self.any_of)} {value}"


NEEDS = (
    Need("numerics", ("freeze",), "numerics", ("scheme",), "double_flux"),
    Need("numerics", ("threshold",), "numerics", ("dissipation",), "sensor"),
    Need("numerics", ("fourier", "transport"), "numerics", ("viscous",), True),
    Need("numerics", ("cfl", "fourier"), "numerics", ("time_step",), 0.0),
    Need("transport", ("mu", "lam", "D"), "numerics", ("viscous",), True),
    Need("chemistry", ("rtol", "atol", "most", "coldest"), "chemistry", ("kind",), "volume"),
    Need("output", ("probes",), "output", ("history",)),
    Need("output", ("averages_from",), "output", ("averages",)),
    Need("output", ("precision",), "output", FIELDS),
    Need("output", ("quantities",), "output", (*FIELDS, "history")),
    Need("output", ("frame", "frame_log", "frame_limits", "frame_ms"), "output", PICTURES),
)


def without_effect(case):
    """Yields a sentence for each set of keys that the case gives and that have no effect in it."""
    for need in NEEDS:
        given = case.data.get(need.section, {})
        idle = [key for key in need.keys if key in given]
        if idle and not need.is_met(case) and not need.is_switched_off(case):
            yield f"[{need.section}] {', '.join(idle)}: no effect; wanted {need} with it."
