"""Mixture: species data, model options, the constants that models compute from them, and calls of kernels on arrays. No
model is named here: options and constants are declared beside the models' bodies (declare.py)."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from ..engine.backend import get_backend
from ..engine.errors import ArgumentError, closest, refuse
from ..engine.registry import split
from .arrays import call, call_kernel, has_composition, refuse_surplus
from .declare import option
from .equilibria import calls
from .fingerprint import fingerprint
from .labelled import labels_of
from .lost import reasons_of, warn_of_lost
from .model_constants import Constant, ModelConstants
from .one_state import properties_of_one
from .phases import critical_point, saturation
from .program import Program, Wanted
from .reactors.calls import LOST, Reactor
from .reactors.ignition import ignition_delay
from .registry import registry
from .resolve import resolve
from .species import NoSpecies, SpeciesData, gas_constant as gas_constants
from .species.interactions import refuse_unread_kij
from .species.names import own_name
from .species.units import short

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from ..engine.backend.base import Backend

    Arrays = dict[str, NDArray[Any]]
    Composition = ArrayLike | Mapping[str, Any]  # an array, or by name
    Path = str | os.PathLike[str]
    Names = str | Iterable[str]

option(
    "critical",
    {
        "file": "A species without critical data is refused, except with equations and laws that need none.",
        "fill": "What the file lacks is looked up by the substance that the species is, or estimated; `info` says how.",
    },
    "critical properties that a file lacks: an error, or looked up by substance and estimated",
    switch="",
)

FLUIDS = "fluids"  # keyword of a mixture: a user's table of fluids
KIJ = "kij"  # keyword of a mixture: binary interactions


class Mixture:
    """Species with model options and constants.

    species: SpeciesData, or NoSpecies(ns) for kernels that need no constants. options: see `kernels.OPTIONS` or
    `python -m frame compile --help`; also the numbers `lewis` and `schmidt`: one for all species, one for each, or by
    name; `fluids`, a user's table of parameters, which `python -m frame fit` writes; and `kij`, see from_yaml.
    Constants are computed when a kernel first reads them. Raises MixtureError for species data that the chosen equation
    cannot use, ArgumentError for options.
    """

    def __init__(self, species: SpeciesData | NoSpecies, **options: Any) -> None:
        known = isinstance(species, (SpeciesData, NoSpecies))
        refuse(not known, f"species {short(species)}: wanted SpeciesData; Mixture.from_names takes names.")
        gas_constants.refuse_other(options.pop(gas_constants.NAME, None), species.R)

        # Species, with a user's tables.
        fluids, kij = options.pop(FLUIDS, None), options.pop(KIJ, None)
        species = species if fluids is None else species.with_fluids(fluids)
        self.species = species = species if kij is None else species.with_kij(kij)
        self.ns = len(species.names)
        self.names = tuple(species.names)

        # Options, and numbers of species.
        numbers = {key: options.pop(key, known.default) for key, known in registry.species_numbers.items()}
        self._words = registry.spelled_out(options, species)
        self.options = registry.checked_options(registry.with_fallbacks(options, species))
        if kij is not None:
            refuse_unread_kij(self.options)

        # The data that they need.
        for key, value in self.options.items():
            species.require(*dict(registry.options[key].needs).get(value, ()), purpose=f"{key} {value}")
        numbers = {key: registry.species_values(key, given, self.names) for key, given in numbers.items()}

        self.constants = ModelConstants(species, self.options, numbers)
        self._programs: dict = {}

    @classmethod
    def from_yaml(cls, path: Path, phase: str | None = None, *, without: Names = (), **options: Any) -> Mixture:
        """A Mixture from a Cantera YAML file; one that is not there is looked for in the data folder of Cantera.

        phase: its name; None: the first phase that the equation is usual for, else the first gas phase. The equation of
        the options counts, not the phase's. without: names of species to leave out.
        critical: "fill", or {species: CAS number, "estimate", or {"Tc": K, "pc": Pa, "omega": 1}} for species that have
        to be chosen by hand. Species that no name tells are estimated, with one warning: `species.estimated()`.
        gas_constant: R [J/mol/K]; None: the constant of this name, as kernels.set_constant has set it.
        kij: binary interactions, {"N2/NC12H26": 0.19} for some pairs or a matrix (ns, ns), in place of the file's.
        Raises MixtureError for the file, ArgumentError for options.
        """
        species, options = cls.species_from_yaml(path, phase, without=without, **options)

        return cls(species, **options)

    @classmethod
    def from_names(cls, names: Names, **options: Any) -> Mixture:
        """A Mixture of species that the package brings: `Mixture.from_names(["CH4", "O2"])`, or "CH4 O2".

        There are 80 species, without reactions: all of GRI-Mech 3.0, noble gases, hydrocarbons to dodecane and others;
        `known_names` lists them. kernels/gas/species/species.yaml has the source of each number. Radicals, and the few
        molecules whose critical point nobody has measured, have estimates. Other usual names are read too: "Ar",
        "C12H26" where one species has this formula, "dodecane", its CAS number "112-40-3"; the mixture has the
        package's name, "NC12H26".
        options: as in from_yaml. Raises ArgumentError for a name that is not there, with the nearest, for a name of
        several species, with all of them, and for options.
        """
        species, options = cls.species_from_names(names, **options)

        return cls(species, **options)

    @staticmethod
    def known_names() -> tuple[str, ...]:
        """The names of the species that the package brings, see from_names."""
        from .species.brought import known

        return known()

    @staticmethod
    def known_name(name: str) -> str:
        """The package's name of a species that may have another usual name: "NC12H26" for "dodecane". Raises
        ArgumentError as from_names does."""
        from .species.brought import chosen

        return chosen([name])[0]

    @staticmethod
    def species_from_yaml(
        path: Path, phase: str | None = None, *, without: Names = (), **options: Any
    ) -> tuple[SpeciesData, dict[str, Any]]:
        """The species of a file, read as these options of a mixture want them, and the options for a Mixture of these
        species. For callers that change the species in between; everything else is as in from_yaml."""
        from .species.cantera_yaml import models_for, read_cantera_yaml  # ruamel.yaml is needed for files only
        from .species.critical import choices

        R = gas_constants.chosen(options.pop(gas_constants.NAME, None))
        by_hand = choices(options.get("critical"))
        if by_hand:
            options["critical"] = "fill"

        chosen = registry.known_options(
            {key: value for key, value in options.items() if key not in (*registry.species_numbers, FLUIDS, KIJ)}
        )
        models = models_for(chosen["equation"])
        without = [without] if isinstance(without, str) else split(without or ())
        refuse(not isinstance(path, (str, os.PathLike)), f"file {path!r}: wanted its path.")

        choices_or_error = by_hand if chosen["critical"] == "fill" else None

        species = read_cantera_yaml(path, phase, models, without, choices_or_error, R)[0]
        return species, options

    @classmethod
    def species_from_names(cls, names: Names, **options: Any) -> tuple[SpeciesData, dict[str, Any]]:
        """The species that the package brings under these names, in their order, and the options for a Mixture of them.
        For callers that change the species in between; everything else is as in from_names."""
        from .species.brought import FILE, chosen, known

        names = chosen(names)
        others = [name for name in known() if name not in names]
        species, options = cls.species_from_yaml(FILE, without=others, **options)

        return species.subset(names), options

    @classmethod
    def from_species(cls, species: SpeciesData, **options: Any) -> Mixture:
        """A Mixture from species data; as Mixture(species, **options)."""
        return cls(species, **options)

    @property
    def nr(self) -> int:
        """Number of reactions. The first call reads them. MixtureError if there are none, or if one cannot be read."""
        return len(self.species.mechanism.reactions)

    def find(self, name: str) -> str | None:
        """The name in this mixture of a species: itself, in other letters where only one species has it so, or another
        usual name, as in from_names. None: of no species, or of several."""
        return own_name(name, self.names)

    def rows(self, name: str) -> int:
        """Number of values at each point of a quantity."""
        registry.refuse_unknown_quantity([name])
        known = registry.quantities[name]
        return known.rows(self.ns, self.nr if known.per == "nr" else 0)

    def __getstate__(self) -> dict[str, Any]:
        """For pickle and copies: all but the compiled programs, which stay in this process. Another makes its own when
        it is first asked, from the cache of compiled kernels."""
        return vars(self) | {"_programs": {}}

    def __repr__(self) -> str:
        return f"Mixture({', '.join(self.names[:6])}{', ...' if self.ns > 6 else ''}; {self.options})"

    def constant(self, name: str) -> Constant | None:
        """The constant of this name; None if no model of these options computes it. Raises MixtureError (an
        ArgumentError), with the reason, if the species lack the data."""
        return self.constants.get(name)

    @property
    def facts(self) -> dict[str, str]:
        """{name: word} for what the models choose by the species."""
        return {name: of(self) for name, of in registry.facts.items()}

    def has_data_for(self, outputs: Iterable[str], given: Iterable[str]) -> bool:
        """Whether kernels lead from the given names to the outputs, and the mixture has what they read."""
        try:
            order = resolve(split(outputs), split(given), self.options)
        except ArgumentError:
            return False

        lacks = self.constants.lacks
        return not any(constant.rstrip("?") in lacks for kernel in order for constant in kernel.constants)

    @property
    def words(self) -> list[str]:
        """A line for each option that was given and stands for others, such as accuracy."""
        lines = []
        for (word, value), (options, why) in self._words.items():
            meant = ", ".join(f"{key} = {meant}" for key, meant in options.items()) or "the defaults"
            lines.append(f"{word} = {value} stands for {meant}{f' ({why})' * bool(why)}.")
        return lines

    @property
    def notes(self) -> list[str]:
        """Notes for readers of results: numbers that the file did not give, and the notes of the models' constants."""
        notes = [*self.words]
        if self.species.R != gas_constants.GAS_CONSTANT:
            notes.append(f"gas constant of the host: {self.species.R!r} J/mol/K.")

        # Numbers of a species that have the same origin share a note.
        for name, fields in self.species.origin.items():
            for origin in dict.fromkeys(fields.values()):
                filled = [field for field in fields if fields[field] == origin]
                notes.append(f"{name}: {', '.join(filled)} not in the file: {origin}.")

        for constants in self.constants.all():
            notes += constants.notes

        return list(dict.fromkeys(notes))

    def moved(self, move: Callable[[NDArray[Any]], NDArray[Any]]) -> Mixture:
        """A copy with move(array) in place of each constant and pair matrix. It shows how far results change with these
        constants."""
        other = copy.copy(self)
        other.constants, other._programs = self.constants.moved(move), {}
        return other

    # ---- what callers are told of
    @property
    def fingerprint(self) -> str:
        """Digits that two mixtures share where their species data, reactions and options are the same."""
        return fingerprint(self)

    @property
    def in_check_mode(self) -> Mixture:
        """This mixture with the options that check mode asks for; itself where there are none."""
        options = {known.name: known.in_check_mode for known in registry.options.values() if known.in_check_mode}
        if not self.statuses or all(self.options[name] == value for name, value in options.items()):
            return self

        key = ("in check mode",)
        if key not in self._programs:
            other = copy.copy(self)
            other.options, other._programs = registry.checked_options(self.options | options), {}
            self._programs[key] = other
        return self._programs[key]

    @property
    def statuses(self) -> frozenset[str]:
        """Statuses with reports that kernels for these options write."""
        key = ("statuses",)
        if key not in self._programs:
            kernels = [kernel for kernel in registry.kernels.values() if kernel.serves(self.options)]
            written = {name for kernel in kernels for name in kernel.writes}
            self._programs[key] = frozenset(name for name in written if registry.quantities[name].reports)
        return self._programs[key]

    def statuses_beside(self, outputs: Iterable[str], given: Iterable[str]) -> list[str]:
        """The statuses that kernels write on the way from the given names to the outputs, and that are no output.
        Raises ArgumentError as `program`."""
        if not self.statuses:
            return []

        key = ("statuses", tuple(outputs), tuple(given))
        if key not in self._programs:
            order = resolve(outputs, given, self.options)
            written = {name for kernel in order for name in kernel.writes}
            self._programs[key] = sorted((written & self.statuses).difference(outputs, given))
        return self._programs[key]

    def refuse_surplus(self, outputs: Iterable[str], given: Iterable[str], read: Iterable[str]) -> None:
        """arrays.refuse_surplus, which has to look at the same names once."""
        key = ("surplus", tuple(outputs), tuple(given), tuple(read))
        if key not in self._programs:
            refuse_surplus(self, outputs, given, read)
            self._programs[key] = None

    # ---- use
    def program(
        self,
        outputs: Names | None = None,
        given: Names | None = None,
        kernels: Names | None = None,
        backend: str | Backend | None = "auto",
        precision: str = "double",
    ) -> Program:
        """A compiled Program for outputs and given names, or for kernel names, each a list or one string with blanks;
        made once and kept. See kernels.gas.program.Program. Raises ArgumentError, which names the inputs that are
        missing."""
        wanted = Wanted(_listed(outputs), _listed(given) or (), _listed(kernels))
        refuse(
            not wanted.outputs and not wanted.kernels,
            "nothing asked for: name outputs (and what is given), or kernels.",
        )

        backend = get_backend(backend)
        key = (wanted, backend, precision)
        if key not in self._programs:
            self._programs[key] = Program(self, wanted, backend, precision)

        return self._programs[key]

    def properties(
        self,
        names: Names,
        *,
        backend: str | Backend | None = None,
        precision: str = "double",
        **arrays: Composition,
    ) -> Arrays:
        """Named quantities at given states: `mix.properties("rho h cp", T=..., p=..., Y=...)`.

        names: one string with blanks or commas, or a list. arrays: T [K], p [Pa], Y or X (ns, ...), for h0 also u, v,
        w [m/s], or any other quantity by its name. X and Y may be written by name: "CH4:1, O2:2", {"CH4": 1, "O2":
        array}, a Series of pandas by species, or a list of names for equal parts. Shapes after the species axis
        broadcast against each other. NumPy arrays give NumPy arrays (on backend "cpu" or "cuda"); CuPy arrays give CuPy
        arrays; DataArrays of xarray give a Dataset, Series and DataFrames of pandas a DataFrame (labelled.py). A masked
        array gives masked results: a point is masked where any of its inputs is.
        X: amounts of moles, by name or as an array, are divided by their sum; without a positive sum NaN and a
        RuntimeWarning. A fraction of an array below -1e-3 gives a RuntimeWarning; the results are of it. Y as an array
        is taken as it is where it sums to 1 within 1e-6, and divided by its sum within 1e-3; further off, NaN at that
        point and a RuntimeWarning. A mixture of one species needs neither.
        T: NaN and a RuntimeWarning outside 20 to 6000 K, or outside the species' polynomials where these reach
        further; a RuntimeWarning above the polynomials of a species that is there: they are extrapolated. Below they
        are, too, without a warning, unless option cold_cp is fitted.
        Types: float64, float32, float16, whole numbers up to 2^53, which become float64. Complex numbers, longdouble,
        bool, text, objects and quantities in another unit raise ArgumentError.
        precision: "double"; "mixed": inputs and results are float32, the arithmetic is double; "single": the arithmetic
        is float32 too, and T from h, s or e is refused.
        Returns {name: array}; species quantities have shape (ns, ...). Raises ArgumentError for unknown names, missing
        inputs, shapes that do not fit, and an input that follows from the others, such as h beside T, p and Y. A point
        outside the validity of a kernel gives NaN at this point, and a RuntimeWarning. With FRAME_CHECK=1 it raises
        StateError, which names field, value, point (from 0) and kernel; `react` and kernels do the same.
        """
        if self.ns == 1 and not has_composition(arrays):
            arrays["Y"] = [1.0]

        if (backend is None or backend == "cpu") and precision == "double":
            found = properties_of_one(self, names, arrays)
            if found is not None:
                return found

        labels = labels_of(self, arrays)
        if labels:
            plain = self.properties(names, backend=backend, precision=precision, **labels.plain(arrays))
            return labels.dressed(plain)

        return call(self, list(split(names)), arrays, backend, precision)

    def equilibrate(
        self,
        held: Literal["TP", "TV", "HP", "UV", "SP", "SV"],
        *,
        backend: str | Backend | None = None,
        precision: str = "double",
        **state: Composition | None,
    ) -> Arrays:
        """Chemical equilibrium of all species: `mix.equilibrate("HP", T=300, p=1e5, X="CH4:1, O2:2")["T"]`.

        held: what stays constant. "TP" temperature and pressure, "TV" T and density, "HP" enthalpy and pressure (an
        adiabatic flame), "UV" internal energy and density (a closed vessel), "SP" and "SV" entropy and pressure or
        density.

        state: two of T [K], p [Pa], rho [kg/m3], h, e [J/kg], s [J/kg/K], and X or Y, arrays or by name as `properties`
        takes them. The quantities that are held follow from it, or are among it. Shapes broadcast.

        Returns T, p, rho, h, X, Y, status and steps. status, by point: 0 found. Elsewhere results are NaN, with a
        RuntimeWarning: 1 not found (no state, or denser than the equation permits); 2 T below 20 K or above
        species.T_end; 3 the state lies between vapour and liquid, whose entropies or enthalpies differ.

        The amounts of the elements stay; species without an element that is there have 0. Traces are right down to mole
        fractions of 1e-50. One gas phase: no condensed species. Method: Gordon & McBride 1994 (original not seen) in
        components.

        Raises ArgumentError for other names in the state, species whose atoms are not known, and phases equilibrium.
        """
        state = {name: given for name, given in state.items() if given is not None}
        labels = labels_of(self, state)
        if labels:
            return labels.dressed(calls.equilibrate(self, held, labels.plain(state), backend, precision))
        return calls.equilibrate(self, held, state, backend, precision)

    def mixture_of(
        self,
        fuel: Composition,
        oxidizer: Composition,
        phi: ArrayLike = 1.0,
        *,
        basis: Literal["mole", "mass"] = "mole",
    ) -> NDArray[np.float64]:
        """Mole fractions X of a fuel and an oxidizer at a ratio phi: `mix.mixture_of("CH4", "O2:1, N2:3.76", phi=0.8)`.

        fuel, oxidizer: compositions by name, or amounts (ns,); of moles, or of mass with basis "mass". phi: the
        equivalence ratio, fuel to oxidizer over the same at complete combustion to CO2, H2O, SO2 and N2; a number or an
        array (...). Oxygen in the fuel and fuel in the oxidizer count, as in Cantera's set_equivalence_ratio. Returns X
        (ns, ...). Raises ArgumentError for a fuel that needs no oxygen, an oxidizer without any, a phi below 0.
        """
        return calls.mixture_of(self, fuel, oxidizer, phi, basis)

    def react(
        self,
        T: ArrayLike,
        p: ArrayLike,
        Y: Composition | None = None,
        dt: ArrayLike | None = None,
        *,
        X: Composition | None = None,
        kind: Literal["volume", "pressure"] = "volume",
        last: NDArray[Any] | None = None,
        backend: str | Backend | None = None,
        precision: str = "double",
    ) -> Arrays:
        """Every point as a closed adiabatic reactor over dt, by its own steps: `mix.react(T, p, Y, dt=1e-6)`.

        T [K], p [Pa], Y (ns, ...) or X, dt [s]: arrays or numbers, which broadcast; Y and X also by name. kind:
        "volume" (p changes) or "pressure" stays constant. last: the `steps` of the call before, of the points' shape:
        points of similar effort then work together, which is faster where neighbours differ much. A point's bits do
        not depend on it.
        Tolerances are constants, kernels.set_constant: react_rtol (1e-4; relative error of Y, and of T), react_atol
        (1e-12, of Y), react_most (10000 steps).

        Returns T, p, Y, status and steps, arrays of the points' shape; the arrays given stay as they are. status, by
        point: 0 done; 1 too many steps; 2 step too small; 4 T left its range, 20 K to species.T_end; 5 input out of
        range (T outside that, p not positive, Y below -1e-8, dt below 0, not a number). Where it is not 0, T, p and Y
        are NaN, with a RuntimeWarning.

        Method: Rodas4 (Hairer & Wanner 1996; original not seen), analytic Jacobian, LU without
        pivoting: sparse for large mechanisms, by their reactions. Errors: as properties, also where there are no
        reactions.
        """
        refuse(dt is None, "dt, the time over which the points react [s], is missing.")
        refuse((X is None) == (Y is None), "the composition: give one of X and Y.")
        state: dict[str, Any] = dict(T=T, p=p, X=X, Y=Y, dt=dt)
        labels = labels_of(self, state)
        if labels:
            state = labels.plain(state)

        name = "X" if Y is None else "Y"
        state["Y"] = call(self, ["Y"], {name: state[name]}, backend, precision)["Y"]
        start = {name: state[name] for name in "TpY"}
        out = Reactor(self, kind, backend, precision).react(start, state["dt"], last)

        warn_of_lost("end of the reactions", out["status"], reasons_of(self.species, LOST))
        return labels.dressed(out) if labels else out

    def ignition_delay(
        self,
        T: ArrayLike,
        p: ArrayLike,
        Y: Composition | None = None,
        *,
        X: Composition | None = None,
        kind: Literal["volume", "pressure"] = "volume",
        criterion: Literal["slope"] | float = "slope",
        longest: float = 10.0,
        backend: str | Backend | None = None,
        precision: str = "double",
    ) -> NDArray[np.float64]:
        """Ignition delay [s] of closed adiabatic reactors: `mix.ignition_delay(T=1200, p=1e6, X="H2:2, O2:1")`.

        T [K], p [Pa], X or Y, arrays or by name, which broadcast: the state at the begin. kind: "volume" or "pressure"
        stays constant. criterion: "slope", the time of the steepest rise of T; or a rise of T in K, such as 400, and
        the time at which T has risen by that. longest: s, until when an ignition is looked for.
        Returns an array of the points' shape; NaN where T does not rise by 100 K (or by the criterion) within
        `longest`, and, with a RuntimeWarning, where `react` comes to no end. The event is found to 1e-6 of the delay;
        how right the delay is follows from react_rtol and react_atol, see `react`. Errors: as react.
        """
        refuse((X is None) == (Y is None), "the composition: give one of X and Y.")
        state = dict(T=T, p=p, **({"Y": Y} if X is None else {"X": X}))
        reactor = Reactor(self, kind, backend, precision)
        labels = labels_of(self, state)
        if labels:
            return labels.one("ignition_delay", ignition_delay(reactor, labels.plain(state), criterion, longest))
        return ignition_delay(reactor, state, criterion, longest)

    # ---- vapour and liquid; of mixtures with phases = equilibrium
    def bubble_T(
        self, p: ArrayLike, X: Composition | None = None, *, Y: Composition | None = None
    ) -> NDArray[np.float64]:
        """Temperature [K] at which a liquid of composition X begins to boil at the pressures p [Pa]: where the liquid
        ends next to the gas. At lower temperatures it may be two liquids, or free a gas that dissolves better in hot
        liquids. Two liquids that boil together, as water and a fuel: their first vapour. X: amounts of moles (ns,), or
        (ns, ...) for each point, or by name as `properties` takes them; or Y, amounts of mass.

        Returns an array of the shape of p and of X behind the species, which broadcast; NaN and a RuntimeWarning where
        there is no boundary: above the highest pressure of two phases, outside 20 K to species.T_end or 1e-7 to 2e8 Pa.
        So where p is no positive number in an array with others; a p that is none by itself is an ArgumentError. A NaN
        of p or X gives NaN at its point, without a warning. With FRAME_CHECK=1 it raises StateError. Labels and masks
        come back. For a pure species it is the boiling temperature.

        Raises ArgumentError for a mixture without phases = 'equilibrium'.
        """
        return saturation.reported("bubble_T", self, p, X, Y)

    def dew_T(self, p: ArrayLike, X: Composition | None = None, *, Y: Composition | None = None) -> NDArray[np.float64]:
        """Temperature [K] at which a gas of composition X begins to condense at the pressures p [Pa]: the highest at
        which it is no stable gas. As bubble_T. NaN, too, where only a cold liquid splits into two: above the highest
        pressure of gas and liquid."""
        return saturation.reported("dew_T", self, p, X, Y)

    def bubble_p(
        self, T: ArrayLike, X: Composition | None = None, *, Y: Composition | None = None
    ) -> NDArray[np.float64]:
        """Pressure [Pa] at which two phases of composition X begin from above at the temperatures T [K]: the bubble
        point; above the critical temperature the upper dew point (retrograde). Where these are two liquids: that of
        their first vapour. As bubble_T."""
        return saturation.reported("bubble_p", self, T, X, Y)

    def dew_p(self, T: ArrayLike, X: Composition | None = None, *, Y: Composition | None = None) -> NDArray[np.float64]:
        """Pressure [Pa] at which a gas of composition X begins to condense at the temperatures T [K]. As bubble_T. NaN
        below 1e-7 Pa, too, where double precision ends."""
        return saturation.reported("dew_p", self, T, X, Y)

    def envelope(self, X: Composition | None = None, points: int = 100, *, Y: Composition | None = None) -> Arrays:
        """The boundary of two phases of composition X: T [K], p_low (dew) and p_high (bubble, or upper dew) [Pa],
        arrays of `points`. As bubble_T; p_high is NaN, with a RuntimeWarning, above 2e8 Pa. ArgumentError where no two
        phases are found, or for less than two points."""
        return saturation.envelope(self, X, Y, points)

    def critical_point(self, X: Composition | None = None, *, Y: Composition | None = None) -> dict[str, float]:
        """The critical point {T [K], p [Pa], v_mol [m3/mol]} of composition X: where both phases become the same. Not
        the pseudo-critical point Tc_mix, pc_mix. It is stable; of several, the point of the highest T. Heidemann &
        Khalil 1980 (original not seen). As bubble_T; ArgumentError if no stable critical point is found."""
        return critical_point.critical_point(self, X, Y)

    def kernel(self, name: str) -> Callable[..., Arrays]:
        """A single kernel as a function of its declared arguments, such as
        `mix.kernel("internal_energy")(p=..., vol=..., h=...)`. Results, shapes, types and errors as `properties`; X, Y
        and T reach the formula as they are."""
        registry.refuse_unknown_kernel([name])
        record = registry.kernels[name].for_options(self.options)

        def launch(backend: str | Backend | None = None, precision: str = "double", **arrays: Composition) -> Arrays:
            missing = ", ".join(registry.with_unit(read) for read in record.reads if read not in arrays)
            stray = ", ".join(given + closest(given, record.reads) for given in arrays if given not in record.reads)
            refuse(
                missing or stray,
                f"kernel '{name}' reads {', '.join(record.reads)}"
                f"{'; missing ' + missing if missing else ''}{'; it does not read ' + stray if stray else ''}.",
            )

            labels = labels_of(self, arrays)
            if labels:
                return labels.dressed(call_kernel(self, name, labels.plain(arrays), backend, precision))

            return call_kernel(self, name, arrays, backend, precision)

        launch.__doc__ = registry.described(record)
        return launch


def _listed(names: Names | None) -> tuple[str, ...] | None:
    """Names as a tuple; None stays None."""
    return None if names is None else split(names)
