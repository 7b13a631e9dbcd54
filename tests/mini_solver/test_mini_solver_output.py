"""Output of the mini solver: fields, pictures, history, averages, probes, the report, memory of a long run."""

import io
import re
import xml.etree.ElementTree as xml

import numpy as np
import pytest
from mini_solver_runs import restart_of, same, small
from mixtures_for_tests import ROOT

from examples.mini_solver import verify
from examples.mini_solver.__main__ import main
from examples.mini_solver.case import Case
from examples.mini_solver.errors import CaseError
from examples.mini_solver.run import Run
from kernels.engine.errors import FrameError

h5py = pytest.importorskip("h5py")


def test_fields_frames_and_the_report(tmp_path):
    pytest.importorskip("matplotlib")
    data = dict(
        mixture={"file": "examples/mixtures/n2.yaml"},
        domain=dict(cells=[24, 16], upper=[1.0, 0.5]),
        initial=dict(p=5e6, T="200 + 40*sin(2*pi*x)*cos(4*pi*y)", u=50, v=10),
        time={"end": 4e-4},
        output=dict(report=2, fields=4, frames_time=1e-4, frame=["rho", "T"], restart=100),
    )

    out = io.StringIO()
    assert Run(Case(data), folder=tmp_path, out=out)() == 0
    text = out.getvalue()
    lines = [line.split() for line in text.splitlines() if line[:8].strip().isdigit()]

    assert int(lines[0][0]) == 0 and float(lines[-1][1]) == pytest.approx(4e-4) and len(lines) > 3
    assert "point steps/s" in text and "flux" in text

    kept = text.split("less what came in through the sides: ")[1].splitlines()[0]
    assert [float(x) < 1e-14 for x in re.findall(r"(?:species|in [xy]) (\S+?)[, ]", kept)] == [
        True
    ] * 3 and "energy" in kept, kept
    tree = xml.parse(tmp_path / "fields.xdmf")
    grids = tree.findall(".//Grid[@Name='block']")
    files = sorted(tmp_path.glob("fields-*.h5"))

    assert len(grids) == len(files) >= 2
    assert tree.getroot().get("Version") == "3.0" and grids[0].find("Topology").get("TopologyType") == "Quadrilateral"

    for grid in grids:
        for item in grid.findall(".//DataItem"):
            name, field = item.text.split(":/")
            with h5py.File(tmp_path / name) as file:
                assert file[field].shape == tuple(map(int, item.get("Dimensions").split()))
                assert np.isfinite(file[field][:]).all()

    with h5py.File(files[0]) as file:
        x = (np.arange(24) + 0.5) / 24
        y = (np.arange(16) + 0.5) / 32
        T = file["T"][:].reshape(file.attrs["cells"][::-1])

        # single precision
        assert np.allclose(T[0], 200 + 40 * np.sin(2 * np.pi * x) * np.cos(4 * np.pi * y)[:, None], rtol=1e-6)

    frames = sorted(tmp_path.glob("frame-*.png"))
    assert len(frames) == 5  # at 0, 1e-4, ..., 4e-4
    from PIL import Image

    with Image.open(tmp_path / "frames.gif") as gif:
        assert gif.n_frames == 5
    assert restart_of(tmp_path)["time"] == pytest.approx(4e-4)

    # a run that goes on adds to them; a run from the start replaces them
    data["time"]["end"] = 6e-4
    assert Run(Case(data), folder=tmp_path, out=io.StringIO(), restart=tmp_path / "restart.h5")() == 0
    assert len(list(tmp_path.glob("frame-*.png"))) == 7

    times = [float(t.get("Value")) for t in xml.parse(tmp_path / "fields.xdmf").findall(".//Time")]
    assert times == sorted(set(times)) and len(times) > len(files)
    data["time"]["end"] = 1e-4
    with pytest.raises(FrameError, match="has results of an earlier run .*--restart.*--folder.*--overwrite"):
        Run(Case(data), folder=tmp_path, out=io.StringIO())
    assert len(list(tmp_path.glob("frame-*.png"))) == 7  # nothing is lost by asking
    assert Run(Case(data), folder=tmp_path, out=io.StringIO(), overwrite=True)() == 0
    assert len(list(tmp_path.glob("frame-*.png"))) == 2


def test_limits_of_pictures(tmp_path):
    """A frame has the limits of its own field; where the case fixes them below it, the map has one colour."""
    pytest.importorskip("matplotlib")
    from PIL import Image

    data = dict(
        mixture={"file": "examples/mixtures/n2.yaml"},
        domain=dict(cells=[24, 24], upper=[1.0, 1.0]),
        initial=dict(p=5e6, T="300 + 20*sin(2*pi*x)"),
        time={"steps": 1},
        output=dict(frames=10, frame=["T"]),
    )

    colours = {}
    for name, limits in (("own", {}), ("fixed", {"T": [100, 200]})):
        data["output"]["frame_limits"] = limits
        assert Run(Case(data), folder=tmp_path / name, out=io.StringIO())() == 0

        with Image.open(tmp_path / name / "frame-00000000.png") as picture:
            wide, high = picture.size
            middle = picture.convert("RGB").crop((wide // 3, high // 3, wide // 2, high * 2 // 3))

        colours[name] = {pixel for _, pixel in middle.getcolors(10**6)}

    assert len(colours["own"]) > 50 and len(colours["fixed"]) == 1


def sloping_field(tmp_path, cells, precision):
    """A run that leaves fields; T = 300 + 10 x + 20 y + 40 z at the start."""
    d = len(cells)
    data = dict(
        mixture={"file": "examples/mixtures/n2.yaml"},
        domain=dict(cells=cells, lower=[1.0] * d, upper=[2.0] * d),
        initial=dict(p=5e6, T="300 + 10*x" + " + 20*y" * (d > 1) + " + 40*z" * (d > 2)),
        boundary=dict.fromkeys("xyz"[:d], "slip_wall"),
        time={"steps": 1},
        output=dict(fields=1, averages=1, precision=precision),
    )

    assert Run(Case(data), folder=tmp_path, out=io.StringIO())() == 0


@pytest.mark.parametrize("cells", [[6], [6, 5], [6, 5, 4]])
def test_meshio_reads_the_fields(tmp_path, cells):
    """Each cell's value lies at the middle of its corners."""
    meshio = pytest.importorskip("meshio")
    d = len(cells)
    sloping_field(tmp_path, cells, "double")

    with meshio.xdmf.TimeSeriesReader(tmp_path / "fields.xdmf") as reader:
        points, blocks = reader.read_points_cells()
        assert reader.num_steps == 2
        time, _, fields = reader.read_data(0)

    middle = points[blocks[0].data].mean(1)
    assert time == 0 and np.prod(cells) == len(middle)
    assert np.abs(fields["T"][0] - (300 + middle @ [10, 20, 40])).max() < 1e-9

    sizes = np.ptp(points[blocks[0].data], axis=1)[:, :d]
    assert np.allclose(sizes, 1 / np.array(cells))  # and not a twisted one

    with meshio.xdmf.TimeSeriesReader(tmp_path / "averages.xdmf") as reader:
        reader.read_points_cells()
        assert np.abs(reader.read_data(0)[2]["mean_T"][0] - fields["T"][0]).max() < 1


@pytest.mark.parametrize("cells, precision", [([6], "single"), ([6, 5], "single"), ([6, 5, 4], "double")])
def test_vtk_reads_the_fields(tmp_path, cells, precision):
    """The reader of vtk, on which ParaView is built: times, types, values at the middle of the cells."""
    vtk_xdmf = pytest.importorskip("vtkmodules.vtkIOXdmf2")
    from vtkmodules.util.numpy_support import vtk_to_numpy
    from vtkmodules.vtkCommonExecutionModel import vtkStreamingDemandDrivenPipeline
    from vtkmodules.vtkFiltersCore import vtkCellCenters

    sloping_field(tmp_path, cells, precision)

    found = {}
    for name in ("fields", "averages"):
        reader = vtk_xdmf.vtkXdmfReader()
        reader.SetFileName(str(tmp_path / f"{name}.xdmf"))
        reader.UpdateInformation()
        times = reader.GetOutputInformation(0).Get(vtkStreamingDemandDrivenPipeline.TIME_STEPS())
        reader.UpdateTimeStep(times[0])
        found[name] = times, reader.GetOutputDataObject(0)

    times, grid = found["fields"]
    assert len(times) == 2 and times[0] == 0 < times[1] == found["averages"][0][0]
    centres = vtkCellCenters()
    centres.SetInputData(grid)
    centres.Update()
    middle = vtk_to_numpy(centres.GetOutput().GetPoints().GetData())
    T = grid.GetCellData().GetArray("T")

    assert T.GetDataTypeAsString() == {"single": "float", "double": "double"}[precision]
    assert len(middle) == np.prod(cells)
    assert np.abs(vtk_to_numpy(T) - (300 + middle @ [10, 20, 40])).max() < 1e-9 + 400 * 1.2e-7 * (precision == "single")
    assert found["averages"][1].GetCellData().GetArray("mean_rho").GetNumberOfTuples() == len(middle)


def test_history_and_probes(tmp_path):
    """Kinetic energy and enstrophy of a Taylor-Green vortex at the start; a restart continues the rows."""
    V, k = 5.0, 2 * np.pi
    data = dict(
        mixture={"file": "examples/mixtures/n2.yaml"},
        domain=dict(cells=[48, 48], upper=[1.0, 1.0]),
        initial=dict(T=300, p=5e6, u=f"{V}*sin({k}*x)*cos({k}*y)", v=f"-{V}*cos({k}*x)*sin({k}*y)"),
        time={"steps": 4},
        output=dict(history=2, probes=[[0.25, 0.01], [0.99, 0.5]], restart=4),
    )

    run = Run(Case(data), folder=tmp_path, out=io.StringIO())
    rho = float(run.flow.field("rho").mean())
    u = run.flow.field("u")[0]

    assert run() == 0
    with h5py.File(tmp_path / "history.h5") as file:
        rows = {name: values[:] for name, values in file.items()}
    assert list(rows["step"]) == [0, 2, 4] and rows["mass"][:, 0] == pytest.approx(rho)
    assert rows["kinetic_energy"][0] == pytest.approx(rho * V * V / 4, rel=1e-12)
    assert rows["enstrophy"][0] == pytest.approx(k * k * V * V / 2, rel=2 * (k / 48) ** 2 / 6)  # second order
    assert list(rows["probe_u"][0]) == [u[0, 12], u[24, 47]]

    data["time"]["steps"] = 6
    assert Run(Case(data), folder=tmp_path, out=io.StringIO(), restart=tmp_path / "restart.h5")() == 0

    with h5py.File(tmp_path / "history.h5") as file:
        assert list(file["step"]) == [0, 2, 4, 6]
        assert np.array_equal(file["kinetic_energy"][:3], rows["kinetic_energy"])

    data["output"]["probes"] = [[3.0, 0.5]]
    with pytest.raises(CaseError, match="a point in the domain"):
        Run(Case(data), folder=tmp_path / "other", out=io.StringIO())


@pytest.mark.parametrize("scheme", ["double_flux", "apec"])
@pytest.mark.long(scheme="apec")
def test_averages_in_time(tmp_path, scheme):
    """Means, fluctuations and covariances of every second state against NumPy's over the same states; a run in two
    parts has the same bits, a later beginning leaves out what was before."""
    layer = "0.5*(1 - tanh((y - 0.5 + 0.1*sin(2*pi*x))/0.1))"
    data = dict(
        mixture={"file": verify.CH4_O2, "species": ["CH4", "O2"]},
        domain=dict(cells=[12, 10], upper=[1.0, 1.0]),
        initial=dict(T=f"300 - 100*{layer}", p=1e7, u=f"60*{layer}", w=5, X={"O2": layer, "CH4": "rest"}),
        numerics=dict(scheme=scheme),
        time={"steps": 9},
        output=dict(averages=2, restart=5, precision="double"),
    )

    run = Run(Case(data), folder=tmp_path, out=io.StringIO())
    names, states, flow = ["rho", "u", "v", "p", "T", "Y_CH4", "Y_O2"], [], run.flow
    add = flow.averages.add
    flow.averages.add = lambda: (states.append((flow.time, [flow.field(n) for n in names])), add())

    assert run() == 0 and len(states) == 4
    weights = np.diff([0.0, *(time for time, _ in states)])
    weights /= weights.sum()
    q = dict(zip(names, np.moveaxis([fields for _, fields in states], 1, 0)))

    def over(values):
        return np.tensordot(weights, values, 1)

    mean = {n: over(q[n]) for n in names}
    away = {n: q[n] - mean[n] for n in names}
    with h5py.File(tmp_path / "averages.h5") as file:
        found = {n: values[:].reshape(q["rho"].shape[1:]) for n, values in file.items()}
    wanted = {f"mean_{n}": mean[n] for n in names} | {f"favre_{n}": over(q["rho"] * q[n]) / mean["rho"] for n in "uvT"}
    wanted |= {f"favre_{n}": over(q["rho"] * q[n]) / mean["rho"] for n in names[-2:]}

    assert found.keys() - wanted.keys() == {"cov_u_v", *(f"rms_{n}" for n in names)}

    def largest(n):
        return np.abs(q[n.split("_", 1)[1]]).max()

    for n, values in wanted.items():  # four states: some ten roundings of the field
        assert np.abs(found[n] - values).max() <= 10 * 2.2e-16 * largest(n), n

    # a fluctuation is known to roundings of its field, its square to those times the fluctuation
    for n in names:
        error = np.abs(found[f"rms_{n}"] ** 2 - over(away[n] ** 2))
        assert (error <= 40 * 2.2e-16 * largest(f"_{n}") * np.abs(away[n]).max() + 1e-30).all(), n
        assert found[f"rms_{n}"].max() > 1e-5 * np.abs(q[n]).max()

    error = np.abs(found["cov_u_v"] - over(away["u"] * away["v"]))
    assert error.max() <= 40 * 2.2e-16 * largest("_u") * np.abs([away["u"], away["v"]]).max()

    whole = restart_of(tmp_path)
    again = Run(Case(data), folder=tmp_path / "rest", out=io.StringIO(), restart=tmp_path / "restart-before.h5")
    assert again.flow.steps == 5 and again() == 0 and same(whole, restart_of(tmp_path / "rest"))

    data["output"]["averages_from"] = states[2][0]
    late = Run(Case(data), folder=tmp_path / "late", out=io.StringIO(), restart=tmp_path / "restart-before.h5")
    assert late() == 0 and late.flow.averages.weight == pytest.approx(states[3][0] - states[2][0], rel=1e-12)
    assert late.flow.averages.fields(["p"])["rms_p"].max() < 1e-15 * 1e7  # of one state
    assert np.array_equal(late.flow.averages.fields(["p"])["mean_p"], states[3][1][3])
    assert (tmp_path / "late/averages.xdmf").read_text().count("mean_Y_O2") == 2


@pytest.mark.parametrize("scheme", ["double_flux", "apec"])
@pytest.mark.long(scheme="apec")
def test_probes_have_the_values_of_their_cells(tmp_path, scheme):
    case = Case.from_file(small(tmp_path, steps=1, scheme=scheme))
    case.output["probes"] = [[1e-6, 1e-6, 1e-6], [1.2e-3, 0.5e-3, 0.99e-3]]
    run = Run(case, folder=tmp_path / "out", out=io.StringIO())

    assert run() == 0

    with h5py.File(tmp_path / "out/history.h5") as file:
        for name in ("rho", "u", "v", "w", "p", "T", "Y_CH4", "Y_O2"):
            field = run.flow.field(name)
            assert list(file[f"probe_{name}"][1]) == [field[0, 0, 0], field[8, 7, 11]], name


def test_folders_that_cannot_be_written_are_told_in_a_line(tmp_path, capsys):
    case = small(tmp_path, steps=4)
    (tmp_path / "file").write_text("")

    for folder in (tmp_path / "file", tmp_path / "file/below", "/proc/nowhere"):
        assert main([str(case), "--folder", str(folder)]) == 1
        told = capsys.readouterr()
        assert len(told.err.splitlines()) == 1 and "cannot be written" in told.err and "Traceback" not in told.err


def test_memory_and_what_stays_in_the_long_case(tmp_path):
    """The shipped long run, shortened: nothing is lost, and no memory gained after the first hundred steps."""
    path = ROOT / "examples/mini_solver/cases/shear_layer_long.toml"
    out = io.StringIO()
    changes = (
        "domain.cells=[24, 16]",
        "time.steps=400",
        "output.frames=0",
        "output.fields=100",
        "numerics.scheme='apec'",
    )

    assert Run(Case.from_file(path, changes), folder=tmp_path, out=out)() == 0
    kept = re.search(
        r"mass of a species (\S+), momentum in x (\S+), momentum in y (\S+), energy (\S+)\n", out.getvalue()
    )
    mass, along, across, energy = map(float, kept.groups())

    assert max(mass, along, energy) < 5e-15, kept
    assert across < 5e-14  # the walls give and take 1000 times the flow's own momentum
    before, after = map(
        float, re.search(r"memory: (\S+) MiB after 100 steps, (\S+) MiB at the end", out.getvalue()).groups()
    )

    assert 10 < before and after < before + 2  # a row of a field kept each step would be 3 kB: 1 MiB
