"""The process that draws: `python -m examples.mini_solver.studio`, which an Artist starts.

It reads a Sheet and then orders, Frame or Film, from its standard input, and ends with the input. An error's text goes
to its standard output. Of this package it loads little: it has to be there when the first frame comes.
"""

import dataclasses
import importlib
import io
import pathlib
import pickle
import signal
import sys

from .pictures import Scene, picture_of
from .saved import write_bytes

COLOURS = 256  # of a film
MOST = 1000  # frames of a film: all of them are in memory while it is written


@dataclasses.dataclass(frozen=True)
class Sheet:
    """The plan of a run's frames: all have the same fields and axes."""

    scene: Scene
    looks: dict  # {field: Look}
    limits: dict  # {field: (lowest, highest)} where the case fixes them
    logarithmic: list  # fields with such an axis


@dataclasses.dataclass(frozen=True)
class Frame:
    """A picture of a state."""

    path: pathlib.Path
    planes: dict  # {field: (ny, nx)}, in the unit of its axis
    time: float  # s


@dataclasses.dataclass(frozen=True)
class Film:
    """An animated GIF of frames."""

    path: pathlib.Path
    frames: list  # paths
    milliseconds: int  # of a frame


class Studio:
    """Draws frames, all in the same figure, which is filled anew for each frame."""

    def __init__(self, sheet: Sheet):
        self.sheet = sheet
        self._picture = picture_of(sheet.scene, sheet.looks, sheet.logarithmic)
        self._images: dict = {}  # {path: the frame with few colours}
        self._pil = importlib.import_module("PIL.Image")

    def frame(self, order: Frame):
        """Draw a frame, within the limits of the case if it has some, else of the fields."""
        picture = self._picture
        own = {name: picture.limits(name, plane) for name, plane in order.planes.items()}
        rgb = picture.draw(order.planes, own | self.sheet.limits, self.sheet.scene.title_at(order.time))

        image = self._pil.fromarray(rgb)
        data = io.BytesIO()
        image.save(data, "PNG", compress_level=3)
        write_bytes(order.path, data.getvalue())
        if len(self._images) < MOST:  # a film reads others
            self._images[order.path] = self._with_few_colours(image)

    def film(self, order: Film):
        """Put frames together, those of earlier runs too."""
        for path in order.frames:
            if path not in self._images:
                self._images[path] = self._with_few_colours(self._pil.open(path).convert("RGB"))

        first, *others = (self._images[path] for path in order.frames)
        others = [image if image.size == first.size else image.resize(first.size) for image in others]

        data = io.BytesIO()
        words = dict(save_all=True, append_images=others, duration=order.milliseconds, loop=0, optimize=False)
        first.save(data, "GIF", **words)
        write_bytes(order.path, data.getvalue())

    def _with_few_colours(self, image):
        """By the octree, ten times faster than by the median cut."""
        return image.quantize(COLOURS, method=self._pil.Quantize.FASTOCTREE, dither=self._pil.Dither.NONE)


def main():
    """Do what comes, until nothing more comes. The run is asked to stop, not this process: it draws what it has."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    for name in ("matplotlib.figure", "matplotlib.backends.backend_agg", "PIL.Image"):
        importlib.import_module(name)

    orders, studio = sys.stdin.buffer, None
    while True:
        try:
            order = pickle.load(orders)
        except (EOFError, pickle.UnpicklingError):  # the run has ended, or was killed
            return

        if isinstance(order, Sheet):
            studio = Studio(order)
        elif isinstance(order, Frame):
            studio.frame(order)
        else:
            studio.film(order)


if __name__ == "__main__":
    # Messages are instances of the classes of the module by its name, not of __main__.
    module = importlib.import_module("examples.mini_solver.studio")
    try:
        module.main()
    except OSError as error:
        print(f"'{error.filename}' cannot be written: {error.strerror or error}.")
