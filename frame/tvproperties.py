"""TVProperties: everything that a host may request, by name. Units are SI and per kg; a view's unit is
kernels.quantities[name].unit.

This class chooses names and checks counts. TVImpl has the arrays, the kernels have the formulas.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np

import kernels
from kernels.gas.reactors.calls import Reactor
from kernels.marshal import Block

from . import reactors, stripe as stripes
from .entry import ENTRIES
from .entry_words import Entry
from .errors import MIXTURE_CALLS, StateError, UnknownName, closest, refuse
from .impl import Sizes, TVImpl, teams
from .impl.launchers import known_inputs
from .impl.memory import Bound
from .own_arrays import OwnArrays
from .pairs import Pairs
from .pins import Pins
from .selections import Selections
from .stripe import Field, Listed

SPECIES = ("W", "Tc", "pc", "omega", "Vc", "dipole", "kappa", "kij", "nasa_low", "nasa_high", "T_mid", "fuller_volume")
# Species data in the order in which a host passes them: frame_populatepreosshareddata, frame_populatechungshareddata.
PREOS = ("W", "Tc", "pc", "omega", "kij", "nasa_low", "nasa_high", "T_mid")
CHUNG = ("Vc", "dipole", "kappa_assoc", "fuller_volume")
COMPOSITIONS = {"X", "Y", "Q", "rhoY"}
ONLY = np.ones(1)  # the mass fraction of the only species


class TVProperties:
    """Thermal and viscous properties, from frame_initialize to frame_finalize.

    sizes: with nq = ns + 4 the last mass fraction is 1 - sum of the others; with a smaller nq, Q is a plain view.
    model: options of the mixture. rank, precision: see impl.shared.Shared.

    Each collection that entry.py names is a method: eosthermalproperties(n_active), for example.
    """

    def __init__(self, backend, sizes: Sizes, model: dict, rank: int = 0, precision: str = "double"):
        self.sizes = sizes
        self.model = model
        self.pinned = Pins(lambda: self.impl)
        self.pairs = Pairs(backend, lambda: self._first.shared.change())
        self.own_arrays = OwnArrays(backend, lambda: self._first.shared.change())
        self._points: dict = {}  # {(mixture, inputs, outputs): address of a function of one point}
        self._species: dict = {}  # the host's own data, as arguments of SpeciesData.from_arrays

        # `impl` of each thread, also of a host's thread: cffi keeps a thread's state till the thread ends.
        self.here = threading.local()
        self.here.impl = self._first = TVImpl(backend, sizes, rank, precision)
        self.selections = Selections(self._first.shared, lambda name: self.impl.view(name).rows)

    @property
    def ns(self) -> int:
        """Number of species."""
        return self.sizes.ns

    @property
    def impl(self) -> TVImpl:
        """The calling thread's views and launchers, made at its first call."""
        try:
            return self.here.impl
        except AttributeError:
            self.here.impl = own = self._first.twin()
            return own

    # ---- the mixture ----

    @property
    def mixture(self):
        """The mixture in use. Errors: StateError before a mixture was loaded."""
        refuse(
            self.impl.mixture is None,
            f"no mixture yet: call {MIXTURE_CALLS}.",
            StateError,
        )
        return self.impl.mixture

    def load_mixture(self, file: str, phase: str) -> None:
        """Read a Cantera YAML file. Errors: MixtureError; ArgumentError for an empty name, and when the mixture has
        another number of species than ns."""
        refuse(not file, "file is empty, wanted the name of a mixture's file.")
        self._use(kernels.Mixture.from_yaml(file, phase=phase or None, **self.model), f"mixture {file!r}")

    def use_mixture(self, mixture: kernels.Mixture) -> None:
        """Use a Mixture that the host has put together. Errors: ArgumentError when it has another number of species
        than ns."""
        self._use(mixture, "the mixture")

    def _use(self, mixture, what: str) -> None:
        refuse(
            mixture.ns != self.ns,
            f"{what} has {mixture.ns} species ({', '.join(mixture.names[:8])}{', ...' * (mixture.ns > 8)}), "
            f"frame_initialize was told ns = {self.ns}.",
        )
        self.impl.set_mixture(mixture)

    def populate_preos(self, ns: int, *data: np.ndarray) -> None:
        """Copy the host's species data, in the order of PREOS: W [kg/mol], Tc [K], pc [Pa], omega (ns,), kij (ns, ns),
        NASA-7 below and above T_mid (7, ns), T_mid [K] (ns,). Errors: ArgumentError for another ns, MixtureError for
        values that cannot be used."""
        self._populate(ns, PREOS, data)

    def populate_chung(self, ns: int, *data: np.ndarray) -> None:
        """Copy the host's species data, in the order of CHUNG, (ns,) each: Vc [m3/mol], dipole [debye], association
        factor, Fuller's volumes [cm3/mol]. Errors: ArgumentError for another ns, MixtureError for values that cannot be
        used."""
        self._populate(ns, CHUNG, data)

    def _populate(self, ns: int, names: tuple[str, ...], data: tuple[np.ndarray, ...]) -> None:
        """Keep copies of the arrays under their names; then the mixture from all that have come so far, in either order
        of the calls. After populate_preos alone the thermal properties work already."""
        refuse(ns != self.ns, f"ns = {ns}, frame_initialize was told ns = {self.ns}.")
        for name, array in zip(names, data, strict=True):
            self._species[name] = array.T.copy() if name.startswith("nasa") else array.copy()

        if "W" not in self._species:
            return

        known_as = [f"species_{s + 1}" for s in range(self.ns)]
        species = kernels.SpeciesData.from_arrays(known_as, where="species data of the host", **self._species)
        model = {**self.model, "diffusion": "fuller"}  # arrays carry no well depths for the kinetic theory
        self._use(kernels.Mixture.from_species(species, **model), "the host's species data")

    def get_species(self, tag: str, out: np.ndarray, n: int) -> None:
        """Write species data of the mixture in use into out (n,), SI. kij and nasa have the order in which the host
        gives them. binary_fit: the five coefficients of each pair fastest, then i, then j; their meaning depends on
        option `diffusion`, see kernels.gas.species.kinetic_theory.pair_fit. Errors: ArgumentError for an unknown tag or
        another n; StateError without a mixture."""
        species = self.mixture.species
        if tag == "binary_fit":
            from kernels.gas.species.kinetic_theory import pair_fit

            model = self.mixture.options["diffusion"]
            data = pair_fit(species, "kinetic" if model == "fuller" else model).ravel(order="F")
        elif tag in SPECIES:
            data = getattr(species, "kappa_assoc" if tag == "kappa" else tag).ravel()
        else:
            raise UnknownName(f"unknown species data '{tag}'; known: {' '.join(SPECIES)} binary_fit.")

        refuse(n != data.size, f"buf for '{tag}' has n = {n} values, wanted {data.size}.")
        out[:] = data

    def get_number(self, tag: str) -> int:
        """A number by name: ns, nq, nGridPoints as initialize got them; nr, the number of reactions of the mixture.
        Errors: ArgumentError for another name; StateError for nr without a mixture."""
        numbers = {"ns": self.ns, "nq": self.sizes.nq, "nGridPoints": self.sizes.chunk}
        if tag == "nr":
            return len(self._reactions())

        known = ("nr", *numbers)
        refuse(
            tag not in numbers, f"unknown number '{tag}'{closest(tag, known)}; known: {' '.join(known)}.", UnknownName
        )
        return numbers[tag]

    def _reactions(self) -> list:
        """The reactions of the mixture, empty if the file has none. Errors: as `mixture`; MixtureError for a reaction
        that cannot be read."""
        species = self.mixture.species
        return [] if species.reactions is None else list(species.mechanism.reactions)

    def get_name(self, tag: str, i: int) -> str:
        """The name of species i of the mixture, or the equation of reaction i, counted from 1. Errors: ArgumentError
        for another tag or i; StateError without a mixture."""
        kinds = ("species", "reaction")
        refuse(tag not in kinds, f"unknown names '{tag}'{closest(tag, kinds)}; known: {' '.join(kinds)}.", UnknownName)

        if tag == "species":
            names = list(self.mixture.names)
        else:
            names = [reaction.equation for reaction in self._reactions()]
            refuse(not names, f"reaction {i} came, but the mixture has no reactions.")

        refuse(not 1 <= i <= len(names), f"{tag} {i} came, wanted 1..{len(names)}.")
        return names[i - 1]

    def get_point(self, in_tags: str, out_tags: str) -> int:
        """Address of a C function of one point for the mixture in use; see kernels.gas.point.PointFunction. in_tags,
        out_tags: names separated by commas. Errors: as PointFunction; StateError without a mixture."""
        given, made = _names(in_tags), _names(out_tags)
        key = self.mixture, given, made
        if key not in self._points:
            self._points[key] = kernels.PointFunction(self.mixture, made, given).address

        return self._points[key]

    # ---- copies ----

    def set_stream(self, stream: int) -> None:
        """Queue this thread's copies and launches on the host's CUDA stream: cudaStream_t as an integer, 0 for the
        default one. From then on calls on arrays of the device wait for nothing: the host does, with its stream.
        finalize ends that. On a CPU nothing happens."""
        self.impl.use_stream(stream)

    def populate_input(self, tag: str, address: int, *bounds: int) -> Callable[[int, int], None]:
        """Fill the view `tag` from a stripe of the host's array at `address`.

        bounds: nx, ny, nz, SptX, EptX, SptY, EptY, SptZ, EptZ, SptData, EptData, stripeStart, stripeEnd, as Fortran
        counts. Returns call(stripeStart, stripeEnd) for repetition.
        """
        return self._copy("populate_input", (tag, address, bounds[:11]), bounds[11:])

    def populate_output(self, tag: str, address: int, *bounds: int) -> Callable[[int, int], None]:
        """The reverse: write the selected points of the stripe and nothing else."""
        return self._copy("populate_output", (tag, address, bounds[:11]), bounds[11:])

    def _copy(self, name: str, arguments: tuple, stripe: tuple[int, ...]) -> Callable[[int, int], None]:
        """Copy a stripe. The first copy with these arguments is bound and kept."""
        memory, key = self.impl.memory, (name, *arguments)
        call = memory.get(key)
        if call is None:
            bind = getattr(self, f"_bind_{name}")
            call = bind(*arguments)
            memory.keep(key, call)

        call(*stripe)
        return call

    def _bind_populate_input(self, tag: str, address: int, bounds) -> Bound:
        return self.impl.copies.into(tag, self.selections.of_bounds(address, bounds))

    def _bind_populate_output(self, tag: str, address: int, bounds) -> Bound:
        return self.impl.copies.out(tag, self.selections.of_bounds(address, bounds))

    def wait(self) -> None:
        """Return when this thread's calls on pinned arrays are done; needed with parameter `queue` alone."""
        self.impl.wait()

    def put(self, fields, lo, hi, first: int, last: int) -> Callable[[int, int], None]:
        """Fill the view of the field from points first..last of its selection lo..hi; 0: from the first, to the
        last. Without points nothing happens. Returns call(first, last) for repetition.

        Errors: ArgumentError for an unknown name, a shape or bounds that do not fit.
        """
        return self._copy("put", (tuple(fields), lo, hi), (first, last))

    def get(self, fields, lo, hi, first: int, last: int) -> Callable[[int, int], None]:
        """The reverse: write these points of the field and nothing else. Errors: as put; StateError for a view that was
        never computed or is stale."""
        return self._copy("get", (tuple(fields), lo, hi), (first, last))

    def _bind_put(self, fields, lo, hi):
        return self._bind_each(self.impl.copies.into, fields, lo, hi)

    def _bind_get(self, fields, lo, hi):
        return self._bind_each(self.impl.copies.out, fields, lo, hi)

    def _bind_each(self, copy, fields, lo, hi) -> Callable[[int, int], None]:
        """call(first, last): the copies of all views that the fields fill or take."""
        copies = []
        for field, block in self.selections.of_fields(fields, lo, hi):
            copies.append(_any_stripe(copy(field.name, block), block.points))

        if len(copies) == 1:
            return copies[0]

        def call(first: int, last: int) -> None:
            for each in copies:
                each(first, last)

        return call

    # ---- memory that stays ----

    def pin(self, address: int, n: int) -> None:
        """Pin n doubles of the host, so that a GPU copies them without a buffer, until unpin or finalize. The host must
        not free them before that. Every backend makes the same checks. Errors: see Pins.add."""
        self.pinned.add(address, address + 8 * n)

    def unpin(self, address: int, n: int) -> None:
        """Undo pin. Errors: ArgumentError unless pin was given the same address and n."""
        self.pinned.remove(address, address + 8 * n)

    def pin_array(self, fields) -> None:
        """pin for the memory between the first and the last byte of the field."""
        self.pinned.add(*fields[0].range)

    def unpin_array(self, fields) -> None:
        """unpin for the field that was given to pin_array."""
        self.pinned.remove(*fields[0].range)

    # ---- arrays of the host's where kernels work ----

    def allocate(self, nbytes: int) -> int:
        """Address of memory where kernels work, until deallocate or finalize. Errors: see OwnArrays.allocate."""
        return self.own_arrays.allocate(nbytes)

    def deallocate(self, address: int) -> None:
        """Undo allocate. Errors: see OwnArrays.deallocate."""
        self.impl.wait_for_all()
        self.own_arrays.deallocate(address)

    def copy(self, to: int, source: int, nbytes: int) -> None:
        """Copy memory, and wait. Errors: see OwnArrays.copy."""
        self.impl.wait()
        self.own_arrays.copy(to, source, nbytes)

    def copy_fields(self, fields) -> None:
        """Copy an array: where it goes, where it lies. Errors: see OwnArrays.copy_fields."""
        self.impl.wait()
        self.own_arrays.copy_fields(*fields)

    # ---- pairs of arrays of the host and the device ----

    def pair(self, fields) -> None:
        """Keep a copy of arrays where kernels work, until unpair or finalize. Errors: see Pairs.add."""
        self.pairs.add(fields)

    def unpair(self, fields) -> None:
        """End pairs. Errors: see Pairs.remove."""
        self.impl.wait_for_all()
        self.pairs.remove(fields)

    def modify(self, side: str, fields) -> None:
        """Say that the side "host" or "device" of paired arrays was written. Errors: see Pairs.modify."""
        self.pairs.modify(side, fields)

    def need_sync(self, side: str, fields) -> int:
        """How many of these arrays are behind on a side. Errors: see Pairs.need_sync."""
        return self.pairs.need_sync(side, fields)

    def sync(self, side: str, fields) -> None:
        """Bring a side of paired arrays up to date. Errors: see Pairs.sync."""
        self.impl.wait()
        self.pairs.sync(side, fields)

    # ---- work ----

    def launch(self, tag: str, n_active: int) -> None:
        """Launch a kernel or a collection by its name on the first n_active points of the views. Errors: see
        TVImpl.safe_launch."""
        self.impl.safe_launch(tag, n_active)

    def block(self, collection: str, in_tags: str, in_data: int, out_tags: str, out_data: int, *bounds: int):
        """A whole block in one call: compute the named outputs and no others.

        in_tags, out_tags: names separated by commas. in_data (nx, ny, nz, nv_in) holds the variables of the inputs one
        after the other in this order; out_data (nx, ny, nz, nv_out) takes the outputs. bounds: nx, ny, nz, SptX, EptX,
        SptY, EptY, SptZ, EptZ, nv_in, nv_out, as Fortran counts. Errors: ArgumentError for names or bounds that do not
        fit; see TVImpl.block.
        """
        *place, nv_in, nv_out = bounds
        inputs = self._listed("inTags", in_tags, in_data, nv_in, place)
        outputs = self._listed("outTags", out_tags, out_data, nv_out, place)

        return self.impl.block(collection, inputs, outputs)

    def _listed(self, what: str, tags: str, address: int, variables: int, place) -> list[tuple[str, Block]]:
        """(view name, selection) of each name. The variables of all names lie in an array, in the order of the
        names."""
        fields, first = [], 1
        for name in _names(tags):
            last = first + self.impl.view(name).rows - 1
            refuse(last > variables, f"{what}: '{tags}' needs at least {last} variables, the array has {variables}.")
            fields.append((name, self.selections.of_bounds(address, (*place, first, last))))
            first = last + 1

        return fields

    def block_of_arrays(self, collection: str, in_tags: str, out_tags: str, addresses, n: int, *place: int):
        """The same with an array for each name, contiguous double precision (nx, ny, nz, variables of the view); a name
        that comes several times in a list has an array (nx, ny, nz) for each of its variables.

        place: nx, ny, nz, SptX, EptX, SptY, EptY, SptZ, EptZ, as Fortran counts. Errors: as block_of_fields;
        ArgumentError for another number of addresses, or bounds outside the extents.
        """
        named = [(name, stripes.IN) for name in _names(in_tags)] + [(name, stripes.OUT) for name in _names(out_tags)]
        refuse(len(named) != n, f"{len(named)} names in '{in_tags}' and '{out_tags}', {n} addresses.")

        return self.block_of_fields(collection, *self._fields_of_arrays(named, addresses, place))

    def _fields_of_arrays(self, named, addresses, place):
        """Fields, lo and hi of contiguous arrays. named: (name, way) of each; place: as in block_of_arrays."""
        extents, bounds = place[:3], place[3:]

        fields = []
        for (name, way), address in zip(named, addresses):
            rows = 1 if name in reactors.OF_KIND else self.impl.view(name).rows
            is_alone = named.count((name, way)) == 1
            stripes.block_from_bounds(address, extents, (*bounds, 1, 1))  # its errors are those of the old style
            extent = (*extents, rows) if is_alone else extents
            fields.append(Field.contiguous(name, way, address, extent, 8))

        return fields, (*bounds[::2], None), (*bounds[1::2], None)

    def block_of_fields(self, collection: str, fields, lo, hi) -> Bound | None:
        """The same with an array for each input and output. fields: each a stripe.Field. lo, hi: indices in space, in
        the bounds of each array, None: not given. A team kernel works on the whole arrays; errors: see teams.bind."""
        return self.pairs.run(fields, lambda moved: self._block_of_fields(collection, moved, lo, hi))

    def _block_of_fields(self, collection: str, fields, lo, hi) -> Bound | None:
        if collection in kernels.registry.team_kernels:
            refuse(any(b is not None for b in (*lo, *hi)), f"team kernel '{collection}' takes no lo and hi.")
            return self.impl.team(collection, fields)

        selected = self.selections.of_fields(self._with_the_only_species(collection, fields), lo, hi)
        inputs = [(field.name, block) for field, block in selected if field.way != stripes.OUT]
        outputs = [(field.name, block) for field, block in selected if field.way != stripes.IN]
        return self.impl.block(collection, inputs, outputs)

    def _with_the_only_species(self, collection: str, fields):
        """The fields; and Y, which is 1, for a collection that reads it, where the mixture has one species and no
        composition came."""
        brought = {field.name for field in fields}
        if self.ns > 1 or brought & COMPOSITIONS or "Y" not in known_inputs(kernels.registry.name_of(collection)):
            return fields
        return [*fields, Field.contiguous("Y", stripes.IN, ONLY.ctypes.data, (1,), 8)]

    def react(self, kind: str, fields, dt: float, lo, hi):
        """Every point of a block as a closed adiabatic reactor over dt, in place.

        kind: "volume" or "pressure", which stays constant. fields: T, p and Y, which are updated; "status" and "steps"
        if the host wants them; "dt" [s] if it differs between points. If "steps" comes in, points with similar numbers
        of steps are worked on side by side. dt: see reactors.Time.
        Returns call(dt) for repetition; None without points. Errors: ArgumentError; see TVImpl.block.
        """
        return self.pairs.run(fields, lambda moved: self._react(kind, moved, dt, lo, hi))

    def react_arrays(self, kind: str, tags: str, addresses, n: int, dt: float, *place: int):
        """The same with contiguous double arrays, as in block_of_arrays. dt: 0 where a tag is "dt". "steps" comes in
        and goes out. Errors: as react; ArgumentError for another number of addresses, or bounds outside the extents."""
        names = _names(tags)
        refuse(len(names) != n, f"{len(names)} names in '{tags}', {n} addresses.")

        named = [(name, reactors.WAYS.get(name, stripes.INOUT)) for name in names]
        fields, lo, hi = self._fields_of_arrays(named, addresses, place)
        has_array = "dt" in names
        run = self.react(kind, fields, reactors.number(dt, has_array), lo, hi)

        return run and (lambda dt: run(reactors.number(dt, has_array)))

    def _react(self, kind: str, fields, dt: float, lo, hi):
        shared = self.impl.shared
        at = Reactor(self.mixture, kind, shared.backend, shared.precision).suffix
        reactors.check(fields)
        time = reactors.Time(dt, fields)

        named = reactors.named(time.beside(fields), at)
        inputs, outputs, order = reactors.parts(self.selections.of_fields(named, lo, hi), at)
        run = self.impl.block(f"react_{kind}", inputs, outputs, order)
        if run is None:
            return None

        def call(dt: float) -> None:
            time.set(dt)
            run()

        return call

    def team(self, name: str, arrays: Listed):
        """A team kernel on contiguous arrays. Errors: see teams.fields and teams.bind."""
        known = kernels.registry.team_kernels
        refuse(
            name not in known,
            f"unknown team kernel '{name}'{closest(name, known)}; registered: {', '.join(known) or 'none'}.",
            UnknownName,
        )
        fields = teams.fields(known[name], arrays)
        return self.pairs.run(fields, lambda moved: self.impl.team(name, moved))


def _names(tags: str) -> tuple[str, ...]:
    """Names that a host separates by commas."""
    return tuple([tag.strip() for tag in tags.split(",")])


def _any_stripe(copy: Bound, points: int) -> Callable[[int, int], None]:
    """call(first, last) of a new-style copy; 0: the first, the last. points: of the selection."""

    def call(first: int, last: int) -> None:
        if points or last > 0:
            copy(first or 1, last or points)

    return call


def _member(entry: Entry):
    """The method for an entry point that launches a collection or kernel."""

    def launch(self, n_active: int) -> None:
        self.launch(entry.launches, n_active)

    launch.__name__ = entry.serves
    launch.__doc__ = entry.doc
    return launch


for _entry in ENTRIES:
    if _entry.launches:
        setattr(TVProperties, _entry.serves, _member(_entry))
