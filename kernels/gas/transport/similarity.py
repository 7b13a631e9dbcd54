"""Numbers of similarity: ratios of properties that other kernels compute."""

from ..declare import point_kernel, quantity

quantity("Pr", "1", "Prandtl number, mu cp/lam")
quantity("Le", "1", "Lewis numbers, lam/(rho cp D)", "ns")

point_kernel(
    "prandtl_number",
    header="gas/transport/similarity.h",
    reads="mu cp lam",
    writes="Pr",
    source="definition",
    valid="where mu, cp and lam are",
    packs=4,
)
point_kernel(
    "lewis_numbers",
    header="gas/transport/similarity.h",
    reads="lam rho cp D",
    writes="Le",
    source="definition",
    valid="where lam, rho, cp and D are",
)
