"""Packages that the tests compare with, or work with. Where one is missing its tests are skipped: this test names it.
CI installs all of extra `test`, so there it fails."""

import importlib
import importlib.util
import os

import pytest
from hosts import ROOT
from packaging.requirements import Requirement

try:
    import tomllib
except ImportError:  # Python 3.10
    import tomli as tomllib

EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
MAY_LACK = EXTRAS["peers"]  # setup_machine.sh goes on where a machine has no wheel, and says so
MODULES = {"pytest-xdist": "xdist", "pillow": "PIL", "si-units": "si_units", "nvidia-cuda-nvrtc": "nvidia"}


def check(requirement: str, is_wanted: bool) -> None:
    """Imports a requirement. Skips the test if it is not installed, but fails if it is wanted."""
    wanted = Requirement(requirement)
    if wanted.marker and not wanted.marker.evaluate():
        pytest.skip(f"{requirement}: not for this machine")

    module = MODULES.get(wanted.name, wanted.name)
    if importlib.util.find_spec(module) is None:
        if is_wanted:
            pytest.fail(f"the package {wanted.name} is not installed: the tests that need it would be skipped")
        pytest.skip(f"the package {wanted.name} is not installed: its tests are skipped, too")

    importlib.import_module(module)


@pytest.mark.parametrize("requirement", [*EXTRAS["test"], *MAY_LACK])
def test_packages_of_the_tests(requirement):
    """Each that is installed can be imported, too: pytest.importorskip would skip its tests without a word."""
    check(requirement, bool(os.environ.get("CI")) and requirement not in MAY_LACK)


def test_a_package_that_lacks_is_named():
    with pytest.raises(pytest.fail.Exception, match="the package no_such_peer is not installed"):
        check("no_such_peer>=1", is_wanted=True)
    with pytest.raises(pytest.skip.Exception, match="no_such_peer"):
        check("no_such_peer>=1", is_wanted=False)
