"""A Cantera YAML file: parsed data as maps that know their place in the file and their units; reactions as text."""

from __future__ import annotations

import difflib
import functools
import importlib.util
import itertools
import math
import os
import re
import shlex
import stat
import warnings
from pathlib import Path

from ruamel.yaml import YAML

from ...engine.errors import MixtureError
from .cantera_text import first_document, text_of
from .gas_constant import GAS_CONSTANT
from .units import Units, short as _short

ALIKE = 0.8  # likeness of two keys, by difflib, from which one is taken for the other misspelt
REMARKS = ("note", "source")  # keys of text that counts for nothing
LARGEST = 2**24  # bytes of a file; mechanisms of 7000 species have 12 MB
DEEPEST = 60  # maps within maps
SHORT = 2**17  # characters of a text whose data are kept: of 100 species, or of as many reactions
ALIASES = 10  # largest factor by which YAML aliases may lengthen a file
# Words and lines of a file without its reactions. The reader takes 30 us for a word, 10 s for this number: 5000 species
# with 60 words and lines each.
MOST = 300_000
WORD = re.compile(r"[^\s,:\[\]{}]+|[\[{\n]")
# A section of reactions, about two thirds of a usual file. It stays text until a rate is needed. A section with an
# anchor is parsed at once, since other sections may refer to it.
REACTIONS = re.compile(
    r"^([\w-]*reactions):[ \t]*(?:#[^\n]*)?\n(?:(?:[ \t#]|-(?!--))[^\n&]*(?:\n|\Z)|\n)*(?![\s\[{#]|-(?!--))", re.M
)

# Quotations in the YAML reader's messages; some are its own marks, such as ',' or '<stream end>'
QUOTATION = re.compile(r"""'[^'\n]*'|"[^"\n]*"|`[^`\n]*`""")
MARK = re.compile(r"'([^\w\s]{1,2}|<[a-z ]+>)'")


def _without_contents(problem: str) -> str:
    """A message of the YAML reader without quotations of the file, which may be any file."""
    first = problem.replace(r"character '\t'", "a tab").partition("\n")[0]
    return QUOTATION.sub(lambda found: found[0] if MARK.fullmatch(found[0]) else "a value", first).strip()


class Node:
    """A map of the file with its place in the file, for messages, and the default units there.

    All methods raise MixtureError, with place and key, for data of the wrong kind.
    """

    def __init__(self, data, where, units):
        self.data, self.where = data, where
        if not isinstance(data, dict):
            self.fail(f"got {_short(data)}, wanted a map.")

        try:
            self.units = units.inside(data)
        except ValueError as error:
            self.fail(f"{error}.")

    def fail(self, text):
        raise MixtureError(f"{self.where}: {text}")

    def refuse(self, wrong, text):
        if wrong:
            self.fail(text)

    def has(self, key):
        return self.data.get(key) is not None

    def need(self, key, wanted):
        self.refuse(not self.has(key), f"{key} is missing, wanted {wanted}.")
        return self.data[key]

    def child(self, key, wanted=None):
        """The map under `key`. wanted: its description in messages; None: the map may be absent, and is then empty."""
        is_absent = wanted is None and not self.has(key)
        data = {} if is_absent else self.need(key, wanted)
        return Node(data, f"{self.where}: {key}", self.units)

    def number(self, key, unit="1", default=None):
        """A finite number, in `unit`. Unit "1" also serves numbers that Cantera keeps in fixed units (angstrom, debye).
        default: the value if the key is absent."""
        if not self.has(key) and default is not None:
            return default
        value = self.need(key, f"a number in {unit}")
        try:
            return self.units.convert(value, unit)
        except ValueError as error:
            self.fail(f"{key}: {error}.")

    def positive(self, key, unit):
        number = self.number(key, unit)
        self.refuse(not number > 0, f"{key}: got {_short(self.data[key])}, wanted a positive number.")
        return number

    def text(self, key, wanted):
        value = self.need(key, wanted)
        self.refuse(not isinstance(value, str) or not value, f"{key}: got {_short(value)}, wanted {wanted}.")
        return value

    def choice(self, key, known, wanted):
        value = self.text(key, wanted)
        self.refuse(value not in known, f"{key} is {_short(value)}, wanted {wanted}.")
        return value

    def items(self, key, wanted, least=0, most=math.inf):
        """A list of `least` to `most` items."""
        value = self.need(key, wanted)
        good = isinstance(value, list) and least <= len(value) <= most
        self.refuse(not good, f"{key}: got {_short(value)}, wanted {wanted}.")
        return value

    def finite(self, key, value, wanted):
        try:
            number = math.nan if isinstance(value, bool) else float(value)
        except (TypeError, ValueError, OverflowError):
            number = math.nan

        self.refuse(not math.isfinite(number), f"{key}: got {_short(value)}, wanted {wanted}.")
        return number

    def only(self, *known):
        """Refuses all other keys: a misspelt key would otherwise be ignored in silence."""
        for key in self.data:
            self.refuse(key not in known, f"unknown key {_short(key)}, wanted some of {', '.join(known)}.")

    def spelt(self, *known):
        """Refuses a key that resembles one of these: misspelt, it would be ignored in silence. Others are the
        author's own, and so is what resembles a remark."""
        written = {_plain(key): key for key in known if key not in REMARKS}
        for key in self.data:
            for like in [] if key in known else difflib.get_close_matches(_plain(key), written, 1, ALIKE):
                self.fail(f"unknown key {_short(key)}, did you mean {written[like]!r}?")


def _plain(key) -> str:
    """A key without its letter case, with hyphens."""
    return str(key).lower().replace("_", "-")


def _written_out(node, sizes):
    """Number of YAML nodes below a node with all aliases written out; infinite if the node contains itself.

    sizes: {id of a node: number}, filled on the way.
    """
    if id(node) in sizes:
        return sizes[id(node)]

    sizes[id(node)] = math.inf  # until the children are counted: a node that contains itself finds this number
    size = 1

    for part in node.value if isinstance(node.value, list) else []:
        children = part if isinstance(part, tuple) else [part]  # a map has pairs of key and value
        for child in children:
            size += _written_out(child, sizes)

    sizes[id(node)] = size
    return size


def _without_reactions(text, passed_over):
    """The text with blank lines instead of sections of reactions; these go to `passed_over`, by name.

    All lines keep their numbers. Raises ValueError if the rest is too long to be read in a reasonable time.
    """

    def pass_over(section):
        lines = text.count("\n", 0, section.start())
        passed_over[section[1]] = "\n" * lines + section[0]
        return "\n" * section[0].count("\n")

    text = REACTIONS.sub(pass_over, text)
    if next(itertools.islice(WORD.finditer(text.strip()), MOST, None), None):
        raise ValueError(f"more than {MOST} words and lines beside its reactions; leave out species that are not used")

    return text


def _parsed(text):
    """The data of a YAML document, which nobody changes: those of short texts are kept. Raises the errors of the YAML
    reader; ValueError for aliases that grow too long."""
    return _parsed_once(text) if len(text) < SHORT else _read(text)


@functools.lru_cache(maxsize=16)
def _parsed_once(text):
    return _read(text)


def _read(text):
    yaml = YAML(typ="safe", pure=True)
    yaml.max_depth = DEEPEST
    constructor, _ = yaml.get_constructor_parser(text)
    yaml.composer.warn_double_anchors = False  # the warning would quote the file

    sizes: dict = {}
    node = yaml.composer.get_single_node()
    if node is not None and _written_out(node, sizes) > ALIASES * len(sizes) + 1e5:
        raise ValueError("its aliases stand for too much, or for themselves")

    return node and constructor.construct_document(node)


def cantera_data():
    """Cantera's data folder; None if Cantera is not installed. Cantera is not imported."""
    spec = importlib.util.find_spec("cantera")
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(spec.submodule_search_locations[0]) / "data"


def _located(path, beside):
    """The path of a file: from the folder `beside`, if any; in Cantera's data folder if it exists only there."""
    here = path if beside is None else beside / path
    data = cantera_data()
    if data and not os.path.exists(here) and os.path.isfile(data / path):
        return data / path
    return here


def _searched():
    """The end of the message on a file that does not exist: what Cantera's data folder has to do with it."""
    if cantera_data():
        return "; neither has Cantera's data folder such a file"
    return "; Cantera is not installed, in whose data folder it would be looked for too"


# The first statement of a CHEMKIN mechanism, behind comments; a colon behind the word is YAML's
CHEMKIN = re.compile(r"\A(?:\s*(?:![^\n]*)?\n)*\s*(?:ELEM|SPEC|THERM|REAC)\w*(?=[\s/!]|\Z)(?!\s*:)", re.IGNORECASE)


def _chemkin(text, path) -> str:
    """Advice on a CHEMKIN file, a sentence with a blank before it; "" for any other text."""
    if not CHEMKIN.match(text):
        return ""
    command = f"python -m frame mechanisms --convert {shlex.quote(str(path))}"
    return f" It seems to be a CHEMKIN file: {command} makes a Cantera file of it."


class File:
    """A parsed YAML file. path: the file; top: its map; passed_over: {section of reactions: text}, not parsed.

    beside: a folder from which a relative path starts. R: the molar gas constant, J/mol/K, by which activation energies
    become temperatures. Raises MixtureError if the file cannot be read.
    """

    def __init__(self, path, beside=None, R=GAS_CONSTANT):
        self.R = R
        self.path = _located(Path(path), beside)
        path = self.path

        try:
            facts = self.path.stat()
            if not stat.S_ISREG(facts.st_mode) or facts.st_size > LARGEST:  # a pipe or a device may have no end
                raise ValueError(f"no regular file, or larger than {LARGEST >> 20} MiB")
            self.passed_over: dict[str, str] = {}
            text, has_more = first_document(text_of(self.path.read_bytes()))
            text = _without_reactions(text, self.passed_over)
        except UnicodeDecodeError:
            raise MixtureError(f"{path}: is not a text file, wanted Cantera YAML.") from None
        except (OSError, ValueError) as error:  # ValueError: also for a path with a null byte
            reason = getattr(error, "strerror", error)
            searched = "" if os.path.exists(path) else _searched()
            raise MixtureError(f"{path}: cannot be read ({reason}){searched}.") from None

        if has_more:
            warnings.warn(f"{path}: has several YAML documents; the first is read, as by Cantera.", stacklevel=4)

        self.top = Node(self._data(text), str(path), Units(R=R))
        self.top.spelt("units")

    def beside(self, path) -> File:
        """Another file, by its path from this file's folder."""
        return File(path, self.path.parent, self.R)

    def _data(self, text):
        """The map of a text of this file. Raises MixtureError with line and column."""
        try:
            data = _parsed(text)
        except Exception as error:  # errors of the YAML reader, and of Python for bad numbers, dates and keys
            problem = getattr(error, "problem", None) or str(error)
            problem = _without_contents(problem)
            mark = getattr(error, "problem_mark", None)
            where = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
            raise MixtureError(
                f"{self.path}: is not valid YAML: {problem or type(error).__name__}{where}.{_chemkin(text, self.path)}"
            ) from None

        if not isinstance(data, dict):
            came = "nothing" if data is None else type(data).__name__
            raise MixtureError(f"{self.path}: got {came}, wanted a map.{_chemkin(text, self.path)}")

        return data

    def reactions(self, section):
        """The entries [Node] of a section of reactions.

        A first entry that has only `units` sets the units of the list.
        """
        text = self.passed_over.get(section)
        top = self.top if text is None else Node(self._data(text), self.top.where, self.top.units)
        out, units = [], top.units

        for number, item in enumerate(top.items(section, "a list of reactions"), 1):
            node = Node(item, f"{self.path}: {section}, entry {number}", units)
            if number == 1 and set(node.data) == {"units"}:
                units = node.units
                continue

            equation = node.text("equation", "the reaction's equation")
            node.where = f"{self.path}: reaction {_short(equation)} ({section}, entry {number})"
            out.append(node)

        return out

    def section(self, name):
        """{species: Node} of a section, in the order of the file.

        A first entry that has only `units` sets the units of the list.
        """
        out, units = {}, self.top.units
        for number, item in enumerate(self.top.items(name, "a list of species"), 1):
            node = Node(item, f"{self.path}: {name}, entry {number}", units)
            if number == 1 and set(node.data) == {"units"}:
                units = node.units
                continue

            key = node.text("name", "the name of the species")
            self.top.refuse(key in out, f"species {_short(key)} is defined more than once in section {_short(name)}.")
            node.where = f"{self.path}: species {_short(key)}"
            out[key] = node

        return out
