"""`python -m frame names`: all collections, kernels and quantities as Markdown, from the declarations alone.

docs/reference/names.md is its output without options, which a test compares:
python -m frame names > docs/reference/names.md
"""

import itertools

import kernels
from kernels.gas.species.fields import FIELDS

from ..impl.launchers import variants
from . import REGISTER

registry = kernels.registry
PLAIN = {key: values[0] for key, values in kernels.OPTIONS.items()}
SHAPES = {
    "": "point",
    "ns": "species",
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
    """Print the page for the options that are given."""
    for file in given.register:
        kernels.load_declarations(file)
    print("\n".join(page({key: getattr(given, key) or value for key, value in PLAIN.items()}, given.said)))


def page(options, said="names") -> list[str]:
    """The lines of the page; the kernels of a collection are those for these options."""
    return [
        f"<!-- written by python -m frame {said}; do not edit -->",
        "# What may be launched",
        "",
        "A host launches a collection by its name or by the name that the routine has in solvers of this family, in "
        "any case of letters; a kernel by its "
        "own name. `Mixture.properties` takes the names of quantities. Names in brackets are used where they are "
        "given.",
        "",
        "## Collections",
        "",
        *collections(options),
        "",
        "## Kernels",
        "",
        "Used by: collections that contain the kernel, with the options they need for it where these are not the "
        "default.",
        "",
        *single(),
        "",
        "## Quantities",
        "",
        *quantities(),
        "",
        "## Options",
        "",
        "Of `Mixture(...)`, `frame_setoption` and the commands' `--mixture`; the first value is the default.",
        "",
        *_table(
            ("option", "values", "what"), *((o.name, " ".join(o.values), o.what) for o in registry.options.values())
        ),
        *constants(),
        *species_data(),
        *teams(),
    ]


def _table(*rows) -> list[str]:
    head, *body = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    return ["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *body)]


def collections(options) -> list[str]:
    """Lines of the table of collections."""
    rows = []
    for c in registry.collections.values():
        try:
            made = " ".join(k.name for k in registry.resolve(c.outputs, c.given, options))
        except kernels.ArgumentError as error:
            made = f"none: {error}"
        rows.append(
            (
                c.name,
                c.what,
                " ".join(c.aliases),
                " ".join([*c.given, *(f"[{q}]" for q in c.optional)]),
                " ".join(c.outputs),
                made,
            )
        )
    return _table(("collection", "what", "also called", "from", "makes", "kernels"), *rows)


def single() -> list[str]:
    """Lines of the table of kernels."""
    where = used_by()
    return _table(
        ("kernel", "makes", "reads", "source", "valid", "used by"),
        *(
            (
                k.name,
                "; ".join(f"{w} [{registry.quantities[w].unit}] {registry.quantities[w].what}" for w in k.writes),
                " ".join(k.reads),
                k.source,
                k.valid + (f"; {k.note}" if k.note else ""),
                where[k.name],
            )
            for k in registry.kernels.values()
        ),
    )


def quantities() -> list[str]:
    """Lines of the table of quantities."""
    return _table(
        ("quantity", "unit", "a value for each", "what", "made by"),
        *(
            (
                q.name,
                q.unit,
                SHAPES[q.per],
                q.what,
                " ".join(k.name for k in registry.kernels.values() if q.name in k.writes),
            )
            for q in registry.quantities.values()
        ),
    )


def constants() -> list[str]:
    """Those that a host sets by frame_setconstant; the project's own kernels have none."""
    rows = [
        (
            c.name,
            c.unit,
            str(c.count or ""),
            c.what,
            " ".join(map(repr, c.default or ())) or "has to be set",
            "{:g} to {:g}".format(*c.range) if c.range else "",
        )
        for c in registry.settable.values()
    ]
    head = ("constant", "unit", "values", "what", "default", "range")
    return ["", "## Constants that a host sets", "", *_table(head, *rows)] if rows else []


def species_data() -> list[str]:
    """The arrays over the species that a host may hand over in place of a file."""
    rows = []
    for field in FIELDS:
        default = "" if field.default is None else "unknown" if field.may_lack else f"{field.default:g}"
        shape = " x ".join(field.shape)
        rows.append((field.name, field.unit, shape, field.what, field.range, default, field.host))

    said = (
        "Of `SpeciesData.from_arrays`, and of `frame_populatepreosshareddata` and `frame_populatechungshareddata` "
        "under the names in the last column. Tc and pc may be left out where a and b are given."
    )
    head = ("array", "unit", "shape", "what", "range", "default", "from Fortran")
    return ["", "## Species data", "", said, "", *_table(head, *rows)]


def teams() -> list[str]:
    """Team kernels; the project has none of its own."""
    shown = lambda arrays: " ".join(f"{a.name}({','.join(a.extents)})" for a in arrays)
    rows = [
        (
            k.name,
            f"{k.kind} {' '.join(k.count)}",
            shown(a for a in k.arrays if not a.written),
            " ".join([shown(a for a in k.arrays if a.written), *k.sums]).strip(),
            " ".join(name for name, _ in k.numbers),
            k.source,
        )
        for k in registry.team_kernels.values()
    ]
    head = ("team kernel", "over", "reads", "writes", "numbers", "source")
    return ["", "## Team kernels", "", *_table(head, *rows)] if rows else []


def used_by() -> dict[str, str]:
    """{kernel: the collections that contain it}, with the default options, or else with the fewest options changed.
    Collections are taken both without and with their optional inputs."""
    found: dict[str, dict[str, str]] = {name: {} for name in registry.kernels}
    for options, said in _option_sets():
        for c in registry.collections.values():
            for more in variants(c.name):
                try:
                    order = registry.resolve(c.outputs, [*c.given, *more], options)
                except kernels.ArgumentError:
                    continue
                for kernel in order:
                    found[kernel.name].setdefault(c.name, said if kernel.serves(PLAIN) else _when(kernel))
    out = {}
    for name, those in found.items():
        groups: dict[str, list[str]] = {}
        for collection, said in those.items():
            groups.setdefault(said, []).append(collection)
        out[name] = (
            "; ".join(" ".join(group) + (f" ({said})" if said else "") for said, group in groups.items()) or "by itself"
        )
    return out


def _when(kernel) -> str:
    """The values of options that the kernel needs, where they exclude the default."""
    return ", ".join(f"{key} {' or '.join(values)}" for key, values in kernel.when if PLAIN[key] not in values)


def _option_sets():
    """Pairs (all options, the changes from the default in words) with no, one or two options changed. Combinations that
    are refused are left out."""
    changes = [(key, value) for key, values in kernels.OPTIONS.items() for value in values[1:]]
    needed = {(key, value) for k in registry.kernels.values() for key, values in k.when for value in values}
    for count in range(3):
        for some in itertools.combinations([c for c in changes if c in needed], count):
            given = dict(some)
            try:
                if len(given) == count:
                    yield registry.checked_options(given), ", ".join(f"{key} {value}" for key, value in some)
            except kernels.ArgumentError:
                pass
