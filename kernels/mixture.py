"""Mixture: species data and model options turned into the constants that kernels read, and the way to call them on
arrays."""

from __future__ import annotations

import functools

import numpy as np

from . import declare
from .errors import ArgumentError, MixtureError
from .point.equations import cubic
from .point.equations.records import CUBICS
from .species import GAS_CONSTANT as R, SpeciesData

OMEGA_VC = CUBICS["pr"].Z_c

OPTIONS = {  # option: values, the first is the default
    key: declare.options[key].values for key in ("equation", "root", "translation", "alpha", "mixing")
} | {
    "viscosity": ("chung", "lucas", "sutherland", "powerlaw"),
    "chung": ("polefree", "published", "cantera"),
    "diffusion": ("kinetic", "fuller", "cantera"),
    "takahashi": ("smooth", "table", "off"),
    "critical": (
        "file",
        "fill",
    ),  # of a file: whether absent critical properties are an error, or looked up and estimated
}

QUANTUM = {"HE": 1.38, "H2": 0.76, "D2": 0.52}  # Lucas' Q of quantum gases
NUMBERS = {
    "lewis": 1.0,
    "schmidt": 0.7,
}  # numbers a mixture may be given, one for all species or one for each, and their defaults

# Takahashi 1975, Table 11-3 of Poling et al. as other codes have it (original not seen); columns Pr, D0, A, B, C, E.
# The first row is ours: factor 1 at Pr = 0.
TAKAHASHI = np.array(
    [
        (0.0, 1.00, 0.0, 1.0, 0.0, 1.0),
        (0.1, 1.01, 0.038042, 1.52267, 0.0, 1.0),
        (0.2, 1.01, 0.067433, 2.16794, 0.0, 1.0),
        (0.3, 1.01, 0.098317, 2.42910, 0.0, 1.0),
        (0.4, 1.01, 0.137610, 2.77605, 0.0, 1.0),
        (0.5, 1.01, 0.175081, 2.98256, 0.0, 1.0),
        (0.6, 1.01, 0.216376, 3.11384, 0.0, 1.0),
        (0.8, 1.01, 0.314051, 3.50264, 0.0, 1.0),
        (1.0, 1.02, 0.385736, 3.07773, 0.141211, 13.45454),
        (1.2, 1.02, 0.514553, 3.54744, 0.278407, 14.0),
        (1.4, 1.02, 0.599184, 3.61216, 0.372683, 10.00900),
        (1.6, 1.02, 0.557725, 3.41882, 0.504894, 8.57519),
        (1.8, 1.03, 0.593007, 3.18415, 0.678469, 10.37483),
        (2.0, 1.03, 0.696001, 3.37660, 0.665702, 11.21674),
        (2.5, 1.04, 0.790770, 3.27984, 0.0, 1.0),
        (3.0, 1.05, 0.502100, 3.39031, 0.602907, 6.19043),
        (4.0, 1.06, 0.837452, 3.23513, 0.0, 1.0),
        (5.0, 1.07, 0.890390, 3.13001, 0.0, 1.0),
    ]
)


WINDOWS = 512  # of the table below


@functools.lru_cache(None)
def takahashi_cubics() -> np.ndarray:
    """(WINDOWS, 19, 4) in single precision: each row of the table above less 1, in each window of 1/(1 + Tr), as a
    cubic of the place x in [-1/2, 1/2) in the window, through the formula at Chebyshev points. 152 KB; absolute error
    of the factor below 2e-7 (tests), single precision included (for its sake less 1: most factors are near 1). A pair
    of two species has its place from sums that are rounded, too: up to 6e-7 (tests).

    Colder than where its first bracket vanishes a row is 0; the window in which that happens keeps the unbroken curve.
    """
    nodes = 0.5 - 0.5 * np.cos((np.arange(4) + 0.5) * np.pi / 4)
    w = (np.arange(WINDOWS)[:, None, None] + nodes) / WINDOWS  # 1/(1 + Tr)
    z = w / (1 - w)  # 1/Tr
    _, D, A, B, C, E = TAKAHASHI.T[:, None, :, None]
    z_start = (np.arange(WINDOWS) / (WINDOWS - np.arange(WINDOWS)))[:, None, None]
    gone = (1 - A * z_start**B <= 0) | (1 - C * z_start**E <= 0)
    with np.errstate(over="ignore"):
        rows = np.where(gone, 0.0, D * (1 - A * z**B) * (1 - C * z**E)) - 1
    rows = np.concatenate([rows, rows[:, -1:]], axis=1)  # what stands behind the last row
    return np.linalg.solve(np.vander(nodes - 0.5, increasing=True), rows[..., None])[..., 0].astype(np.float32)


def by_species(key: str, given, names) -> np.ndarray:
    """Positive numbers (ns,): one for all, one for each species, or some by name with the default for the others."""
    if isinstance(given, dict):
        unknown = [name for name in given if name not in names]
        if unknown:
            raise ArgumentError(f"{key}: no species {unknown[0]!r} in this mixture ({', '.join(names)}).")
        given = [given.get(name, NUMBERS[key]) for name in names]
    try:
        values = np.broadcast_to(np.asarray(given, dtype=float), (len(names),))
    except (TypeError, ValueError):
        raise ArgumentError(
            f"{key} = {given!r}; wanted a number, {len(names)} numbers, or numbers by species name."
        ) from None
    if not (np.isfinite(values) & (values > 0)).all():
        raise ArgumentError(f"{key} = {given!r}; wanted positive numbers.")
    return values


def checked_options(given: dict) -> dict:
    """All options with their values; ArgumentError names an unknown option or value and lists the known ones."""
    for key, value in given.items():
        if key not in OPTIONS:
            raise ArgumentError(f"unknown model option '{key}'; known: {', '.join(OPTIONS)}.")
        if value not in OPTIONS[key]:
            raise ArgumentError(f"option {key} = {value!r}; wanted one of {', '.join(OPTIONS[key])}.")
    options = {key: given.get(key, values[0]) for key, values in OPTIONS.items()}
    for excluded, say in declare.exclusions:
        if excluded(options):
            raise ArgumentError(say.format(**options))
    return options


FRICTION_TERMS = {"kinetic": 4, "fuller": 1, "cantera": 5}  # coefficients of a pair


class Mixture:
    """Species, options, constants. Options (first value is the default): equation pr|srk|ideal, root
    gibbs|vapour|liquid|largest (vapour and largest are one rule), translation none|peneloux|fitted, alpha pr78|cantera
    (for pr), mixing vdw|pseudocritical, viscosity chung|lucas|sutherland|powerlaw, chung polefree|published|cantera,
    diffusion kinetic|fuller|cantera, takahashi smooth|table|off, critical file|fill.

    Raises MixtureError for species data that the chosen models cannot work with, ArgumentError for options.
    """

    def __init__(self, species: SpeciesData, **options):
        self.species = species
        self.ns = len(species.names)
        self.names = tuple(species.names)
        self.by_species = {
            key: by_species(key, options.pop(key, default), self.names) for key, default in NUMBERS.items()
        }
        self.options = checked_options(options)
        self.notes: list[str] = []
        self.sizes: dict[str, int] = {"NS": self.ns}
        self.constants: dict[str, np.ndarray] = {}
        # matrices over pairs, laid out by emit.py as the backend wants them: symmetric (ns, ns) of quadratic forms, and
        # (terms, ns, ns), zero on the diagonal, that are multiplied by vectors where there are matrix units
        self.pairs: dict[str, np.ndarray] = {}
        self.tables: dict[str, np.ndarray] = {}  # (windows, rows, 4), single precision
        self.lacks: dict[str, str] = {}  # constant: why this mixture does not have it
        self._programs: dict = {}
        self._known = np.isfinite(species.Tc)
        if self.options["equation"] != "ideal":
            needs = CUBICS[self.options["equation"]].needs
            species.require(*needs, purpose=f"equation {self.options['equation']}")
        self._thermal_constants()
        self._transport_constants()

    @classmethod
    def from_yaml(cls, path, phase=None, **options) -> Mixture:
        """Read a Cantera YAML file; `phase` names the phase when there are several."""
        from .species.cantera_yaml import read_cantera_yaml  # ruamel.yaml is needed for files only

        chosen = checked_options({key: value for key, value in options.items() if key not in NUMBERS})
        models = ("ideal-gas", "Peng-Robinson") if chosen["equation"] == "ideal" else ("Peng-Robinson",)
        return cls(read_cantera_yaml(path, phase, chosen["critical"] == "fill", models)[0], **options)

    @classmethod
    def from_species(cls, species: SpeciesData, **options) -> Mixture:
        return cls(species, **options)

    def __repr__(self):
        return f"Mixture({', '.join(self.names[:6])}{', ...' if self.ns > 6 else ''}; k_ij {self.structure}; {self.options})"

    # ---- constants
    def _thermal_constants(self):
        sp = self.species
        self.constants.update(
            W=sp.W,
            inv_W=1 / sp.W,
            least_mass=1e-20 * sp.W,
            inv_p_ref=[1 / sp.p_ref],
            **self._polynomials(),
        )
        self.numbers, self.members, self.structure = {}, "", "none"
        try:
            made = cubic.constants(sp, self.options)
        except MixtureError as error:
            if self.options["equation"] != "ideal":
                raise
            self.lacks |= dict.fromkeys(("b_mass", "omega_a", "omega_b", "omega_vc"), str(error))
            return self._freeze()
        self.constants |= made.values
        self.pairs |= made.pairs
        self.sizes |= made.sizes
        self.numbers, self.members = made.numbers, made.members
        self.notes += made.notes
        kinds = [kind for kind in ("none", "sparse", "lowrank", "dense") if made.sizes[f"kij_{kind}"]]
        self.structure = (kinds or ["pairs"])[0]
        return self._freeze()

    def _named(self, mask):
        return ", ".join(n for n, there in zip(self.names, mask) if there) or "no species"

    def _critical_volumes(self):
        """As given, else Peng-Robinson's."""
        sp = self.species
        return np.where(np.isfinite(sp.Vc), sp.Vc, OMEGA_VC * R * sp.Tc / sp.pc)

    def _polynomials(self) -> dict:
        sp = self.species
        self.sizes["NASA9_RANGES"] = 0 if sp.nasa9 is None else sp.nasa9.shape[1]
        if sp.nasa9 is None:
            return dict(
                T_mid=sp.T_mid,
                T_mid_lowest=[sp.T_mid.min()],
                T_mid_highest=[sp.T_mid.max()],
                nasa_low=(sp.nasa_low * (R / sp.W)[:, None]).T,
                nasa_high=(sp.nasa_high * (R / sp.W)[:, None]).T,
            )
        return dict(
            nasa9=(sp.nasa9 * (R / sp.W)[:, None, None]).transpose(1, 2, 0),
            nasa9_break=sp.T_break[:, 1:-1].T if self.sizes["NASA9_RANGES"] > 1 else [0.0],
        )

    def _dilute_constants(self):
        """Viscosity laws of the species: those given, else fitted to kinetic theory; what Wilke's rule needs of the
        pairs."""
        sp, law = self.species, self.options["viscosity"]
        given = sp.sutherland if law == "sutherland" else sp.power_law
        known = np.isfinite(given[:, 0])
        mu, T, last = given.T
        if law == "sutherland":
            factor = mu * (T + last) / T**1.5
        else:
            with np.errstate(invalid="ignore"):
                factor = mu / T**last
        if not known.all():
            lacking = ~known & ~(np.isfinite(sp.diameter) & np.isfinite(sp.well_depth))
            if lacking.any():
                self.lacks["viscosity_factor"] = self._who(
                    f"a viscosity law '{law}' and transport data to derive one", lacking
                )
                return
            from .species.kinetic_theory import viscosity_fit

            fitted = viscosity_fit(sp, law, *sp.T_fit)
            factor, last = np.where(known, factor, fitted[0]), np.where(known, last, fitted[1])
            self.notes.append(
                f"viscosity law of {self._named(~known)}: fitted to kinetic theory between "
                f"{sp.T_fit[0]:g} and {sp.T_fit[1]:g} K."
            )
        W = sp.W
        self.constants.update(
            viscosity_factor=factor,
            viscosity_constant=last,
            wilke_mass=W**-0.25,
            eucken=1.25 * R / W,
            wilke_pair=1 / np.sqrt(8 * (1 + W[:, None] / W)) / W,
        )

    def _transport_constants(self):
        sp, const, opt = self.species, self.constants, self.options
        if opt["viscosity"] in ("sutherland", "powerlaw"):
            self._dilute_constants()
        if opt["equation"] == "ideal" and opt["takahashi"] != "off":
            self.notes.append(
                "ideal gas with Takahashi's pressure correction of D; takahashi = off gives the ideal gas' D."
            )
        Tc, pc = sp.Tc, sp.pc
        unknown = ~np.isfinite(sp.Vc) & self._known
        if opt["chung"] == "cantera":
            Vc, association = OMEGA_VC * R * Tc / pc, np.zeros(self.ns)
            self.notes.append("Chung as in Cantera 3.2: Vc = 0.3074 R Tc/pc for all species, no association.")
        else:
            Vc, association = self._critical_volumes(), sp.kappa_assoc
        if (opt["chung"] != "cantera" or opt["mixing"] == "pseudocritical") and unknown.any():
            self.notes.append(f"no measured critical volume for {self._named(unknown)}: Vc = 0.3074 R Tc/pc is used.")
        for name, fields in sp.origin.items():
            for origin in dict.fromkeys(fields.values()):
                self.notes.append(
                    f"{name}: {', '.join(f for f in fields if fields[f] == origin)} not in the file: {origin}."
                )
        self.notes.append(
            {
                "polefree": "Chung without composition poles (omega, dipole, association bounded in E_1..E_10), "
                "positive (E_2, B_7 >= 0).",
                "published": "Chung viscosity as published: it has poles in composition space (E1 E4 + E2 + E3 = 0).",
                "cantera": "Chung viscosity as in Cantera: it has poles in composition space.",
            }[opt["chung"]]
        )
        M = sp.W * 1e3
        sigma, eps = 0.809 * np.cbrt(Vc * 1e6), Tc / 1.2593
        dipole = np.nan_to_num(sp.dipole)
        share = np.sqrt(eps) * sigma / sp.W
        self.pairs["chung_pair"] = np.sqrt(2 * M[:, None] * M / (M[:, None] + M)) * share[:, None] * share
        const.update(
            Tc=Tc,
            pc=pc,
            chung_sigma15=sigma**1.5 / sp.W,
            chung_eps=np.sqrt(eps) * sigma**1.5 / sp.W,
            chung_omega=sp.omega * sigma**1.5 / sp.W,
            chung_dipole=dipole**2 / sigma**1.5 / sp.W,
            chung_kappa=np.sqrt(association) / sp.W,
        )
        const.update(inv_lewis=1 / self.by_species["lewis"], inv_schmidt=1 / self.by_species["schmidt"])
        if opt["viscosity"] == "lucas":
            self._lucas_constants(Vc, dipole)
        if (
            opt["takahashi"] == "off" and opt["viscosity"] != "lucas"
        ):  # then no kernel looks at them, and they may be unknown
            const.update(Tc=np.nan_to_num(Tc), pc=np.nan_to_num(pc))
        self._diffusion_constants(M)
        self._freeze()

    def _lucas_constants(self, Vc, dipole):
        sp = self.species
        Zc = sp.pc * Vc / (R * sp.Tc)
        mu_r = 52.46 * dipole**2 * (sp.pc * 1e-5) / sp.Tc**2
        departure = 30.55 * np.maximum(0.292 - Zc, 0) ** 1.72  # F_P - 1 of a polar species
        quantum = [s for s, name in enumerate(self.names) if name.upper() in QUANTUM]
        self.sizes["LUCAS_QUANTUM"] = len(quantum)
        heaviest, ratio = np.argmax(sp.W), sp.W.max() / sp.W.min()
        self.constants.update(
            lucas_Zc=Zc,
            lucas_Vc=Vc,
            lucas_omega=sp.omega,
            lucas_tenth_over_Tc=0.1 / sp.Tc,
            lucas_polar=np.where((mu_r >= 0.022) & (mu_r < 0.075), departure, 0),
            lucas_polar_warm=np.where(mu_r >= 0.075, departure, 0),
            # species, 1/Tc, 1/M [mol/g], 1.22 Q^0.15
            lucas_quantum=[
                (s, 1 / sp.Tc[s], 1e-3 / sp.W[s], 1.22 * QUANTUM[self.names[s].upper()] ** 0.15) for s in quantum
            ]
            or [0.0],
            lucas_heaviest=[heaviest, 1 - 0.01 * ratio**0.87 if ratio > 9 else 1.0],
        )
        named = ", ".join(self.names[s] for s in quantum) or "none"
        self.notes.append(
            f"Lucas' viscosity: liquids give NaN; quantum gases (He, H2, D2 by name): {named}; it has steps, as "
            "published."
        )

    def _diffusion_constants(self, M):
        """Binary diffusion data; a mixture that lacks them still serves everything else (the reason is kept in
        `lacks`)."""
        sp, const, opt = self.species, self.constants, self.options
        if self.options["takahashi"] == "smooth":
            self.tables["takahashi_cubics"] = takahashi_cubics()
            self.sizes["TAKAHASHI_WINDOWS"] = WINDOWS
        if self.options["takahashi"] != "off":
            for name, column in zip(("D", "A", "B", "C", "E"), TAKAHASHI.T[1:]):
                const[f"takahashi_{name}"] = column
        self.sizes["FRICTION_TERMS"] = FRICTION_TERMS[self.options["diffusion"]]
        if self.options["diffusion"] == "fuller":
            volume = np.cbrt(sp.fuller_volume)
            if not np.isfinite(volume).all():
                self.lacks["friction_fit"] = self._who("a Fuller diffusion volume", ~np.isfinite(volume))
                return
            M_ij = 2 / (1 / M[:, None] + 1 / M)
            # Fuller: D [cm2/s] = 0.00143 T^1.75/(p [bar] M_ij^(1/2) (v_i^(1/3) + v_j^(1/3))^2); times p in Pa: factor
            # 10
            fit = (np.sqrt(M_ij) * (volume[:, None] + volume) ** 2 / (0.00143 * 1e-4 * 1e5))[None]
        else:
            known = np.isfinite(sp.diameter) & np.isfinite(sp.well_depth)
            if not known.all():
                self.lacks["friction_fit"] = self._who("transport data (diameter, well depth)", ~known)
                return
            from .species.kinetic_theory import binary_fit, friction_fit

            fit = (binary_fit if self.options["diffusion"] == "cantera" else friction_fit)(sp, *sp.T_fit)
        lower = np.tril_indices(self.ns)
        const["friction_fit"] = fit[:, lower[0], lower[1]].T
        if opt["takahashi"] == "off" and opt["diffusion"] != "cantera":  # else something of each pair comes between
            self.pairs["friction_tiles"] = fit * (1 - np.eye(self.ns))

    def _who(self, what, mask) -> str:
        return f"species {self._named(mask)} without {what}"

    def _freeze(self):
        for name, value in self.constants.items():
            value = np.array(value, dtype=np.float64).reshape(-1)
            if not np.isfinite(value).all() and not self._known.all():
                self.lacks[name] = self._who("critical properties", ~self._known)
                continue
            if not np.isfinite(value).all():
                raise MixtureError(
                    f"mixture constant '{name}' is not finite; check the species data of {', '.join(self.names)}."
                )
            value.flags.writeable = False
            self.constants[name] = value
        self.constants = {name: value for name, value in self.constants.items() if name not in self.lacks}

    def flags(self) -> dict[str, bool]:
        """Compile-time switches: one for each value of each option (but where data come from), and the structure of
        k_ij."""
        out = {
            f"{key}_{value}": self.options[key] == value
            for key, values in OPTIONS.items()
            if key not in ("critical", "translation")
            for value in values
        }
        out |= {key: value for key, value in self.sizes.items() if isinstance(value, bool)}
        out["translated"] = self.options["translation"] != "none"
        return out

    # ---- use
    def program(self, outputs=None, given=None, kernels=None, backend="auto", precision="double"):
        """A compiled launch, kept: by outputs and given names, or by kernel names. See kernels.program.Program."""
        from .backend import get_backend
        from .program import Program

        backend = get_backend(backend) if isinstance(backend, str) else backend
        key = (tuple(outputs or ()), tuple(given or ()), tuple(kernels or ()), backend, precision)
        if key not in self._programs:
            self._programs[key] = Program(
                self, outputs=outputs, given=given, kernels=kernels, backend=backend, precision=precision
            )
        return self._programs[key]

    def properties(self, names, *, backend=None, precision="double", **arrays) -> dict:
        """Named quantities at given states: `mix.properties("rho h cp", T=..., p=..., Y=...)`.

        names: one string with blanks, or a list. arrays: T [K], p [Pa], Y or X [(ns, ...)], also u, v, w for h0, or any
        quantity by its name. Shapes after the species axis broadcast against each other. NumPy in, NumPy out (on
        backend "cpu" or "cuda"); CuPy in, CuPy out. precision: "double"; "mixed" (arrays are rounded to float32 and
        come back as float32, the arithmetic stays double) or "single" (that too is float32; T from h, s or e is
        refused). Returns a dict name -> array (species quantities (ns, ...)). Raises ArgumentError for unknown names,
        missing inputs or shapes that do not fit. A point outside the validity of a kernel gives NaN there.
        """
        from .arrays import call

        names = names.split() if isinstance(names, str) else list(names)
        return call(self, dict(outputs=names, given=list(arrays)), names, arrays, backend, precision)

    def kernel(self, name):
        """A single kernel as a function of its declared arguments: `mix.kernel("internal_energy")(p=..., vol=...,
        h=...)`."""
        from .arrays import call

        if name not in declare.kernels:
            raise ArgumentError(f"unknown kernel '{name}'; known: {', '.join(sorted(declare.kernels))}.")
        record = declare.kernels[name].for_options(self.options)

        def launch(backend=None, precision="double", **arrays):
            wanted = set(record.reads)
            if set(arrays) != wanted:
                raise ArgumentError(
                    f"kernel '{name}' reads {', '.join(record.reads)}; got {', '.join(arrays) or 'nothing'}."
                )
            return call(self, dict(kernels=[name]), list(record.writes), arrays, backend, precision)

        launch.__doc__ = declare.described(record)
        return launch
