"""Real gases: species, equations of state, transport, kinetics, reactors.

`declare` holds the registry, `models` declares the project's kernels, `plan` and `schedules` make programs of them.
`mixture` is what users call.
"""
