"""TVProperties: everything that a host may request, by name. Units are SI and per kg; a view's unit is
kernels.quantities[name].unit.

This class chooses names and checks counts. TVImpl has the arrays, the kernels have the formulas.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

import kernels

from . import stripe as stripes, teams
from .errors import ArgumentError, StateError, closest, refuse
from .tvimpl import LAST_FROM_SUM, TVImpl

SPECIES = ("W", "Tc", "pc", "omega", "Vc", "dipole", "kappa", "kij", "nasa_low", "nasa_high", "T_mid", "fuller_volume")
KEPT = 512  # selections remembered: a host uses the same few again and again


class TVProperties:
    """Thermal and viscous properties for one frame_initialize.

    ns: species. nq: variables of Q = (p, u, v, w, T, Y_1..Y_ns, the host's own). With nq = ns + 4 the last mass
    fraction is 1 - sum of the others; with a smaller nq, Q is a plain view. turbulent: the host supplies muT.
    precision: see TVImpl.
    """

    def __init__(
        self,
        backend,
        chunk: int,
        ns: int,
        nq: int,
        turbulent: bool,
        model: dict,
        rank: int = 0,
        precision: str = "double",
    ):
        self.ns, self.nq, self.model = ns, nq, model
        self.guard: Callable[[Any], None] | None = None  # looks at each new selection of the host's memory
        if turbulent:
            kernels.quantity("muT", "Pa s", "eddy viscosity, supplied by the host")
        self._first = TVImpl(backend, chunk, ns, nq, rank, precision)
        self._here = (
            threading.local()
        )  # `impl` of each thread, also of a host's: cffi keeps a thread's state till it ends
        self._here.impl = self._first
        self._selections: dict[tuple, object] = {}
        self.pinned: dict[int, int] = {}  # arrays of the host: address, end
        self._species: dict = {}  # the host's own data, as arguments of SpeciesData.from_arrays

    @property
    def impl(self) -> TVImpl:
        """The calling thread's views and launchers, made at its first call."""
        try:
            return self._here.impl
        except AttributeError:
            self._here.impl = own = self._first.twin()
            return own

    # ---- the mixture ----

    @property
    def mixture(self):
        """The mixture in use. Errors: StateError before one was loaded."""
        refuse(
            self.impl.mixture is None,
            "no mixture yet: call frame_tvproperties_loadmixture or frame_tvproperties_populatepreosshareddata first.",
            StateError,
        )
        return self.impl.mixture

    def load_mixture(self, file: str, phase: str) -> None:
        """Read a Cantera YAML file. Errors: MixtureError; ArgumentError when it has another number of species than
        ns."""
        self._use(kernels.Mixture.from_yaml(file, phase=phase or None, **self.model), f"mixture {file!r}")

    def _use(self, mixture, what: str) -> None:
        refuse(
            mixture.ns != self.ns,
            f"{what} has {mixture.ns} species ({', '.join(mixture.names[:8])}{', ...' * (mixture.ns > 8)}), "
            f"frame_initialize was told ns = {self.ns}.",
        )
        self.impl.set_mixture(mixture)

    def populate_preos(self, ns, W, Tc, pc, omega, kij, nasa_low, nasa_high, T_mid) -> None:
        """Copy the host's species data: W [kg/mol], Tc [K], pc [Pa], omega, kij (ns, ns), NASA-7 (7, ns), T_mid [K].
        Errors: ArgumentError for another ns, MixtureError for values that cannot be used."""
        self._same_ns(ns)
        self._species |= {
            "W": W.copy(),
            "Tc": Tc.copy(),
            "pc": pc.copy(),
            "omega": omega.copy(),
            "kij": kij.copy(),
            "nasa_low": nasa_low.T.copy(),
            "nasa_high": nasa_high.T.copy(),
            "T_mid": T_mid.copy(),
        }
        self._from_arrays()

    def populate_chung(self, ns, Vc, dipole, kappa, fuller) -> None:
        """Copy the host's species data, (ns,) each: Vc [m3/mol], dipole [debye], association factor, Fuller's volumes
        [cm3/mol]. Errors: ArgumentError for another ns, MixtureError for values that cannot be used."""
        self._same_ns(ns)
        self._species |= {
            "Vc": Vc.copy(),
            "dipole": dipole.copy(),
            "kappa_assoc": kappa.copy(),
            "fuller_volume": fuller.copy(),
        }
        self._from_arrays()

    def _same_ns(self, ns: int) -> None:
        refuse(ns != self.ns, f"ns = {ns}, frame_initialize was told ns = {self.ns}.")

    def _from_arrays(self) -> None:
        """Make the mixture from both calls, in either order. After populate_preos alone the thermal properties work
        already."""
        if "W" not in self._species:
            return
        names = [f"species_{s + 1}" for s in range(self.ns)]
        species = kernels.SpeciesData.from_arrays(names, where="species data of the host", **self._species)
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
            raise ArgumentError(
                f"unknown species data '{tag}'; known: {' '.join(SPECIES)} binary_fit. Is //char(0) missing?"
            )
        refuse(n != data.size, f"buf for '{tag}' has n = {n} values, wanted {data.size}.")
        out[:] = data

    def get_number(self, tag: str) -> int:
        """A number by name: ns, nq, nGridPoints as initialize got them; nr, the number of reactions of the mixture.
        Errors: ArgumentError for another name; StateError for nr without a mixture."""
        numbers = {"ns": self.ns, "nq": self.nq, "nGridPoints": self.impl.chunk}
        if tag == "nr":
            return len(self._reactions())

        known = ("nr", *numbers)
        refuse(tag not in numbers, f"unknown number '{tag}'{closest(tag, known)}; known: {' '.join(known)}.")
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
        refuse(tag not in kinds, f"unknown names '{tag}'{closest(tag, kinds)}; known: {' '.join(kinds)}.")

        if tag == "species":
            names = list(self.mixture.names)
        else:
            names = [reaction.equation for reaction in self._reactions()]
            refuse(not names, f"reaction {i} came, but the mixture has no reactions.")

        refuse(not 1 <= i <= len(names), f"{tag} {i} came, wanted 1..{len(names)}.")
        return names[i - 1]

    # ---- copies ----

    def set_stream(self, stream: int) -> None:
        """Queue this thread's copies and launches on the host's CUDA stream: cudaStream_t as an integer, 0 for the
        default one. From then on calls on arrays of the device wait for nothing: the host does, with its stream.
        finalize ends that. On a CPU nothing happens."""
        self.impl.use_stream(stream)

    def populate_input(self, tag: str, address: int, *given: int) -> None:
        """Fill the view `tag` from a stripe of the host's array at `address`. given: nx, ny, nz, SptX, EptX, SptY,
        EptY, SptZ, EptZ, SptData, EptData, stripeStart, stripeEnd, as Fortran counts."""
        self.impl.populate_input(tag, self._selection(address, given), given[11], given[12])

    def populate_output(self, tag: str, address: int, *given: int) -> None:
        """The reverse: write the selected points of the stripe and nothing else."""
        self.impl.populate_output(tag, self._selection(address, given), given[11], given[12])

    def wait(self) -> None:
        """Return when this thread's calls on pinned arrays are done; needed with parameter `queue` alone."""
        self.impl.wait()

    def _selection(self, address: int, given):
        key = (address, given[:11])
        block = self._selections.get(key)
        if block is None:
            block = self._keep(key, stripes.block_from_bounds(address, given[:3], given[3:11]))
        return block

    def _keep(self, key, block):
        """Remember a checked selection. The address is part of the key, so only a call with the same address uses
        it."""
        if self.guard and block.points:
            self.guard(block)
        if len(self._selections) >= KEPT:
            self._selections.clear()
        self._selections[key] = block
        return block

    def _field(self, field, lo, hi):
        key = (field, lo, hi)
        block = self._selections.get(key)
        if block is None:
            rows, extent = self.impl.view(field.name).rows, field.extent
            if field.name == "Y" and rows > 1 and 1 < len(extent) < 5 and extent[-1] == rows - 1:
                wanted = f"array for 'Y' has {rows - 1} species, wanted {rows}."
                refuse(not self.impl.last_from_sum or field.way != stripes.IN, wanted + LAST_FROM_SUM)
                rows -= 1
            block = self._keep(key, stripes.block_from_field(field, lo, hi, rows))
        return field.name, block

    def put(self, fields, lo, hi, first: int, last: int) -> None:
        """Fill the view of the one field from points first..last of its selection lo..hi; 0: from the first, to the
        last. Without points nothing happens. Errors: ArgumentError for an unknown name, a shape or bounds that do not
        fit."""
        name, block = self._field(fields[0], lo, hi)
        if block.points or last > 0:
            self.impl.populate_input(name, block, first or 1, last or block.points)

    def get(self, fields, lo, hi, first: int, last: int) -> None:
        """The reverse: write these points of the field and nothing else. Errors: as put; StateError for a view that was
        never computed or is stale."""
        name, block = self._field(fields[0], lo, hi)
        if block.points or last > 0:
            self.impl.populate_output(name, block, first or 1, last or block.points)

    # ---- memory that stays ----

    def pin(self, address: int, n: int) -> None:
        """Pin n doubles of the host, so that a GPU copies them without a buffer, until unpin or finalize. The host must
        not free them before that. Every backend makes the same checks. Errors: ArgumentError for memory that overlaps a
        pinned array, BackendError when the driver refuses."""
        self._pin(address, address + 8 * n)

    def unpin(self, address: int, n: int) -> None:
        """Undo pin. Errors: ArgumentError unless pin was given the same address and n."""
        self._unpin(address, address + 8 * n)

    def pin_array(self, fields) -> None:
        """pin for the memory between the first and the last byte of the one field."""
        self._pin(*fields[0].range)

    def unpin_array(self, fields) -> None:
        """unpin for the field that was given to pin_array."""
        self._unpin(*fields[0].range)

    def _pin(self, low: int, high: int) -> None:
        if low == high:  # a rank that owns no part of this array
            return
        for start, end in self.pinned.items():
            if low < end and start < high:
                what = (
                    "is pinned already"
                    if (low, high) == (start, end)
                    else f"overlaps one that is pinned ({_range(start, end)})"
                )
                raise ArgumentError(
                    f"the array to pin ({_range(low, high)}) {what}: unpin that one first; was it freed without?"
                )
        self.impl.backend.pin(low, high - low)
        self.pinned[low] = high

    def _unpin(self, low: int, high: int) -> None:
        if low == high:
            return
        if self.pinned.get(low) != high:
            others = ", ".join(_range(*p) for p in list(self.pinned.items())[:4]) or "none"
            raise ArgumentError(
                f"the array to unpin ({_range(low, high)}) is not pinned; pinned: {others}. Was it unpinned before, "
                "or pinned "
                "with another size?"
            )
        self.impl.wait_for_all()
        self.impl.backend.unpin(low, high - low)
        del self.pinned[low]

    # ---- work ----

    def launch(self, tag: str, n_active: int) -> None:
        """Launch a kernel or a collection by its name on the first n_active points of the views. Errors: see
        TVImpl.safe_launch."""
        self.impl.safe_launch(tag, n_active)

    def block(
        self, collection, in_tags, in_data, out_tags, out_data, nx, ny, nz, sx, ex, sy, ey, sz, ez, nv_in, nv_out
    ):
        """A whole block in one call: compute the named outputs and no others.

        in_tags, out_tags: names separated by commas. in_data (nx, ny, nz, nv_in) holds the variables of the inputs one
        after the other in this order; out_data (nx, ny, nz, nv_out) takes the outputs. sx..ez: Fortran bounds of the
        points that take part. Errors: ArgumentError for names or bounds that do not fit; see TVImpl.block.
        """
        space = (sx, ex, sy, ey, sz, ez)

        def listed(tags, address, variables, what):
            out, at = [], 1
            for name in (t.strip() for t in tags.split(",")):
                rows = self.impl.view(name).rows
                refuse(
                    at + rows - 1 > variables,
                    f"{what}: '{tags}' needs at least {at + rows - 1} variables, the array has {variables}.",
                )
                out.append((name, self._selection(address, (nx, ny, nz, *space, at, at + rows - 1))))
                at += rows
            return out

        return self.impl.block(
            collection, listed(in_tags, in_data, nv_in, "inTags"), listed(out_tags, out_data, nv_out, "outTags")
        )

    def block_of_fields(self, collection, fields, lo, hi):
        """The same with an array for each input and output. fields: each a stripe.Field. lo, hi: indices in space, in
        the bounds of each array, None: not given. A team kernel works on the whole arrays; errors: see teams.call."""
        if collection in kernels.registry.team_kernels:
            refuse(any(b is not None for b in (*lo, *hi)), f"team kernel '{collection}' takes no lo and hi.")
            return self.impl.team(collection, fields)
        return self.impl.block(
            collection,
            [self._field(f, lo, hi) for f in fields if f.way != stripes.OUT],
            [self._field(f, lo, hi) for f in fields if f.way != stripes.IN],
        )

    def react(self, kind, fields, dt, lo, hi):
        """Every point of a block as a closed adiabatic reactor over dt, in place. kind: "volume" or "pressure", which
        stays constant. fields: T, p and Y, which are updated, "status" and "steps" where the host wants them, "dt" [s]
        where it is one of each point. Where "steps" comes in, points of similar numbers there are worked on side by
        side. dt: the number for all; -1: none came; -2: a negative one. Errors: ArgumentError; see TVImpl.block."""
        at = kernels.gas.arrays.reactor(kind)
        by_name = {field.name: field for field in fields}
        for name in ("T", "p", "Y"):
            refuse(name not in by_name, f"'{name}' is missing: wanted frame_inout('{name}', {name}).")
            way = by_name[name].way
            refuse(way != stripes.INOUT, f"'{name}' is updated: wanted frame_inout('{name}', {name}).")
        strange = ", ".join(sorted(set(by_name) - {"T", "p", "Y", "dt", "status", "steps"}))
        refuse(strange, f"got {strange}; wanted T, p, Y, dt, status, steps.")
        refuse(dt == -2 or dt != dt, "dt is negative, wanted a time in s.")
        refuse(dt == -1 and "dt" not in by_name, "dt is missing: wanted a number, dt=1d-6, or frame_in('dt', dt).")
        refuse(dt != -1 and "dt" in by_name, "dt came as a number and as a field; wanted one of them.")
        number = np.array([dt])
        if dt != -1:  # an array all of whose elements are this number
            like = by_name["T"]
            still = dict(address=number.ctypes.data if like.address else 0, stride=(0,) * len(like.stride), size=8)
            fields = [*fields, like._replace(name="dt", way=stripes.IN, **still)]
        own = lambda name: f"{name}_{at}" if name in ("dt", "status", "steps") else name
        way = lambda wanted: [
            self._field(f._replace(name=own(f.name)), lo, hi) for f in fields if wanted(f.way, f.name == "steps")
        ]
        run = self.impl.block(
            f"react_{kind}",
            way(lambda way, steps: way != stripes.OUT and not steps),
            way(lambda way, _: way != stripes.IN),
            way(lambda way, steps: way != stripes.OUT and steps),
        )

        def again() -> None:
            number[0] = dt  # which lives as long as this call may be repeated
            run()

        return run and again

    def team(self, name, names, addresses, lengths, size):
        """A team kernel on contiguous arrays by names and addresses. Errors: see teams.fields and teams.call."""
        known = kernels.registry.team_kernels
        refuse(
            name not in known,
            f"unknown team kernel '{name}'{closest(name, known)}; registered: {', '.join(known) or 'none'}. "
            "Is //char(0) missing?",
        )
        return self.impl.team(name, teams.fields(known[name], names, addresses, lengths, size))


def _range(low: int, high: int) -> str:
    return f"{high - low} bytes at {low:#x}"
