"""A run of JAX-Fluids (the public differentiable finite-volume solver, github.com/tumaer/JAXFLUIDS) for
benchmarks/taylor_green.py, by a Python that has it and JAX.

python benchmarks/jaxfluids_run.py SETTINGS       SETTINGS: JSON, see `taylor_green.py`; the last line printed is the
answer, JSON.

Its central fluxes of sixth order in Kennedy and Gruber's split form, viscous terms of fourth order, RK3, double
precision. (HLLC of WENO5-Z states, as in its own example of this vortex, loses 22 % of the kinetic energy by t = 6 on
32^3 cells, in 23 times the time.) Lengths over L, velocities over V, densities over rho.
"""

import contextlib
import json
import os
import sys
import tempfile
import time

FLUXES = {
    "convective_solver": "CENTRAL",
    "central": {
        "split_form": "KENNEDY",
        "reconstruction_stencil": "CENTRAL6",
        "reconstruction_variable": "PRIMITIVE",
    },
}


def case(s):
    """The case file, as JAX-Fluids reads it."""
    n, side = s["cells"], s["side"]
    p = f"{s['p0']!r} + (jnp.cos(2*x) + jnp.cos(2*y))*(jnp.cos(2*z) + 2)/16"
    mean = dict.fromkeys(("density", "length", "velocity", "temperature"), 1.0)

    return {
        "general": {"case_name": "tgv", "end_time": s["times"][-1], "save_path": "results", "save_dt": 1e9},
        "domain": {d: {"cells": n, "range": [0.0, side]} for d in "xyz"},
        "boundary_conditions": {
            side: {"type": "PERIODIC"} for side in ("east", "west", "north", "south", "top", "bottom")
        },
        "initial_condition": {
            "rho": 1.0,
            "u": "lambda x, y, z: jnp.sin(x)*jnp.cos(y)*jnp.cos(z)",
            "v": "lambda x, y, z: -jnp.cos(x)*jnp.sin(y)*jnp.cos(z)",
            "w": 0.0,
            "p": f"lambda x, y, z: {p}",
        },
        "material_properties": {
            "equation_of_state": {"model": "IdealGas", "specific_heat_ratio": s["gamma"], "specific_gas_constant": 1.0},
            "transport": {
                "dynamic_viscosity": {"model": "CUSTOM", "value": s["mu"]},
                "bulk_viscosity": 0.0,
                "thermal_conductivity": {"model": "CUSTOM", "value": s["lam"]},
            },
        },
        "nondimensionalization_parameters": {f"{name}_reference": one for name, one in mean.items()},
        "output": {"primitives": ["density"]},
    }


def numerics(s):
    """The file of the numerical set-up, as JAX-Fluids reads it."""
    return {
        "conservatives": {
            "halo_cells": 5,
            "time_integration": {"integrator": "RK3", "fixed_timestep": s["dt"]},
            "convective_fluxes": FLUXES,
            "dissipative_fluxes": {
                "reconstruction_stencil": "CENTRAL4",
                "derivative_stencil_center": "CENTRAL4",
                "derivative_stencil_face": "CENTRAL4",
            },
        },
        "active_physics": {
            "is_convective_flux": True,
            "is_viscous_flux": True,
            "is_heat_flux": True,
            "is_volume_force": False,
        },
        "precision": {"is_double_precision_compute": True, "is_double_precision_output": True},
        "output": {"logging": {"level": "NONE"}},
    }


def main(s):
    began = time.perf_counter()
    import jax
    import jaxfluids
    from jaxfluids import InitializationManager, InputManager, SimulationManager
    from jaxfluids.data_types.ml_buffers import CallablesSetup, ParametersSetup

    manager = InputManager(case(s), numerics(s))
    buffers = InitializationManager(manager).initialization()
    solver = SimulationManager(manager)
    inner = manager.domain_information.domain_slices_conservatives

    def primitives():
        rows = buffers.simulation_buffers.material_fields.primitives
        jax.block_until_ready(rows)
        return rows

    def kinetic():
        rho, u, v, w = primitives()[(slice(4), *inner)]
        return float((0.5 * rho * (u * u + v * v + w * w)).mean())

    def step():
        nonlocal buffers
        how = solver.compute_control_flow_params(buffers.time_control_variables, buffers.step_information)
        buffers, _ = solver.do_integration_step(buffers, how, ParametersSetup(), CallablesSetup())

    clock = time.process_time if jax.devices()[0].platform == "cpu" else time.perf_counter
    energy, ready = [kinetic()], time.perf_counter() - began
    step()  # which compiles
    primitives()

    done, seconds, steps = 1, [], []
    for t in s["times"]:
        wanted, before, began = round(t / s["dt"]), done, clock()
        while done < wanted:
            step()
            done += 1

        primitives()
        seconds.append(clock() - began)
        steps.append(done - before)
        energy.append(kinetic())

    return {
        "version": jaxfluids.__version__,
        "products": f"JAX {jax.__version__} on {jax.devices()[0].platform}",
        "stages": 3,
        "kinetic": energy,
        "seconds": seconds,
        "steps": steps,
        "set_up": ready,
    }


if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        answer = main(given)
    with contextlib.suppress(BrokenPipeError):
        print(json.dumps(answer), flush=True)
