"""Fixtures of all test files of contractions."""

from tensor_cases import every_backend, stand_in  # noqa: F401
