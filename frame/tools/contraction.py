"""`python -m frame contraction TEXT`: how a tensor expression is organised, and the C++ or CUDA of its kernels."""

import kernels
from kernels.contractions import ComplexContraction, Contraction, text as language

from . import texts

STYLES = {"cpp": "cpu", "cuda": "cuda"}  # language: the backend that takes it
TARGET = "sm_90"  # of CUDA without --arch
TYPES = (*Contraction.DTYPES, *ComplexContraction.DTYPES)

COMMAND = dict(help="show how a tensor expression is organised, and print the generated C++ or CUDA")
NEEDS_MIXTURE = None
ARGUMENTS = {
    "text": dict(metavar="TEXT|NAME|FILE", help="statements, a name such as eqn1, or a file of statements or of TCR"),
    "--print": dict(choices=(*STYLES, "statements"), help="the kernels' source; statements: the text as it is read"),
    "--size": dict(default="", metavar="i=12,j=8", help="extents; 12: of every index"),
    "--type": dict(choices=TYPES, default="float64", help="default: float64"),
    "--batch": dict(metavar="INDEX", help="the index with a free extent (default: as the text has it)"),
    "--how": dict(metavar="NAME", help="an organisation (default: of the table in force, else the model's choice)"),
    "--order": dict(type=int, metavar="N", help="of evaluation, among the cheapest"),
    "--arch": dict(default=TARGET, help=f"of cuda: the target (default: {TARGET})"),
}


def main(given, _mixture) -> None:
    """Prints the explanation, or what --print asks for. Raises ArgumentError."""
    text, options = texts.text_of(given.text)
    if given.batch is not None:
        options = {**options, "batch": given.batch}
    script = language.read(text, **options)
    if given.print == "statements":
        print(*script.expression.statements, sep="\n")
        return

    sizes = texts.top(script, given.size)
    backend = kernels.get_backend(STYLES.get(given.print, "cpu"), arch=given.arch if given.print == "cuda" else None)
    kind = ComplexContraction if given.type in ComplexContraction.DTYPES else Contraction
    plan = kind(text, sizes, given.type, backend=backend, how=given.how, order=given.order, **options)
    if not given.print:
        print(plan.explain())
        return
    for part in plan.shown():
        print(*_source(part), sep="\n", end="\n\n")


def _source(plan: Contraction) -> list[str]:
    """The source of a plan, below comments that say what it computes."""
    lines = [f"// {statement}" for statement in plan.program.statements]
    lines.append(f"// organisation {plan.how}, {plan.dtype.name}; headers are included by their path from kernels/")
    if plan.how.sums_by_a_vendor(plan.program):
        lines.append("// products of matrices: the vendor's library; below, what copies arrays for it")
    return [*lines, plan.source.text if plan.source else "// no kernel of its own"]
