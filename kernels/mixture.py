"""Mixture: species data and model options turned into the constants that kernels read, and the way to call them on arrays."""
from __future__ import annotations

import functools

import numpy as np

from . import declare
from .errors import ArgumentError, MixtureError
from .species import GAS_CONSTANT as R, OMEGA_A, OMEGA_B, SpeciesData

OMEGA_VC = 0.307401308698703833           # Peng-Robinson's Z at the critical point

OPTIONS = {                               # option: values, the first is the default
    "root": ("gibbs", "vapour", "liquid"),
    "alpha": ("pr78", "cantera"),
    "mixing": ("vdw",),
    "chung": ("polefree", "published", "cantera"),
    "diffusion": ("kinetic", "fuller"),
    "takahashi": ("smooth", "table", "off"),
}

# Takahashi 1975, Table 11-3 of Poling et al. as other codes have it (original not seen); columns Pr, D0, A, B, C, E. The first row is ours: factor 1 at Pr = 0.
TAKAHASHI = np.array([
    (0.0, 1.00, 0.0, 1.0, 0.0, 1.0),
    (0.1, 1.01, 0.038042, 1.52267, 0.0, 1.0), (0.2, 1.01, 0.067433, 2.16794, 0.0, 1.0),
    (0.3, 1.01, 0.098317, 2.42910, 0.0, 1.0), (0.4, 1.01, 0.137610, 2.77605, 0.0, 1.0),
    (0.5, 1.01, 0.175081, 2.98256, 0.0, 1.0), (0.6, 1.01, 0.216376, 3.11384, 0.0, 1.0),
    (0.8, 1.01, 0.314051, 3.50264, 0.0, 1.0), (1.0, 1.02, 0.385736, 3.07773, 0.141211, 13.45454),
    (1.2, 1.02, 0.514553, 3.54744, 0.278407, 14.0), (1.4, 1.02, 0.599184, 3.61216, 0.372683, 10.00900),
    (1.6, 1.02, 0.557725, 3.41882, 0.504894, 8.57519), (1.8, 1.03, 0.593007, 3.18415, 0.678469, 10.37483),
    (2.0, 1.03, 0.696001, 3.37660, 0.665702, 11.21674), (2.5, 1.04, 0.790770, 3.27984, 0.0, 1.0),
    (3.0, 1.05, 0.502100, 3.39031, 0.602907, 6.19043), (4.0, 1.06, 0.837452, 3.23513, 0.0, 1.0),
    (5.0, 1.07, 0.890390, 3.13001, 0.0, 1.0)])


WINDOWS = 512             # of the table below


@functools.lru_cache(None)
def takahashi_table() -> np.ndarray:
    """(17*WINDOWS, 8): the rows on both sides of each interval of Pr, in each window of 1/(1 + Tr), as cubics of the place
    x in [0, 1) in the window, through the formula at Chebyshev points; absolute error below 4e-8 (tests).

    Colder than where its first bracket vanishes a row is 0; the window in which that happens keeps the unbroken curve.
    """
    nodes = 0.5 - 0.5*np.cos((np.arange(4) + 0.5)*np.pi/4)
    w = (np.arange(WINDOWS)[:, None] + nodes)/WINDOWS                     # 1/(1 + Tr)
    z = w/(1 - w)                                                        # 1/Tr
    _, D, A, B, C, E = TAKAHASHI.T[:, :, None, None]
    z_start = np.arange(WINDOWS)[:, None]/(WINDOWS - np.arange(WINDOWS)[:, None])
    gone = (1 - A*z_start**B <= 0) | (1 - C*z_start**E <= 0)
    with np.errstate(over="ignore"):
        rows = np.where(gone, 0.0, D*(1 - A*z**B)*(1 - C*z**E))
    cubics = np.linalg.solve(np.vander(nodes, increasing=True), rows[..., None])[..., 0]
    return np.concatenate([cubics[:-1], cubics[1:]], axis=-1).reshape(-1, 8)


def checked_options(given: dict) -> dict:
    """All options with their values; ArgumentError names an unknown option or value and lists the known ones."""
    for key, value in given.items():
        if key not in OPTIONS:
            raise ArgumentError(f"unknown model option '{key}'; known: {', '.join(OPTIONS)}.")
        if value not in OPTIONS[key]:
            raise ArgumentError(f"option {key} = {value!r}; wanted one of {', '.join(OPTIONS[key])}.")
    return {key: given.get(key, values[0]) for key, values in OPTIONS.items()}


def alpha_slope(omega, which: str):
    """kappa_i(omega): Peng & Robinson 1976 up to 0.491, Robinson & Peng 1978 above (`cantera`: as Cantera 3.2 codes it)."""
    low = 0.37464 + omega*(1.54226 - 0.26992*omega)
    if which == "cantera":
        high = 0.374642 + omega*(1.487503 + omega*(-0.164423 + 0.016666*omega))
    else:
        high = 0.379642 + omega*(1.48503 + omega*(-0.164423 + 0.016666*omega))
    return np.where(omega <= 0.491, low, high)


def panel_rows(ns: int) -> int:
    """Rows of a register panel: all up to 10 species, else the size from 10 down to 7 that leaves the fuller last panel."""
    if ns <= 10:
        return ns
    return min((10, 9, 8, 7), key=lambda rows: (-ns % rows, -rows))


def panels(matrix: np.ndarray, rows: int):
    """Strict lower triangle in the order in which pairs.h sweeps it, and half the diagonal."""
    ns = len(matrix)
    order = []
    for first in range(0, ns, rows):
        last = min(first + rows, ns)
        order += [(i, j) for j in range(first) for i in range(first, last)]
        order += [(i, j) for j in range(first, last) for i in range(j + 1, last)]
    return np.array([matrix[i, j] for i, j in order] or [0.0]), 0.5*np.diag(matrix)


def kij_structure(kij: np.ndarray):
    """How to sum with k_ij at least cost: (kind, rank, number of pairs, eigenvalues, factors). Costs in FMA a point."""
    ns = len(kij)
    first, second = np.nonzero(np.tril(kij, -1))
    if not first.size:
        return "none", 0, 0, None, (first, second)
    value, vector = np.linalg.eigh(kij)
    keep = np.abs(value) > 1e-13*np.abs(value).max()
    cost = {"dense": ns*(ns - 1), "lowrank": (2*ns + 6)*int(keep.sum()), "sparse": 16*first.size}
    kind = min(cost, key=cost.get)
    return kind, int(keep.sum()), first.size, (value[keep], vector[:, keep]), (first, second)


class Mixture:
    """Species, options, constants. Options (first value is the default): root gibbs|vapour|liquid, alpha pr78|cantera,
    mixing vdw, chung polefree|published|cantera, diffusion kinetic|fuller, takahashi smooth|table|off.

    Raises MixtureError for species data that the chosen models cannot work with, ArgumentError for options.
    """

    def __init__(self, species: SpeciesData, **options):
        self.species = species
        self.options = checked_options(options)
        self.ns = len(species.names)
        self.names = tuple(species.names)
        self.notes: list[str] = []
        self.sizes: dict[str, int] = {"NS": self.ns, "PANEL": panel_rows(self.ns)}
        self.constants: dict[str, np.ndarray] = {}
        self._programs: dict = {}
        self._thermal_constants()
        self._transport_constants()

    @classmethod
    def from_yaml(cls, path, phase=None, **options) -> Mixture:
        """Read a Cantera YAML file; `phase` names the phase when there are several."""
        from .cantera_yaml import read_cantera_yaml         # ruamel.yaml is needed for files only

        checked_options(options)
        return cls(read_cantera_yaml(path, phase)[0], **options)

    @classmethod
    def from_species(cls, species: SpeciesData, **options) -> Mixture:
        return cls(species, **options)

    def __repr__(self):
        return f"Mixture({', '.join(self.names[:6])}{', ...' if self.ns > 6 else ''}; k_ij {self.structure}; {self.options})"

    # ---- constants
    def _thermal_constants(self):
        sp, const = self.species, self.constants
        kappa = alpha_slope(sp.omega, self.options["alpha"])
        root_ac = np.sqrt(sp.a)
        const.update(
            W=sp.W, inv_W=1/sp.W, inv_p_ref=[1/sp.p_ref], b_mass=sp.b/sp.W, root_ac_mass=root_ac/sp.W,
            pr_g_mass=np.where(kappa < 0, -1, 1)*(1 + kappa)*root_ac/sp.W, pr_q_mass=root_ac*np.abs(kappa)/np.sqrt(sp.Tc)/sp.W,
            omega_a=[OMEGA_A], omega_b=[OMEGA_B], omega_vc=[OMEGA_VC],
            T_mid=sp.T_mid, T_mid_lowest=[sp.T_mid.min()], T_mid_highest=[sp.T_mid.max()],
            nasa_low=(sp.nasa_low*(R/sp.W)[:, None]).T, nasa_high=(sp.nasa_high*(R/sp.W)[:, None]).T)
        self.structure, rank, pairs, eigen, (first, second) = kij_structure(sp.kij)
        if self.structure == "dense":
            const["one_minus_kij"], const["half_one_minus_kij_diagonal"] = panels(1 - sp.kij, self.sizes["PANEL"])
        if self.structure == "lowrank":
            self.sizes["KIJ_RANK"] = rank
            const["kij_sign"] = np.sign(eigen[0])
            const["kij_factor"] = (eigen[1]*np.sqrt(np.abs(eigen[0]))).T
        if self.structure == "sparse":
            self.sizes["KIJ_PAIRS"] = pairs
            const.update(kij_first=first, kij_second=second, kij_value=sp.kij[first, second])
        self._freeze()

    def _transport_constants(self):
        sp, const, opt = self.species, self.constants, self.options
        Tc, pc = sp.Tc, sp.pc
        Vc_model = OMEGA_VC*R*Tc/pc
        unknown = ~np.isfinite(sp.Vc)
        if opt["chung"] == "cantera":
            Vc, association = Vc_model, np.zeros(self.ns)
            self.notes.append("Chung as in Cantera 3.2: Vc = 0.3074 R Tc/pc for all species, no association.")
        else:
            Vc, association = np.where(unknown, Vc_model, sp.Vc), sp.kappa_assoc
            if unknown.any():
                names = ", ".join(n for n, lacks in zip(self.names, unknown) if lacks)
                self.notes.append(f"no measured critical volume for {names}: Vc = 0.3074 R Tc/pc is used.")
        self.notes.append({"polefree": "Chung viscosity without composition poles (omega, dipole, association bounded in E_1..E_10).",
                           "published": "Chung viscosity as published: it has poles in composition space (E1 E4 + E2 + E3 = 0).",
                           "cantera": "Chung viscosity as in Cantera: it has poles in composition space."}[opt["chung"]])
        M = sp.W*1e3
        sigma, eps = 0.809*np.cbrt(Vc*1e6), Tc/1.2593
        dipole = np.nan_to_num(sp.dipole)
        root_M = np.sqrt(2*M[:, None]*M/(M[:, None] + M))
        const.update(
            Tc=Tc, pc=pc, chung_sigma15=sigma**1.5/sp.W, chung_eps=np.sqrt(eps)*sigma**1.5/sp.W, chung_omega=sp.omega*sigma**1.5/sp.W,
            chung_dipole=dipole**2/sigma**1.5/sp.W, chung_kappa=np.sqrt(association)/sp.W, chung_eps_sigma=np.sqrt(eps)*sigma/sp.W)
        const["chung_root_M"], const["chung_half_root_M_diagonal"] = panels(root_M, self.sizes["PANEL"])
        self._diffusion_constants(M)
        self._freeze()

    def _diffusion_constants(self, M):
        """Binary diffusion data; a mixture that lacks them still serves everything else (the reason is kept in `lacks`)."""
        sp, const = self.species, self.constants
        self.lacks: dict[str, str] = {}
        lower = np.tril_indices(self.ns)
        if self.options["takahashi"] != "off":
            if self.options["takahashi"] == "smooth":
                const["takahashi_lines"] = takahashi_table()
                self.sizes["TAKAHASHI_WINDOWS"] = WINDOWS
            for name, column in zip(("D", "A", "B", "C", "E"), TAKAHASHI.T[1:]):
                const[f"takahashi_{name}"] = column
        if self.options["diffusion"] == "fuller":
            volume = np.cbrt(sp.fuller_volume)
            if not np.isfinite(volume).all():
                self.lacks["fuller_pD"] = self._who("a Fuller diffusion volume", ~np.isfinite(volume))
                return
            M_ij = 2/(1/M[:, None] + 1/M)
            # Fuller: D [cm2/s] = 0.00143 T^1.75/(p [bar] M_ij^(1/2) (v_i^(1/3) + v_j^(1/3))^2); times p in Pa: factor 10
            const["fuller_pD"] = (0.00143*1e-4*1e5/(np.sqrt(M_ij)*(volume[:, None] + volume)**2))[lower]
        else:
            known = np.isfinite(sp.diameter) & np.isfinite(sp.well_depth)
            if not known.all():
                self.lacks["binary_fit"] = self._who("transport data (diameter, well depth)", ~known)
                return
            from .kinetic_theory import binary_fit
            const["binary_fit"] = binary_fit(sp, *sp.T_fit)[:, lower[0], lower[1]]

    def _who(self, what, mask) -> str:
        return f"species {', '.join(n for n, lacks in zip(self.names, mask) if lacks)} without {what}"

    def _freeze(self):
        for name, value in self.constants.items():
            value = np.array(value, dtype=np.float64).reshape(-1)
            if not np.isfinite(value).all():
                raise MixtureError(f"mixture constant '{name}' is not finite; check the species data of {', '.join(self.names)}.")
            value.flags.writeable = False
            self.constants[name] = value

    def flags(self) -> dict[str, bool]:
        """Compile-time switches: one for each value of each option, and the structure of k_ij."""
        out = {f"{key}_{value}": self.options[key] == value for key, values in OPTIONS.items() for value in values}
        out.update({f"kij_{kind}": self.structure == kind for kind in ("none", "sparse", "lowrank", "dense")})
        return out

    # ---- use
    def program(self, outputs=None, given=None, kernels=None, backend="auto", precision="double"):
        """A compiled launch, kept: by outputs and given names, or by kernel names. See kernels.program.Program."""
        from .backend import get_backend
        from .program import Program

        backend = get_backend(backend) if isinstance(backend, str) else backend
        key = (tuple(outputs or ()), tuple(given or ()), tuple(kernels or ()), backend, precision)
        if key not in self._programs:
            self._programs[key] = Program(self, outputs=outputs, given=given, kernels=kernels, backend=backend, precision=precision)
        return self._programs[key]

    def properties(self, names, *, backend=None, precision="double", **arrays) -> dict:
        """Named quantities at given states: `mix.properties("rho h cp", T=..., p=..., Y=...)`.

        names: one string with blanks, or a list. arrays: T [K], p [Pa], Y or X [(ns, ...)], also u, v, w for h0, or any
        quantity by its name. Shapes after the species axis broadcast against each other. NumPy in, NumPy out (on
        backend "cpu" or "cuda"); CuPy in, CuPy out. Returns a dict name -> array (species quantities (ns, ...)).
        Raises ArgumentError for unknown names, missing inputs or shapes that do not fit. A point outside the validity of
        a kernel gives NaN there.
        """
        from .arrays import call

        names = names.split() if isinstance(names, str) else list(names)
        return call(self, dict(outputs=names, given=list(arrays)), names, arrays, backend, precision)

    def kernel(self, name):
        """A single kernel as a function of its declared arguments: `mix.kernel("sound_speed")(gamma=..., rho_p=...)`."""
        from .arrays import call

        if name not in declare.kernels:
            raise ArgumentError(f"unknown kernel '{name}'; known: {', '.join(sorted(declare.kernels))}.")
        record = declare.kernels[name]

        def launch(backend=None, precision="double", **arrays):
            wanted = set(record.reads)
            if set(arrays) != wanted:
                raise ArgumentError(f"kernel '{name}' reads {', '.join(record.reads)}; got {', '.join(arrays) or 'nothing'}.")
            return call(self, dict(kernels=[name]), list(record.writes), arrays, backend, precision)

        launch.__doc__ = declare.described(record)
        return launch
