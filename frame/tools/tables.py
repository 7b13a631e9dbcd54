"""Tables as text, for a terminal and as Markdown."""

from collections.abc import Sequence


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table, headings first: the first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = []
    for first, *others in rows:
        cells = [first.ljust(widths[0])]
        for text, width in zip(others, widths[1:]):
            cells.append(text.rjust(width))
        lines.append("  ".join(cells).rstrip())

    return lines


def to_the_left(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table, headings first, all columns to the left."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = []
    for row in rows:
        cells = [text.ljust(width) for text, width in zip(row, widths)]
        lines.append("  ".join(cells).rstrip())

    return lines


def markdown_row(cells: Sequence[str]) -> str:
    """A line of a Markdown table. A bar inside a cell is escaped."""
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def markdown(head: Sequence[str], *rows: Sequence[str], to_the_right: bool = False) -> list[str]:
    """Lines of a Markdown table. to_the_right: of all columns but the first."""
    rule = ["---"] + ["---:" if to_the_right else "---"] * (len(head) - 1)
    return [markdown_row(row) for row in (head, rule, *rows)]
