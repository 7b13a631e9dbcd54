"""Frames: pictures of some fields every so often, and a film of them. A process of its own draws them (studio.py)."""

import pathlib

from .errors import wanted
from .fields import unit
from .files import need, whole
from .pictures import Scene, look
from .results import draws, earlier
from .studio import MOST, Film, Frame, Sheet


def refuse_output(flow):
    """CaseError for fields to write and to draw that the flow does not have, and for axes that they cannot have. The
    flow needs its mixture, and no kernels yet."""
    given, known = flow.case.output, flow.known_fields()
    for key in ("quantities", "frame"):
        wanted(all(isinstance(name, str) for name in given[key]), f"[output] {key} = {given[key]!r}; wanted names.")
        others = [name for name in given[key] if not flow.knows(name)]
        flow.quantities.check(others, f"[output] {key}: unknown field", known)

    for name in given["quantities"]:
        said = f"[output] quantities: '{name}' is a field of the flow; wanted quantities of the layer beside those"
        wanted(not flow.knows(name), f"{said}, which are {', '.join(known)}.")

    for name, pair in given["frame_limits"].items():
        _refuse_limits(name, pair, given)
    for name in given["frame_log"]:
        wanted(name in given["frame"], f"[output] frame_log: '{name}' is not drawn; frame = {given['frame']}.")
        wanted(
            not look(name, unit(name)).signed, f"[output] frame_log: '{name}' has two signs; wanted a positive field."
        )


def _refuse_limits(name, pair, given):
    wanted(name in given["frame"], f"[output] frame_limits: '{name}' is not drawn; frame = {given['frame']}.")

    logarithmic = name in given["frame_log"]
    fits = isinstance(pair, list) and len(pair) == 2 and all(isinstance(v, (int, float)) for v in pair)
    fits = fits and pair[0] < pair[1] and not (logarithmic and pair[0] <= 0)
    said = f"[output] frame_limits {name} = {pair!r}; wanted [lowest, highest]"
    wanted(fits, said + (", above 0: its axis is logarithmic." if logarithmic else "."))


class Frames:
    """PNG frames of some fields and, at the end, an animated GIF.

    A frame's limits are those of its fields, or fixed by `[output] frame_limits` (p in MPa). Fields of `frame_log` have
    a logarithmic axis.
    """

    def __init__(self, files, folder, continued):
        flow, given = files.flow, files.flow.case.output
        self.files, self.folder = files, pathlib.Path(folder)
        self.names, self._milliseconds = given["frame"], int(given["frame_ms"])
        self._looks = {name: look(name, unit(name)) for name in self.names}
        self._limits, self._logarithmic = dict(given["frame_limits"]), given["frame_log"]

        self.paths = earlier(flow, folder, "frame-????????.png", continued)
        self._draws = draws(flow.case)
        if self._draws:
            need("matplotlib", "pictures")
            if flow.ranks.rank == 0:
                files.draw(Sheet(Scene.of(flow.case), self._looks, self._limits, self._logarithmic))

    def write(self, flow):
        """Have the present state drawn. Collective."""
        fields = {name: whole(flow, block) for name, block in flow.fields(self.names).items()}
        if flow.ranks.rank:
            return

        middle = flow.case.cells[2] // 2
        planes = {name: fields[name][middle] * self._looks[name].factor for name in self.names}
        path = self.folder / f"frame-{flow.steps:08d}.png"

        self.files.draw(Frame(path, planes, flow.time))
        self.paths = [p for p in self.paths if p != path] + [path]

    @property
    def film(self):
        """Path of frames.gif; None for fewer than two frames."""
        return self.folder / "frames.gif" if self._draws and len(self.paths) > 1 else None

    @property
    def step(self):
        """The film has every so many-th frame: 1 for all of them."""
        return -(-len(self.paths) // MOST)

    def animate(self):
        """Have the frames put together."""
        if self.film and self.files.flow.ranks.rank == 0:
            self.files.draw(Film(self.film, self.paths[:: self.step], self._milliseconds))
