"""The search for the kernels that lead from given quantities to wanted ones, and its error messages."""

from __future__ import annotations

from ..engine.errors import ArgumentError, refuse
from .records import ANY, SINGLE, PointKernel, made_by
from .registry import registry


def resolve(outputs, given, options) -> list[PointKernel]:
    """The kernels that lead from `given` to `outputs`, in an order in which the inputs of each are known.

    Several kernels may write a name. The first declared is chosen that is for these options and whose inputs can be
    computed; kernels with `given` names are tried before the others, those with the most first. A kernel that updates a
    name in place is chosen only if this name is both given and among the outputs: other inputs are never changed. If
    all its reads are given, it runs first, and the other kernels read the updated values. Quantities that are carried
    from call to call are given to such a kernel only.

    An inversion, such as T from e and rho, is used if its inputs are given. If that does not lead to the outputs, it is
    also used if its inputs follow from the given names, as e and rho from conserved variables or a host's own kernels.
    Raises ArgumentError, which names the missing quantities.
    """
    registry.refuse_unknown_quantity([*outputs, *given])
    known = set(given)

    while True:
        search = Search(outputs, given, options, frozenset(known))
        search.refuse_idle_start(outputs)
        try:
            search.make_all(outputs)
            return search.order
        except ArgumentError:
            more = known | search.reach()
            if more == known:
                raise
            known = more


_served: dict[tuple, tuple[list[PointKernel], list[PointKernel]]] = {}
SERVED = 200  # sets of options that are kept


def serving(options) -> list[PointKernel]:
    """The kernels for these options, those with the most `given` names first. They are found once for the options and
    the kernels that are declared."""
    declared = list(registry.kernels.values())
    key = (*map(id, declared), *sorted(options.items()))
    if key in _served:
        return _served[key][1]

    kernels = [kernel for kernel in declared if kernel.serves(options)]
    made = made_by(kernels)
    served = sorted((kernel.reading(made) for kernel in kernels), key=lambda kernel: -len(kernel.given))

    if len(_served) == SERVED:
        _served.clear()
    _served[key] = declared, served  # the cache holds the declared kernels, so that their ids stay taken
    return served


class Search:
    """A search under way.

    known: names from which inversions may start: the given names, and names that follow from them. order: the kernels
    chosen so far. have: names that are known behind these. missing: quantities that no kernel can compute, for the
    message.
    """

    def __init__(self, outputs, given, options, known: frozenset[str]):
        self._given, self._options = tuple(dict.fromkeys(given)), options
        self._known = known
        self.order: list[PointKernel] = []
        self.missing: set[str] = set()
        self._makers: dict[str, list[PointKernel]] = {}

        updating: list[PointKernel] = []
        for kernel in self._candidates(set(outputs)):
            for name in kernel.writes:
                self._makers.setdefault(name, []).append(kernel)
            if _updates(kernel):
                updating.append(kernel)

        # Quantities that are updated in place come first. Y may be computed from X for them.
        self.have = set(given)
        makeable = self.have | ({"Y"} if "X" in given else set())
        for kernel in updating:
            if set(kernel.reads) <= makeable and ("Y" not in kernel.reads or self.make("Y", frozenset())):
                self.order.append(kernel)
                self.have.update(kernel.writes)

    def _candidates(self, outputs: set[str]):
        """The kernels that may take part, in the order in which they are tried."""
        given = set(self._given)

        for kernel in serving(self._options):
            if not _updates(kernel) <= given & outputs:
                continue
            if kernel.given and not (_starts(kernel, given) or _starts(kernel, self._known)):
                continue
            yield kernel

    def make_all(self, outputs) -> None:
        """Find the kernels for these names. Raises ArgumentError for a name that cannot be computed."""
        for name in outputs:
            self.missing.clear()
            if not self.make(name, frozenset()):
                raise ArgumentError(self.refusal(name))

    def reach(self) -> set[str]:
        """All names that the candidates can compute."""
        found = set(self._given)
        candidates = {kernel for kernels in self._makers.values() for kernel in kernels}

        while True:
            more: set[str] = set()
            for kernel in candidates:
                if found.issuperset(kernel.reads):
                    more.update(kernel.writes)

            if more <= found:
                return found
            found |= more

    def make(self, name: str, underway: frozenset[PointKernel]) -> bool:
        """Whether `name` can be computed; its kernels are then in `order`. underway: the kernels that wait for it."""
        if name in self.have:
            return True

        able = [kernel for kernel in self._makers.get(name, ()) if kernel not in underway]
        for kernel in able:
            mark, known = len(self.order), set(self.have)
            found = [self.make(read, underway | {kernel}) for read in kernel.reads]  # all: the message names them
            if all(found):
                if kernel not in self.order:
                    self.order.append(kernel)
                    self.have.update(kernel.writes)
                return True

            del self.order[mark:]
            self.have = known

        if name not in self._makers or not able and name in ("X", "Y"):  # X and Y are made from each other
            self.missing.add(name)
        return False

    def refuse_idle_start(self, outputs) -> None:
        """Raise ArgumentError for a given start that no kernel of this search takes up and updates."""
        carried = [name for name in self._given if registry.quantities[name].carried]
        if not carried:
            return

        unasked = [name for name in carried if name not in outputs]
        refuse(
            unasked,
            f"'{', '.join(unasked)}' was given: it is a start, which the launch updates; ask for it, too (from "
            "Fortran: frame_inout).",
        )

        if not any(set(carried) <= _updates(kernel) for kernel in self.order):
            ways = [k.reads for k in registry.kernels.values() if set(carried) <= _updates(k)]
            raise ArgumentError(
                f"'{', '.join(carried)}' was given as a start, but {', '.join(self._given)} is no set of which a start "
                f"is a part{self._other_options(carried[0])}; wanted {' or '.join(' '.join(way) for way in ways)}."
            )

    # ---- messages
    def refusal(self, name: str) -> str:
        """Why an output cannot be computed."""
        came = ", ".join(self._given) or "nothing"
        if not self.missing:
            return f"'{name}' cannot be computed from {came} together{self._ways()}."

        missing = self.missing
        if missing & {"X", "Y"}:
            missing = missing - {"X", "Y"} | {"Y (or X)"}
        lacks = [registry.with_unit(lack) + self._instead(lack) + self._other_options(lack) for lack in missing]
        return f"'{name}' cannot be computed from {came}: missing {', '.join(sorted(lacks))}.{self._begun()}"

    def _begun(self) -> str:
        """The quantities that are missing for kernels whose `given` names the host has given."""
        there, text = self.reach(), ""
        for kernel in dict.fromkeys(kernel for kernels in self._makers.values() for kernel in kernels):
            lacks = [name for name in kernel.reads if name not in there and name not in self._makers]
            is_begun = kernel.given and set(kernel.given) <= set(self._given)
            if is_begun and lacks and not {"T", "p"} & set(lacks):
                text += f" {', '.join(kernel.writes)} would follow from {', '.join(kernel.given)} with "
                text += f"{', '.join(lacks)}."

        return text

    def _inversions(self, name: str) -> list[PointKernel]:
        """The kernels for these options that compute `name` by inversion."""
        return [kernel for kernel in serving(self._options) if kernel.given and name in kernel.writes]

    def _instead(self, name: str) -> str:
        """The names that may be given in the place of `name`, one shortest set for each inversion. More than two names
        are no simple way out."""
        sets = {kernel.given for kernel in self._inversions(name) if len(kernel.given) <= 2}
        ways = sorted(" and ".join(way) for way in sets if not any(set(other) < set(way) for other in sets))
        return f" (or {', or '.join(ways)})" if ways else ""

    def _ways(self) -> str:
        """Sentences on the inputs from which T and p, if they were not given, can be computed. For calls where nothing
        is missing, but no kernel takes the combination."""
        plain = self._of_temperature()
        text = ""
        for name in (name for name in ("T", "p") if name not in self._given):
            ways = set()
            for kernel in self._inversions(name):
                inputs = (*kernel.given, "T", "p")
                state = [read for read in kernel.reads if read in inputs or read not in plain]
                if "T_start" not in state:  # no way of its own: where an iteration starts
                    ways.add(" and ".join(state))
            text += f"; with Y, {name} is computed from {', or from '.join(sorted(ways))}" if ways else ""
        return text

    def _of_temperature(self) -> set[str]:
        """The quantities that follow from T and a composition alone."""
        found, before = {"T", "X", "Y"}, 0
        while len(found) > before:
            before = len(found)
            for kernel in serving(self._options):
                if set(kernel.reads) <= found:
                    found.update(kernel.writes)
        return found

    def _other_options(self, name: str) -> str:
        """The options for which no kernel makes `name`, if kernels for others do."""
        wrong = unserved(name, self._options)
        return f" (not there for {wrong})" if wrong else ""


def unserved(name: str, options) -> str:
    """The options for which no kernel writes `name`, as `key = 'value'`; "" if a kernel serves them, or none any."""
    makers = [kernel for kernel in registry.kernels.values() if name in kernel.writes]
    if not makers or any(kernel.serves(options) for kernel in makers):
        return ""

    phases = options.get("phases", SINGLE)
    wrong = _wrong_options([kernel for kernel in makers if kernel.phases in (ANY, phases)], options)

    if any(kernel.serves({**options, "phases": kernel.phases}) for kernel in makers):
        beside = f" with {', '.join(wrong)}" if wrong else ""
        return f"phases = '{phases}'{beside}"

    return ", ".join(wrong or _wrong_options(makers, options))


def _wrong_options(kernels, options) -> list[str]:
    """The options that keep `kernels` from serving, as `key = 'value'`: those of the kernel that lacks the fewest."""
    lacks = [[key for key, values in kernel.when if options.get(key) not in values] for kernel in kernels]
    fewest = min([keys for keys in lacks if keys], key=len, default=[])
    return [f"{key} = '{options.get(key)}'" for key in sorted(fewest)]


def _starts(kernel: PointKernel, known) -> bool:
    """Whether the names that the kernel asks for are known, and its results are not."""
    return known.issuperset(kernel.given) and known.isdisjoint(kernel.writes)


def _updates(kernel: PointKernel) -> set[str]:
    """Names that the kernel changes in place."""
    return set(kernel.reads) & set(kernel.writes)
