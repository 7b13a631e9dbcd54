"""Mixtures for tests: NS = 1, 2, 10 and 53, with k_ij of each structure that the kernels treat differently."""

from functools import lru_cache
from pathlib import Path

import numpy as np
from ruamel.yaml import YAML

from frame.tools.validate.cantera import GETTERS
from kernels.gas.species import SpeciesData
from kernels.gas.species.cantera_yaml import read_cantera_yaml
from kernels.gas.species.fields import FIELDS

ROOT = Path(__file__).resolve().parent.parent
FILES = {
    1: ROOT / "examples/mixtures/n2.yaml",
    2: ROOT / "examples/mixtures/ch4_o2.yaml",
    10: ROOT / "examples/mixtures/ch4_o2.yaml",
    53: ROOT / "tests/data/gri53.yaml",
}
CANTERA_NAMES = GETTERS | dict(  # of the attributes of a cantera.Solution
    P="P",
    W="mean_molecular_weight",
    rho="density",
    D_mole="mix_diff_coeffs_mole",
    D_mass="mix_diff_coeffs_mass",
    Tc_mix="critical_temperature",
    pc_mix="critical_pressure",
)
KIJ = ("file", "none", "dense", "low_rank", "sparse")


@lru_cache
def _read(path):
    return read_cantera_yaml(path)[0]


@lru_cache
def species_set(ns, kij="file"):
    """SpeciesData of ns species (1, 2: CH4 and CO2, 10 or 53), k_ij as in the file, none, dense, low_rank or sparse."""
    data = _read(FILES[ns])
    if ns == 2:
        data = data.subset(["CH4", "CO2"])
    return data if kij == "file" else data.with_kij(kij_matrix(ns, kij))


def kij_matrix(ns, kind):
    """A k_ij of the kind asked for; the same one at every call."""
    random = np.random.default_rng(ns)
    if kind == "none":
        return np.zeros((ns, ns))

    if kind == "low_rank":  # three families: 1 - k_ij has rank 3, and the diagonal is zero of itself
        family = np.arange(ns) % 3
        between = np.array([[0.0, 0.12, -0.07], [0.12, 0.0, 0.04], [-0.07, 0.04, 0.0]])
        return between[np.ix_(family, family)]

    upper = np.triu(np.round(random.uniform(-0.15, 0.15, (ns, ns)), 4), 1)
    if kind == "sparse":  # about one pair a species
        upper *= random.random((ns, ns)) < 2 / ns
    return upper + upper.T


def changed(data, **new):
    """The same species with some fields replaced, checked anew."""
    fields = [field.name for field in FIELDS if field.name not in ("a", "b")]  # these follow from Tc and pc
    fields += ["p_ref", "T_fit"]
    return SpeciesData.from_arrays(data.names, **({field: getattr(data, field) for field in fields} | new))


def write_yaml(data, path):
    """A Cantera file of the given species (of one of the sets above) with their k_ij as binary-a; returns the path."""
    yaml, entries = YAML(typ="safe", pure=True), {}
    for source in [FILES[53]] if data.ns == 53 else [FILES[10], FILES[1]]:
        loaded = yaml.load(source.read_text())
        for entry in loaded["species"]:
            entries[entry["name"]] = {"units": loaded.get("units", {"quantity": "kmol"}), **entry}

    chosen = [entries[name] for name in data.names]
    for s, entry in enumerate(chosen):
        others = {
            data.names[t]: f"{float(np.sqrt(data.a[s] * data.a[t]) * (1 - data.kij[s, t]))!r} Pa*m^6/mol^2"
            for t in range(s + 1, data.ns)
            if data.kij[s, t]
        }
        entry["equation-of-state"] = [{"model": "Peng-Robinson", "binary-a": others}] if others else []

    phase = {"name": "test", "thermo": "Peng-Robinson", "transport": "high-pressure-Chung", "species": list(data.names)}
    with open(path, "w") as out:
        yaml.dump({"phases": [phase], "species": chosen}, out)
    return Path(path)
