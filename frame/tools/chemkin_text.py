"""CHEMKIN files in the form that Cantera's converter (3.2) reads as they are meant.

The converter takes one datum of a line of auxiliary data and drops the others. It has no place for a fifth element,
whose letters hide the temperature beside it. It needs a line of temperatures behind THERMO. It gives a reaction of REV
the units of another order. It does not know UNITS/CAL/. Such lines are rewritten.
What it would drop in silence is refused with file and line: efficiencies without a third body, numbers too many.

Source: Kee, Rupley & Miller, CHEMKIN-II, SAND89-8009 (original not seen).
"""

from __future__ import annotations

import dataclasses
import pathlib
import re

from ..errors import MixtureError, refuse

SECTION = re.compile(
    r"\s*(ELEM(?:ENTS)?|SPEC(?:IES)?|SITE|THERMO?|REAC(?:TIONS?)?|TRAN(?:SPORT|S)?|END)(?![^\s/])\s*(.*)", re.IGNORECASE
)
NUMBER = r"[+-]?(?:\d+\.\d*|\.\d+)"
DOUBLE = re.compile(rf"(?<![\w.])({NUMBER})[dD](?=[+-]?\d+\b)")
WITHOUT_LETTER = re.compile(rf"(?<![^\s/])({NUMBER})(?=[+-]\d{{1,3}}(?![^\s/!]))")  # 1.0+100 is 1.0E+100
PER_MOLE = re.compile(r"\s*UNITS\s*/\s*(CAL|K?JOULES)\s*/\s*", re.IGNORECASE)  # energies of a reaction's rate
CONTINUED = re.compile(r"&[ \t]*(?:!.*)?$")
DATUM = re.compile(r"\s*([^/\s]+)(?:\s*/([^/]*)/)?")  # LOW/1E20 0 0/, H2/2.0/, DUP
THIRD_BODY = re.compile(r"(?:^|[=>+])M(?=$|[=<+])|\(\+", re.IGNORECASE)  # of an equation without blanks
# Auxiliary data: how many numbers and words they have; what a reaction has once; what goes with what.
COUNTS = {
    "LOW": (3,),
    "HIGH": (3,),
    "REV": (3,),
    "TROE": (3, 4),
    "SRI": (3, 5),
    "PLOG": (4,),
    "FORD": (2,),
    "TCHEB": (2,),
    "PCHEB": (2,),
}
ONCE = ("LOW", "HIGH", "REV", "TROE", "SRI", "TCHEB", "PCHEB")
NEEDS = {"TROE": ("LOW", "HIGH"), "SRI": ("LOW", "HIGH"), "TCHEB": ("CHEB",), "PCHEB": ("CHEB",)}  # one of these
OF_PRESSURE = ("PLOG", "CHEB")  # their third body has no efficiencies
NOT_REVERSED = ("LOW", "HIGH", *OF_PRESSURE)  # what REV says of such a rate is not known
ARROW = re.compile("<=>|=>|=")
OTHERS = ("CHEB", "UNITS", "COV", "STICK", "MWON", "MWOFF")
USUAL_RANGES = "300.0 1000.0 5000.0"  # temperatures [K] where neither file has its own


@dataclasses.dataclass
class Line:
    """A line of a file, or a part of one."""

    number: int  # in the file, from 1
    text: str

    @property
    def bare(self) -> str:
        """Without its comment."""
        return self.text.partition("!")[0]

    def substitute(self, exponent: re.Pattern) -> None:
        """Writes Fortran's exponents as the converter reads them, in front of the comment."""
        bare = self.bare
        self.text = exponent.sub(r"\1E", bare) + self.text[len(bare) :]

    def spell_energy(self) -> None:
        """Writes UNITS/CAL/ as the converter reads it, UNITS/CAL/MOLE/."""
        found = PER_MOLE.fullmatch(self.bare)
        if found:
            self.text = f"UNITS/{found[1]}/MOLE/"


@dataclasses.dataclass
class Entry:
    """A reaction with its auxiliary data."""

    line: Line | None = None  # of the equation and its rate; None: of lines in front of the first reaction
    lines: list[Line] = dataclasses.field(default_factory=list)  # further ones, each datum on a line of its own
    data: list[tuple[Line, str, str | None]] = dataclasses.field(default_factory=list)  # (line, keyword, values)

    def add(self, line: Line) -> None:
        found = _data(line)
        self.data += [(line, *datum) for datum in found]

        for part in _apart(line, found):
            part.spell_energy()
            self.lines.append(part)

    @property
    def equation(self) -> str:
        """Without blanks."""
        return "".join(self.line.bare.split()[:-3]) if self.line else ""

    @property
    def keys(self) -> list[str]:
        return [key for _, key, _ in self.data]

    @property
    def reverse(self) -> list[str]:
        """The three numbers of REV; [] without it, or where A is 0: then there is no reverse reaction."""
        rates = [value.split() for _, key, value in self.data if key == "REV" and value]
        return rates[0] if rates and float(rates[0][0]) else []

    @property
    def rewritten(self) -> list[Line]:
        """The lines; with the rate of the reverse two reactions, each in one direction."""
        if not self.line or not self.reverse:
            return [*([self.line] if self.line else []), *self.lines]

        left, right = ARROW.split(self.equation, maxsplit=1)
        rate = " ".join(self.line.bare.split()[-3:])
        number = self.line.number
        others = [line for line in self.lines if not line.bare.strip().upper().startswith("REV")]
        of_both = [line for line in others if not line.bare.strip().upper().startswith("FORD")]
        return [
            Line(number, f"{left}=>{right} {rate}"),
            *others,
            Line(number, f"{right}=>{left} {' '.join(self.reverse)}"),
            *of_both,
        ]


class Text:
    """The lines of a CHEMKIN file, rewritten for the converter. Raises MixtureError, with file and line.

    path: the file. other: the text of the chemistry where this file has its thermodynamic data only; its species count.
    permissive: pass over what CHEMKIN refuses, as the converter's option.
    """

    def __init__(self, path: pathlib.Path, other: Text | None = None, permissive=False):
        self.path, self.permissive = path, permissive
        self.lines = [Line(number, text) for number, text in enumerate(_decoded(path).split("\n"), 1)]
        for line in self.lines:
            line.substitute(DOUBLE)
        self.declared: set[str] = other.declared if other else {name.upper() for name in self._species()}
        self.ranges: str = self._default_ranges()

    def __str__(self) -> str:
        return "\n".join(line.text for line in self.lines)

    def number(self, place: int) -> int:
        """The line of the file at a place in the rewritten text; both from 1."""
        return self.lines[min(place, len(self.lines)) - 1].number

    def rewrite(self, ranges: str = "") -> None:
        """Rewrites the sections of reactions and of thermodynamic data.

        ranges: the default temperatures, for a section THERMO that has none.
        """
        out: list[Line] = []
        for name, lines in self._sections():
            if name == "REAC":
                lines = self._reactions(lines)
            elif name == "THER" and lines:
                lines = self._thermo(lines, ranges or USUAL_RANGES)
            elif name == "TRAN":
                lines[0].text = re.sub(r"\btrans\b", "TRANSPORT", lines[0].text, count=1, flags=re.IGNORECASE)
            out += lines

        self.lines = out

    def refuse(self, wrong, line: Line, said: str) -> None:
        refuse(wrong, f"{self.path}, line {line.number}: {said}", MixtureError)

    def _sections(self) -> list[tuple[str, list[Line]]]:
        """[(first four letters of the keyword, or NASA9; lines, that of the keyword first)]. "" stands in front."""
        out: list[tuple[str, list[Line]]] = [("", [])]
        for line in self.lines:
            found = SECTION.match(line.bare)
            if found:
                nasa9 = found[2].upper().startswith("NASA9")
                out.append(("NASA9" if nasa9 else found[1][:4].upper(), []))

            out[-1][1].append(line)

        return out

    def _species(self) -> list[str]:
        names = []
        for section, lines in self._sections():
            if section == "SITE":
                self.refuse(True, lines[0], "surfaces are not read, wanted no section SITE.")
            if section == "SPEC":
                names += " ".join(line.bare for line in lines).split()

        return names

    def _default_ranges(self) -> str:
        """The default temperatures of the section THERMO; "" if it has none."""
        for section, lines in self._sections():
            following = [line for line in lines[1:] if line.bare.strip()]
            if section == "THER" and following:
                return _three_numbers(following[0].bare)
        return ""

    # Reactions

    def _reactions(self, lines: list[Line]) -> list[Line]:
        """Each auxiliary datum on a line of its own; the data of each reaction are checked."""
        entries = [Entry()]
        for line in _joined(lines[1:]):
            line.substitute(WITHOUT_LETTER)
            if "=" in line.bare:
                entries.append(Entry(line))
            else:
                entries[-1].add(line)

        out = lines[:1]
        for entry in entries:
            self._check(entry)
            out += entry.rewritten

        return out

    def _check(self, entry: Entry) -> None:
        """Refuses auxiliary data of a reaction that the converter would drop, or would not read as they are meant."""
        self._check_rate(entry)
        equation, keys = entry.equation, entry.keys
        alone = not THIRD_BODY.search(equation) and not set(OF_PRESSURE) & set(keys)

        for line, key, value in entry.data:
            if key in COUNTS:
                self._check_values(line, key, value)
            if value is None:
                continue
            datum = f"{key}/{value.strip()}/"
            twice = key in ONCE and keys.count(key) > 1
            self.refuse(twice, line, f"{datum}: {equation} has {key} more than once.")
            if key == "REV" and entry.reverse:
                self._check_reverse(line, datum, entry)
            without = key in NEEDS and not set(NEEDS[key]) & set(keys)
            self.refuse(without, line, f"{datum}: {equation} has no {' or '.join(NEEDS.get(key, ()))}.")

            if alone and not self.permissive and key not in COUNTS and key not in OTHERS:
                said = "an efficiency, but the reaction has no third body +M"
                if key not in self.declared:
                    said = "no species, and no auxiliary datum that is read"
                self.refuse(True, line, f"{datum} of {equation}: {said}.")

    def _check_rate(self, entry: Entry) -> None:
        """Refuses an equation without three numbers behind it, and data in front of the first equation."""
        if entry.line:
            words = entry.line.bare.split()[-3:]
            wrong = len(words) < 3 or not all(map(_is_number, words))
            self.refuse(wrong, entry.line, f"{entry.line.bare.strip()!r}: wanted A, b and E behind the equation.")
        else:
            for line, key, _ in entry.data:
                self.refuse(True, line, f"{key} stands in front of the first reaction.")

    def _check_values(self, line: Line, key: str, value: str | None) -> None:
        words = (value or "").split()
        datum = f"{key}/{' '.join(words)}/"
        wanted = " or ".join(map(str, COUNTS[key]))
        self.refuse(len(words) not in COUNTS[key], line, f"{datum} has {len(words)} values, wanted {wanted}.")
        for word in words[1:] if key == "FORD" else words:  # FORD/H2 0.5/
            self.refuse(not _is_number(word), line, f"{datum}: {word!r} is no number.")

    def _check_reverse(self, line: Line, datum: str, entry: Entry) -> None:
        beside = [key for key in NOT_REVERSED if key in entry.keys]
        said = (
            f"{datum} of {entry.equation} stands beside {' and '.join(beside)}: which rate it reverses is not known. "
        )
        self.refuse(beside, line, said + "Wanted a reaction of its own for the reverse, or REV/0 0 0/.")
        one_way = "=>" in entry.equation and "<=>" not in entry.equation
        self.refuse(one_way, line, f"{datum}: {entry.equation} has no reverse; wanted = or <=>.")

    # Thermodynamic data

    def _thermo(self, lines: list[Line], ranges: str) -> list[Line]:
        """The default temperatures behind the keyword; elements and temperatures where the converter looks. A section
        without data is left out: the converter would look for the temperatures there."""
        head, rest = lines[0], lines[1:]
        first = next((k for k, line in enumerate(rest) if line.bare.strip()), None)
        if first is None:
            return []

        given = _three_numbers(rest[first].bare)
        if given:
            del rest[first]
        for line in rest:
            line.text = self._entry(line)
        return [head, Line(head.number, given or ranges), *rest]

    def _entry(self, line: Line) -> str:
        """The first line of a species with seven coefficients; any other line as it is."""
        text = line.bare.rstrip()
        name = text[:24].split()[:1]
        if not name or name[0].upper() not in self.declared:
            return line.text
        self.refuse("\t" in text, line, f"{name[0]}: a tab among data whose columns count, wanted blanks.")
        if text[79:80] != "1" or text.endswith("&"):
            return line.text

        # Four elements: two letters and a number of three digits each. Some files have the phase a column early.
        early = text[39:43].isspace() and text[43] in "GLS"
        for start in (24, 29, 34) if early else (24, 29, 34, 39):
            self._element(line, text[start : start + 5])

        # The intermediate temperature: 10 columns in many files, 8 where a fifth element begins behind it.
        if not text[65:75].strip() or _is_number(text[65:75]):
            return line.text
        middle = text[65:73]
        said = f"{name[0]}: got {text[65:75]!r} in columns 66 to 75, wanted the temperature where the ranges meet."
        self.refuse(middle.strip() and not _is_number(middle), line, said)

        # The converter reads further elements behind column 80, ten columns each.
        symbol, count = self._element(line, text[73:78])
        beyond = text[80:]
        if count:
            beyond = beyond.ljust(-(-len(beyond) // 10) * 10) + f"{symbol:<2}{count:>8}"
        return text[:73].ljust(79) + "1" + beyond

    def _element(self, line: Line, field: str) -> tuple[str, int]:
        """(symbol, atoms) of five columns; 0 atoms where they hold no element."""
        symbol, count = field[:2].strip(), field[2:].strip()
        if not re.search("[A-Za-z]", field) or symbol.isalpha() and not count:
            return symbol, 0

        whole = symbol.isalpha() and _is_number(count) and float(count) == int(float(count))
        said = f"got {field!r}, wanted an element in two columns and its number of atoms in three."
        self.refuse(not whole, line, f"{line.text[:24].split()[0]}: {said}")
        return symbol, int(float(count))


def _decoded(path: pathlib.Path) -> str:
    """A file in UTF-8 or Latin-1, with plain line ends."""
    data = path.read_bytes()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _joined(lines: list[Line]) -> list[Line]:
    """Lines that go on behind & in one."""
    out: list[Line] = []
    goes_on = False

    for line in lines:
        text = CONTINUED.sub(" ", line.text)
        if goes_on:
            out[-1].text += text
        else:
            out.append(Line(line.number, text))

        goes_on = text != line.text

    return out


def _data(line: Line) -> list[tuple[str, str | None]]:
    """[(keyword or species in capital letters, text between slashes)] of a line; [] for a line that is none of them."""
    text, out, end = line.bare.rstrip(), [], 0
    while found := DATUM.match(text, end):
        out.append((found[1].upper(), found[2]))
        end = found.end()

    return out if end == len(text) else []


def _apart(line: Line, data: list[tuple[str, str | None]]) -> list[Line]:
    """A line for each keyword; efficiencies that follow one another stay on a line."""
    if not any(key in COUNTS or key in OTHERS for key, _ in data) or len(data) < 2:
        return [line]

    out: list[Line] = []
    efficiencies = False

    for found in DATUM.finditer(line.bare.rstrip()):
        key = found[1].upper()
        were, efficiencies = efficiencies, key not in COUNTS and key not in OTHERS and found[2] is not None

        if were and efficiencies:
            out[-1].text += found[0]
        else:
            out.append(Line(line.number, " " + found[0].strip()))

    out[-1].text += line.text[len(line.bare) :]
    return out


def _is_number(text: str) -> bool:
    """Whether the converter takes a text for a number."""
    try:
        float(text.strip().lower().replace("d", "e").replace("e ", "e+"))
    except ValueError:
        return False
    return True


def _three_numbers(text: str) -> str:
    """Three temperatures, between blanks or in ten columns each; "" for any other text."""
    for words in (text.split(), [text[:10], text[10:20], text[20:30]]):
        if len(words) == 3 and all(map(_is_number, words)):
            return " ".join(word.strip() for word in words)
    return ""
