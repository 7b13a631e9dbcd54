"""`python -m frame contraction TEXT`: how a tensor expression is organised, and the C++ or CUDA of its kernel."""

import pathlib

import kernels
from kernels.contractions import Contraction, barracuda, text as texts
from kernels.contractions.contraction import TYPES

from .bench import tensor_tune

STYLES = {"cpp": "cpu", "cuda": "cuda"}  # language: the backend that takes it
TARGET = "sm_90"  # of CUDA without --arch

COMMAND = dict(help="show how a tensor expression is organised, and print the generated C++ or CUDA")
NEEDS_MIXTURE = None
ARGUMENTS = {
    "text": dict(metavar="TEXT|NAME|FILE", help="statements, a name such as eqn1, or a file of statements or of TCR"),
    "--print": dict(choices=(*STYLES, "statements"), help="the kernel's source; statements: the text as it is read"),
    "--size": dict(default="", metavar="i=12,j=8", help="extents; 12: of every index"),
    "--type": dict(choices=TYPES, default="float64", help="default: float64"),
    "--batch": dict(metavar="INDEX", help="the index with a free extent (default: as the text has it)"),
    "--how": dict(metavar="NAME", help="an organisation (default: of the table in force, else the model's choice)"),
    "--order": dict(type=int, metavar="N", help="of evaluation, among the cheapest"),
    "--arch": dict(default=TARGET, help=f"of cuda: the target (default: {TARGET})"),
}


def main(given, _mixture) -> None:
    """Prints the explanation, or what --print asks for. Raises ArgumentError."""
    text, options = _text(given.text)
    if given.batch is not None:
        options = {**options, "batch": given.batch}
    script = texts.read(text, **options)
    if given.print == "statements":
        print(*script.expression.statements, sep="\n")
        return

    # Extents: the command's, else the text's; of a range its upper end.
    sizes = {index: allowed[-1] for index, allowed in script.extents.items()}
    if given.size:
        told = tensor_tune.sizes_of(given.size)
        every = told.pop("", None)
        missing = [i for i in script.expression.indices if every and i not in sizes]
        sizes |= {**dict.fromkeys(missing, every or 0), **told}
    sizes = tensor_tune.extents_of(script.expression, sizes)

    backend = kernels.get_backend(STYLES.get(given.print, "cpu"), arch=given.arch if given.print == "cuda" else None)
    plan = Contraction(text, sizes, given.type, backend=backend, how=given.how, order=given.order, **options)
    if given.print:
        print(*(source.text for source in plan.how.shown(plan)), sep="\n")
    else:
        print(plan.explain())


def _text(given: str) -> tuple[str, dict]:
    """(text, options) of a file, of a name, or the text itself."""
    path = pathlib.Path(given)
    looks_like_a_file = len(given) < 256 and not any(c in given for c in "=[\n;>")
    if looks_like_a_file and path.is_file():
        text = path.read_text()
        return (barracuda.statements(text) if barracuda.is_file(text) else text), {}
    return tensor_tune.text_of(given)
