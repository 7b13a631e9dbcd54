"""Equations of state."""
