"""The gas product's part of the registry: its stores, what may be added to them, and options of a mixture."""

from __future__ import annotations

import numpy as np

from ..engine.errors import ArgumentError, UndeclaredError, closest, is_one_of, refuse
from ..engine.registry import Registry, declared
from ..engine.values import real_array
from . import other_names
from .records import Collection, Exclusion, Fallback, Option, PointKernel, Preset, Provider, Quantity, SpeciesNumber
from .species.names import own_name

RESERVED = ("NS", "NR", "PANEL")  # of the struct in which bodies find constants
LISTED = "; `python -m frame names` lists all"


class GasRegistry:
    """Declarations of the gas, each kind by name; and those of the whole process that hosts and commands ask for.

    All dictionaries are the registry's own, and stay the same objects: reading names may be kept.
    """

    LISTED = LISTED

    def __init__(self, declared: Registry):
        self.declared = declared
        self.quantities: dict[str, Quantity] = declared.store("quantities")
        self.kernels: dict[str, PointKernel] = declared.store("kernels", launched=True)
        self.collections: dict[str, Collection] = declared.store("collections", launched=True)
        self.aliases: dict[str, str] = declared.store("aliases", of_files=False)  # alias in lower case -> collection

        self.options: dict[str, Option] = declared.store("options", of_files=False)
        self.exclusions: dict[str, Exclusion] = declared.store("exclusions", of_files=False)  # by text
        self.fallbacks: dict[tuple, Fallback] = declared.store("fallbacks", of_files=False)  # by option, value
        self.presets: dict[tuple, Preset] = declared.store("presets", of_files=False)  # by option, value
        self.species_numbers: dict[str, SpeciesNumber] = declared.store("species numbers", of_files=False)
        self.facts: dict = declared.store("facts", of_files=False)  # name -> of(mixture), a word
        self.providers: dict[tuple, Provider] = declared.store("makers of constants", of_files=False)

        self.temporary = declared.temporary
        self.allow_again = declared.allow_again

    @property
    def settable(self) -> dict:
        """{name: Settable} of the constants that a host sets."""
        return self.declared.constants.declared

    @property
    def team_kernels(self) -> dict:
        """{name: TeamKernel}."""
        return self.declared.stores["team kernels"]

    # ---- additions
    def add_quantity(self, new: Quantity) -> Quantity:
        """Keep a quantity; returns the one that is kept. Raises ArgumentError if its name has another unit or shape."""
        changed = self.declared.may_change(new.name)
        known = new if changed else self.quantities.get(new.name, new)
        refuse(
            (known.unit, known.per) != (new.unit, new.per),
            f"quantity '{new.name}' [{new.unit}, per {new.per or 'point'}] is already declared as [{known.unit}, per "
            f"{known.per or 'point'}].",
        )

        self.declared.keep("quantities", known)
        return known

    def add_kernel(self, new: PointKernel) -> None:
        """Keep a kernel. Raises ArgumentError for quantities that are not declared, or a name that is taken."""
        unknown = [q for q in new.reads + new.writes + new.given if q not in self.quantities]
        refuse(
            unknown,
            f"kernel '{new.name}' uses undeclared quantities {unknown}: declare each with quantity(name, unit, what).",
        )
        refuse(not new.writes, f"kernel '{new.name}' writes nothing.")

        known = self.kernels.get(new.name, new)
        refuse(self.declared.taken("kernels", new), f"kernel '{new.name}' is already declared in {known.header}.")
        refuse(self.declared.launches(new.name, but="kernels"), f"kernel '{new.name}': the name is taken.")

        self.declared.keep("kernels", new)

    def add_collection(self, new: Collection) -> None:
        """Keep a collection. Raises ArgumentError for quantities that are not declared, or a name that is taken."""
        unknown = [q for q in new.given + new.outputs + new.optional if q not in self.quantities]
        refuse(unknown, f"collection '{new.name}' uses undeclared quantities {unknown}.")

        taken = self.declared.launches(new.name, but="collections") or self.declared.taken("collections", new)
        refuse(taken, f"collection '{new.name}': the name is taken.")

        for alias in (alias.lower() for alias in new.aliases):
            taken = alias in self.kernels or alias in self.collections
            refuse(
                taken or self.aliases.setdefault(alias, new.name) != new.name,
                f"collection '{new.name}': its other name '{alias}' is taken.",
            )

        self.declared.keep("collections", new)

    def add_provider(self, new: Provider) -> None:
        """Keep a maker of constants; a former one of this function and these names goes. Raises ArgumentError if a name
        has another maker for the same options."""
        key = (new.names, new.make.__module__, new.make.__qualname__)
        self.providers.pop(key, None)  # the file was loaded again

        for old in self.providers.values():
            taken = [name for name in new.names if name in old.names]
            if taken and not _apart(new, old):
                raise ArgumentError(f"constant '{taken[0]}' is already made by {old.maker}.")

        self.providers[key] = new

    # ---- questions
    def name_of(self, tag: str) -> str:
        """The collection with this alias, or the tag itself if it is no alias."""
        return self.aliases.get(tag.lower(), tag)

    def with_unit(self, name: str) -> str:
        """A quantity's name with its unit, as "T [K]", for messages."""
        known = self.quantities.get(name)
        return f"{name} [{known.unit}]" if known and known.unit != "1" else name

    def refuse_unknown_quantity(self, names) -> None:
        """Raise ArgumentError for the first name that is no quantity, with what may be meant."""
        for name in names:
            if not is_one_of(name, self.quantities):
                raise ArgumentError(f"unknown quantity '{name}'{self.instead_of(name)}.")

    def instead_of(self, name) -> str:
        """The end of a message about an unknown quantity. The quantity that Cantera or CoolProp give this name; else
        quantities whose description begins with it; else similar names; else where the list is."""
        other = other_names.meant(name)
        if other in self.quantities:
            return f", did you mean {other!r}"

        word = str(name).lower().replace("_", " ")
        described = [q.name for q in self.quantities.values() if q.what.lower().startswith(word)][:3]
        if described and len(word) > 3:
            return f", did you mean {' or '.join(map(repr, described))}"
        return closest(name, self.quantities) or LISTED

    def refuse_unknown_kernel(self, names) -> None:
        """Raise ArgumentError for the first name that is no kernel, with those that are most like it."""
        for name in names:
            if not is_one_of(name, self.kernels):
                raise ArgumentError(f"unknown kernel '{name}'{closest(name, self.kernels) or LISTED}.")

    def refuse_undeclared_constant(self, kernel: str, name: str) -> None:
        """Raise UndeclaredError for a constant that the host does not set and no model makes, for no options."""
        known = [*self.settable, *(made for provider in self.providers.values() for made in provider.names)]
        if name not in known:
            raise UndeclaredError(
                f"kernel '{kernel}' reads the constant '{name}', which nobody declares{closest(name, known)}; wanted "
                f'constant("{name}", unit, what) in the file of its declaration.'
            )

    def described(self, kernel: PointKernel) -> str:
        """A kernel's line in tables: its name, the quantities it writes and reads, and its source."""
        written = [self.quantities[name] for name in kernel.writes]
        what = "; ".join(f"{q.name} [{q.unit}] {q.what}" for q in written)
        return f"{kernel.name}: {what}; from {' '.join(kernel.reads)}; {kernel.source}"

    # ---- options of a mixture
    def known_options(self, given: dict) -> dict[str, str]:
        """{option: value} for all options, with defaults for those not given. ArgumentError names an unknown option or
        value and lists the known ones. Before the species of a mixture are known, values of a default word may still
        change; so nothing is said of values that cannot be combined."""
        options = self.options
        for key, value in given.items():
            refuse(
                key not in options, f"unknown model option '{key}'{closest(key, options)}; known: {', '.join(options)}."
            )
            known = options[key]
            refuse(
                is_one_of(value, known.renamed),
                f"option {key} = {value!r} has another name: {known.renamed.get(str(value))!r}.",
            )
            refuse(
                not is_one_of(value, known.values),
                f"option {key} = {value!r}{closest(value, known.values)}; wanted one of {', '.join(known.values)}.",
            )

        given = self.with_presets(given)
        return {key: given.get(key, known.values[0]) for key, known in options.items()}

    def checked_options(self, given: dict) -> dict[str, str]:
        """As known_options; ArgumentError also says why values cannot be combined."""
        chosen = self.known_options(given)
        for exclusion in self.exclusions.values():
            refuse(exclusion.excluded(chosen), exclusion.say.format(**chosen))
        return chosen

    def spelled_out(self, given: dict, species=None) -> dict[tuple, tuple[dict, str]]:
        """{(option, value): (the options that it stands for, why, or "")} of the presets among the options given, and
        of the default where it is one: for options that were not given."""
        plain = {key: known.values[0] for key, known in self.options.items()} | given

        out = {}
        for key, preset in self.presets.items():
            if given.get(preset.option) == preset.value:
                out[key] = preset.choose(plain, species)
            elif preset.value == self._default_word(preset.option, given):
                options, why = preset.choose(plain, species)
                out[key] = {name: meant for name, meant in options.items() if name not in given}, why
        return out

    def _default_word(self, option: str, given: dict) -> str | None:
        """The default of an option whose values are presets. None if a value was given, or an option that has
        precedence."""
        known = self.options[option]
        if option in given or any(name in given for name in known.yields_to):
            return None

        named = known.by_environment() if known.by_environment else ""
        return named or known.values[0]

    def with_presets(self, given: dict, species=None) -> dict:
        """The options that were given, with those that a word among them, or by default, stands for. In place of the
        word is the value that stands for none. Raises ArgumentError where an option was given beside a word with
        another value."""
        out = dict(given)
        for (word, value), (options, _) in self.spelled_out(given, species).items():
            for key, meant in options.items():
                refuse(
                    given.get(key, meant) != meant,
                    f"option {word} = '{value}' stands for {key} = '{meant}', and {key} = '{given.get(key)}' was given "
                    f"too: wanted one of them.",
                )
            out |= options

        for option in {option for option, _ in self.presets}:
            out[option] = next(value for value in self.options[option].values if (option, value) not in self.presets)
        return out

    def with_fallbacks(self, given: dict, species) -> dict:
        """The options that were given, and those that the species make necessary."""
        given = self.with_presets(given, species)
        chosen = self.checked_options(given)
        found = {
            fallback.option: fallback.value
            for fallback in self.fallbacks.values()
            if fallback.option not in given and fallback.serves(chosen, species)
        }

        return found | given

    def species_values(self, key: str, given, names) -> np.ndarray:
        """Positive numbers (ns,) from `given`: one number for all species, ns numbers, or {species name: number} with
        the default for the others. key: name of the declared number. Raises ArgumentError."""
        if isinstance(given, dict):
            by_name = {}
            for name, number in given.items():
                own = own_name(name, names)
                if own is None:
                    raise ArgumentError(f"{key}: no species {name!r} in this mixture{closest(name, names)}.")
                refuse(own in by_name, f"{key}: species {own!r} is given more than once.")
                by_name[own] = number
            given = [by_name.get(name, self.species_numbers[key].default) for name in names]

        numbers = real_array(key, given)
        try:
            values = np.broadcast_to(numbers, (len(names),))
        except ValueError:
            raise ArgumentError(
                f"{key} = {given!r}; wanted a number, {len(names)} numbers, or numbers by species name."
            ) from None

        refuse(not (np.isfinite(values) & (values > 0)).all(), f"{key} = {given!r}; wanted positive numbers.")
        return values


def _apart(one: Provider, other: Provider) -> bool:
    """Whether no options suit both makers."""
    conditions = dict(other.when)
    return any(key in conditions and not set(values) & set(conditions[key]) for key, values in one.when)


registry = GasRegistry(declared)
