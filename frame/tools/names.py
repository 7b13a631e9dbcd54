"""`python -m frame names`: all collections, kernels and quantities as Markdown, from the declarations alone.

docs/reference/names.md is the output without options; a test compares them:
python -m frame names > docs/reference/names.md
"""

import itertools

import kernels
from kernels.gas.species.fields import FIELDS

from ..impl.launchers import variants
from . import REGISTER
from .tables import markdown

registry = kernels.registry
PLAIN = {key: values[0] for key, values in kernels.OPTIONS.items()}
SHAPES = {
    "": "point",
    "ns": "species",
    "ns-1": "species but the last",
    "ns*ns": "pair of species",
    "nq": "variable",
    "nq*nq": "pair of variables",
    "nr": "reaction",
    "nz": "unknown of a reactor",
    "nz*nz": "pair of unknowns of a reactor",
}


COMMAND = dict(help="what may be launched: collections with their other names, single kernels, and every quantity")
NEEDS_MIXTURE = False
ARGUMENTS = {"--register": {**REGISTER, "help": "declarations of the host's own kernels, listed too"}}


def main(given, mixture=None) -> None:
    """Prints the page for the options of the command."""
    for file in given.register:
        kernels.load_declarations(file)

    options = {key: getattr(given, key) or value for key, value in PLAIN.items()}
    print("\n".join(page(options, given.said)))


# Text of the page, between its tables.
HEAD = (
    "A host launches a collection by its name or by the name that the routine has in solvers of this family, in any "
    "case of letters; a kernel by its own name. `Mixture.properties` takes the names of quantities. Names in brackets "
    "are used where they are given."
)
USED_BY = (
    "Used by: collections that contain the kernel, with the options they need for it where these are not the default."
)
SPECIES_DATA = (
    "Of `SpeciesData.from_arrays`, and of `frame_populatepreosshareddata` and `frame_populatechungshareddata` under "
    "the names in the last column. Tc and pc may be left out where a and b are given."
)
OPTIONS = "Of `Mixture(...)`, `frame_setoption` and the commands' `--mixture`; the first value is the default."


def page(options, said="names") -> list[str]:
    """The lines of the page. options: all options; they decide on the kernels of a collection."""
    return [
        f"<!-- written by python -m frame {said}; do not edit -->",
        "# What may be launched",
        "",
        HEAD,
        *section("Collections", collections(options)),
        *section("Kernels", single(), USED_BY),
        *section("Quantities", quantities()),
        *section("Options", values_of_options(), OPTIONS),
        *section("Constants that a host sets", constants()),
        *section("Species data", species_data(), SPECIES_DATA),
        *section("Team kernels", teams()),
    ]


def section(title: str, table: list[str], text: str = "") -> list[str]:
    """A heading, a text if there is one, and a table. No lines for a table without rows."""
    if not table:
        return []
    return ["", f"## {title}", *(["", text] if text else []), "", *table]


def collections(options) -> list[str]:
    """Lines of the table of collections."""
    rows = []
    for c in registry.collections.values():
        try:
            order = " ".join(k.name for k in kernels.resolve(c.outputs, c.given, options))
        except kernels.ArgumentError as error:
            order = _in_equilibrium(c, options) or f"none: {error}"

        rows.append(
            (
                c.name,
                c.what,
                " ".join(c.aliases),
                " ".join([*c.given, *(f"[{q}]" for q in c.optional)]),
                " ".join(c.outputs),
                order,
            )
        )

    return markdown(("collection", "what", "also called", "from", "makes", "kernels"), *rows)


def _in_equilibrium(collection, options) -> str:
    """The kernels of a collection for phases = equilibrium; empty if there are none."""
    try:
        order = kernels.resolve(collection.outputs, collection.given, {**options, "phases": "equilibrium"})
    except kernels.ArgumentError:
        return ""
    return " ".join(k.name for k in order) + " (phases equilibrium)"


def single() -> list[str]:
    """Lines of the table of kernels."""
    users = used_by()
    rows = []
    for kernel in registry.kernels.values():
        written = [registry.quantities[name] for name in kernel.writes]
        rows.append(
            (
                kernel.name,
                "; ".join(f"{q.name} [{q.unit}] {q.what}" for q in written),
                " ".join(kernel.reads),
                kernel.source,
                f"{kernel.valid}; {kernel.note}" if kernel.note else kernel.valid,
                users[kernel.name],
            )
        )

    return markdown(("kernel", "makes", "reads", "source", "valid", "used by"), *rows)


def quantities() -> list[str]:
    """Lines of the table of quantities."""
    rows = []
    for q in registry.quantities.values():
        makers = [kernel.name for kernel in registry.kernels.values() if q.name in kernel.writes]
        rows.append((q.name, q.unit, SHAPES[q.per], q.what, " ".join(makers)))

    return markdown(("quantity", "unit", "a value for each", "what", "made by"), *rows)


def values_of_options() -> list[str]:
    """Lines of the table of options."""
    rows = [(option.name, " ".join(option.values), option.what) for option in registry.options.values()]
    return markdown(("option", "values", "what"), *rows)


def constants() -> list[str]:
    """Lines of the table of constants that a host sets by frame_setconstant. Only kernels of a host have such
    constants."""
    rows = []
    for c in registry.settable.values():
        default = " ".join(map(repr, c.default or ())) or "has to be set"
        bounds = "{:g} to {:g}".format(*c.range) if c.range else ""
        rows.append((c.name, c.unit, str(c.count or ""), c.what, default, bounds))

    return markdown(("constant", "unit", "values", "what", "default", "range"), *rows) if rows else []


def species_data() -> list[str]:
    """The arrays over the species that a host may hand over in place of a file."""
    rows = []
    for field in FIELDS:
        if field.default is None:
            default = ""
        else:
            default = "unknown" if field.may_lack else f"{field.default:g}"
        shape = " x ".join(field.shape)
        rows.append((field.name, field.unit, shape, field.what, field.range, default, field.host))

    return markdown(("array", "unit", "shape", "what", "range", "default", "from Fortran"), *rows)


def teams() -> list[str]:
    """Lines of the table of team kernels. Only hosts declare team kernels."""
    rows = []
    for kernel in registry.team_kernels.values():
        read = [_shown(array) for array in kernel.arrays if not array.written]
        written = [_shown(array) for array in kernel.arrays if array.written]
        rows.append(
            (
                kernel.name,
                str(kernel.items),
                " ".join(read),
                " ".join([*written, *[array.name for array in kernel.outputs]]),
                " ".join(name for name, _ in kernel.numbers),
                kernel.source,
            )
        )

    return markdown(("team kernel", "over", "reads", "writes", "numbers", "source"), *rows) if rows else []


def _shown(array) -> str:
    """An array with its extents: u(i,j)."""
    return f"{array.name}({','.join(array.extents)})"


def used_by() -> dict[str, str]:
    """{kernel: collections that contain it}, with the default options or with as few changed options as possible.

    Collections count without and with their optional inputs.
    """
    # {kernel: {collection: options in words}}
    found: dict[str, dict[str, str]] = {name: {} for name in registry.kernels}
    for options, changes in _option_sets():
        for collection in registry.collections.values():
            for kernel in _kernels_of(collection, options):
                needed = changes if kernel.serves(PLAIN) else _when(kernel)
                found[kernel.name].setdefault(collection.name, needed)

    return {name: _in_words(collections) for name, collections in found.items()}


def _kernels_of(collection, options) -> list:
    """The kernels of a collection with these options, without and with its optional inputs."""
    out = []
    for more in variants(collection.name):
        try:
            out += kernels.resolve(collection.outputs, [*collection.given, *more], options)
        except kernels.ArgumentError:
            continue

    return out


def _in_words(collections: dict[str, str]) -> str:
    """{collection: options} as text: "a b; c (option value)"."""
    by_options: dict[str, list[str]] = {}
    for collection, options in collections.items():
        by_options.setdefault(options, []).append(collection)

    parts = []
    for options, names in by_options.items():
        parts.append(f"{' '.join(names)} ({options})" if options else " ".join(names))

    return "; ".join(parts) or "by itself"


def _when(kernel) -> str:
    """The values of options that the kernel needs, if the default is not among them."""
    return ", ".join([f"{key} {' or '.join(values)}" for key, values in _needs(kernel).items()])


def _needs(kernel) -> dict[str, tuple[str, ...]]:
    """{option: values with which the kernel is used}, for options whose default is not among them."""
    needs = {key: tuple(values) for key, values in kernel.when if PLAIN[key] not in values}
    return needs | ({"phases": (kernel.phases,)} if kernel.phases == "equilibrium" else {})


def _option_sets():
    """Yields (all options, the changes in words) with up to two options changed from the default, and with as many as a
    kernel needs.

    Only values that some kernel asks for count. Combinations that are refused are left out.
    """
    # Values that some kernel asks for.
    needed = set()
    for kernel in registry.kernels.values():
        needed.add(("phases", kernel.phases))
        for key, values in kernel.when:
            needed |= {(key, value) for value in values}

    changes = []
    for key, values in kernels.OPTIONS.items():
        changes += [(key, value) for value in values[1:] if (key, value) in needed]

    sets = [dict(chosen) for count in range(3) for chosen in itertools.combinations(changes, count)]
    for kernel in registry.kernels.values():
        needs = {key: values[0] for key, values in _needs(kernel).items()}
        if needs not in sets:
            sets.append(needs)

    for options in sets:
        try:
            all_options = registry.checked_options(options)
        except kernels.ArgumentError:
            continue

        yield all_options, ", ".join(f"{key} {value}" for key, value in options.items())
