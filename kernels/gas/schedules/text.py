"""Text that all schedules write: includes, macros of a precision, calls of the bodies."""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Mapping

from ..plan import Plan
from ..records import PointKernel
from ..registry import registry
from ..species import GAS_CONSTANT

HERE = pathlib.Path(__file__).resolve().parents[2]  # includes are relative to `kernels/`
OWN = "engine/numbers/own.h"  # what a host's bodies get in addition


def defines(p: Plan) -> str:
    """The macros of a precision, and a gas constant that is not the usual number, for the head of a source."""
    names = {
        "FRAME_FLOAT_ARRAYS": p.has_float_arrays,
        "FRAME_SINGLE": p.precision == "single",
        "FRAME_WIDE": p.precision == "wide",
    }
    lines = [f"#define {name}\n" for name, wanted in names.items() if wanted]
    if p.R != GAS_CONSTANT:
        lines.append(f"#define FRAME_GAS_CONSTANT {p.R!r}\n")

    return "".join(lines)


# ---------------------------------------------------------------- headers


def include(name: str) -> str:
    """A line that includes a header, by its path from `kernels/`."""
    return f'#include "{name}"\n'


def headers(p: Plan) -> list[pathlib.Path]:
    """Headers of the plan's kernels, each once, in their order."""
    return list(dict.fromkeys(k.header for k in p.kernels))


def spelled_headers(p: Plan) -> str:
    """Includes of the kernels' headers: the project's own from its root, a host's by its whole path, so that equal
    names do not clash."""
    names = [OWN] if any(map(of_host, p.kernels)) else []

    for header in headers(p):
        own = header.is_relative_to(HERE)
        names.append(str(header.relative_to(HERE)) if own else str(header))

    return "".join(map(include, names))


def folders(p: Plan) -> tuple[pathlib.Path, ...]:
    """Folders of the hosts' headers."""
    return tuple(dict.fromkeys(h.parent for h in headers(p) if not h.is_relative_to(HERE)))


def bodies(p: Plan) -> tuple[tuple[str, pathlib.Path, str], ...]:
    """(kernel, header, arguments) for messages about a body that does not compile."""
    out = []
    for kernel in p.kernels:
        arguments = f"reads {' '.join(kernel.order) or 'nothing'} and writes {' '.join(kernel.writes)}"
        out.append((kernel.name, kernel.header, arguments))
    return tuple(out)


# ---------------------------------------------------------------- calls


def of_host(kernel: PointKernel) -> bool:
    """Whether a host declared the kernel: its body gets what own.h has."""
    return not kernel.header.is_relative_to(HERE)


def start(kernel: PointKernel) -> str:
    """First value of a number that the kernel writes. The project's kernels need no NaN: each has an oracle."""
    return "(NOT_A_NUMBER)" if of_host(kernel) else ""


@dataclasses.dataclass
class Call:
    """A call of a body. Arguments of a host's body are guarded as own.h says."""

    kernel: PointKernel
    arguments: list[str]  # behind the constants m
    guards: str = ""  # declarations ahead of the call
    after: str = ""  # statements behind it

    def short(self) -> str:
        """The expression that calls the short body; see Running.short."""
        return f"{self.kernel.name}_short({', '.join(['m', *self.arguments])})"

    def text(self) -> str:
        """The statement."""
        call = f"{self.kernel.name}({', '.join(['m', *self.arguments])});"

        if not of_host(self.kernel):
            return call
        return f"{{ {self.guards}{call}{self.after} }}"


def call(p: Plan, kernel: PointKernel, dropped: set[str], real: str) -> Call:
    """The call of a kernel's body on values of these names. dropped: what it writes into nothing."""
    # Names of the arguments in order; empty for a quantity that nothing makes.
    names: list[str] = []
    for optional in kernel.order:
        name = optional.rstrip("?")
        names.append(name if name in kernel.reads else "")
    names += [name for name in kernel.writes if name not in kernel.reads]

    # Their variables.
    made = Call(kernel, [])
    for name in names:
        variable = f"{kernel.name}_{name}" if name in dropped and name not in kernel.reads else name
        if name in kernel.running.spare and not _is_read(p, name):
            variable = ""
        if not of_host(kernel):
            made.arguments.append(variable or "Absent()")
        else:
            _guard(made, p, name, variable, real)
    return made


def _is_read(p: Plan, name: str) -> bool:
    """Whether a kernel of the plan, or its caller, reads the name."""
    return name in p.writes or any(name in kernel.reads for kernel in p.kernels)


def _guard(made: Call, p: Plan, name: str, variable: str, real: str) -> None:
    """An argument of a host's body: what it may not write is constant, rows that it forgets stay NaN."""
    kernel = made.kernel
    if not name:
        made.arguments.append("Absent()")
    elif not registry.quantities[name].per:
        made.arguments.append(variable if name in kernel.writes else f"given({variable})")
    elif name in kernel.writes:
        rows = 0 if name in kernel.reads else p.rows(name)
        made.guards += f"Written<{rows}> set_{name}; Result<{real}, {rows}, decltype({variable})> "
        made.guards += f"own_{name}{{{variable}, set_{name}}}; "
        made.after += f" own_{name}.finish();"
        made.arguments.append(f"own_{name}")
    else:
        made.guards += f"const GivenSpecies<{real}, decltype({variable})> own_{name}{{{variable}}}; "
        made.arguments.append(f"own_{name}")


def dropped(p: Plan) -> dict[PointKernel, set[str]]:
    """Results of each kernel that are thrown away: inputs, and names made before the kernel, stay as they are."""
    made: set[str] = set()
    out = {}

    for kernel in p.kernels:
        fixed = made | (set(p.reads) - set(p.writes))
        out[kernel] = {name for name in kernel.writes if name not in kernel.reads and name in fixed}
        made.update(kernel.writes)

    return out


def discarded(p: Plan, kernel: PointKernel, names: set[str], real: str) -> list[str]:
    """Declarations of variables for the values that are dropped. A host's body may read them back."""
    out = []
    for name in kernel.writes:
        if name not in names:
            continue

        if not registry.quantities[name].per:
            kind, first = real, start(kernel)
        elif of_host(kernel):
            kind, first = f"Held<{real}, {p.rows(name)}>", ""
        else:
            kind, first = "Discarded", ""

        out.append(f"{kind} {kernel.name}_{name}{first};")
    return out


# ---------------------------------------------------------------- kinds of points


MOST_KINDS, MOST_LISTS = 32, 2


def key_of(kernels) -> str:
    """The input by whose value points are of different kinds; see Running.kinds. Empty: there is none."""
    made: set[str] = set()
    for kernel in kernels:
        kinds = kernel.running.kinds
        if kinds and kinds not in made:
            return kinds
        made.update(kernel.writes)

    return ""


def kinds(p: Plan, places: Mapping[str, int]) -> list[str]:
    """Members of a program: the array (its place, or -1) by whose value points are of one of KINDS kinds, and the kind
    of a value."""
    name = key_of(p.kernels)
    if not name:
        return ["static constexpr int KIND = -1;"]

    return [
        f"static constexpr int KIND = {places[name]};",
        f"static constexpr int KINDS = KINDS_OF_{name.upper()}, QUICK = QUICK_KINDS_OF_{name.upper()};",
        f"static constexpr int LISTS = LISTS_OF_{name.upper()};",
        f'static_assert(KINDS <= {MOST_KINDS} && LISTS <= {MOST_LISTS}, "as many as there is room for");',
        f"static POINT_FN int kind(const double x) {{ return kind_of_{name}(x); }}",
        f"static POINT_FN int list_of(const double x) {{ return list_of_{name}(x); }}",
    ]
