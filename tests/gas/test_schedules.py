"""Schedules: their tables name kernels, headers and constants that are there; formulas know no schedule."""

import pathlib
import re

import pytest
from kernel_cases import project_kernels

import kernels
from kernels import Mixture
from kernels.gas.plan import Launch
from kernels.gas.planning import make_plan
from kernels.gas.schedules import (
    BLOCK,
    PACKS,
    QUEUE,
    SORTED,
    THREAD,
    WARP,
    block,
    queue,
    schedule_of,
    schedule_of_plan,
    warp,
)

ROOT = pathlib.Path(kernels.__file__).parent
OF_SHARED_POINTS = ("kinetics/crew.h", "reactors/lanes.h", "reactors/lanes_factors.h")  # bodies for these only


def known_constants():
    made = {name for provider in kernels.registry.providers.values() for name in provider.names}
    return made | set(kernels.registry.settable)


@pytest.mark.parametrize("table", [block.SERVED, queue.SERVED, warp.SERVED], ids=["block", "queue", "warp"])
def test_tables_name_kernels(table):
    assert set(table) <= set(project_kernels())


def test_tables_name_headers_and_constants():
    wanted = {(entry.header, name) for entry in block.SERVED.values() for name in entry.constants}
    wanted |= {(warp.HEADER, name.rstrip("?")) for names in warp.SERVED.values() for name in names.split()}
    for header, name in wanted:
        assert (ROOT / header).is_file() and name in known_constants(), (header, name)
    facts = {fact for entry in block.SERVED.values() for fact, _ in entry.facts}

    assert facts <= set(kernels.registry.facts)


def test_a_queue_is_for_kernels_of_unequal_times():
    """`sweeps` says so to the table of launches."""
    turns = {name for name, kernel in project_kernels().items() if "turns" in kernel.running.sweeps.split()}
    assert turns == set(queue.SERVED)


def test_formulas_know_no_schedule():
    """Names of schedules are in their folder, and in bodies for points whose work is shared."""
    private = re.compile(r"\b(CREW|LANE_POINTS|LANES|AHEAD_OF_POINTS|crew_\w+|schedules)\b")
    headers = [path for path in (ROOT / "gas").rglob("*.h") if path.parent.name != "schedules"]
    assert len(headers) > 15

    for path in headers:
        found = [line for line in path.read_text().splitlines() if private.search(line) and "//" not in line]
        if str(path.relative_to(ROOT / "gas")) not in OF_SHARED_POINTS:
            assert not found, (path.name, found)


def test_the_schedule_of_a_launch():
    """`hold` says which; reactors over a step, alone, take their points from a queue; points that carry what they need
    are sorted."""
    mix = Mixture.from_yaml("h2o2.yaml", equation="ideal", takahashi="off")
    of = lambda outputs, given: kernels.resolve(outputs.split(), given.split(), mix.options)
    rates, c = of("omega", "T p rho Y"), kernels.registry.collections["react_volume"]
    react = kernels.resolve(c.outputs, c.given, mix.options)
    for hold in ("registers", "shared", "reload"):
        assert schedule_of(Launch(hold=hold), rates) is THREAD and schedule_of(Launch(hold=hold), react) is QUEUE

    two_phases, c = (
        {**mix.options, "equation": "pr", "phases": "equilibrium"},
        kernels.registry.collections["phases_from_T_p"],
    )
    cold = kernels.resolve(c.outputs, c.given, two_phases)
    warm = kernels.resolve(c.outputs, [*c.given, "ln_kappa", "eta"], two_phases)
    assert schedule_of(Launch(), cold) is THREAD and schedule_of(Launch(), warm) is SORTED
    assert schedule_of(None, react) is PACKS
    assert schedule_of(Launch(hold="crew"), rates) is BLOCK and schedule_of(Launch(hold="lanes"), react) is WARP
    assert schedule_of_plan(make_plan(react, c.outputs, mix, Launch(hold="lanes"))) is WARP


@pytest.mark.parametrize("hold, who", [("crew", "warps of a block"), ("lanes", "lanes of a warp")])
def test_a_launch_that_cannot_run_the_kernels_is_refused(hold, who):
    mix = Mixture.from_yaml("h2o2.yaml", equation="ideal", takahashi="off")
    records = kernels.resolve(["mu"], ["T", "p", "Y", "rho"], mix.options)
    with pytest.raises(kernels.FrameError, match=f"hold '{hold}': the {who} cannot share the work of .*here"):
        make_plan(records, ["mu"], mix, Launch(hold=hold))


def test_an_unknown_hold_is_refused():
    mix = Mixture.from_yaml("h2o2.yaml", equation="ideal", takahashi="off")
    records = kernels.resolve(["rho"], ["T", "p", "Y"], mix.options)
    with pytest.raises(kernels.FrameError, match="hold 'register'.*did you mean 'registers'"):
        make_plan(records, ["rho"], mix, Launch(hold="register"))
