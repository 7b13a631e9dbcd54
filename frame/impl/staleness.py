"""Which views hold current values.

Each view has a Content: a name and a Filling, which is the record of the call that gave the view its values. A launch
or a copy out may read a view if the view holds the present stripe, enough points, and results of inputs that have not
changed since.

There are no arrays and no devices here.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

USED = -1  # `when` of a filling that a launch has read
_numbers = itertools.count(1)


class Filling:
    """The values that a call gave to a view, or to several views.

    Results are stale as soon as a view that they were computed from, directly or through other views, is filled again.
    A launch may overwrite a view that its own inputs were computed from: h from T, then T from h. T is then the newest
    value, and h remains valid, since T was computed from it.
    """

    __slots__ = (
        "stripe",  # (first, last) of its points, as Fortran counts
        "count",  # number of points
        "basis",  # results of a launch: (content, number of its filling) of each view that the launch read
        "maker",  # results of a launch: name of the launch; "" for values of the host
        "when",  # number of launches before the filling; USED: a launch has read it, or it is a result
        "number",  # identifies this filling
    )

    def __init__(self, stripe=None, count=0, basis=(), maker="", when=USED):
        self.stripe = stripe
        self.count = count
        self.basis = basis
        self.maker = maker
        self.when = when
        self.number = next(_numbers)

    def changed(self, content: Content) -> Content | None:
        """A view behind this filling of `content` that was filled again since; None if there is no such view."""
        seen = {content}
        open_ = [(content, self)]

        while open_:
            result, filled = open_.pop()
            for source, number in filled.basis:
                now = source.filled
                is_same = now.number == number
                if not is_same and not now.came_from(result, filled.number):
                    return source

                if is_same and now.basis and source not in seen:
                    seen.add(source)
                    open_.append((source, now))

        return None

    def came_from(self, content: Content, number: int) -> bool:
        """Whether this filling was computed from filling `number` of `content`, directly or through other views."""
        seen: set[Content] = set()
        open_ = [self]

        while open_:
            for source, used in open_.pop().basis:
                if source is content and used == number:
                    return True
                if source.filled.number == used and source not in seen:
                    seen.add(source)
                    open_.append(source.filled)

        return False

    def gone(self, name: str) -> str:
        """Why the values of the view `name` are no longer there; "" if they are there."""
        return ""


class Lost(Filling):
    """Values of the block before. by: the view whose filling began the present block."""

    __slots__ = ("by",)

    def __init__(self, maker: str, by: str):
        super().__init__(maker=maker)
        self.by = by

    def gone(self, name: str) -> str:
        since = f"('{self.by}' has been filled from another array since)"
        if self.maker:
            return f"is stale: '{self.maker}' computed it for another block {since}"
        return f"holds another block's points {since}: populate '{name}' for this block"


class OfMixtureBefore(Filling):
    """Values from the time of another mixture: results, or values of its species."""

    __slots__ = ()

    def gone(self, name: str) -> str:
        if self.maker:
            return f"is stale: '{self.maker}' computed it for the mixture before"
        return f"is stale: it holds values for the species of the mixture before; populate '{name}' for this mixture"


EMPTY = Filling()


class Content:
    """A view's name and the record of its values."""

    __slots__ = (
        "name",
        "parts",  # Q: the contents of the views that are rows of it
        "covered",  # whether the parts are all rows
        "filled",  # Filling
        "source",  # for the present block: the array and bounds that the host filled it from, or None
    )

    def __init__(self, name: str, parts: tuple[Content, ...] = (), covered: bool = False):
        self.name = name
        self.parts = parts
        self.covered = covered
        self.filled = EMPTY
        self.source: Any = None


class Staleness:
    """The record of all views of a thread.

    contents: Content by name; views may be added later. makers(name): names of launches that compute a view.
    elsewhere(name): whether another thread has filled its view of this name. Both are for messages only.
    """

    def __init__(
        self,
        contents: Mapping[str, Content],
        makers: Callable[[str], Iterable[str]] = lambda name: (),
        elsewhere: Callable[[str], bool] = lambda name: False,
    ):
        self._contents = contents
        self._makers = makers
        self._elsewhere = elsewhere
        self.stripe: tuple[int, int] | None = None  # (first, last) of the stripe that was filled last
        self.launches = 0
        self.filled = False  # whether any view holds values

    # ---- values come

    def fill(self, content: Content, stripe: tuple[int, int], count: int, source) -> None:
        """The host filled a view with `count` points of a stripe of `source`. Results computed from it are stale.

        If a launch has read the view before, and it now comes from another array, another block begins: values filled
        before the last launch are lost.
        """
        before = content.source
        if before is not source and before is not None and before != source and content.filled.when == USED:
            self._begin_block(content.name)

        self.stripe = stripe
        self.filled = True
        filling = Filling(stripe, count, (), "", self.launches)

        for each in (content, *content.parts):
            each.filled = filling
            each.source = source

    def _begin_block(self, by: str) -> None:
        for content in self._contents.values():
            filled = content.filled
            if filled.when < self.launches:
                content.source = None
                if filled is not EMPTY:
                    content.filled = Lost(filled.maker, by)

    def launched(self, name: str, groups, reads, count: int) -> None:
        """A launch has computed `count` points. groups: (sources, results) pairs of contents. reads: all inputs."""
        number = {content: content.filled.number for content in reads}  # before results overwrite some of them
        for sources, results in groups:
            basis = tuple([(content, number[content]) for content in sources])
            filling = Filling(self.stripe, count, basis, name)
            for content in results:
                content.filled = filling

    # ---- values go

    def empty(self) -> None:
        """Forget all values."""
        self.stripe = None
        self.filled = False
        for content in self._contents.values():
            content.filled = EMPTY
            content.source = None

    def change_mixture(self, of_species: Callable[[str], bool], same_species: bool) -> None:
        """Another mixture: results are stale. So are values of species, if the species or their order changed.

        of_species(name): whether a view has a value for each species.
        """
        for content in self._contents.values():
            filled = content.filled
            stale = filled.maker or (not same_species and of_species(content.name))
            if filled is not EMPTY and stale:
                content.filled = OfMixtureBefore(maker=filled.maker)

    # ---- may they be read?

    def use(self, reads, count: int) -> bool:
        """Whether a launch may read `count` points of all these contents. If so, they count as read by a launch."""
        stripe = self.stripe
        for content in reads:
            filled = content.filled  # the count of an empty view is 0
            if filled.count < count or (filled.stripe is not stripe and filled.stripe != stripe):
                return False
            if filled.basis and filled.changed(content) is not None:
                return False
            filled.when = USED

        self.launches += 1
        self.filled = True
        return True

    def holds(self, name: str) -> bool:
        """Whether the view holds values of the present stripe."""
        content = self._contents.get(name)
        return content is not None and content.filled is not EMPTY and content.filled.stripe == self.stripe

    def problem(self, content: Content, count: int, stripe) -> str:
        """Why `count` points of this stripe cannot be read from a view; "" if they can."""
        for part in content.parts:
            problem = self.problem(part, count, stripe)
            if problem:
                return f"cannot be used: its '{part.name}' {problem}"

        if content.covered:
            return ""

        filled = content.filled
        if filled is EMPTY:
            return self._never_filled(content.name)

        gone = filled.gone(content.name)
        if gone:
            return gone

        if filled.stripe != stripe:
            return f"is stale: it holds stripe {filled.stripe[0]}..{filled.stripe[1]}, wanted {stripe[0]}..{stripe[1]}"

        changed = filled.changed(content)
        if changed is not None:
            return f"is stale: '{changed.name}' was changed after '{filled.maker}' computed it"

        if filled.count < count:
            return f"holds {filled.count} points, {count} wanted"

        return ""

    def _never_filled(self, name: str) -> str:
        said = "was never filled: populate it"
        if self._elsewhere(name):
            said = "was never filled by this thread, another thread filled its own: populate it here"
        makers = [repr(maker) for maker in self._makers(name)][:3]
        return said + (f" or launch {' or '.join(makers)}" if makers else "")

    def refusal(self, launch: str, reads, count: int) -> str:
        """Why `launch` cannot read these contents: a sentence for the user."""
        if self.stripe is None and not any(self._elsewhere(content.name) for content in reads):
            return f"'{launch}' has no inputs yet: populate {', '.join(content.name for content in reads)}."

        problems = []
        for content in reads:
            problem = self.problem(content, count, self.stripe)
            if problem:
                problems.append(f"'{content.name}' {problem}")

        return f"'{launch}' cannot run: {'; '.join(problems)}."
