"""Keys of a case that a command sets: --set section.key=value."""

from __future__ import annotations

from .errors import CaseError, wanted


def tomllib():
    """Python's reader of TOML."""
    try:
        import tomllib as toml
    except ImportError:  # Python 3.10
        try:
            import tomli as toml
        except ImportError:
            raise CaseError("case files need Python 3.11 or newer, or the package tomli.") from None
    return toml


def change(data, changes):
    """Change keys of a case. data: the case as a table. changes: texts "section.key=value", values as in TOML. A value
    takes the place of the whole value before it, also where both are tables."""
    for text in changes:
        keys, value = _change(text)

        table = data
        for key in keys[:-1]:
            table = table.setdefault(key, {})
            wanted(isinstance(table, dict), f"--set {text}: '{key}' is not a table in the case.")

        table[keys[-1]] = value


def _change(text) -> tuple[list[str], object]:
    """(keys, value) of "section.key=value"."""
    said = f"--set {text}: wanted section.key=value, texts in quotes as in TOML"
    try:
        value = tomllib().loads(text)
    except tomllib().TOMLDecodeError as error:
        raise CaseError(f"{said} ({error}).") from None

    keys = []
    for _ in _keys(text):
        wanted(len(value) == 1, f"{said}, one key.")
        ((key, value),) = value.items()
        keys.append(key)

    return keys, value


def _keys(text) -> list[str]:
    """The keys before the equals sign of a line of TOML; a key in quotes may have such a sign, too."""
    signs = [place for place, character in enumerate(text) if character == "="]
    for sign in signs:
        try:
            table = tomllib().loads(text[:sign] + "= 0")
        except tomllib().TOMLDecodeError:
            continue

        keys = []
        while isinstance(table, dict) and table:
            ((key, table),) = table.items()
            keys.append(key)
        if keys:
            return keys

    raise CaseError(f"--set {text}: wanted section.key=value.")
