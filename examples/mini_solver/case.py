"""Case files: TOML, every key checked by name, type and range before anything is computed. expression.py has their
formulas, mixtures.py what becomes of [mixture]."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import pathlib

from . import mixtures
from .changes import change, tomllib
from .errors import CaseError, check_known, closest, wanted
from .expression import Expression, is_number
from .grid import Line

AXES = "xyz"
FRINGE = 3
POSITIVE, COUNT, NOT_NEGATIVE, TEXT, FLAG = (
    "a positive number",
    "a whole number, 0 or more",
    "a number, 0 or more",
    "a text",
    "true or false",
)
EXPRESSION = "a number or an expression in x, y, z; in a boundary of t too"
# largest CFL number of a linear wave: where the Runge-Kutta scheme's stability ends on the imaginary axis, over the
# largest wavenumber that the central derivative of this order makes
IMAGINARY_AXIS = {"ssp33": 3**0.5, "ssp43": 2.1561}  # where |1 + z + z^2/2 + z^3/6 (+ z^4/48)| exceeds 1
LARGEST_WAVE = {6: 1.5859, 4: 1.3722}
CFL_LIMIT = {(rk, order): y / k for rk, y in IMAGINARY_AXIS.items() for order, k in LARGEST_WAVE.items()}
LOWEST_T = 20.0  # K, where the layer's inversions end
# section: {key: (wanted, default)}; None: no default, a tuple of texts: one of these
SCHEMA = {
    "": {"title": (TEXT, "")},
    "mixture": {
        "file": (TEXT, ""),
        "phase": (TEXT, ""),
        "species": ("a list of species names", []),
        "without": ("a list of species names", []),
        "options": ("a table of model options", {}),
        "ideal_gas": ("a table with gamma and W", {}),
    },
    "domain": {
        "cells": ("1 to 3 whole numbers, 4 or more each", None),
        "lower": ("as many numbers as cells", []),
        "upper": ("as many numbers as cells", None),
        "stretch": ("a table of formulas of s by direction", {}),
        "axisymmetric": (FLAG, False),
    },
    "numerics": {
        "scheme": (("double_flux", "apec"), "double_flux"),
        "order": ((4, 6), 6),
        "dissipation": (("sensor", "always", "none"), "sensor"),
        "threshold": (POSITIVE, 0.4),
        "freeze": (("step", "stage"), "step"),
        "runge_kutta": (("ssp33", "ssp43"), "ssp33"),
        "cfl": (POSITIVE, 0.6),
        "fourier": (POSITIVE, 0.3),
        "viscous": (FLAG, False),
        "transport": (("stage", "step"), "stage"),
        "time_step": (NOT_NEGATIVE, 0.0),
        "limiter": (FLAG, True),
    },
    "transport": {"mu": (POSITIVE, 0.0), "lam": (POSITIVE, 0.0), "D": (POSITIVE, 0.0)},
    "chemistry": {
        "kind": (("none", "volume"), "none"),
        "rtol": (POSITIVE, 1e-4),
        "atol": (POSITIVE, 1e-12),
        "most": (COUNT, 10000),
        "coldest": (POSITIVE, 250.0),
    },
    "initial": {
        "T": (EXPRESSION, ""),
        "p": (EXPRESSION, ""),
        "rho": (EXPRESSION, ""),
        "u": (EXPRESSION, 0),
        "v": (EXPRESSION, 0),
        "w": (EXPRESSION, 0),
        "X": ("a table of expressions by species", {}),
        "Y": ("a table of expressions by species", {}),
        "constants": ("a table of numbers", {}),
    },
    "time": {"end": (POSITIVE, math.inf), "steps": (COUNT, 0)},
    "parallel": {
        "ranks": ("as many whole numbers as cells", []),
        "backend": (("auto", "cpu", "cuda"), "auto"),
        "overlap": (FLAG, True),
        "graph": (FLAG, True),
        "queue": (COUNT, 0),
        "exchange": (("auto", "ipc", "cuda_mpi", "staged", "nccl"), "auto"),
    },
    "output": {
        "folder": (TEXT, ""),
        "report": (COUNT, 10),
        "restart": (COUNT, 0),
        "last": (FLAG, True),
        "fields": (COUNT, 0),
        "fields_time": (NOT_NEGATIVE, 0.0),
        "precision": (("single", "double"), "single"),
        "quantities": ("a list of quantities of the layer", []),
        "history": (COUNT, 0),
        "probes": ("a list of points", []),
        "averages": (COUNT, 0),
        "averages_from": (NOT_NEGATIVE, 0.0),
        "frames": (COUNT, 0),
        "frames_time": (NOT_NEGATIVE, 0.0),
        "frame": ("a list of fields to draw", ["rho"]),
        "frame_log": ("a list of fields to draw", []),
        "frame_ms": (POSITIVE, 80.0),
        "frame_limits": ("a table of [lowest, highest] by field", {}),
    },
}
BOUNDARIES = {  # kind: {key: (wanted, default)}
    "periodic": {},
    "slip_wall": {},
    "wall": {"T": (EXPRESSION, ""), "velocity": ("3 numbers or expressions", [0.0, 0.0, 0.0])},
    "inlet": {
        "T": (EXPRESSION, ""),
        "h": (EXPRESSION, ""),
        "velocity": ("3 numbers or expressions", None),
        "X": ("a table by species", {}),
        "Y": ("a table by species", {}),
        "sigma": (NOT_NEGATIVE, 0.0),
        "length": (NOT_NEGATIVE, 0.0),
    },
    "supersonic_inlet": {
        "T": (EXPRESSION, None),
        "p": (EXPRESSION, None),
        "velocity": ("3 numbers or expressions", None),
        "X": ("a table by species", {}),
        "Y": ("a table by species", {}),
    },
    "supersonic_outlet": {},
    "outlet": {"p": (EXPRESSION, None), "sigma": (NOT_NEGATIVE, 0.27), "length": (NOT_NEGATIVE, 0.0)},
}


def _is_whole(x):
    return isinstance(x, int) and not isinstance(x, bool)


FITS = {
    TEXT: lambda value: isinstance(value, str),
    FLAG: lambda value: isinstance(value, bool),
    COUNT: lambda value: _is_whole(value) and value >= 0,
    POSITIVE: lambda value: is_number(value) and value > 0,
    NOT_NEGATIVE: lambda value: is_number(value) and value >= 0,
    EXPRESSION: lambda value: is_number(value) or isinstance(value, str),
}


def _fits(value, kind) -> bool:
    if isinstance(kind, tuple):
        return value in kind and not isinstance(value, bool)
    container = dict if kind.startswith("a table") else list
    return FITS[kind](value) if kind in FITS else isinstance(value, container)


def _read_table(given, schema, where) -> dict:
    wanted(isinstance(given, dict), f"[{where}]: got {given!r}, wanted a table.")
    check_known(given, schema, f"[{where}]: unknown key")

    out = {}
    for key, (kind, default) in schema.items():
        out[key] = value = given.get(key, default)
        words = f"one of {', '.join(map(str, kind))}" if isinstance(kind, tuple) else kind
        wanted(key in given or default is not None, f"[{where}]: '{key}' is missing; wanted {words}.")
        of_words = isinstance(kind, tuple) and isinstance(kind[0], str) and isinstance(value, str)
        meant = closest(value, kind, 1) if of_words else ""
        wanted(key not in given or _fits(value, kind), f"[{where}] {key} = {value!r}{meant}; wanted {words}.")

    return out


def _side(given, axis, side) -> list[dict]:
    """The boundaries of a side in section [boundary]: each has its kind, the keys of that kind, and a formula `where`,
    true on its faces. The last boundary has "" and takes the faces that are left."""
    where = f"{axis}_{side}"
    wanted(not (axis in given and where in given), f"[boundary]: both '{axis}' and '{where}' are given; give one.")
    value = given.get(where, given.get(axis, "periodic"))
    parts = value if isinstance(value, list) and value else [value]
    several = len(parts) > 1
    out = [_boundary(part, f"{where} number {n}" if several else where) for n, part in enumerate(parts, 1)]

    periodic = [part for part in out if part["kind"] == "periodic"]
    wanted(not periodic or len(out) == 1, f"[boundary] {where}: periodic beside others; a periodic side has no others.")

    for n, part in enumerate(out):
        last = n == len(out) - 1
        said = (
            f"[boundary] {where}: the last boundary of a side takes the faces that are left, the others need 'where'."
        )
        wanted((part["where"] == "") == last, said)

    return out


def _boundary(value, where) -> dict:
    value = {"kind": value} if isinstance(value, str) else value
    if isinstance(value, dict) and "kind" not in value:
        known = ["kind", *dict.fromkeys(key for keys in BOUNDARIES.values() for key in keys), "where"]
        check_known(value, known, f"[boundary] {where}: unknown key")
        raise CaseError(f"[boundary] {where}: 'kind' is missing; wanted one of {', '.join(BOUNDARIES)}.")

    kind = value.get("kind") if isinstance(value, dict) else value
    fit = isinstance(kind, str) and kind in BOUNDARIES
    meant = closest(kind, BOUNDARIES, 1) if isinstance(kind, str) else ""
    wanted(fit, f"[boundary] {where}: kind {kind!r}{meant}; wanted one of {', '.join(BOUNDARIES)}.")

    rest = {k: v for k, v in value.items() if k != "kind"}
    schema = BOUNDARIES[kind] | {"where": (EXPRESSION, "")}
    rest = _read_table(rest, schema, f"boundary.{where}, {kind}")

    velocity = rest.get("velocity", [0, 0, 0])
    fit = len(velocity) == 3 and all(is_number(x) or isinstance(x, str) for x in velocity)
    wanted(fit, f"[boundary] {where} velocity = {velocity}; wanted 3 numbers or expressions.")

    fit = kind != "inlet" or (rest["T"] == "") != (rest["h"] == "")
    wanted(fit, f"[boundary] {where}: an inlet needs T or h, one of them.")

    return {"kind": kind, **rest}


class Case:
    """A checked case. Attributes are the sections as dictionaries, and

    dimensions: 1 to 3. cells, lower, upper: of x, y, z, also for directions that the flow does not have.
    lines: the grid in each direction. dx: width of the cells [m], NaN where cells differ.
    boundary: {direction: (boundaries of the low side, of the high side)}.
    Raises CaseError, which names key and value.
    """

    def __init__(self, data: dict, folder=pathlib.Path("."), name="case"):
        wanted(isinstance(data, dict), f"a case is a table of sections; got {type(data).__name__}.")
        sections = {k: v for k, v in SCHEMA.items() if k}
        check_known(data, [*SCHEMA[""], "boundary", *sections], "unknown section or key")
        self.data, self.folder, self.name = data, pathlib.Path(folder), name

        outside = {key: value for key, value in data.items() if key in SCHEMA[""]}
        self.title = _read_table(outside, SCHEMA[""], "case")["title"] or name
        for section, schema in sections.items():
            setattr(self, section, _read_table(data.get(section, {}), schema, section))

        self._domain()
        self._boundaries(data.get("boundary", {}))
        self._lines()
        self._numerics()

    @classmethod
    def from_file(cls, path, changes=()) -> Case:
        """changes: as `change` takes them."""
        path, toml = pathlib.Path(path), tomllib()
        try:
            data = toml.loads(path.read_text(encoding="utf-8-sig"))  # whatever the locale is; editors add a mark
        except OSError as error:
            raise CaseError(f"case file '{path}': {error.strerror or error}.") from None
        except (toml.TOMLDecodeError, UnicodeDecodeError) as error:
            raise CaseError(f"case file '{path}' is not TOML: {error}.") from None

        change(data, changes)

        return cls(data, path.parent, path.stem)

    def _domain(self):
        d = self.domain
        fit = 1 <= len(d["cells"]) <= 3 and all(_is_whole(n) and 4 <= n <= 2**31 for n in d["cells"])
        wanted(fit, f"[domain] cells = {d['cells']}; wanted 1 to 3 whole numbers, 4 or more each.")

        self.dimensions = len(d["cells"])
        lower, upper = d["lower"] or [0.0] * self.dimensions, d["upper"]
        for key, value in (("lower", lower), ("upper", upper)):
            fit = len(value) == self.dimensions and all(map(is_number, value))
            wanted(fit, f"[domain] {key} = {value}; wanted {self.dimensions} numbers.")

        rising = all(a < b for a, b in zip(lower, upper))
        wanted(rising, f"[domain] lower = {lower}, upper = {upper}; wanted lower < upper in each direction.")
        rest = 3 - self.dimensions
        self.cells = (*d["cells"], *(1,) * rest)
        self.lower = (*map(float, lower), *(0.0,) * rest)
        self.upper = (*map(float, upper), *(1.0,) * rest)

        ranks = self.parallel["ranks"]
        fit = not ranks or len(ranks) == self.dimensions and all(isinstance(n, int) and n > 0 for n in ranks)
        wanted(fit, f"[parallel] ranks = {ranks}; wanted {self.dimensions} positive whole numbers.")

    def _boundaries(self, given):
        wanted(isinstance(given, dict), f"[boundary]: got {given!r}, wanted a table.")
        known = [f"{a}{s}" for a in AXES[: self.dimensions] for s in ("", "_low", "_high")]
        check_known(given, known, "[boundary]: unknown side", f" in {self.dimensions}-D")

        self.boundary = {d: tuple(_side(given, AXES[d], s) for s in ("low", "high")) for d in range(self.dimensions)}
        for d, (low, high) in self.boundary.items():
            kinds = low[0]["kind"], high[0]["kind"]
            said = f"[boundary]: {AXES[d]} is periodic on one side and {', '.join(kinds)}; wanted both or none."
            wanted(kinds.count("periodic") in (0, 2), said)

    def _lines(self):
        """The grid's directions; dx is NaN where cells differ."""
        given, axes = self.domain["stretch"], AXES[: self.dimensions]
        check_known(given, axes, "[domain] stretch: unknown direction", f" in {self.dimensions}-D")

        lines = []
        for d, (low, high, n) in enumerate(zip(self.lower, self.upper, self.cells)):
            formula, periodic = None, d in self.boundary and self.boundary[d][0][0]["kind"] == "periodic"

            if AXES[d] in given:
                text = Expression(given[AXES[d]], self.initial["constants"], f"[domain] stretch {AXES[d]}", of=("s",))

                def formula(s, text=text):
                    return text([s])

            lines.append(Line(low, high, n, formula, periodic, self.numerics["order"], AXES[d]))

        self.lines, self.dx = tuple(lines), tuple(line.dx for line in lines)
        self.axisymmetric = self.domain["axisymmetric"]
        self.stretched = self.axisymmetric or any(line.stretched for line in lines)  # cells differ
        if self.axisymmetric:
            self._axis()

    def _axis(self):
        """Refuse a case around the axis y = 0 that is not served."""
        said = "[domain] axisymmetric: x lies along the axis, y is the radius"
        wanted(self.dimensions == 2, f"{said}; wanted 2 directions, the case has {self.dimensions}.")
        wanted(self.lower[1] >= 0, f"{said}; lower is {self.lower[1]:g} m in y, wanted 0 or more.")
        kinds = [[part["kind"] for part in side] for side in self.boundary[1]]
        said = f"[boundary] y: {', '.join(kinds[0])} and {', '.join(kinds[1])}, around an axis"
        wanted(self.lower[1] > 0 or kinds[0] == ["slip_wall"], f"{said}; the axis itself wants y_low = 'slip_wall'.")
        wanted("periodic" not in kinds[0], f"{said}; a radius is not periodic.")

        swirl = [self.initial["w"]]
        for sides in self.boundary.values():
            for part in itertools.chain(*sides):
                swirl.append(part.get("velocity", [0, 0, 0])[2])
        moving = [w for w in swirl if w not in (0, "0")]
        told = f"a velocity of {(moving or [0])[0]!r} around the axis; axisymmetric flows here do not swirl."
        wanted(not moving, told)

    def _numerics(self):
        """Refuse values of several sections that do not go together."""
        n, i, m = self.numerics, self.initial, self.mixture

        # The time step.
        limit = CFL_LIMIT[n["runge_kutta"], n["order"]]
        scheme = f"{n['runge_kutta']} with order {n['order']}"
        wanted(n["cfl"] <= limit, f"[numerics] cfl = {n['cfl']}; {scheme} is unstable beyond {limit:.3g}.")
        wanted(self.time["steps"] or math.isfinite(self.time["end"]), "[time]: give end [s] or steps.")

        # The initial state.
        wanted(sum(i[k] != "" for k in ("T", "p", "rho")) == 2, "[initial]: give two of T, p and rho.")
        wanted(not (i["X"] and i["Y"]), "[initial]: both X and Y are given; give one.")
        for name, value in i["constants"].items():
            wanted(is_number(value), f"[initial.constants] {name} = {value!r}; wanted a number.")

        # Reactions.
        c = self.chemistry
        said = f"[chemistry] coldest = {c['coldest']:g} K; rates end at 200 and 6000 K, wanted a temperature between."
        wanted(200 <= c["coldest"] <= 6000, said)
        said = f"[chemistry] atol = {c['atol']:g}; above 1e-9 of mass fractions a gas without radicals does not ignite."
        wanted(c["atol"] <= 1e-9, said)
        wanted(c["most"] > 0, "[chemistry] most = 0; wanted 1 step or more.")

        # The mixture.
        sources = [key for key in ("file", "ideal_gas") if m[key]]
        wanted(
            len(sources) == 1 or (not sources and m["species"]),
            "[mixture]: give file (Cantera YAML), ideal_gas, or species that the layer brings (CH4, O2, ...), one of "
            f"them; {' and '.join(sources) or 'none of them'} came.",
        )

    def sides(self) -> list[str]:
        """Names of the sides that are not periodic."""
        pairs = ((d, s, parts) for d, pair in self.boundary.items() for s, parts in zip(("low", "high"), pair))
        return [f"{AXES[d]}_{s}" for d, s, parts in pairs if parts[0]["kind"] != "periodic"]

    def path(self, text) -> pathlib.Path:
        """A file named in the case: beside the case file, in the working folder, in the project, or among the
        mechanisms that Cantera ships, where it is installed."""
        project = pathlib.Path(__file__).resolve().parents[2]

        folders = [self.folder, pathlib.Path("."), project, *mixtures.cantera_folders()]

        for folder in folders:
            if (folder / text).is_file():
                return folder / text

        raise CaseError(
            f"[mixture] file = '{text}': not found beside the case file, in the working folder, in the project or in "
            "the data folder of Cantera."
        )

    def shared(self) -> str:
        """The part of the case that a restart must share, as JSON: mixture, domain, boundaries, transport, scheme."""
        keep = {k: self.data.get(k) for k in ("mixture", "domain", "boundary", "transport")}
        keep["numerics"] = {
            k: self.numerics[k] for k in ("scheme", "order", "dissipation", "freeze", "viscous", "limiter")
        }
        if self.chemistry["kind"] != "none":  # the digest of a flow without reactions stays the same
            keep["chemistry"] = self.chemistry

        return json.dumps(keep, sort_keys=True, default=str)

    def digest(self) -> str:
        """Digest of `shared`."""
        return hashlib.sha256(self.shared().encode()).hexdigest()[:16]

    def make_mixture(self):
        """The layer's Mixture for this case."""
        m = self.mixture
        return mixtures.make(m, self.path(m["file"]) if m["file"] else None)
