"""Block calls: a whole selection of arrays in one call."""

import numpy as np
import pytest
from frame_host import MIXTURES, Host, asked, field, of_species, state, whole
from hosts import OWN_KERNEL

import kernels
from frame.errors import ArgumentError, FrameError, StateError
from frame.stripe import IN, INOUT


def test_block_call_is_the_chunk_loop():
    host = Host(chunk=7)
    Q, shape = state(shape=(6, 5, 4)), (6, 5, 4)
    Q[..., 4] += np.arange(120).reshape(shape)
    names = [*kernels.collections["thermal"].outputs, "h0"]  # all outputs: another set of them is another program
    wanted = {name: field(0, shape) for name in names}

    for first in range(1, 121, 7):
        last = min(first + 6, 120)
        host.put("Q", Q, first, last)
        host.launch("thermal", last - first + 1)
        for name in names:
            host.get(name, wanted[name], first, last)

    all_of_it = np.zeros((*shape, len(names) + 1), order="F")
    place = (*shape, 1, 6, 1, 5, 1, 4)
    host.frame.block("thermal", "Q", Q.ctypes.data, ", ".join(names), all_of_it.ctypes.data, *place, 6, len(names) + 1)

    for row, name in enumerate(names):
        np.testing.assert_array_equal(all_of_it[..., row], wanted[name], err_msg=name)

    assert (all_of_it[..., -1] == 0).all()

    out = np.zeros((*shape, 3), order="F")

    with pytest.raises(ArgumentError, match="outTags: 'rho,c,h,e' needs at least 4 variables, the array has 3"):
        host.frame.block("thermal", "Q", Q.ctypes.data, "rho,c,h,e", out.ctypes.data, *shape, 1, 6, 1, 5, 1, 4, 6, 3)
    with pytest.raises(ArgumentError, match="SptX"):
        host.frame.block("thermal", "Q", Q.ctypes.data, "rho", out.ctypes.data, *shape, 1, 7, 1, 5, 1, 4, 6, 3)


def test_a_failed_block_call_leaves_nothing_behind():
    """The stripes of its chunks do not count as stripes of the host, even when it stops half-way."""
    host = Host(chunk=7)
    Q, shape = state(shape=(6, 5, 4)), (6, 5, 4)
    Q[3, 1, 0, 4] = np.nan  # the tenth point, in the second chunk
    out = field(0, shape)
    host.frame.set_parameter("check", 1)

    with pytest.raises(StateError, match=r"'T' = nan K at point \(i, j, k\) = \(4, 2, 1\)"):
        host.frame.block("thermal", "Q", Q.ctypes.data, "rho", out.ctypes.data, *shape, 1, 6, 1, 5, 1, 4, 6, 1)

    assert (out.ravel(order="F")[:7] > 0).all() and (out.ravel(order="F")[7:] == 0).all()

    with pytest.raises(StateError, match="no inputs yet"):
        host.launch("thermal", 7)
    with pytest.raises(StateError, match="'rho' was never filled"):
        host.get("rho", out, 1, 7)


def test_block_call_without_points_still_names_what_is_wrong():
    host = Host(chunk=7)
    Q, out, shape = state(shape=(6, 5, 4)), np.full((6, 5, 4, 3), -1.0, order="F"), (6, 5, 4)
    none = (4, 3, 1, 5, 1, 4, 6, 3)
    host.frame.block("thermal", "Q", Q.ctypes.data, "rho, c", out.ctypes.data, *shape, *none)

    assert (out == -1).all() and not host.impl.launchers

    with pytest.raises(ArgumentError, match="unknown kernel or collection 'thermall'.*did you mean 'thermal'"):
        host.frame.block("thermall", "Q", Q.ctypes.data, "rho, c", out.ctypes.data, *shape, *none)
    with pytest.raises(ArgumentError, match="rhoo"):
        host.frame.block("thermal", "Q", Q.ctypes.data, "rhoo", out.ctypes.data, *shape, *none)


@pytest.mark.parametrize(
    "given, wanted, words",
    [
        ("T Y", "rho", r"a block call of 'thermal' lacks frame_in\('p', ...\)\."),
        ("", "rho", r"lacks frame_in\('T', ...\), frame_in\('Y', ...\), frame_in\('p', ...\)\."),
        ("T p Y", "h0", "'h0' cannot be computed from T, p, Y: missing u .m/s., v .m/s., w .m/s."),
        ("T p Y", "T", "nothing to compute: T given already"),
        ("T p Y", "omega", "the species have no reactions"),
    ],
)
def test_ranks_with_and_without_points_are_refused_alike(given, wanted, words):
    """So that all ranks of a host take the same way. Nothing is compiled where there are no points."""
    host = Host(ns=10, nq=1, mixture="ch4_o2")
    said = []

    for shape in ((0, 3, 2), (4, 3, 2)):
        arrays = {"T": field(300, shape), "p": field(1e7, shape), "Y": np.full((*shape, 10), 0.1, order="F")}
        out = np.full((*shape, 10), -1.0, order="F") if wanted == "omega" else field(-1, shape)
        with pytest.raises(FrameError, match=words) as error:
            asked(host, "thermal", {name: arrays[name] for name in given.split()}, **{wanted: out})
        said.append((type(error.value), str(error.value)))
        assert len(said) == 2 or not host.impl.launchers

    assert said[0] == said[1]


@pytest.mark.parametrize("name", ["p", "Y"])
def test_an_input_that_came_as_an_output(name):
    """It is not taken for a field that the call forgot."""
    host = Host(ns=10, nq=1, mixture="ch4_o2")
    arrays = {"T": field(300), "p": field(1e7), "Y": np.full((4, 3, 2, 10), 0.1, order="F")}
    outputs = {name: arrays.pop(name), "rho": field(np.nan)}

    with pytest.raises(
        ArgumentError, match=rf"'thermal' reads '{name}': wanted frame_in\('{name}', ...\), got frame_out"
    ):
        asked(host, "thermal", arrays, **outputs)
    assert np.isnan(outputs["rho"]).all()


def test_an_array_that_a_block_call_reads_and_writes(tmp_path):
    """frame_inout: for a kernel that updates a quantity in place."""
    (tmp_path / "warmed.h").write_text(
        "template <class M, class R> POINT_FN void warmed(const M &, R &T, const R p) { T = T + 1e-5 * p; }\n"
    )

    (tmp_path / "warmed.py").write_text(
        "from kernels import point_kernel\n"
        'point_kernel("warmed", header="warmed.h", reads="T p", writes="T", source="test", valid="everywhere")\n'
    )
    kernels.load_declarations(tmp_path / "warmed.py")
    host, T, p = Host(chunk=7), field(300.0), field(1e7)
    T += np.arange(24).reshape(T.shape)
    wanted = T + 1e-5 * p
    host.frame.block_of_fields("warmed", [whole("T", T, INOUT), whole("p", p, IN)], (None,) * 4, (None,) * 4)

    np.testing.assert_array_equal(T, wanted)

    kernels.registry.kernels.pop("warmed")  # the registry belongs to the process


def computed(host):
    """Outputs of the launches so far: one set of names for each."""
    return {frozenset(view.name for view in launcher.writes) for launcher in host.impl.launchers.values()}


@pytest.mark.parametrize("style", ["old", "new"])
@pytest.mark.parametrize("check", [0, 1])
def test_block_call_computes_what_it_is_asked_for(style, check):
    """rho and mu of thermal_viscous: one program for these two, the same for any order of the names. The results have
    the bits of Mixture.properties: the same kernels on the same inputs."""
    host = Host(ns=10, nq=15, mixture="ch4_o2")
    host.frame.set_parameter("check", check)
    Q, shape = state(ns=10), (4, 3, 2)
    Q[..., 4] += np.arange(24).reshape(shape)
    out = {name: field(np.nan) for name in ("rho", "mu")}

    for order in (("rho", "mu"), ("mu", "rho")):
        if style == "new":
            asked(host, "thermal_viscous", {"Q": Q}, **{name: out[name] for name in order})
        else:
            both = np.full((*shape, 2), np.nan, order="F")
            host.frame.block(
                "thermal_viscous",
                "Q",
                Q.ctypes.data,
                ",".join(order),
                both.ctypes.data,
                *shape,
                1,
                4,
                1,
                3,
                1,
                2,
                15,
                2,
            )
            for row, name in enumerate(order):
                out[name] = both[..., row]

        assert computed(host) == {frozenset(("rho", "mu"))} and len(host.impl.launchers) == 1

        Y = np.moveaxis(Q[..., 5:], -1, 0)
        wanted = host.impl.mixture.properties("rho mu", T=Q[..., 4], p=Q[..., 0], Y=Y, backend="cpu")

        for name, values in wanted.items():
            np.testing.assert_array_equal(out[name], values, err_msg=name)

    host.put("Q", Q)
    host.launch("thermal_viscous")  # a launch by name still makes the whole list

    assert {*kernels.collections["thermal_viscous"].outputs, "h0"} in computed(host)


def test_block_call_makes_what_the_collection_does_not_list():
    host = Host(ns=10, nq=15, mixture="ch4_o2")
    Q, out, h0 = state(ns=10), of_species(np.nan), field(np.nan)
    asked(host, "thermal_viscous", {"Q": Q}, h_Y=out, h0=h0)

    assert computed(host) == {frozenset(("h_Y", "h0"))}

    given = dict(T=Q[..., 4], p=Q[..., 0], Y=np.moveaxis(Q[..., 5:], -1, 0))
    wanted = host.impl.mixture.properties("h h_Y", **given, backend="cpu")
    # other kernels in the program: the compiler may contract other products into FMA; h is a sum of terms far above h
    scale = np.abs(wanted["h_Y"]).max()

    np.testing.assert_allclose(np.moveaxis(out, -1, 0), wanted["h_Y"], rtol=0, atol=100 * np.finfo(float).eps * scale)
    np.testing.assert_allclose(h0, wanted["h"] + 0.5 * 30.0**2, rtol=0, atol=100 * np.finfo(float).eps * scale)


def test_block_call_names_what_cannot_be_made():
    host = Host(ns=10, nq=1, mixture="ch4_o2")
    T, p, Y, out = field(300), field(1e7), of_species(0.1), field(-1)

    with pytest.raises(ArgumentError, match="'h0' cannot be computed from T, p, Y: missing u .m/s., v .m/s., w .m/s."):
        asked(host, "thermal", {"T": T, "p": p, "Y": Y}, rho=out, h0=out)
    with pytest.raises(StateError, match=r"a block call of 'thermal' lacks frame_in\('p', ...\)\."):
        asked(host, "thermal", {"T": T, "Y": Y}, rho=out)
    with pytest.raises(ArgumentError, match="kernel 'molar_mass' makes W, R_s, not rho"):
        asked(host, "molar_mass", {"Y": Y}, rho=out)
    with pytest.raises(ArgumentError, match="without outputs"):
        asked(host, "thermal", {"T": T, "p": p, "Y": Y})
    with pytest.raises(ArgumentError, match="unknown kernel or collection 'thermall'"):  # that comes first
        asked(host, "thermall", {"T": T, "p": p, "Y": Y})

    with pytest.raises(ArgumentError, match="'thermal' does not read 'h': the array would not.* It reads T, p, Y,"):
        asked(host, "thermal", {"T": T, "p": p, "Y": Y, "h": out.copy()}, rho=out)
    with pytest.raises(ArgumentError, match="'thermal' does not read 'rho'.* For these arrays: viscous"):
        asked(host, "thermal", {"T": T, "p": p, "Y": Y, "rho": out.copy()}, mu=out)
    with pytest.raises(ArgumentError, match="'molar_mass' does not read 'T'"):
        asked(host, "molar_mass", {"Y": Y, "T": T}, W=out)

    twice = [whole(n, a, n == "rho") for n, a in (("T", T), ("p", p), ("Y", Y), ("p", p), ("rho", out))]

    with pytest.raises(ArgumentError, match="gets 'p' twice"):
        host.frame.block_of_fields("thermal", twice, (None,) * 4, (None,) * 4)

    with pytest.raises(ArgumentError, match="'T' 4 x 3 x 2, 'p' 0 x 0 x 0, 'Y'"):
        asked(host, "thermal", {"T": T, "p": field(1, (0, 0, 0)), "Y": Y}, rho=out)

    assert (out == -1).all()

    with pytest.raises(StateError, match="before a mixture: call frame_loadmixture"):
        asked(Host(nq=1, mixture=None), "thermal", {"T": T}, rho_Y=out)


@pytest.mark.parametrize("names, words", [("QT", "'T' twice"), ("TpQ", "'T, p' twice"), ("QuY", "'u, Y' twice")])
def test_a_row_of_Q_that_comes_beside_it_is_refused(names, words):
    """The last of the two counted, in silence."""
    host, Q, out = Host(), state(), field(-1)
    arrays = {"Q": Q, "T": field(600), "p": field(1e5), "u": field(1), "Y": np.ones((4, 3, 2, 1), order="F")}

    with pytest.raises(ArgumentError, match=rf"{words} \('Q' has them, too\): which of the arrays counts"):
        asked(host, "thermal", {name: arrays[name] for name in names}, rho=out)
    assert (out == -1).all()

    asked(host, "T_from_h_p", {"h": field(3e5), "Q": Q}, T=out)  # here T of Q is no input
    assert (out > 0).all()


def test_a_velocity_beside_momenta_is_refused():
    """It did not count, in silence."""
    names = ("rhou", "rhov", "rhow", "rhoE", "u")
    given = {"rhoY": np.ones((4, 3, 2, 1), order="F")} | {name: field(1) for name in names}
    out = field(-1)

    with pytest.raises(ArgumentError, match="'primitive_from_conserved' does not read 'u': the array would not count"):
        asked(Host(), "primitive_from_conserved", given, T=out)
    assert (out == -1).all()


def test_inputs_that_some_outputs_need_do_no_harm():
    """All inputs of the collection, its optional ones too; and what is written in place."""
    host = Host(ns=10, nq=1, mixture="ch4_o2")
    T, p, Y, out = field(300), field(1e7), of_species(0.1), field(-1)
    velocity = {"u": field(1), "v": field(2), "w": field(3)}

    asked(host, "thermal", {"T": T, "p": p, "Y": Y, **velocity}, W=out)

    assert (out > 0).all()


@pytest.mark.parametrize("name, given", [("thermal", "T p"), ("T_from_e_rho", "e rho"), ("viscous", "T p rho")])
def test_a_mixture_of_one_species_needs_no_composition(name, given):
    """Y = 1 by itself: the bits of a call that brings it. Several species still need it."""
    mix = kernels.Mixture.from_yaml(str(MIXTURES / "n2.yaml"))
    T, p = np.linspace(200.0, 900.0, 105).reshape(7, 5, 3, order="F"), np.full((7, 5, 3), 2e6)
    known = mix.properties("T p rho e", T=T, p=p, backend="cpu")
    inputs = {key: np.asfortranarray(known[key]) for key in given.split()}
    output = {"thermal": "c", "viscous": "mu", "T_from_e_rho": "T"}[name]
    got, wanted = (np.full((7, 5, 3), np.nan, order="F") for _ in range(2))

    host = Host(chunk=40)
    asked(host, name, inputs, **{output: got})
    asked(host, name, inputs | {"Y": np.ones((7, 5, 3))}, **{output: wanted})
    assert np.isfinite(got).all() and np.array_equal(got, wanted)

    with pytest.raises(StateError, match=r"lacks frame_in\('Y', ...\)\."):
        asked(Host(ns=10, nq=1, mixture="ch4_o2"), name, inputs, **{output: got})


@pytest.mark.usefixtures("registry")
def test_block_call_updates_in_place_before_it_uses():
    """mu alone of 'air' belongs to the T of the input; if T is an output too, in any order, mu belongs to the new T."""
    host = Host(nq=1, mixture=None)
    host.frame.register_kernel(str(OWN_KERNEL))
    T = 250 + np.arange(24.0).reshape((4, 3, 2), order="F") * 9
    inputs = {"rho": field(1.2), "e": np.asfortranarray(T * (690 + 0.045 * T)), "T": field(300.0)}
    sutherland = lambda T: 1.458e-6 * T**1.5 / (T + 110.4)

    for names in (("mu", "T"), ("T", "mu"), ("mu",)):
        out = {name: field(np.nan) for name in names}
        asked(host, "air", inputs, **out)
        # 8 rounded operations and a power, with condition 1.5 at most, of a T that is right to 16 eps
        at = T if "T" in names else field(300.0)

        np.testing.assert_allclose(out["mu"], sutherland(at), rtol=32 * np.finfo(float).eps, err_msg=str(names))

        if "T" in names:
            np.testing.assert_allclose(out["T"], T, rtol=16 * np.finfo(float).eps)


def test_block_of_fields_with_different_sizes():
    host = Host()
    a, b = field(1, (4, 3, 2)), field(1, (4, 3, 1))
    fields = [whole("T", a, False), whole("rho", b, True)]
    with pytest.raises(ArgumentError, match="different shapes of points: 'T' 4 x 3 x 2, 'rho' 4 x 3 x 1"):
        host.frame.block_of_fields("thermal", fields, (None,) * 4, (None,) * 4)

    # The module has no step of one element. As an input it would count at all points.
    one = whole("rho", field(1, (1, 1, 1)), True)._replace(stride=(0, 0, 0))
    with pytest.raises(ArgumentError, match="different shapes of points: 'T' 4 x 3 x 2, 'rho' 1 x 1 x 1"):
        host.frame.block_of_fields("thermal", [fields[0], one], (None,) * 4, (None,) * 4)
