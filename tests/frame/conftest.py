"""For the tests of frame."""

import pytest
from frame_host import Host
from link_cases import frame, programs  # noqa: F401


@pytest.fixture
def host():
    return Host()
