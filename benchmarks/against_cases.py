"""The cases of against.py: mixtures, model options, programs and states of the digests; the cases of the speed."""

import fnmatch
import hashlib
import json
import pathlib

import numpy as np

VERSION = 1  # version of the states below: results of the old side with another version are computed again
FILES = {  # number of species: file, phase
    1: ("examples/mixtures/n2.yaml", None),
    4: ("examples/mixtures/ch4_o2_4.yaml", None),
    10: ("examples/mixtures/ch4_o2.yaml", None),
    50: ("tests/data/gri53.yaml", "gri53"),  # the first 50
}
POINTS = {1: 2003, 4: 2003, 10: 2003, 50: 403}  # odd: the last block and the last pack are partly full
T_RANGE, P_RANGE = (60.0, 3500.0), (1e3, 5e7)  # K, Pa
STATE = "T p Y X u v w V_p dQ dU T_start".split()  # contents of a file of states
PRECISIONS = ("double", "mixed", "single")

# Outputs of the transport models; the other quantities come from the equation of state
TRANSPORT = (
    "mu lam D D_ij D_mole D_mass D_lewis D_schmidt sigma_m eps_m omega_m M_m mu_r4 kappa_m inv_eps_m inv_M_m scale_m "
    "unit_m fill_m T_star inv_T_star root_m eta0 fill gap3"
).split()
IDEAL, SRK = {"equation": "ideal"}, {"equation": "srk"}
EQUATIONS = {  # name: options, structure of k_ij
    "default": ({}, "dense"),
    "srk": (SRK, "dense"),
    "ideal": (IDEAL, "dense"),
    "vapour": ({"root": "vapour"}, "dense"),
    "liquid": ({"root": "liquid"}, "dense"),
    "largest": ({"root": "largest"}, "dense"),
    "peneloux": ({"translation": "peneloux"}, "dense"),
    "fitted": ({"translation": "fitted"}, "dense"),
    "alpha cantera": ({"alpha": "cantera"}, "dense"),
    "pseudocritical": ({"mixing": "pseudocritical", "alpha": "published"}, "dense"),
    "srk peneloux": (SRK | {"translation": "peneloux"}, "dense"),
    "srk pseudocritical": (SRK | {"mixing": "pseudocritical", "alpha": "published"}, "dense"),
    "k_ij none": ({}, "none"),
    "k_ij sparse": ({}, "sparse"),
    "k_ij low rank": ({}, "lowrank"),
    "nine coefficients": ({}, "dense"),  # NASA polynomials with nine instead of seven
}
MOST_ASKED = ("default", "srk", "ideal", "k_ij low rank")
MODELS = {  # of transport
    "default": {},
    "lucas": {"viscosity": "lucas"},
    "sutherland": {"viscosity": "sutherland"},
    "powerlaw": {"viscosity": "powerlaw"},
    "published": {"chung": "published"},
    "chung cantera": {"chung": "cantera"},
    "fuller": {"diffusion": "fuller"},
    "diffusion cantera": {"diffusion": "cantera"},
    "table": {"takahashi": "table"},
    "off": {"takahashi": "off"},
    "fuller off": {"diffusion": "fuller", "takahashi": "off"},
    "pseudocritical": {"mixing": "pseudocritical", "alpha": "published"},
    "numbers": {"lewis": 1.3, "schmidt": 0.9},
    "ideal sutherland": IDEAL | {"viscosity": "sutherland", "takahashi": "off"},
    "ideal powerlaw": IDEAL | {"viscosity": "powerlaw", "diffusion": "fuller"},
    "srk lucas": SRK | {"viscosity": "lucas"},
    "all cantera": {"alpha": "cantera", "chung": "cantera", "diffusion": "cantera", "takahashi": "off"},
}
INVERSIONS = {  # given: outputs
    "h p Y": "T unconverged rho",
    "s p Y": "T unconverged rho",
    "e rho Y": "T p unconverged",
    "rho T X u v w dU": "p Y phase_flag h s c rho_p_prime dQ",
    "h p Y T_start": "T unconverged",
}
THERMAL = "W Z rho h e cp cv gamma c rho_p rho_T h_p h_T"
COLLECTIONS = (  # as hosts use them: given, outputs
    ("T p Y", f"{THERMAL} mu lam D"),
    ("T p Y", THERMAL),
    ("T p Y rho", "mu lam D"),
    ("Y", "Tc_mix pc_mix vc_mix"),
    ("T p Y u v w", "rho h0"),
    ("T p Y u v w", "gamma_jacobian gamma_inverse"),
    ("rho rho_p rho_T h_p h_T", "c"),
)
SPEED = {  # of `bench properties`: collection, options
    "thermal": ("thermal", {"takahashi": "off"}),
    "viscous_fuller": ("viscous", {"takahashi": "off", "diffusion": "fuller"}),
    "viscous_kinetic": ("viscous", {"takahashi": "off"}),
    "viscous_takahashi": ("viscous", {}),
    "thermal_viscous": ("thermal_viscous", {}),
}


def cases(quick=False) -> list[dict]:
    """The cases of the digests, a program for each. outputs: names, "transport" for the list TRANSPORT, or "rest"."""
    out = []

    def add(ns, name, program, precision, given, outputs, options, kij):
        key = f"NS {ns}, {name}, {program}, {precision}"
        fields = dict(key=key, ns=ns, set=name, program=program, precision=precision, given=given.split())
        out.append(fields | dict(outputs=outputs, options=options, kij=kij))

    everything = "T p Y u v w V_p dQ"
    for ns in (1, 10) if quick else FILES:
        add(ns, "file", "reader", "double", "", None, {}, "none")
        for name, (options, kij) in EQUATIONS.items():
            if name.startswith("k_ij") and (ns == 1 or ns == 4 and kij != "none"):
                continue  # the structure does not exist, or dense is cheaper

            for precision in PRECISIONS:
                add(ns, name, "thermodynamics", precision, everything, "rest", options, kij)
                for given, outputs in INVERSIONS.items():
                    asked = precision == "double" and (ns in (4, 10) or name in MOST_ASKED)
                    asked |= name == "default" and ns == 4 and (precision == "mixed" or given.startswith("rho"))
                    if asked and ("T_start" not in given or name == "default" and ns != 50):
                        add(ns, name, f"from {given}", precision, given, outputs.split(), options, kij)

        for name, options in MODELS.items():
            for precision in PRECISIONS:
                add(ns, name, "transport", precision, "T p Y", "transport", options, "dense")

        for given, outputs in COLLECTIONS:
            for precision in PRECISIONS if outputs == f"{THERMAL} mu lam D" else ("double",):
                add(ns, "default", f"{outputs} of {given}", precision, given, outputs.split(), {}, "dense")

    if not quick:
        for name, options in (("default", {}), ("srk", SRK)):
            add(4, name, "thermodynamics", "wide", everything, "rest", options, "dense")
        add(4, "default", "transport", "wide", "T p Y", "transport", {}, "dense")

    return out


def short(text) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def file_of(case) -> str:
    name = case["key"][:60].replace(" ", "_").replace(",", "").replace("/", "_")
    return f"{name}-{short(json.dumps([VERSION, case]))}.npz"


def chosen(patterns, quick) -> list[dict]:
    """The cases whose keys match a pattern, and the cases from whose results they start. base: the file of the latter,
    or ""."""
    every = cases(quick)
    first = {(c["ns"], c["set"]): c for c in reversed(every) if c["program"] == "thermodynamics"}
    starts = [first[c["ns"], c["set"]] if set(c["given"]) - set(STATE) else None for c in every]
    taken = [any(fnmatch.fnmatchcase(c["key"], pattern) for pattern in patterns) for c in every]
    needed = [start["key"] for start, take in zip(starts, taken) if take and start]

    return [
        c | {"file_name": file_of(c), "base": file_of(start) if start else ""}
        for c, start, take in zip(every, starts, taken)
        if take or c["key"] in needed
    ]


def kij_matrices(ns) -> dict:
    """A matrix of k_ij for each structure that has a sum of its own in the layer."""
    dense = np.triu(np.random.default_rng(5).uniform(-0.15, 0.15, (ns, ns)), 1)
    sparse = np.zeros((ns, ns))
    for pair in range(ns // 4):
        sparse[2 * pair, 2 * pair + 1] = 0.02 + 0.01 * pair
    family = np.arange(ns) % 2
    low = 0.1 * (family[:, None] != family)

    return {"none": np.zeros((ns, ns)), "dense": dense + dense.T, "sparse": sparse + sparse.T, "lowrank": low}


def write_species(file, data, matrices, nine=False):
    """Write the arguments of SpeciesData.from_arrays as .npz. nine: the same polynomials with nine coefficients."""
    names = (
        "W omega Tc pc nasa_low nasa_high T_min T_mid T_max kappa_assoc geometry Vc dipole diameter well_depth "
        "polarizability rotational_relaxation fuller_volume volume_translation sutherland power_law liquid"
    ).split()
    fields = {name: getattr(data, name) for name in names if not (nine and name in ("T_min", "T_max"))}
    if nine:
        nasa9 = np.zeros((data.ns, 2, 9))
        nasa9[:, 0, 2:], nasa9[:, 1, 2:] = data.nasa_low, data.nasa_high
        fields |= {"nasa9": nasa9, "T_break": np.stack([data.T_min, data.T_mid, data.T_max], axis=1)}

    matrices = {f"kij_{name}": matrix for name, matrix in matrices.items()}
    np.savez(file, names=np.array(data.names), p_ref=data.p_ref, T_fit=data.T_fit, **fields, **matrices)


def write_states(file, ns, T_mid):
    """Write states: T, p, compositions from pure species to traces, velocities, vectors for the Jacobian."""
    n, random = POINTS[ns], np.random.default_rng([11, ns])
    T = np.exp(random.uniform(*np.log(T_RANGE), n))
    for edge in np.unique(T_mid):  # there a rule chooses the polynomial, not a rounding
        T = np.where(np.abs(T / edge - 1) < 1e-6, 1.001 * T, T)
    kind = np.arange(n) % 5
    amounts = random.exponential(size=(ns, n))
    amounts[:, kind == 1] *= 10.0 ** random.uniform(-14, 0, (ns, (kind == 1).sum()))
    amounts[:, kind == 2] *= random.random((ns, (kind == 2).sum())) < 0.3
    amounts[random.integers(ns, size=n), np.arange(n)] += 1e-3
    pure = np.eye(ns)[:, random.integers(ns, size=n)]
    Y, X = (np.where(kind == 0, pure, a / a.sum(0)) for a in (amounts, amounts[::-1]))
    velocity = {name: random.normal(0, 100, n) for name in ("u", "v", "w")}
    vectors = {name: random.normal(0, 1, (ns + 4, n)) * 10 ** random.uniform(-3, 3, n) for name in ("dQ", "dU")}
    p, V_p = np.exp(random.uniform(*np.log(P_RANGE), n)), np.exp(random.uniform(0, 6, n))
    np.savez(file, T=T, p=p, Y=Y, X=X, V_p=V_p, T_start=T * random.uniform(0.8, 1.2, n), **velocity, **vectors)


def write_inputs(folder, read):
    """Write species and states of the digests, once. read(file, phase): species of a file."""
    folder.mkdir(parents=True, exist_ok=True)
    for ns, (file, phase) in FILES.items():
        names = [folder / f"{what}_{ns}.npz" for what in ("species", "nine", "states")]
        if all(name.is_file() for name in names):
            continue

        data = read(pathlib.Path(__file__).resolve().parents[1] / file, phase)
        data = data.subset(data.names[:ns])
        for name, nine in zip(names, (False, True)):
            write_species(name, data, kij_matrices(ns), nine)
        write_states(names[2], ns, data.T_mid)
