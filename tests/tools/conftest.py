"""For the tests of the commands."""

from bench_cases import briefly  # noqa: F401  a fixture
