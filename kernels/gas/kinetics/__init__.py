"""Rates of reactions, and their slopes."""
