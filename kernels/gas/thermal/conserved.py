"""Conserved variables of a finite-volume code: partial densities, momentum, total energy; all per volume.

A kernel here takes part where its conserved variables are given and its results are not: a host that has the density
beside the partial densities gives both.
"""

from ..declare import point_kernel, quantity

for name, unit, what, *per in (
    ("rhoY", "kg/m3", "partial densities rho Y_s, as a host gives them", "ns"),
    ("rhoY_but_last", "kg/m3", "partial densities of all species but the last, whose density is the rest", "ns-1"),
    ("rhou", "kg/m2/s", "momentum per volume, x"),
    ("rhov", "kg/m2/s", "momentum per volume, y"),
    ("rhow", "kg/m2/s", "momentum per volume, z"),
    ("rhoE", "J/m3", "total energy per volume, rho (e + (u^2 + v^2 + w^2)/2), formation included"),
):
    quantity(name, unit, what, *per)


def conserved(name: str, reads: str, writes: str, given: str, **more) -> None:
    """Declare a kernel of this file. given: conserved variables that have to come from the host."""
    point_kernel(
        name,
        header="gas/thermal/conserved.h",
        reads=reads,
        writes=writes,
        given=given,
        source="definition",
        valid="rho > 0 (else NaN)",
        phases="any",
        **more,
    )


conserved("density_of_partial_densities", "rhoY", "rho", "rhoY", packs=4)
conserved("fractions_of_partial_densities", "rhoY rho", "Y", "rhoY", packs=4)
conserved("fractions_of_all_but_the_last", "rhoY_but_last rho", "Y", "rhoY_but_last rho", packs=4)
conserved("velocity_of_momentum", "rhou rhov rhow rho", "u v w", "rhou rhov rhow", packs=4)
conserved("energy_of_total_energy", "rhoE rho u v w", "e", "rhoE", packs=4)
