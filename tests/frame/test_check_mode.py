"""Check mode names the first unusable value."""

import numpy as np
import pytest
from frame_host import Host, field, state

import kernels
from frame.errors import StateError, status_of


@pytest.mark.parametrize(
    "value, row, words",
    [
        (np.nan, 4, "'T' = nan K"),
        (-5.0, 4, r"'T' = -5.0 K at point \(i, j, k\) = \(3, 2, 2\) of rank 0, wanted > 0"),
        (0.0, 0, "'p' = 0.0 Pa"),
        (np.inf, 1, "'u' = inf"),
        (0.5, 5, "'Y' sums to 0.5 over the species at"),
        (np.nan, 5, "'Y' = nan"),
        (-0.5, 5, "'Y' = -0.5 1 at point .*, wanted 0 or more"),
    ],
)
def test_check_of_inputs(host, value, row, words):
    host.frame.set_parameter("check", 1.0)
    Q = state()
    host.put("Q", Q)
    Q[2, 1, 1, row] = value

    with pytest.raises(StateError, match=words) as error:
        host.put("Q", Q)
    assert "(i, j, k) = (3, 2, 2)" in str(error.value) and "rank 0" in str(error.value) and status_of(error.value) == 4


def test_check_counts_points_in_the_hosts_block():
    """With a fringe and a later stripe, the indices are those of the host's array."""
    host = Host(nq=1, chunk=10)
    host.frame.set_parameter("check", 1)
    T = field(300, (8, 7, 6))
    T[3, 4, 5] = np.nan  # Fortran (4, 5, 6)
    at = ((4 - 3) + (5 - 2) * 4 + (6 - 4) * 4 * 5) + 1  # in the selection 3..6, 2..6, 4..6

    with pytest.raises(StateError, match=r"\(4, 5, 6\)"):
        host.frame.populate_input("T", T.ctypes.data, 8, 7, 6, 3, 6, 2, 6, 4, 6, 1, 1, at - 4, at + 5)


def test_check_of_results_names_the_kernel(tmp_path):
    (tmp_path / "root.h").write_text(
        "#pragma once\ntemplate <class M, class R> POINT_FN void shifted_root(const M &, const R T, R &mu)"
        " { mu = sqrt(T - 300.0); }\n"
    )

    (tmp_path / "root.py").write_text(
        "from kernels import point_kernel\npoint_kernel('shifted_root', header='root.h', reads='T', writes='mu', "
        "source='test', valid='T >= 300')\n"
    )
    host = Host(nq=1)
    host.frame.register_kernel(str(tmp_path / "root.py"))
    T = field(310)
    T[0, 2, 1] = 299
    host.put("T", T)
    host.launch("shifted_root")

    assert np.isnan(host.get("mu", field(0))[0, 2, 1])

    host.frame.set_parameter("check", 1)

    with pytest.raises(
        StateError,
        match=r"kernel 'shifted_root' in launch 'shifted_root' gave 'mu' = -?nan at point \(i, j, k\) = \(1, 3, 2\) "
        r"of rank 0; there T = 299.0",
    ):
        host.launch("shifted_root")

    host.frame.set_parameter("check", 0)
    host.launch("shifted_root")
    kernels.registry.kernels.pop("shifted_root")  # the registry belongs to the process


@pytest.mark.parametrize("T", [10000.0, 9000.0])
def test_check_names_the_range_that_was_left(T):
    """N2's polynomials end at 5000 K. Beyond, they give a negative cp; c is then NaN, not negative."""
    host = Host()
    Q, c = state(), field(1)
    Q[1, 2, 0, 4] = T
    host.put("Q", Q)
    host.launch("thermal")
    host.get("c", c)

    assert np.argwhere(np.isnan(c)).tolist() == [[1, 2, 0]] and (host.get("gamma", field(1))[~np.isnan(c)] > 1).all()

    host.frame.set_parameter("check", 1)

    with pytest.raises(
        StateError, match=rf"'c[pv]' = -.* at point \(i, j, k\) = \(2, 3, 1\) of rank 0; there .*T = {T}"
    ) as error:
        host.launch("thermal")

    assert str(error.value).endswith("T is outside 300 to 5000 K, the range of the polynomials of N2.")
