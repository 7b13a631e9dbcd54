"""`python -m frame info`: backends and tools of this machine; for a mixture all species constants with origins, and
warnings about constants that look wrong."""

import itertools
import os
from collections import Counter

import numpy as np

import kernels
from kernels.contractions import host_rates, table as organisations
from kernels.gas.equations.constants import alpha_kinks
from kernels.gas.schedules import launches
from kernels.gas.species.reactions import Chebyshev, Plog

from ..config import Config
from ..devices import rule
from ..errors import ArgumentError, FrameError, MixtureError
from . import machine, tables

CHUNK = 12288  # points of a chunk in the lines on placement, as in the demo
JUMP = 1e-4  # jump of cp/R, h/RT, s/R between two polynomials from which a warning is given
T_LOW, T_HIGH = 80.0, 3500.0  # K, the range of temperatures that is checked

# Heading, unit, field of SpeciesData (None: pc Vc/(R Tc)), divisor to the unit, digits.
CONSTANTS = (
    ("W", "g/mol", "W", 1e-3, ".4f"),
    ("Tc", "K", "Tc", 1.0, ".3f"),
    ("pc", "bar", "pc", 1e5, ".3f"),
    ("omega", "-", "omega", 1.0, ".4f"),
    ("Vc", "cm3/mol", "Vc", 1e-6, ".2f"),
    ("Zc", "-", None, 1.0, ".4f"),
    ("dipole", "debye", "dipole", 1.0, ".3f"),
    ("assoc.", "-", "kappa_assoc", 1.0, ".3f"),
    ("sigma", "A", "diameter", 1e-10, ".3f"),
    ("eps/k", "K", "well_depth", 1.0, ".1f"),
    ("polariz.", "A3", "polarizability", 1e-30, ".2f"),
    ("Z_rot", "-", "rotational_relaxation", 1.0, ".1f"),
    ("Fuller", "-", "fuller_volume", 1.0, ".2f"),
    ("shift c", "cm3/mol", "volume_translation", 1e-6, ".3f"),
    ("Z_RA", "-", "Z_RA", 1.0, ".4f"),
    ("liquid", "kg/m3", "liquid_density", 1.0, ".2f"),
    ("at", "K", "liquid_T", 1.0, ".3f"),
    ("and", "bar", "liquid_p", 1e5, ".4g"),
)


def species_table(species) -> list[str]:
    """Lines of a table of constants, a line for each species. `-`: unknown; `*`: not in the file, origin below."""
    # Columns that some species has, with a heading and a unit.
    columns = []
    for column in CONSTANTS:
        field = column[2]
        if field is None or np.isfinite(getattr(species, field)).any():
            columns.append(column)

    head = [["species"], [""]]
    for heading, unit, *_ in columns:
        head[0].append(heading)
        head[1].append(f"[{unit}]")

    # Values.
    Zc = species.pc * species.Vc / (species.R * species.Tc)
    cells = []
    for s, name in enumerate(species.names):
        row = [name]
        for _, _, field, by, digits in columns:
            value = Zc[s] if field is None else getattr(species, field)[s]
            star = "*" if field in species.origin.get(name, {}) else ""
            row.append(f"{value / by:{digits}}{star}" if np.isfinite(value) else "-")

        cells.append(row)

    return tables.aligned([*head, *cells])


def origins(species) -> list[str]:
    """Lines on the origin of the numbers: first of numbers that are not in the file, then the notes of the file."""
    out = []
    for name in species.names:
        fields_by_origin: dict[str, list[str]] = {}
        for field, text in species.origin.get(name, {}).items():
            fields_by_origin.setdefault(text, []).append(field)
        for text, fields in fields_by_origin.items():
            out.append((name, f"{', '.join(fields)}: {text}"))

    for name in species.names:
        for block, note in species.sources.get(name, {}).items():
            out.append((name, f"{block}: {note}"))

    return _grouped(out)


def _grouped(pairs) -> list[str]:
    """Lines "A, B: text" from pairs (species, text). Each text appears once."""
    names_by_text: dict[str, list[str]] = {}
    for name, text in pairs:
        names_by_text.setdefault(text, []).append(name)
    return [f"{', '.join(names)}: {text}" for text, names in names_by_text.items()]


def polynomial_checks(species) -> list[str]:
    """Warnings: jumps between polynomials, ranges that do not cover T_LOW to T_HIGH, impossible heat capacities."""
    out = []
    for s, name in enumerate(species.names):
        # Jumps.
        for quantity, T, low, high in species.jumps(s, JUMP):
            out.append(
                (name, f"{quantity} jumps by {high - low:.2g} (from {low:.6g}) at {T:g} K, where two ranges meet")
            )

        # Ranges.
        ends = []
        if species.T_min[s] > T_LOW:
            ends.append(f"below {species.T_min[s]:g} K")
        if species.T_max[s] < T_HIGH:
            ends.append(f"above {species.T_max[s]:g} K")
        if ends:
            out.append((name, f"polynomials are extrapolated {' and '.join(ends)}"))

        # Heat capacities: no molecule has less than an atom.
        grid = np.geomspace(T_LOW, T_HIGH, 400)
        cp = species.polynomial(s, grid)[0]
        bad = grid[cp < 2.5 * (1 - 5e-3)]
        if bad.size:
            where = f"between {bad.min():.4g} and {bad.max():.4g} K"
            out.append((name, f"ideal-gas cp/R falls to {cp.min():.3g} {where}, less than an atom's 2.5"))

    return _grouped(out)


def reaction_checks(species) -> list[str]:
    """Ranges of temperature and pressure of tabulated reactions, and jumps of reverse rates.

    Empty if the species have no reactions, or reactions that cannot be read.
    """
    try:
        reactions = species.mechanism.reactions
    except MixtureError:
        return []

    # Ranges.
    equations_by_range: dict[str, list[str]] = {}
    for reaction in reactions:
        text = _range_of(reaction.rate)
        if text:
            equations_by_range.setdefault(text, []).append(reaction.equation)

    out = [f"{text}: {_some(equations)}" for text, equations in equations_by_range.items()]

    # Jumps.
    jumps = reverse_jumps(species)
    large = [f"{equation} {100 * jump:+.2g} % at {T:g} K" for jump, T, equation in jumps if abs(jump) > JUMP]
    if large:
        out.append(f"reverse rates jump where polynomials of species meet: {_some(large)}")
    elif jumps:
        jump, T, equation = jumps[0]
        out.append(
            f"reverse rates jump by {abs(jump):.1e} or less where polynomials of species meet (at {T:g} K: {equation})"
        )

    return out


def _range_of(rate) -> str:
    """The range of a P-log or Chebyshev rate, and the rule beyond it; "" for other rates."""
    if isinstance(rate, Chebyshev):
        (T0, T1), (p0, p1) = rate.temperatures, rate.pressures
        beyond = "beyond, the polynomials as they are, or the values at the ends (chebyshev = clamp)"
        return f"Chebyshev, {T0:g} to {T1:g} K, {p0 / 1e5:.4g} to {p1 / 1e5:.4g} bar; {beyond}"

    if isinstance(rate, Plog):
        p0, p1 = rate.pressures[0], rate.pressures[-1]
        return f"P-log, {p0 / 1e5:.4g} to {p1 / 1e5:.4g} bar; beyond, the values at the ends"

    return ""


def reverse_jumps(species) -> list[tuple[float, float, str]]:
    """Jumps of reverse rates: (relative jump, temperature [K], equation) of reversible reactions, largest first.

    k_r = k_f exp(sum nu g/RT) (R T/p_ref)^(sum nu), and g/RT jumps where two polynomials of a species meet.
    """
    # Jumps of g/RT = h/RT - s/R of each species (ns,), by temperature.
    steps: dict[float, np.ndarray] = {}
    for s in range(species.ns):
        for quantity, T, below, above in species.jumps(s, 0.0):
            sign = {"h/RT": 1.0, "s/R": -1.0}.get(quantity, 0.0)
            steps.setdefault(T, np.zeros(species.ns))[s] += sign * (above - below)

    # Jumps of the rates.
    out = []
    for T, step in steps.items():
        for reaction in species.mechanism.reactions:
            if reaction.reversible:
                exponent = sum(nu * step[s] for s, nu in reaction.net.items())
                out.append((float(np.expm1(exponent)), T, reaction.equation))

    return sorted([jump for jump in out if jump[0]], key=lambda jump: -abs(jump[0]))


def _some(texts, most=5) -> str:
    """The first texts, and the number of the others."""
    more = len(texts) - most
    others = f" and {more} more" if more > 0 else ""
    return ", ".join(texts[:most]) + others


def constant_checks(species) -> list[str]:
    """Warnings about constants that contradict each other. Usual causes: a wrong unit, a misplaced digit, a number of
    another species."""
    Zc = species.pc * species.Vc / (species.R * species.Tc)
    sigma = 0.809e-10 * np.cbrt(species.Vc * 1e6)
    depth = species.Tc / 1.2593
    with np.errstate(invalid="ignore"):
        size, well = species.diameter / sigma, species.well_depth / depth

    out = []
    for s, name in enumerate(species.names):
        omega = species.omega[s]
        is_atom = species.diameter[s] > 0 and species.geometry[s] == 0

        checks = (
            (
                _outside(Zc[s], 0.2, 0.35),
                f"pc Vc/(R Tc) = {Zc[s]:.3g}, fluids have 0.22 to 0.31: check Tc, pc and Vc and their units",
            ),
            (
                _outside(size[s], 0.75, 1.33),
                f"Lennard-Jones diameter is {size[s]:.2f} of 0.809 Vc^(1/3): check sigma [A] and Vc",
            ),
            (_outside(well[s], 0.4, 2.5), f"well depth is {well[s]:.2f} of Tc/1.2593: check eps/k [K] and Tc"),
            (
                _outside(omega, -0.4, 1.2),
                f"acentric factor {omega:.3g}: outside -0.4 (helium) to 1.2, where its correlations end",
            ),
            (is_atom and species.dipole[s] > 0, f"an atom with a dipole of {species.dipole[s]:g} debye"),
        )
        for wrong, text in checks:
            if wrong:
                out.append((name, text))

    return _grouped(out)


def _outside(value, low, high) -> bool:
    """Whether a known value is outside a range. NaN: unknown."""
    return bool(np.isfinite(value)) and not low <= value <= high


def alpha_zeros(mixture) -> list[str]:
    """Temperatures at which sqrt(alpha) passes through zero between T_LOW and T_HIGH: a kink in a'."""
    species = mixture.species
    if mixture.options["equation"] == "ideal":
        return []
    T = alpha_kinks(species, mixture.options)

    zeros = []
    for name, T_zero in sorted(zip(species.names, T), key=lambda pair: pair[1]):
        if T_LOW < T_zero < T_HIGH:
            zeros.append(f"{name} {T_zero:.0f} K")

    if not zeros:
        return []
    return [
        "sqrt(alpha) passes through zero, where h of the real gas jumps; alpha = smooth has no such place: "
        + ", ".join(zeros)
    ]


def poles(mixture) -> list[str]:
    """Poles of the published Chung viscosity, E1 E4 + E2 + E3 = 0: mole fractions in binary mixtures, for all T, p."""
    if mixture.options["chung"] == "polefree" or mixture.options["viscosity"] != "chung":
        return []

    x = np.linspace(0, 1, 2001)

    found = []
    for i in range(mixture.ns):
        for j in range(i):
            # The binary line from species j to species i.
            X = np.zeros((mixture.ns, x.size))
            X[i], X[j] = x, 1 - x
            q = mixture.properties("omega_m mu_r4 kappa_m", X=X, backend="cpu")
            w, d4, k = q["omega_m"], q["mu_r4"], q["kappa_m"]

            # E_i of Table 9-6, see kernels/gas/transport/chung.h.
            E1 = 6.324 + 50.412 * w - 51.680 * d4 + 1189.0 * k
            E4 = 6.623 + 38.096 * w - 8.464 * d4 + 31.42 * k
            E23 = 1.210e-3 + 5.283 + (254.209 - 1.154e-3) * w - (168.48 + 6.257e-3) * d4 + (3898.0 + 0.03728) * k
            f = E1 * E4 + E23

            # Sign changes, by linear interpolation.
            at = np.flatnonzero(f[:-1] * f[1:] < 0)
            where = [f"{x[n] - f[n] * (x[n + 1] - x[n]) / (f[n + 1] - f[n]):.4f}" for n in at]
            if where:
                found.append(f"{mixture.names[i]}/{mixture.names[j]} at X_{mixture.names[i]} = {', '.join(where)}")

    if not found:
        return []
    return [f"viscosity has poles in composition on {len(found)} of the binary lines: {'; '.join(found)}"]


def binaries(species) -> list[str]:
    """A line on k_ij: the largest values with their pairs. Empty for a single species."""
    pairs = []
    for i in range(species.ns):
        for j in range(i):
            pairs.append((species.kij[i, j], f"{species.names[i]}/{species.names[j]}"))

    if not pairs:
        return []

    nonzero = sorted([pair for pair in pairs if pair[0]], key=lambda pair: -abs(pair[0]))
    if not nonzero:
        return ["k_ij = 0 for every pair"]

    shown = [f"{name} {k:.4g}" for k, name in nonzero[:12]]
    if len(nonzero) > 12:
        shown.append("...")

    return [f"k_ij of {len(nonzero)} of {len(pairs)} pairs: {', '.join(shown)}"]


def launch_table(mixture=None) -> list[tuple[str, str]]:
    """Lines on the table of CUDA launches in use; for a mixture on a device also on the rows for its collections."""
    path = launches.in_force()
    why = "FRAME_LAUNCHES" if path != launches.COMMITTED else "the project's own; FRAME_LAUNCHES names another"
    measured = dict.fromkeys(f"{row.device}, {row.compiler}, {row.date}" for row in launches.read(path))

    rows = [("launches", f"{path} ({why}), measured on {'; '.join(measured)}")]
    try:
        backend = kernels.get_backend(Config().backend)
    except FrameError:  # a line above has the reason
        return rows

    if mixture is None or backend.style != "threads":
        return rows

    for c in kernels.collections.values():
        try:
            row = launches.serving(
                kernels.resolve(c.outputs, c.given, mixture.options),
                mixture,
                "double",
                backend.product,
                memory=backend.shared_memory,
            )
        except ArgumentError:  # not for these options
            continue

        rows.append((f"  {c.name}", f"line {row.line}, of {row.ns} species: {launches.text(row.how)}"))

    return rows


def organisation_table() -> list[tuple[str, str]]:
    """Lines on the table of organisations of tensor expressions in use, and on the rows measured on this machine."""
    path = organisations.in_force()
    named = path != organisations.COMMITTED
    why = "FRAME_ORGANISATIONS" if named else "the project's own; FRAME_ORGANISATIONS names another"
    known = organisations.rows(path)

    rows = [("organisations", f"{path} ({why}): {len(known)} tensor expressions")]
    try:
        backend = kernels.get_backend(Config().backend)
    except FrameError:  # a line above has the reason
        return rows

    if backend.style == "packs":
        rows += [(f"  rates, {dtype}", host_rates.told(dtype)) for dtype in host_rates.USUAL]
    for row in known.values():
        if row.key[3:] == (backend.product, backend.compiler, organisations.GENERATOR):
            told = f"line {row.line}, {row.date}: order {row.order}, {row.how}"
            rows.append((f"  {row.case[:40]}", f"{row.key.dtype} {row.key.sizes}: {told}"))

    return rows


def placement_table(config: Config, ns: int) -> list[tuple[str, str]]:
    """Lines on the side that `auto` chooses here, and with 1, 4, 8, 16 single-core ranks on a GPU, and on the measured
    times behind the choice."""
    # The rates of the GPU, or of the first GPU in the table.
    try:
        here = kernels.engine.backend.device_rates(0) if kernels.engine.backend.cuda_devices("auto") else None
    except FrameError:  # a line above says why there is no GPU
        here = None

    rates = here or next(iter(rule.KNOWN.values()))
    source = _source_of_times(here)
    forced = "" if config.backend == "auto" else f"; FRAME_BACKEND={config.backend} forces a side"
    rows = [("placement", f"FRAME_PLACEMENT {config.placement}, FRAME_CALLS {config.calls}; {source}{forced}")]
    rows.append(("  here", _side_here(config, here, ns)))

    # Estimates for several ranks, with and without CUDA's multi-process service.
    for ranks in (1, 4, 8, 16):
        estimates = []
        services = (True, False) if ranks > 1 else (True,)

        for calls, service in itertools.product(rule.CALLS[::-1], services):
            work = rule.Work(ns, config.precision, calls, CHUNK)
            gpu, cpu = rule.gpu(work, rates, ranks, service), rule.cpu(work, ranks)
            how = {"alone": "", "service": " by MPS", "turns": " in turns"}[rule.sharing_of(ranks, service)]
            estimates.append(f"{calls}{how} {gpu:.3g}: {'GPU' if gpu <= cpu else 'CPU'}")

        head = f"{_ranks(ranks)}, {rates.product}, ns a point of {ns} species"
        rows.append((f"  {ranks}", f"{head}: CPU {cpu:.3g}; GPU, {', '.join(estimates)}"))

    # Measured times.
    for row in rule.table():
        times = [f"{side} {ns_}" for side, ns_ in (("GPU", row.gpu), ("CPU", row.cpu)) if np.isfinite(ns_)]
        case = " ".join(filter(None, (row.calls, row.sharing, _ranks(row.ranks))))
        where = ", ".join(filter(None, (row.device, row.host, row.date, row.by)))
        rows.append(
            ("  measured", f"{case}, {row.species} species, chunk {row.chunk}: {', '.join(times)} ns ({where})")
        )

    return rows


def _ranks(number: int) -> str:
    """ "1 rank", "4 ranks"."""
    return "1 rank" if number == 1 else f"{number} ranks"


def _source_of_times(gpu) -> str:
    """On which times the choice for this GPU rests. gpu: its Rates; None: there is no GPU."""
    if gpu is None:
        return "no GPU here: CPU"
    if rule.known(gpu):
        return f"{gpu.product} is in the table"

    figures = (
        ("link", gpu.link, 1e9, "GB/s"),
        ("memory", gpu.memory, 1e12, "TB/s"),
        ("double precision", gpu.double, 1e12, "Tflop/s"),
    )
    shown = []
    for name, value, unit, unit_name in figures:
        shown.append(f"{name} {value / unit:.3g} {unit_name}" if value else f"{name} not told")
    known = ", ".join(rule.KNOWN)

    return f"{gpu.product} is not in the table: times of {known} in proportion to its {', '.join(shown)}"


def _side_here(config: Config, rates, ns: int) -> str:
    """The side (GPU or CPU) that `auto` chooses for this process as a single rank."""
    facts = rule.Facts(
        0,
        1,
        min(config.threads, len(os.sched_getaffinity(0))),
        rates,
        rule.Work(ns, config.precision, config.calls, CHUNK),
        True,
        kernels.engine.backend.mps_runs(),
        False,
    )
    on_gpu, said = rule.choose([facts])
    return f"1 rank, {facts.cores} of its cores, chunk {CHUNK}: " + (said or ("GPU" if on_gpu else "CPU"))


ONE_PHASE = (
    "one phase at every point (phases single): below the critical point a liquid or a gas, never both",
    "inside the two-phase region of a mixture the result is a single phase that would split; phase_flag 3: unstable",
    "option phases = equilibrium computes vapour and liquid",
)
ROOTS = {
    "gibbs": "root gibbs: the stable root of T and p; rho, h and cp of a pure fluid jump where it boils",
    "vapour": "root vapour: the gas wherever the equation has one, also below its boiling point",
    "liquid": "root liquid: the liquid wherever the equation has one, also above its boiling point",
}


def below_critical(options) -> list[str]:
    """Lines on what results are below the critical point."""
    if options["equation"] == "ideal":
        return ["an ideal gas: it never condenses, whatever T and p"]
    if options["phases"] == "equilibrium":
        return ["vapour and liquid in equilibrium, two phases at most; no solids"]
    return [*ONE_PHASE[:1], ROOTS[options["root"]], *ONE_PHASE[1:]]


def report(mixture) -> str:
    """All tables and warnings of a mixture, as text."""
    species = mixture.species

    # (title, lines); a block without lines is left out.
    blocks = [
        ("species constants (*: not in the file; Vc -: the model's own is used)", species_table(species)),
        ("origin of the constants", origins(species) or ["the file, without further notes"]),
        ("binary interaction", binaries(species)),
        (
            "ideal gas",
            polynomial_checks(species) or [f"polynomials meet within {JUMP:g} and cover {T_LOW:g} to {T_HIGH:g} K"],
        ),
        ("consistency", constant_checks(species) or ["critical, Lennard-Jones and polar constants are consistent"]),
        ("reactions", reaction_checks(species)),
        ("below the critical point", below_critical(mixture.options)),
        ("where formulas change", alpha_zeros(mixture) + poles(mixture)),
        (
            "units",
            [
                "SI inside (kg, m, s, K, mol); the file's units are converted by its `units` entry and by units at "
                "single numbers; "
                f"reference pressure of entropies {species.p_ref:g} Pa; diffusion fitted from {species.T_fit[0]:g} to "
                f"{species.T_fit[1]:g} K"
            ],
        ),
    ]

    out = []
    for title, lines in blocks:
        if lines:
            out.append(f"\n{title}")
            out += [f"  {line}" for line in lines]

    return "\n".join(out)


def reactions(species) -> str:
    """Number of reactions of each kind, or the reason why there are no reactions."""
    try:
        kinds = Counter(r.kind for r in species.mechanism.reactions)
    except MixtureError as error:
        return str(error)

    return f"{kinds.total()}: {', '.join(f'{n} {kind}' for kind, n in kinds.most_common())}"


COMMAND = dict(help="list backends, compilers, devices, MPI, cache; for a mixture its constants, options, checks")
NEEDS_MIXTURE = False
ARGUMENTS: dict[str, dict] = {}


def main(given, mixture: kernels.Mixture | None) -> None:
    """Prints what is known of the mixture if the command names a mixture, then the lines of the machine."""
    if mixture is not None:
        _print(_of_mixture(given.mixture, mixture))
        print(report(mixture))
        print("\nthis machine")

    rows = machine.rows(Config())
    if mixture is None:
        defaults = ", ".join(f"{k} {v[0]}" for k, v in kernels.OPTIONS.items())
        rows.append(("model options", f"{defaults} (the defaults; --mixture FILE shows more)"))

    # Long tables of measured times come last.
    rows += placement_table(Config(), mixture.ns if mixture else 10)
    rows += launch_table(mixture)
    rows += organisation_table()
    _print(rows)


def _of_mixture(file, mixture: kernels.Mixture) -> list[tuple[str, str]]:
    """(name, value) of what a mixture is."""
    return [
        ("mixture", f"{file}: {mixture.ns} species: {' '.join(mixture.names)}"),
        *mixture.facts.items(),
        ("model options", ", ".join(f"{k} {v}" for k, v in mixture.options.items())),
        ("reactions", reactions(mixture.species)),
        *(("note", note) for note in mixture.notes),
        *(("lacks", reason) for reason in dict.fromkeys(mixture.constants.lacks.values())),
    ]


def _print(rows) -> None:
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        print(f"{name:{width}}  {value}")
