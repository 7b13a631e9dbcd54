"""Sphinx: Markdown by MyST, and the pages that are generated from the sources. No network is used."""

import contextlib
import io
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

import commands  # noqa: E402
import docstrings  # noqa: E402
import formulas  # noqa: E402
import pages  # noqa: E402

import kernels  # noqa: E402
from frame.entry import ENTRIES  # noqa: E402
from frame.tools import cli  # noqa: E402

project = author = kernels.DISTRIBUTION
release = kernels.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton", "sphinx_design"]
exclude_patterns = ["build"]

# Markdown: formulas between dollars, directives between colons.
html_math_renderer = "mathml"
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3

# Python: an argument a line where a signature is long.
autodoc_member_order = "bysource"
autodoc_typehints = "none"
python_maximum_signature_line_length = 88

# Look: the theme's, on desktops and phones, light and dark; wide tables and pictures by pages.css.
html_theme = "furo"
html_title = f"{project} {release}"
html_static_path = ["static"]
html_css_files = ["pages.css"]
html_copy_source = False
copybutton_exclude = ".linenos, .gp, .go"


def setup(app):
    app.add_html_math_renderer("mathml", formulas.renderer("inline"), formulas.renderer("block"))
    app.connect("autodoc-process-docstring", docstrings.process)
    app.connect("html-page-context", pages.finish)


def _said(*arguments) -> str:
    """The output of the command."""
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


def _options() -> str:
    """Each value of each option with its formula and source, as the models declare them."""
    lines = ["# Options", "", "Made from the models' declarations. The first value of an option is its default.", ""]
    for option in kernels.registry.options.values():
        lines += [f"## {option.name}", "", f"{option.what[0].upper()}{option.what[1:]}.", ""]
        lines += [line for value, text in option.about for line in (f"**`{value}`**: {text}", "")]
    return "\n".join(lines)


_said("bench", "figures")  # docs/pictures/*.svg

made = {"entry_points": _entry_points(), "commands": commands.page(cli._parser()), "options": _options()}
for name, text in made.items():
    (HERE / "reference" / f"{name}.md").write_text(text + "\n")
