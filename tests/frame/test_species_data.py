"""Species data of the host, and of the mixture in use."""

import numpy as np
import pytest
from frame_host import Host, field, state

from frame.errors import ArgumentError, MixtureError


@pytest.mark.parametrize("tag, size", [("W", 1), ("kij", 1), ("nasa_low", 7), ("binary_fit", 5), ("T_mid", 1)])
def test_get_species(host, tag, size):
    species, out = host.frame.properties.mixture.species, np.full(size, np.nan)
    host.frame.get_species(tag, out, size)

    if tag == "binary_fit":
        from kernels.gas.species.kinetic_theory import friction_fit

        coefficients = out.reshape(5, -1, order="F")

        np.testing.assert_array_equal(
            coefficients[:4].ravel(order="F"), friction_fit(species, *species.T_fit).ravel(order="F")
        )
        assert not coefficients[4].any()
    else:
        np.testing.assert_array_equal(out, getattr(species, tag).ravel())

    with pytest.raises(ArgumentError, match=f"n = {size + 1} values, wanted {size}"):
        host.frame.get_species(tag, np.zeros(size + 1), size + 1)
    with pytest.raises(ArgumentError, match="unknown species data 'mass'; known: W Tc"):
        host.frame.get_species("mass", out, size)


def test_species_arrays_that_cannot_be():
    host = Host(mixture=None)
    one = np.ones(1)

    good = dict(
        W=one * 0.028,
        Tc=one * 126.2,
        pc=one * 3.4e6,
        omega=one * 0.037,
        kij=np.zeros((1, 1)),
        nasa_low=np.asfortranarray(np.eye(7)[:, :1] * 3.5),
        nasa_high=np.asfortranarray(np.eye(7)[:, :1] * 3.5),
        T_mid=one * 1000,
    )

    with pytest.raises(ArgumentError, match="ns = 2, frame_initialize was told ns = 1"):
        host.frame.populate_preos(2, *good.values())
    with pytest.raises(MixtureError, match="species data of the host.*pc"):
        host.frame.populate_preos(1, *{**good, "pc": -one}.values())
    with pytest.raises(MixtureError, match="nasa_high is .*, wanted 7 finite numbers, with a heat capacity"):
        host.frame.populate_preos(1, *{**good, "nasa_high": np.zeros((7, 1), order="F")}.values())

    host.frame.populate_preos(1, *good.values())
    host.put("Q", state())
    host.launch("thermal")  # works before the Chung data are passed

    with pytest.raises(ArgumentError, match="Fuller diffusion volume"):
        host.launch("viscous")

    host.frame.populate_chung(1, one * 9e-5, one * 0, one * 0, one * 18.5)
    host.launch("thermal")
    host.launch("viscous")

    assert (host.get("mu", field(0)) > 0).all()
