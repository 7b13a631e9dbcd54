"""`python -m frame info`: the backends and tools of this machine; for a mixture every species constant, its origin, and
the constants that look wrong."""

import itertools
import os
from collections import Counter

import numpy as np

import kernels
from kernels.contractions import table as organisations
from kernels.gas import declare
from kernels.gas.equations.constants import alpha_slope
from kernels.gas.schedules import launches
from kernels.gas.species import GAS_CONSTANT as R
from kernels.gas.species.reactions import Chebyshev, Plog

from ..config import Config
from ..devices import rule
from ..errors import ArgumentError, FrameError, MixtureError
from . import machine

CHUNK = 12288  # of the lines on placement, as the demo has
JUMP = 1e-4  # of cp/R, h/RT, s/R where two polynomials meet: a solver may be disturbed by a larger step
T_LOW, T_HIGH = 80.0, 3500.0
CONSTANTS = (  # heading, unit, field, divisor, digits
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
    """Table of constants, one line for each species; `-`: not given, `*`: not in the file, origin below."""
    shown = [
        (heading, unit, field, by, digits)
        for heading, unit, field, by, digits in CONSTANTS
        if field is None or np.isfinite(getattr(species, field)).any()
    ]
    Zc = species.pc * species.Vc / (R * species.Tc)
    head = [["species", *(column[0] for column in shown)], ["", *(f"[{column[1]}]" for column in shown)]]
    cells = []
    for s, name in enumerate(species.names):
        row = [name]
        for _, _, field, by, digits in shown:
            value = Zc[s] if field is None else getattr(species, field)[s]
            star = "*" if field in species.origin.get(name, {}) else ""
            row.append(f"{value / by:{digits}}{star}" if np.isfinite(value) else "-")
        cells.append(row)
    width = [max(len(row[k]) for row in [*head, *cells]) for k in range(len(head[0]))]
    return [
        "  ".join(text.ljust(w) if k == 0 else text.rjust(w) for k, (text, w) in enumerate(zip(row, width)))
        for row in [*head, *cells]
    ]


def origins(species) -> list[str]:
    """Lines on the origin of the numbers: first those that are not in the file, then the file's own notes on its
    blocks."""
    out = []
    for name in species.names:
        fields = species.origin.get(name, {})
        for text in dict.fromkeys(fields.values()):
            out.append((name, f"{', '.join(f for f in fields if fields[f] == text)}: {text}"))
    for name in species.names:
        out += [(name, f"{block}: {note}") for block, note in species.sources.get(name, {}).items()]
    return _grouped(out)


def _grouped(pairs) -> list[str]:
    """Lines "A, B: text" from pairs (species, text); each text is printed once."""
    names: dict[str, list[str]] = {}
    for name, text in pairs:
        names.setdefault(text, []).append(name)
    return [f"{', '.join(some)}: {text}" for text, some in names.items()]


def polynomial_checks(species) -> list[str]:
    """Warnings: jumps where polynomials meet, polynomials that do not cover the envelope, impossible heat
    capacities."""
    out = []
    for s, name in enumerate(species.names):
        for what, T, low, high in species.jumps(s, JUMP):
            out.append((name, f"{what} jumps by {high - low:.2g} (from {low:.6g}) at {T:g} K, where two ranges meet"))
        below, above = bool(species.T_min[s] > T_LOW), bool(species.T_max[s] < T_HIGH)
        if below or above:
            ends = [f"below {species.T_min[s]:g} K"] * below + [f"above {species.T_max[s]:g} K"] * above
            out.append((name, f"polynomials are extrapolated {' and '.join(ends)}"))
        grid = np.geomspace(T_LOW, T_HIGH, 400)
        cp = species.polynomial(s, grid)[0]
        bad = grid[cp < 2.5 * (1 - 5e-3)]
        if bad.size:
            where = f"between {bad.min():.4g} and {bad.max():.4g} K"
            out.append((name, f"ideal-gas cp/R falls to {cp.min():.3g} {where}, less than an atom's 2.5"))
    return _grouped(out)


def reaction_checks(species) -> list[str]:
    """Ranges of pressure and temperature that reactions are given for, and jumps of reverse rates. None where the
    species have no reactions, or they are refused."""
    try:
        reactions = species.mechanism.reactions
    except MixtureError:
        return []
    ranges: dict[str, list[str]] = {}
    for r in reactions:
        if isinstance(r.rate, Chebyshev):
            (T0, T1), (p0, p1) = r.rate.temperatures, r.rate.pressures
            beyond = "beyond, the polynomials as they are, or the values at the ends (chebyshev = clamp)"
            text = f"Chebyshev, {T0:g} to {T1:g} K, {p0 / 1e5:.4g} to {p1 / 1e5:.4g} bar; {beyond}"
        elif isinstance(r.rate, Plog):
            p0, p1 = r.rate.pressures[0], r.rate.pressures[-1]
            text = f"P-log, {p0 / 1e5:.4g} to {p1 / 1e5:.4g} bar; beyond, the values at the ends"
        else:
            continue
        ranges.setdefault(text, []).append(r.equation)
    out = [f"{text}: {_some(equations)}" for text, equations in ranges.items()]
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


def reverse_jumps(species) -> list[tuple[float, float, str]]:
    """(relative jump of the reverse rate, temperature [K], equation) of the reversible reactions, largest first: k_r =
    k_f exp(sum nu g/RT) (R T/p_ref)^(sum nu), and g jumps where the polynomials of a species meet."""
    steps: dict[float, np.ndarray] = {}
    for s in range(species.ns):
        for what, T, below, above in species.jumps(s, 0.0):
            sign = {"h/RT": 1.0, "s/R": -1.0}.get(what, 0.0)
            steps.setdefault(T, np.zeros(species.ns))[s] += sign * (above - below)
    out = [
        (float(np.expm1(sum(nu * step[s] for s, nu in r.net.items()))), T, r.equation)
        for T, step in steps.items()
        for r in species.mechanism.reactions
        if r.reversible
    ]
    return sorted((found for found in out if found[0]), key=lambda found: -abs(found[0]))


def _some(texts, most=5) -> str:
    """The first of some texts, and how many more there are."""
    more = len(texts) - most
    return ", ".join(texts[:most]) + (f" and {more} more" if more > 0 else "")


def constant_checks(species) -> list[str]:
    """Warnings: constants that contradict each other. The cause is mostly a wrong unit, a misplaced digit, or another
    species' number."""
    out = []
    Zc = species.pc * species.Vc / (R * species.Tc)
    sigma = 0.809e-10 * np.cbrt(species.Vc * 1e6)
    depth = species.Tc / 1.2593
    with np.errstate(invalid="ignore"):
        size, well = species.diameter / sigma, species.well_depth / depth
    outside = lambda value, low, high: np.isfinite(value) and not low <= value <= high
    for s, name in enumerate(species.names):
        omega, atom = species.omega[s], species.diameter[s] > 0 and species.geometry[s] == 0
        for wrong, text in (
            (
                outside(Zc[s], 0.2, 0.35),
                f"pc Vc/(R Tc) = {Zc[s]:.3g}, fluids have 0.22 to 0.31: check Tc, pc and Vc and their units",
            ),
            (
                outside(size[s], 0.75, 1.33),
                f"Lennard-Jones diameter is {size[s]:.2f} of 0.809 Vc^(1/3): check sigma [A] and Vc",
            ),
            (outside(well[s], 0.4, 2.5), f"well depth is {well[s]:.2f} of Tc/1.2593: check eps/k [K] and Tc"),
            (
                not -0.4 <= omega <= 1.2,
                f"acentric factor {omega:.3g}: outside -0.4 (helium) to 1.2, where its correlations end",
            ),
            (atom and species.dipole[s] > 0, f"an atom with a dipole of {species.dipole[s]:g} debye"),
        ):
            if wrong:
                out.append((name, text))
    return _grouped(out)


def alpha_zeros(mixture) -> list[str]:
    """Temperatures at which sqrt(alpha) passes through zero inside the envelope, with a kink in a'. The squares of
    pseudo-critical pairs have none."""
    species = mixture.species
    if mixture.options["equation"] == "ideal" or mixture.options["mixing"] == "pseudocritical":
        return []
    kappa = alpha_slope(species.omega, mixture.options["alpha"], mixture.options["equation"])
    with np.errstate(divide="ignore"):
        T = species.Tc * (1 + 1 / kappa) ** 2
    found = [
        f"{name} {t:.0f} K" for name, t in sorted(zip(species.names, T), key=lambda pair: pair[1]) if T_LOW < t < T_HIGH
    ]
    return ["sqrt(alpha) passes through zero, with a kink in cp of the real gas: " + ", ".join(found)] if found else []


def poles(mixture) -> list[str]:
    """Mole fractions on binary lines at which the published Chung viscosity has a pole (E1 E4 + E2 + E3 = 0), at any T
    and p."""
    if mixture.options["chung"] == "polefree" or mixture.options["viscosity"] != "chung":
        return []
    x = np.linspace(0, 1, 2001)
    found = []
    for i in range(mixture.ns):
        for j in range(i):
            X = np.zeros((mixture.ns, x.size))
            X[i], X[j] = x, 1 - x
            q = mixture.properties("omega_m mu_r4 kappa_m", X=X, backend="cpu")
            w, d4, k = q["omega_m"], q["mu_r4"], q["kappa_m"]
            E1, E4 = 6.324 + 50.412 * w - 51.680 * d4 + 1189.0 * k, 6.623 + 38.096 * w - 8.464 * d4 + 31.42 * k
            E23 = 1.210e-3 + 5.283 + (254.209 - 1.154e-3) * w - (168.48 + 6.257e-3) * d4 + (3898.0 + 0.03728) * k
            f = E1 * E4 + E23
            at = np.flatnonzero(f[:-1] * f[1:] < 0)
            where = [f"{x[n] - f[n] * (x[n + 1] - x[n]) / (f[n + 1] - f[n]):.4f}" for n in at]
            if where:
                found.append(f"{mixture.names[i]}/{mixture.names[j]} at X_{mixture.names[i]} = {', '.join(where)}")
    told = f"viscosity has poles in composition on {len(found)} of the binary lines: {'; '.join(found)}"
    return [told] if found else []


def binaries(species) -> list[str]:
    """What there is to say of k_ij: the largest ones with their pairs."""
    pairs = [(species.kij[i, j], f"{species.names[i]}/{species.names[j]}") for i in range(species.ns) for j in range(i)]
    given = sorted((pair for pair in pairs if pair[0]), key=lambda pair: -abs(pair[0]))
    shown = ", ".join(f"{name} {k:.4g}" for k, name in given[:12]) + (", ..." if len(given) > 12 else "")
    if given:
        return [f"k_ij of {len(given)} of {len(pairs)} pairs: {shown}"]
    return ["k_ij = 0 for every pair"] if pairs else []


def launch_table(mixture=None) -> list[tuple[str, str]]:
    """Which table of CUDA launches is in force; of a mixture on a device also which of its rows serve."""
    path = launches.in_force()
    why = "FRAME_LAUNCHES" if path != launches.COMMITTED else "the project's own; FRAME_LAUNCHES names another"
    measured = dict.fromkeys(f"{row.device}, {row.compiler}, {row.date}" for row in launches.read(path))
    rows = [("launches", f"{path} ({why}), measured on {'; '.join(measured)}")]
    try:
        backend = kernels.get_backend(Config().backend)
    except FrameError:  # a line above says why there is none
        return rows
    if mixture is None or backend.style != "threads":
        return rows
    for c in kernels.collections.values():
        try:
            row = launches.serving(
                declare.resolve(c.outputs, c.given, mixture.options),
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
    """Which table of organisations of tensor expressions is in force, and its rows of this machine."""
    path = organisations.in_force()
    named = path != organisations.COMMITTED
    why = "FRAME_ORGANISATIONS" if named else "the project's own; FRAME_ORGANISATIONS names another"
    known = organisations.rows(path)
    rows = [("organisations", f"{path} ({why}): {len(known)} tensor expressions")]
    try:
        backend = kernels.get_backend(Config().backend)
    except FrameError:  # a line above says why there is none
        return rows
    for row in known.values():
        if row.key[3:] == (backend.product, backend.compiler, organisations.GENERATOR):
            told = f"line {row.line}, {row.date}: order {row.order}, {row.how}"
            rows.append((f"  {row.case[:40]}", f"{row.key.dtype} {row.key.sizes}: {told}"))
    return rows


def placement_table(config: Config, ns: int) -> list[tuple[str, str]]:
    """What `auto` does here and with 1, 4, 8, 16 ranks of one core each on a GPU, and the figures that it rests on."""
    try:
        here = kernels.engine.backend.device_rates(0) if kernels.engine.backend.cuda_devices("auto") else None
    except FrameError:  # a line above says why there is none
        here = None
    rates, told = here or next(iter(rule.KNOWN.values())), "no GPU here: CPU"
    if here:
        told = f"{here.product} is in the table"
    if here and not rule.known(here):
        shown = ", ".join(
            f"{what} {value / unit:.3g} {name}" if value else f"{what} not told"
            for what, value, unit, name in (
                ("link", here.link, 1e9, "GB/s"),
                ("memory", here.memory, 1e12, "TB/s"),
                ("double precision", here.double, 1e12, "Tflop/s"),
            )
        )
        told = f"{here.product} is not in the table: times of {', '.join(rule.KNOWN)} in proportion to its {shown}"
    forced = "" if config.backend == "auto" else f"; FRAME_BACKEND={config.backend} forces a side"
    rows = [("placement", f"FRAME_PLACEMENT {config.placement}, FRAME_CALLS {config.calls}; {told}{forced}")]
    rows.append(("  here", _side_here(config, here, ns)))
    for ranks in (1, 4, 8, 16):
        said = []
        for calls, service in itertools.product(rule.CALLS[::-1], (True, False)[: 1 + (ranks > 1)]):
            work = rule.Work(ns, config.precision, calls, CHUNK)
            gpu, cpu = rule.gpu(work, rates, ranks, service), rule.cpu(work, ranks)
            how = {"alone": "", "service": " by MPS", "turns": " in turns"}[rule.sharing_of(ranks, service)]
            said.append(f"{calls}{how} {gpu:.3g}: {'GPU' if gpu <= cpu else 'CPU'}")
        head = f"{ranks} rank{'s' * (ranks > 1)}, {rates.product}, ns a point of {ns} species"
        rows.append((f"  {ranks}", f"{head}: CPU {cpu:.3g}; GPU, {', '.join(said)}"))
    for row in rule.table():
        times = [f"{side} {ns_}" for side, ns_ in (("GPU", row.gpu), ("CPU", row.cpu)) if np.isfinite(ns_)]
        what = " ".join(filter(None, (row.calls, row.sharing, f"{row.ranks} rank{'s' * (row.ranks > 1)}")))
        where = ", ".join(filter(None, (row.device, row.host, row.date, row.by)))
        rows.append(
            ("  measured", f"{what}, {row.species} species, chunk {row.chunk}: {', '.join(times)} ns ({where})")
        )
    return rows


def _side_here(config: Config, rates, ns: int) -> str:
    """This process as a rank alone."""
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


def report(mixture) -> str:
    """All tables and warnings of a mixture, as text."""
    species = mixture.species
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
    return "\n".join("\n".join([f"\n{title}", *(f"  {line}" for line in lines)]) for title, lines in blocks if lines)


def reactions(species) -> str:
    """How many reactions of which kinds, or why there are none."""
    try:
        kinds = Counter(r.kind for r in species.mechanism.reactions)
    except MixtureError as error:
        return str(error)
    return f"{kinds.total()}: {', '.join(f'{n} {kind}' for kind, n in kinds.most_common())}"


COMMAND = dict(help="list backends, compilers, devices, MPI, cache; for a mixture its constants, options, checks")
NEEDS_MIXTURE = False
ARGUMENTS: dict[str, dict] = {}


def main(given, mixture: kernels.Mixture | None) -> None:
    """Print the machine's lines, then the mixture's where one is named."""
    rows = machine.rows(Config()) + placement_table(Config(), mixture.ns if mixture else 10)
    rows += launch_table(mixture) + organisation_table()
    if mixture is None:
        defaults = ", ".join(f"{k} {v[0]}" for k, v in kernels.OPTIONS.items())
        rows.append(("model options", f"{defaults} (the defaults; --mixture FILE shows more)"))
    else:
        rows += [
            ("mixture", f"{given.mixture}: {mixture.ns} species: {' '.join(mixture.names)}"),
            *mixture.facts.items(),
            ("model options", ", ".join(f"{k} {v}" for k, v in mixture.options.items())),
            ("reactions", reactions(mixture.species)),
            *(("note", note) for note in mixture.notes),
            *(("lacks", reason) for reason in dict.fromkeys(mixture.constants.lacks.values())),
        ]
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        print(f"{name:{width}}  {value}")
    if mixture is not None:
        print(report(mixture))
