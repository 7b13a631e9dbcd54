"""The page of commands, from the parsers of `python -m frame`: what a command does, its usage, a table of arguments."""

import argparse

from frame.tools.cli import MIXTURE, MODELS

USAGE, LONG = 84, 40  # letters of a line, and of an argument
SHARED = {MIXTURE: "The mixture", MODELS: "Its models"}  # groups of options that several commands have: head


def page(parser) -> str:
    """The page in Markdown."""
    lines = ["# Commands", "", "`castles-frame` is the same as `python -m frame`."]
    lines += ["`--help` after a command prints these texts.", ""]
    commands = _commands_of(parser)

    lines += ["| command | what it does |", "|---|---|"]
    lines += [f"| [`{name}`](#{name}) | {_text(purpose)} |" for name, purpose, _ in commands]
    for name, purpose, command in commands:
        lines += _command(name, purpose, command, level=2)

    lines += ["", "## Options of a mixture", "", "Commands that take `--mixture` have these, too."]
    example = next(command for name, _, command in commands if name == "info")
    for title, head in SHARED.items():
        lines += ["", f"### {head}", ""]
        lines += _arguments(example, [group for group in example._action_groups if group.title == title])

    return "\n".join(lines)


def _commands_of(parser) -> list[tuple]:
    """(name, what it does, its parser) of each command below a parser."""
    found = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            purposes = {choice.dest: choice.help or "" for choice in action._choices_actions}
            found += [(name, purposes.get(name, ""), command) for name, command in action.choices.items()]

    return found


def _command(name, purpose, parser, level) -> list[str]:
    """The section of a command, and of the commands below it."""
    lines = ["", f"{'#' * level} {name}", "", _sentence(parser.description or purpose), ""]
    lines += ["```text", _usage(parser), "```", ""]

    lines += _arguments(parser, [group for group in parser._action_groups if group.title not in SHARED])
    if any(group.title in SHARED for group in parser._action_groups):
        lines += ["", "And [the options of a mixture](#options-of-a-mixture)."]
    if parser.epilog:
        lines += ["", _text(parser.epilog)]

    for below, what, command in _commands_of(parser):
        lines += _command(f"{name} {below}", what, command, level + 1)

    return lines


def _arguments(parser, groups) -> list[str]:
    """A table of the arguments of these groups; nothing where there are none."""
    formatter = parser._get_formatter()
    rows = []
    for group in groups:
        rows += [_argument(formatter, action) for action in group._group_actions if _is_argument(action)]

    return ["| argument | meaning |", "|---|---|", *rows] if rows else []


def _is_argument(action) -> bool:
    hidden = isinstance(action, (argparse._HelpAction, argparse._SubParsersAction))
    return not hidden and action.help is not argparse.SUPPRESS


def _usage(parser) -> str:
    formatter = argparse.HelpFormatter(parser.prog, width=USAGE, max_help_position=24)
    formatter.add_usage(parser.usage, parser._actions, parser._mutually_exclusive_groups, prefix="")
    return formatter.format_help().strip()


def _argument(formatter, action) -> str:
    meaning = formatter._expand_help(action) if action.help else ""
    argument = formatter._format_action_invocation(action)
    if len(argument) > LONG:
        argument = argument.replace(",", ", ")  # a line may end there

    return f"| `{argument}` | {_text(meaning)} |"


def _sentence(text) -> str:
    text = _text(text)
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def _text(text) -> str:
    """Plain text for a cell or a paragraph of Markdown."""
    for mark in "\\*_|<$[":
        text = text.replace(mark, f"\\{mark}")
    return " ".join(text.split())
