"""Thermal quantities: the ideal-gas part, derivatives, inversions, the Jacobian of a flow solver."""
