"""Interfaces that are carried along: pressure and velocity have to stay uniform."""

import numpy as np

from .tools import CH4_O2, H2_O2, MAPPED, curves, figure, flow_of, largest, line, lost, off, rows


def energy_scale(flow):
    """sum rho (e - lowest e), the scale of energy drifts for an interface."""
    rho, e_vol = flow.field("rho"), flow.field("e_vol")
    return float((rho * (e_vol / rho - (e_vol / rho).min())).sum()) * flow.case.dx[0]


def interface(quick, pictures):
    """Transcritical N2, 5 MPa, 100 m/s, one period: p and u uniform; drift of energy within what was measured elsewhere
    for this scheme (1.7e-2, 9.5e-2, 0.27 of sum rho (e - e_min) for d = 0.05, 0.02 and a sharp edge on 100 cells)."""
    fields = {}
    for d, bound, freeze in (
        (0.05, 1.7e-2, "step"),
        (0.02, 9.5e-2, "step"),
        (1e-4, 0.27, "step"),
        (1e-4, 0.27, "stage"),
    ):
        case = dict(p=5e6, u=100, T="300 - 100*(tanh((x - 0.25)/d) - tanh((x - 0.75)/d))", constants={"d": d})

        f = flow_of([100], [0.0], [1.0], case, 0.01, freeze=freeze)
        start, scale, first = f.sums(), energy_scale(f), line(f, "rho")

        def drift(f):
            return abs(f.sums()[-2] - start[-2]) / scale

        p, u, energy = largest(f, 0.01, off("p", 5e6), off("u", 100), drift)
        fields[d] = f.coordinates()[0][0, 0], first, line(f, "rho")
        yield from rows(
            f"interface d = {d:g}, frozen for a {freeze}",
            ("|p/p0 - 1|", p, 1e-10),
            ("|u/u0 - 1|", u, 1e-10),
            ("energy drift", energy, bound),
            ("mass", lost(f, start), 1e-12),
        )

    if pictures:
        with figure(pictures / "interface.png", 1, 3, figsize=(11, 3), sharey=True) as axes:
            for axis, (d, (x, exact, got)) in zip(axes, fields.items()):
                drawn = (x, exact, "k-", "exact"), (x, got, "o", "100 cells, one period")
                curves(axis, *drawn, legend=axis is axes[0], title=f"d = {d:g} m", xlabel="x [m]")
            axes[0].set_ylabel("density [kg/m$^3$]")


def species_jump(quick, pictures):
    """Cold O2 in warm CH4 with a passive copy of O2, sharp and smooth, 100 bar: p and u uniform, species bounded and
    conserved."""
    end = 0.25 / 60 if quick else 1 / 60
    for d in (0.05, 1e-4):
        f_ = "0.5*(tanh((x - 0.25)/d) - tanh((x - 0.75)/d))"
        case = dict(
            p=1e7,
            u=60,
            T=f"300 - 180*{f_}",
            constants={"d": d},
            X={"O2": f"0.7*{f_}", "O2_2": f"0.3*{f_}", "CH4": "rest"},
        )

        f = flow_of([100], [0.0], [1.0], case, end, mixture={"file": CH4_O2, "species": ["CH4", "O2", "O2"]})
        start = f.sums()
        p, u = largest(f, end, off("p", 1e7), off("u", 60))
        Y = np.stack([f.field(f"Y_{n}") for n in f.mixture.names])
        copy = np.abs(Y[2] / np.maximum(Y[1], 0.1) - 3 / 7)[Y[1] > 0.1].max()
        yield from rows(
            f"species jump d = {d:g}",
            ("|p/p0 - 1|", p, 1e-10),
            ("|u/u0 - 1|", u, 1e-10),
            ("species mass", lost(f, start), 1e-12),
            ("lowest Y", -float(Y.min()), 1e-14),
            ("copy stays 3/7", float(copy), 1e-3),
        )


def oxygen_in_hydrogen(quick, pictures):
    """Cold O2 in warm H2, 100 bar, equation mapped: p and u uniform, species bounded and conserved."""
    end = 0.25 / 60 if quick else 1 / 60
    mixture = {"file": H2_O2, "species": ["O2", "H2"], "options": MAPPED}

    for d in (0.05, 1e-4):
        oxygen = "0.5*(tanh((x - 0.25)/d) - tanh((x - 0.75)/d))"
        case = dict(p=1e7, u=60, T=f"300 - 180*{oxygen}", constants={"d": d}, X={"O2": oxygen, "H2": "rest"})

        f = flow_of([100], [0.0], [1.0], case, end, mixture=mixture)
        start = f.sums()
        p, u = largest(f, end, off("p", 1e7), off("u", 60))
        lowest = min(float(f.field(f"Y_{name}").min()) for name in f.mixture.names)
        yield from rows(
            f"O2 in H2, equation mapped, d = {d:g}",
            ("|p/p0 - 1|", p, 1e-10),
            ("|u/u0 - 1|", u, 1e-10),
            ("species mass", lost(f, start), 1e-12),
            ("lowest Y", -lowest, 1e-14),
        )
