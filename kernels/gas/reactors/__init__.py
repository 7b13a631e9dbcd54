"""Points as closed adiabatic reactors, and their integration over a step."""
