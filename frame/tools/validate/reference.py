"""Physical errors of the models against reference equations, by fluid, quantity and region. For information only.

Pure fluids and some mixtures, at random states over the range of each reference equation. Several sets of options, the
models, are compared side by side: by default Peng-Robinson, the same with a translation fitted to a liquid density,
equation mapped with residual-entropy transport, and the mixture's own options if they are others. The layer computes
all of them, from T, p and composition.

With a mixture file its species and polynomials are used. Without a file the species are made of the reference's
own critical points and ideal-gas heat capacities (reference_species.py). The errors are then those of equation and
transport.

The reference is CoolProp (HEOS), or Cantera's pure fluids (fluids.py) if CoolProp is not installed.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import pathlib

import numpy as np

import kernels
from kernels.gas.species import fluids as rows_of_fluids

from ...errors import ArgumentError, FrameError, closest
from .. import reference_fluids
from ..progress import progress
from ..reference_fluids import (
    FLUIDS,
    LIQUID,
    POINT,
    QUANTITIES,
    REGIONS,
    VAPOUR,
    Critical,
    Reference,
    States,
    regions,
)
from ..tables import markdown
from .others import not_installed
from .report import Row
from .states import P_RANGE

# Models by name: options that differ from the mixture's own.
PENG_ROBINSON = dict(equation="pr", viscosity="chung", translation="none", cold_cp="polynomial")
MAPPED = dict(equation="mapped", viscosity="residual", translation="none", cold_cp="fitted")
MODELS = {
    "default": {},
    "pr": PENG_ROBINSON,
    "fitted": PENG_ROBINSON | dict(translation="fitted"),
    "mapped": MAPPED,
    "enhanced": MAPPED | dict(enhancement="critical"),
    "plain": PENG_ROBINSON | dict(chung="cantera"),
}
SHOWN = ("pr", "fitted", "mapped", "default")  # without --models
CANTERA = ("N2", "O2", "CH4", "H2", "CO2", "H2O")  # pure fluids that Cantera has
GRID = 40, 20  # temperatures and pressures, of Cantera's fluids
OF_FLUID, OF_BLEND = 1000, 40  # states, of --states; a flash of a mixture takes a third of a second
ROOTS = {POINT: None, LIQUID: "liquid", VAPOUR: "vapour"}
ALL = "all"  # fluids, or states of a mixture


@dataclasses.dataclass(frozen=True)
class Blend:
    """A mixture of the comparison."""

    name: str
    X: dict[str, float]  # mole fractions
    T: tuple[float, float]  # K, range of its states
    p: tuple[float, float] = (20e5, 500e5)  # Pa
    reference: str = ""  # a fluid that is this mixture, with transport; else CoolProp's mixture, without


BLENDS = (
    Blend("air", {"N2": 0.7812, "O2": 0.2096, "Ar": 0.0092}, (60, 2000), (1e5, 1000e5), "Air"),
    Blend("N2 + CH4", {"N2": 0.5, "CH4": 0.5}, (150, 500)),
    Blend("CO2 + CH4", {"CO2": 0.5, "CH4": 0.5}, (280, 600)),
    Blend("H2 + N2", {"H2": 0.5, "N2": 0.5}, (150, 600)),
    Blend("N2 + nC10", {"N2": 0.7, "nC10": 0.3}, (550, 650)),
)


@dataclasses.dataclass(frozen=True)
class Sample:
    """States of a fluid or a mixture with their true values."""

    name: str
    X: dict[str, float]  # mole fractions, by name of the mixture's species
    states: States
    regions: dict[str, np.ndarray]  # {region: mask}; of mixtures ALL too


class Errors(Row):
    """A row that keeps its deviations: medians are exact."""

    def __init__(self, *about):
        super().__init__(*about)
        self.deviations: list[np.ndarray] = []

    def add(self, error, scale, states, left_out=False):
        with np.errstate(divide="ignore", invalid="ignore"):
            deviation = np.abs(error) / scale
        self.deviations.append(np.where(np.isnan(deviation), np.inf, deviation))
        return super().add(error, scale, states, left_out)

    def quantile(self, share: float) -> float:
        if not self.count:
            return float("nan")
        return float(np.quantile(np.concatenate(self.deviations), share, method="nearest"))


# ---- what is compared


def missing(mixture) -> str | None:
    """Reason why there is nothing to compare with; None if there is a reference."""
    if mixture is not None and not pure(mixture):
        return f"it is for {', '.join(FLUIDS)}, none of which is in the mixture"
    if reference_fluids.missing() is None:
        return None
    if mixture is None:
        return reference_fluids.missing()
    if not set(pure(mixture)) & set(CANTERA):
        return f"without CoolProp it is for {', '.join(CANTERA)}, none of which is in the mixture"
    return not_installed("cantera", "CoolProp or cantera")


def pure(mixture) -> dict[str, str]:
    """{fluid: name of the species} of the mixture's species that are fluids of the table."""
    out: dict[str, str] = {}
    for name, W in zip(mixture.names, mixture.species.W):
        fluid = name if name in FLUIDS else getattr(rows_of_fluids.fluid_of(name, W), "fluid", None)
        if fluid in FLUIDS:
            out.setdefault(fluid, name)

    return out


def models(mixture, texts=None) -> tuple[dict[str, kernels.Mixture], dict[str, str]]:
    """({name: mixture with the model's options}, {name: why it is left out}).

    texts: names of MODELS, or NAME:OPTION=VALUE,OPTION=VALUE; None: those of SHOWN that the layer has. Raises
    ArgumentError for a model in texts that cannot be made.
    """
    given: dict[str, dict] = {}
    for text in texts or SHOWN:
        name, options = _model(text)
        if name in given:
            raise ArgumentError(f"--models {text}: '{name}' came twice.")
        given[name] = options

    out: dict[str, kernels.Mixture] = {}
    left_out: dict[str, str] = {}
    for name, options in given.items():
        try:
            other = kernels.Mixture.from_species(mixture.species, **{**mixture.options, **options})
        except FrameError as error:
            if texts:
                raise ArgumentError(f"--models {name}: {error}") from None
            left_out[name] = str(error)
            continue
        if texts or not any(other.options == known.options for known in out.values()):
            out[name] = other

    return out, left_out


def _model(text: str) -> tuple[str, dict[str, str]]:
    """(name, options) of NAME or NAME:OPTION=VALUE,..."""
    name, colon, rest = text.partition(":")
    if not colon:
        if name not in MODELS:
            raise ArgumentError(
                f"--models {text}: unknown model{closest(name, MODELS)}; wanted {', '.join(MODELS)}, or "
                "NAME:OPTION=VALUE,OPTION=VALUE."
            )
        return name, MODELS[name]

    options = {}
    for part in rest.split(","):
        key, equals, value = part.partition("=")
        if not (key and equals and value):
            raise ArgumentError(f"--models {text}: got '{part}', wanted OPTION=VALUE.")
        options[key.strip()] = value.strip()

    return name, options


# ---- true states


def samples(names: dict[str, str], states: int, seed: int) -> list[Sample]:
    """Random states of pure fluids and of the mixtures of BLENDS whose species are all there.

    names: {fluid: name of the species}. states: of a fluid.
    """
    out = []
    for fluid in progress("states", names):
        reference = Reference(fluid)
        found = reference.random(states, seed)
        out.append(Sample(fluid, {names[fluid]: 1.0}, found, _regions(found, reference.critical)))

    for blend in progress("mixtures", [b for b in BLENDS if set(b.X) <= set(names)]):
        X = {names[fluid]: share for fluid, share in blend.X.items()}
        if blend.reference:
            reference = Reference(blend.reference)
            found = reference.random(states, seed)
            inside = _regions(found, reference.critical)
        else:
            found, inside = _blend_states(blend, max(states * OF_BLEND // OF_FLUID, 4), seed), {}
        out.append(Sample(blend.name, X, found, inside | {ALL: np.ones(found.size, bool)}))

    return out


def _regions(states: States, critical: Critical) -> dict[str, np.ndarray]:
    return {name: mask for name, mask in regions(states, critical).items() if mask.any()}


def _blend_states(blend: Blend, n: int, seed: int) -> States:
    """States of a mixture in one phase, with density, cp and c."""
    import CoolProp.CoolProp as CP

    state = CP.AbstractState("HEOS", "&".join(FLUIDS[fluid] for fluid in blend.X))
    state.set_mole_fractions(list(blend.X.values()))
    random = np.random.default_rng([seed, sum(map(ord, blend.name))])

    rows: list = []
    for _ in range(3 * n):
        T, p = random.uniform(*blend.T), np.exp(random.uniform(*np.log(blend.p)))
        try:
            state.update(CP.PT_INPUTS, p, T)
            values = [state.rhomass(), state.cpmass(), state.speed_sound()]
        except ValueError:
            continue
        if state.phase() != CP.iphase_twophase and np.isfinite(values).all():
            rows.append((T, p, *values, np.nan, np.nan, state.cp0mass(), np.nan, POINT))
        if len(rows) == n:
            break

    return States.of(rows)


def cantera_samples(names: dict[str, str]) -> list[Sample]:
    """States of Cantera's pure fluids on a grid, as `samples`."""
    from .fluids import Fluid

    out = []
    for fluid, name in names.items():
        if fluid not in CANTERA:
            continue

        known = Fluid(fluid)
        low, high = max(known.T_range[0], 80.0) * 1.001, min(known.T_range[1], 3500.0)
        whole_range = np.geomspace(low, high, GRID[0] // 2)
        near_critical = np.clip(known.Tc * np.linspace(0.6, 1.5, GRID[0] // 2), low, high)
        pressures = np.geomspace(P_RANGE[0], min(known.p_highest, P_RANGE[1]), GRID[1])

        rows = []
        for T, p in itertools.product(np.unique(np.concatenate([whole_range, near_critical])), pressures):
            values = known.at(T, p)
            if values is not None:
                rho, cp, c, _, mu, lam = values
                rows.append((T, p, rho, cp, c, mu, lam, np.nan, np.nan, POINT))

        states = States.of(rows)
        critical = Critical(fluid, known.Tc, np.nan, np.nan, np.nan, known.rho_c)
        out.append(Sample(fluid, {name: 1.0}, states, _regions(states, critical)))

    return out


# ---- errors


def compare(compared: dict[str, kernels.Mixture], sampled: list[Sample], backend, why: str) -> list[Errors]:
    """Rows of the errors, by model, quantity, sample and region, and by region of all pure fluids."""
    rows: dict[tuple, Errors] = {}
    for (model, mixture), sample in itertools.product(compared.items(), progress("compare", sampled)):
        found = evaluate(mixture, sample, backend)
        for region, quantity in itertools.product(sample.regions, QUANTITIES):
            true = getattr(sample.states, quantity)
            k = sample.regions[region] & np.isfinite(true)
            where = {"T": sample.states.T[k], "p": sample.states.p[k]}

            for fluid in [sample.name, ALL] if len(sample.X) == 1 else [sample.name]:
                key = model, quantity, fluid, REGIONS.get(region, region)
                errors = rows.setdefault(key, Errors("reference", ": ".join(key), None, "relative", why))
                errors.add((found[quantity] - true)[k], np.abs(true[k]), where)

    return list(rows.values())


def evaluate(mixture, sample: Sample, backend) -> dict[str, np.ndarray]:
    """{quantity: (n,)} of the layer at T, p of the states. Saturated states take the root of their phase."""
    states = sample.states
    names = [name for name in QUANTITIES if np.isfinite(getattr(states, name)).any()]
    out = {name: np.full(states.size, np.nan) for name in QUANTITIES}

    for kind, root in ROOTS.items():
        k = np.flatnonzero(states.kind == kind)
        if not k.size:
            continue
        other = mixture
        if root and mixture.options["equation"] != "ideal":
            other = kernels.Mixture.from_species(mixture.species, **{**mixture.options, "root": root})

        X = np.zeros((mixture.ns, k.size))
        for name, share in sample.X.items():
            X[mixture.names.index(name)] = share
        found = other.properties(names, T=states.T[k], p=states.p[k], X=X, backend=backend)
        for name in names:
            out[name][k] = found[name]

    return out


def run(job) -> list[Errors]:
    """Rows of the models' errors against reference equations."""
    if job.mixture is None:
        return _of_reference(job)

    names = wanted(pure(job.mixture), job.fluids)
    compared, left_out = models(job.mixture, job.models)
    if reference_fluids.missing() is None:
        sampled, said = (
            samples(names, job.subset(OF_FLUID), job.seed),
            "CoolProp's reference equations",
        )
    else:
        sampled = cantera_samples(names)
        said = (
            "Cantera's pure fluids (Reynolds 1979; viscosity of N2, O2: Lemmon & Jacobsen 2004, CH4: Quinones-Cisneros "
            "& Deiters 2006)"
        )

    return compare(compared, sampled, job.backend, _why(said, compared, left_out))


def _of_reference(job) -> list[Errors]:
    """Rows of all fluids, or of job.fluids, with species made of the reference."""
    names = {fluid: fluid for fluid in job.fluids or FLUIDS}
    mixture = of_reference({name: Reference(name) for name in names}, **job.options)
    compared, left_out = models(mixture, job.models)
    sampled = samples(names, job.subset(OF_FLUID), job.seed)
    said = "CoolProp's reference equations, of which critical points and ideal-gas heat capacities are taken"
    return compare(compared, sampled, job.backend, _why(said, compared, left_out))


def of_reference(references: dict[str, Reference], fluids=None, **options) -> kernels.Mixture:
    """A mixture of species that are made of these references {name: Reference}. fluids: path of a user's table with
    parameters of some of them."""
    from ..reference_species import species

    made = species(references)
    if fluids:
        options["fluids"] = fluids
    return kernels.Mixture.from_species(made, **options)


def wanted(known: dict[str, str], fluids) -> dict[str, str]:
    """The chosen ones of the fluids. Raises ArgumentError for a fluid that is not there."""
    unknown = [fluid for fluid in fluids or () if fluid not in known]
    if unknown:
        raise ArgumentError(
            f"--fluids {unknown[0]}: not there{closest(unknown[0], list(known))}; wanted some of {', '.join(known)}."
        )
    return {fluid: known[fluid] for fluid in fluids} if fluids else known


def _why(said: str, compared, left_out) -> str:
    """Text below the table: reference, models, what is to be expected."""
    shown = []
    for name in compared:
        options = ", ".join(f"{key} {value}" for key, value in MODELS.get(name, {}).items())
        shown.append(f"{name}: {options or 'the options given'}")
    shown += [f"left out: {name}: {why}" for name, why in left_out.items()]

    return (
        f"{said}, each fluid over the range of its own equation; {'; '.join(shown)}. A phase boundary that "
        "lies elsewhere shows as a few large errors. In the critical region no such equation is better than 3 to 6 % "
        "in density and 10 to 20 % in cp."
    )


# ---- tables


def _cells(rows) -> dict[tuple, Errors]:
    """{(model, quantity, fluid, region): row}."""
    return {tuple(row.name.split(": ", 3)): row for row in rows}


def _percent(share: float) -> str:
    """A share in percent, two digits; "off" where the model has no value there."""
    if np.isnan(share):
        return "-"
    if share > 9.995:
        return "off"
    percent = 100 * share
    return f"{percent:.0f}" if percent >= 9.95 else f"{percent:.1f}"


def _sides(cells, fluid: str, region: str, quantity: str) -> str:
    """Medians of all models, with bars between."""
    found = [cells.get((model, quantity, fluid, region)) for model in _models(cells)]
    if not any(row is not None and row.count for row in found):
        return "-"
    return " / ".join(_percent(row.median) if row is not None else "-" for row in found)


def _models(cells) -> list[str]:
    return list(dict.fromkeys(key[0] for key in cells))


def _places(cells) -> list[tuple[str, str]]:
    """(fluid, region) in the order of the rows, all fluids together first."""
    places = dict.fromkeys((key[2], key[3]) for key in cells)
    return sorted(places, key=lambda place: place[0] != ALL)


def table(rows) -> str:
    """A line for each fluid and region: medians of the relative errors in percent, of all models side by side."""
    cells = _cells(rows)
    wide = max(len(fluid) for fluid, _ in _places(cells))
    lines = ["", f"against reference: medians of the errors in percent, {' / '.join(_models(cells))}"]
    width = max(16, 6 * len(_models(cells)) + 2)
    head = f"  {'fluid':{wide}}  {'region':60}{'states':>7}"
    lines.append(head + "".join(f"{quantity:>{width}}" for quantity in QUANTITIES))

    for fluid, region in _places(cells):
        states = cells[_models(cells)[0], "rho", fluid, region].count
        shown = "".join(f"{_sides(cells, fluid, region, quantity):>{width}}" for quantity in QUANTITIES)
        lines.append(f"  {fluid:{wide}}  {region:60}{states:>7}{shown}")

    return "\n".join([*lines, f"  {rows[0].why}"])


def page(rows) -> str:
    """Tables in Markdown: liquids by fluid; regions of all fluids; regions of some fluids; mixtures."""
    cells = _cells(rows)
    places = _places(cells)
    liquid = REGIONS["liq"]
    blends = [blend.name for blend in BLENDS]
    fluids = [fluid for fluid, region in places if region == liquid and fluid not in (ALL, *blends)]

    def lines(first: str, chosen, label) -> list[str]:
        body = []
        for fluid, region in chosen:
            body.append([label(fluid, region), *(_sides(cells, fluid, region, quantity) for quantity in QUANTITIES)])
        return markdown([first, "density", "cp", "sound speed", "viscosity", "conductivity"], *body)

    parts = [
        f"Medians of the errors in percent: {' / '.join(_models(cells))}.",
        "",
        "Liquids below 0.95 Tc:",
        "",
        *lines("fluid", [(fluid, liquid) for fluid in fluids], lambda fluid, region: fluid),
        "",
        "All fluids, by region:",
        "",
        *lines(
            "region", [(ALL, name) for name in REGIONS.values() if (ALL, name) in places], lambda fluid, region: region
        ),
        "",
        "By fluid and region:",
        "",
        *lines(
            "fluid and region",
            [(fluid, region) for fluid, region in places if fluid in fluids and region != liquid],
            lambda fluid, region: f"{fluid}: {region}",
        ),
        "",
        "Mixtures, at all their states:",
        "",
        *lines("mixture", [(fluid, region) for fluid, region in places if region == ALL], lambda fluid, region: fluid),
    ]
    return "\n".join(parts) + "\n"


BEGIN, END = "<!-- made by validate: begin -->", "<!-- made by validate: end -->"


def around_tables(path: pathlib.Path) -> tuple[str, str]:
    """The text of a page before its tables and behind them. Raises ArgumentError where there are no marks."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ArgumentError(f"--page {path}: cannot be read: {error.strerror}.") from None
    if BEGIN not in text or END not in text.partition(BEGIN)[2]:
        raise ArgumentError(f"--page {path}: wanted a page with the lines {BEGIN} and {END}.")

    before, _, rest = text.partition(BEGIN)
    return before, rest.partition(END)[2]


def write_page(path: pathlib.Path, rows) -> None:
    """Writes the tables between the two marks of a page. Errors: as around_tables."""
    before, after = around_tables(path)
    path.write_text(f"{before}{BEGIN}\n\n{page(rows)}\n{END}{after}", encoding="utf-8")


def as_json(rows, facts) -> str:
    """JSON of all rows: model, quantity, fluid, region, states, median, 95 % quantile and largest error, relative."""
    out = []
    for (model, quantity, fluid, region), row in _cells(rows).items():
        if row.count:
            out.append(
                dict(
                    model=model,
                    quantity=quantity,
                    fluid=fluid,
                    region=region,
                    states=row.count,
                    median=_number(row.median),
                    p95=_number(row.quantile(0.95)),
                    worst=_number(row.worst),
                )
            )

    lines = ",\n".join(json.dumps(row) for row in out)
    head = json.dumps({**facts, "reason": rows[0].why}, indent=1)
    return f'{head[:-2]},\n "rows": [\n{lines}\n]\n}}'


def _number(value: float):
    """Five digits; None where the model has no value."""
    return float(f"{value:.5g}") if np.isfinite(value) else None
