"""Makers of numbers that only real gases need: the start of a cubic's root, Takahashi's table, critical points."""
