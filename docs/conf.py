"""Sphinx: Markdown by MyST, and the pages that are generated from the sources. No network is used."""

import contextlib
import io
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import docutils.nodes  # noqa: E402
import latex2mathml.converter  # noqa: E402

import kernels  # noqa: E402
from frame.entry import ENTRIES  # noqa: E402
from frame.tools import cli  # noqa: E402

project = author = kernels.DISTRIBUTION
release = kernels.__version__
extensions = ["myst_parser"]
html_math_renderer = "mathml"
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["build"]
html_theme = "alabaster"
html_theme_options = {"description": "Real-gas properties and tensor expressions for Fortran flow solvers"}


def _math(kind):
    """Formulas as MathML, which browsers show without a script and without a network."""

    def visit(self, node):
        self.body.append(latex2mathml.converter.convert(node.astext(), display=kind))
        raise docutils.nodes.SkipNode

    return visit, None


def setup(app):
    app.add_html_math_renderer("mathml", _math("inline"), _math("block"))


def _said(*arguments) -> str:
    """What the command prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        cli.main(arguments)
    return out.getvalue().rstrip()


def _entry_points() -> str:
    lines = ["# Entry points", "", "Made from `frame/entry.py`. Old-style symbols are `frame_NAME_`.", ""]
    for entry in ENTRIES:
        names = [f"`frame_{entry.name}_`"] * entry.old + [f"module: `frame_{entry.fortran}`"] * bool(entry.fortran)
        lines += [f"## {entry.name}", "", f"{', '.join(names) or 'called by the module'}. {entry.doc}", ""]
        for a in entry.args:
            shape = ", " + " x ".join(a.dims) if a.dims else ""
            lines += [f"- `{a.name}` ({a.kind}{shape}): {a.doc}"] * bool(a.doc)
        lines += [""]
    return "\n".join(lines)


def _commands() -> str:
    lines = ["# Commands", "", "`castles-frame` is the same as `python -m frame`.", ""]
    overview = _said("--help")
    names = overview.split("{", 1)[1].split("}", 1)[0].split(",")
    lines += ["```text", overview, "```", ""]
    for name in names:
        lines += [f"## {name}", "", "```text", _said(name, "--help"), "```", ""]
    return "\n".join(lines)


def _options() -> str:
    """Each value of each option with its formula and source, as the models declare them."""
    lines = ["# Options", "", "Made from the models' declarations. The first value of an option is its default.", ""]
    for option in kernels.registry.options.values():
        lines += [f"## {option.name}", "", f"{option.what[0].upper()}{option.what[1:]}.", ""]
        lines += [line for value, text in option.about for line in (f"**`{value}`**: {text}", "")]
    return "\n".join(lines)


_said("bench", "figures")  # docs/pictures/*.svg

for name, text in (("entry_points", _entry_points()), ("commands", _commands()), ("options", _options())):
    (HERE / "reference" / f"{name}.md").write_text(text + "\n")
