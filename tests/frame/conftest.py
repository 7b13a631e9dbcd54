"""For the tests of frame."""

import pytest
from frame_host import Host


@pytest.fixture
def host():
    return Host()
