"""Output beside the flow: files in the order in which they came, and a process that draws."""

import io
import time

import numpy as np
import pytest

from examples.mini_solver import frames
from examples.mini_solver.artist import Artist
from examples.mini_solver.case import Case
from examples.mini_solver.errors import OutputError
from examples.mini_solver.pictures import Scene, look, picture_of
from examples.mini_solver.run import Run
from examples.mini_solver.studio import Film, Frame, Sheet
from examples.mini_solver.writer import ROOM, Writer

CASE = dict(
    mixture={"file": "examples/mixtures/n2.yaml"},
    domain=dict(cells=[64, 32], upper=[1.0, 0.5]),
    initial=dict(p=5e6, T=200),
    time={"steps": 1},
)


def test_jobs_are_done_in_their_order():
    writer, done = Writer(), []

    def slow(number):
        time.sleep(0.01 * (number % 3))
        done.append(number)

    for number in range(3 * ROOM):
        writer.do(slow, number)
    writer.wait()

    assert done == list(range(3 * ROOM))


def test_a_job_that_fails_is_the_last():
    """Its error is raised by the calls behind it; jobs behind it are not done."""
    writer, done = Writer(), []

    def fails():
        raise OutputError("full")

    writer.do(done.append, 1)
    writer.do(fails)

    with pytest.raises(OutputError, match="full"):
        writer.do(done.append, 2)
        writer.wait()

    with pytest.raises(OutputError, match="full"):
        writer.do(done.append, 3)

    assert done == [1]


def test_frames_and_their_film(tmp_path):
    """Each frame is a picture of its own; the film has them in the order of the call. A title is text, not TeX."""
    pytest.importorskip("matplotlib")
    from PIL import Image

    paths = [tmp_path / f"{number}.png" for number in range(3)]
    with Artist() as artist:
        scene = Scene.of(Case({**CASE, "title": r"50$ of p_$\frac and {x"}))
        artist.send(Sheet(scene, {"T": look("T", "K")}, {"T": (0.0, 3.0)}, []))
        for number, path in enumerate(paths):
            artist.send(Frame(path, {"T": np.full((32, 64), float(number))}, 1e-3 * number))
        artist.send(Film(tmp_path / "film.gif", paths, 100))
        artist.finish()

    middles = []
    for path in paths:
        with Image.open(path) as picture:
            middles.append(picture.getpixel((picture.width // 2, picture.height // 2)))

    with Image.open(tmp_path / "film.gif") as film:
        assert film.n_frames == 3 and len(set(middles)) == 3


def test_a_film_of_many_frames_has_some_of_them(tmp_path, monkeypatch):
    """All frames of a film are in memory at once; the files of all are there."""
    pytest.importorskip("matplotlib")
    from PIL import Image

    monkeypatch.setattr(frames, "MOST", 2)
    out = io.StringIO()
    case = Case({**CASE, "time": {"steps": 4}, "output": {"frames": 1}})

    assert Run(case, folder=tmp_path, out=out)() == 0

    assert len(list(tmp_path.glob("frame-*.png"))) == 5 and "frames.gif, every 3 frames" in out.getvalue()
    with Image.open(tmp_path / "frames.gif") as film:
        assert film.n_frames == 2


@pytest.mark.parametrize("cells", [[64], [64, 32]])
def test_a_later_frame_is_drawn_as_a_whole_figure_would_be(cells):
    """Only what moves is drawn again. The pixels are those of a figure that is drawn anew; 1 of 255 for the order in
    which the edge of a colour bar and its ticks are blended."""
    pytest.importorskip("matplotlib")
    case = Case({**CASE, "domain": dict(cells=cells, upper=[1.0, 0.5][: len(cells)])})
    names = ["rho", "T", "u"]
    picture = picture_of(Scene.of(case), {name: look(name, "") for name in names}, ["rho"])

    for size in (1.0, 250.0):
        plane = size * np.linspace(0.1, 1.0, case.cells[0]) * np.ones((case.cells[1], 1))
        planes = dict.fromkeys(names, plane)
        limits = {name: picture.limits(name, plane) for name in names}
        pixels = picture.draw(planes, limits, f"{size}")

    canvas = picture.figure.canvas
    for artist in picture.figure.findobj(lambda artist: artist.get_animated()):
        artist.set_animated(False)
    canvas.draw()

    anew = np.asarray(canvas.buffer_rgba())[..., :3].astype(int)
    assert np.abs(anew - pixels).max() <= 1


def test_a_run_tells_that_its_pictures_are_not_drawn(tmp_path):
    """The process that draws is killed: the run ends with a line about it, not without its pictures."""
    pytest.importorskip("matplotlib")
    run = Run(Case({**CASE, "output": {"frames": 1}}), folder=tmp_path, out=io.StringIO())
    artist = run.files._artist
    artist._process.kill()

    with pytest.raises(OutputError, match="pictures cannot be drawn: the process"):
        run()


@pytest.mark.parametrize("why", ["a file in a folder's place", "a full disk"])
def test_a_picture_that_cannot_be_written_is_named(tmp_path, why):
    """A full disk's own error has no name. /dev/full stands for one."""
    pytest.importorskip("matplotlib")
    path = tmp_path / "file" / "frame.png"

    if why == "a full disk":
        path.parent.mkdir()
        path.with_name("frame.png.part").symlink_to("/dev/full")
    else:
        path.parent.write_text("")

    with Artist() as artist, pytest.raises(OutputError, match="'.*frame.png.* cannot be written"):
        scene = Scene.of(Case({**CASE, "title": r"50$ of p_$\frac and {x"}))
        artist.send(Sheet(scene, {"T": look("T", "K")}, {}, []))
        artist.send(Frame(path, {"T": np.ones((32, 64))}, 0.0))
        artist.finish()
