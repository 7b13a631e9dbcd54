"""A small real-gas flow solver on the layer: python -m examples.mini_solver CASE; see README.md."""
