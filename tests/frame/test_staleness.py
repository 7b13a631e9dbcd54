"""Which views hold current values: frame/impl/staleness.py alone, without arrays and devices.

The rules are those of the data flow: a result is current while none of the inputs that it came from has changed.
"""

import subprocess
import sys

import pytest
from hosts import ROOT

from frame.impl.staleness import Content, Staleness

FIRST, SECOND = (1, 4), (5, 8)  # stripes of four points


def makers(name):
    return ["thermal"] if name == "rho" else []


class Views:
    """T, p, rho, h and Q = (p, T), and two launches: rho, h from T, p; T from h, p."""

    def __init__(self):
        self.by_name = {name: Content(name) for name in ("T", "p", "rho", "h", "mu")}
        self.by_name["Q"] = Content("Q", (self["p"], self["T"]), covered=True)
        self.record = Staleness(self.by_name, makers, elsewhere=lambda name: name == "mu")

    def __getitem__(self, name):
        return self.by_name[name]

    def fill(self, name, stripe=FIRST, source="block", count=4):
        self.record.fill(self[name], stripe, count, source)

    def launch(self, name, reads, writes, count=4):
        reads, writes = ([self[x] for x in names.split()] for names in (reads, writes))
        if not self.record.use(reads, count):
            return self.record.refusal(name, reads, count)

        self.record.launched(name, [([r for r in reads if r not in writes], writes)], reads, count)
        return ""

    def thermal(self, count=4):
        return self.launch("thermal", "T p", "rho h", count)

    def problem(self, name, stripe=FIRST, count=4):
        return self.record.problem(self[name], count, stripe)


@pytest.fixture
def views():
    made = Views()
    made.fill("T")
    made.fill("p")
    return made


def test_results_of_current_inputs_are_current(views):
    assert views.thermal() == "" and views.problem("rho") == "" and views.problem("h") == ""


def test_an_input_that_is_filled_again_makes_results_stale(views):
    views.thermal()
    views.fill("T")
    assert views.problem("rho") == "is stale: 'T' was changed after 'thermal' computed it"
    assert views.thermal() == "" and views.problem("rho") == ""


def test_staleness_goes_through_launches(views):
    """mu from rho, rho from T: T changes."""
    views.thermal()
    views.launch("viscous", "rho", "mu")
    views.fill("p")

    assert "'p' was changed after 'thermal'" in views.problem("rho")
    assert "was changed after 'viscous' computed it" in views.problem("mu")
    assert "'viscous' cannot run: 'rho' is stale" in views.launch("viscous", "rho", "mu")


def test_a_launch_may_overwrite_what_its_inputs_came_from(views):
    """h from T, then T from h: h stays current, since T came from it. rho belongs to the T before."""
    views.thermal()

    assert views.launch("inversion", "h p", "T") == ""
    assert views.problem("h") == "" and views.problem("T") == ""
    assert "'T' was changed after 'thermal'" in views.problem("rho")

    views.fill("h")

    assert "'h' was changed after 'inversion'" in views.problem("T")


def test_an_input_of_another_stripe(views):
    views.fill("T", SECOND)
    assert views.thermal() == "'thermal' cannot run: 'p' is stale: it holds stripe 1..4, wanted 5..8."
    views.fill("p", SECOND)
    assert views.thermal() == "" and views.problem("rho", FIRST).startswith("is stale: it holds stripe 5..8")


def test_fewer_points_than_the_launch_wants(views):
    views.fill("p", count=3)
    assert views.thermal() == "'thermal' cannot run: 'p' holds 3 points, 4 wanted."
    assert views.thermal(3) == "" and views.problem("rho") == "holds 3 points, 4 wanted"


def test_another_array_begins_another_block(views):
    """After a launch, T of another array: p and the results belong to the block before. Without a launch between, T is
    a better value for the same block."""
    views.fill("T", source="better start")

    assert views.thermal() == ""

    views.fill("T", source="next block")

    assert "holds another block's points ('T' has been filled from another array since)" in views.problem("p")
    assert "'thermal' computed it for another block" in views.problem("rho")
    assert views.problem("T") == ""


def test_the_same_array_again_is_the_same_block(views):
    views.thermal()
    views.fill("T")
    assert views.problem("p") == ""


def test_rows_of_q(views):
    """Q fills its rows; Q can be read if all rows can."""
    views.fill("Q", source="Q")

    assert views.thermal() == "" and views.problem("Q") == ""

    views.record.empty()
    views.fill("T")

    assert views.problem("Q").startswith("cannot be used: its 'p' was never filled")


def test_another_mixture(views):
    """Results are stale; inputs only if they are values of species, and the species changed."""
    views.thermal()
    views.record.change_mixture(lambda name: name == "p", same_species=True)

    assert views.problem("rho") == "is stale: 'thermal' computed it for the mixture before"
    assert views.problem("T") == views.problem("p") == ""

    views.record.change_mixture(lambda name: name == "p", same_species=False)

    assert views.problem("T") == "" and "the species of the mixture before" in views.problem("p")


def test_messages_for_views_without_values():
    views = Views()

    assert views.thermal() == "'thermal' has no inputs yet: populate T, p."
    assert views.problem("rho") == "was never filled: populate it or launch 'thermal'"
    assert views.problem("mu") == "was never filled by this thread, another thread filled its own: populate it here"

    views.fill("T")

    assert views.thermal() == "'thermal' cannot run: 'p' was never filled: populate it."


def test_nothing_is_left_after_empty(views):
    views.thermal()
    views.record.empty()
    assert views.record.stripe is None and not views.record.filled
    assert all(views.problem(name).startswith("was never filled") for name in ("T", "p", "rho", "h"))


def test_it_needs_no_arrays_and_no_devices():
    """The file imports the standard library only."""
    code = (
        "import runpy, sys; runpy.run_path(sys.argv[1]); "
        "assert not {'numpy', 'cupy', 'kernels', 'frame', 'cffi'} & set(sys.modules)"
    )
    file = ROOT / "frame" / "impl" / "staleness.py"
    subprocess.run([sys.executable, "-c", code, str(file)], check=True, timeout=60)
