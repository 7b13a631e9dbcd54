"""Formulas as MathML, which browsers show without a script and without a network.

Browsers do not break MathML at the end of a line. A formula is therefore written in parts between which a line may end.
"""

import docutils.nodes
import latex2mathml.converter

SHORT = 42  # letters of TeX that fit into a line of a phone


def renderer(kind):
    """(visit, depart) for Sphinx. kind: inline, or block: a formula that stands by itself."""

    def visit(self, node):
        text = " ".join(latex2mathml.converter.convert(part) for part in parts(node.astext()))
        if kind == "block":
            text = text.replace("<math ", '<math displaystyle="true" ')
            text = f'<div class="formula">{text}</div>'

        self.body.append(text)
        raise docutils.nodes.SkipNode

    return visit, None


def parts(text) -> list[str]:
    """The parts of a formula: they end behind commas and semicolons, a long part also before = and +."""
    found = []
    for part in _split(text, behind=",;"):
        found += [part] if len(part) <= SHORT else _joined(_split(part, before="=+"))
    return found


def _split(text, behind="", before="") -> list[str]:
    """Text cut behind or before these letters, outside of brackets, scripts and spaces such as `\\,`."""
    found, depth, last = [""], 0, ""
    for letter in text:
        is_free = depth == 0 and last not in ("\\", "_", "^")
        depth += (letter in "{([") - (letter in "})]")
        if is_free and letter in before:
            found.append("")
        found[-1] += letter
        if is_free and letter in behind:
            found.append("")
        last = letter

    return [part for part in found if part.strip()]


def _joined(pieces) -> list[str]:
    """Pieces put together again as long as they are short."""
    found = [""]
    for piece in pieces:
        if found[-1] and len(found[-1]) + len(piece) > SHORT:
            found.append("")
        found[-1] += piece
    return found
