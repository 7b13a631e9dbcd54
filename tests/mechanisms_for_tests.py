"""A mechanism with every kind of reaction that is read, over the seven species of examples/mixtures/h2_o2.yaml. Its
numbers are invented: of usual size, and no two alike."""

from functools import lru_cache
from pathlib import Path
from tempfile import mkdtemp

from mixtures_for_tests import ROOT

SPECIES = ROOT / "examples/mixtures/h2_o2.yaml"
PHASE = """
- name: {name}
  thermo: {thermo}
  species: [{{{species}/species: all}}]
  kinetics: bulk
  reactions: all
"""
MULTIPLIERS = '\n  rate-multipliers: {default: 1.0, "2": 0.25, "8": 3.0}'
REACTIONS = """
- equation: H + O2 <=> O + OH
  rate-constant: {A: 2.65e+16, b: -0.6707, Ea: 17041.0}
- equation: H2 + O => H + OH
  rate-constant: [3.87e+04, 2.7, 6260.0]
- equation: 2 O + M <=> O2 + M
  type: three-body
  rate-constant: {A: 1.2e+17, b: -1.0, Ea: 0.0}
  efficiencies: {H2: 2.4, H2O: 15.4, HO2: 0.0}
- equation: H + O2 + H2O <=> HO2 + H2O
  rate-constant: {A: 1.126e+19, b: -0.76, Ea: 0.0}
- equation: 2 H + H2O = H2 + H2O
  rate-constant: {A: 6.0e+19, b: -1.25, Ea: 0.0}
  efficiencies: {H2O: 1.5}
- equation: H + O + M <=> OH + M
  rate-constant: {A: 5.0e+17, b: -1.0, Ea: 0.0}
  default-efficiency: 0.0
  efficiencies: {H2: 2.0, H2O: 6.0}
- equation: O + OH (+M) <=> HO2 (+M)
  type: falloff
  low-P-rate-constant: {A: 3.0e+16, b: -0.5, Ea: 100.0}
  high-P-rate-constant: {A: 4.0e+12, b: 0.3, Ea: -50.0}
- equation: H + OH (+ M) <=> H2O (+ M)
  type: falloff
  low-P-rate-constant: {A: 2.3e+18, b: -0.9, Ea: -1700.0}
  high-P-rate-constant: {A: 7.4e+13, b: -0.37, Ea: 0.0}
  Troe: {A: 0.7346, T3: 94.0, T1: 1756.0, T2: 5182.0}
  efficiencies: {H2: 2.0, H2O: 6.0}
- equation: H + O2 (+M) <=> HO2 (+M)
  type: falloff
  low-P-rate-constant: {A: 6.37e+20, b: -1.72, Ea: 524.8}
  high-P-rate-constant: {A: 4.65e+12, b: 0.44, Ea: 0.0}
  Troe: {A: 0.5, T3: 1.0e-30, T1: 1.0e+30, T2: 1.0e+100}
- equation: H + O (+O2) <=> OH (+O2)
  type: falloff
  low-P-rate-constant: {A: 1.0e+17, b: -0.7, Ea: 30.0}
  high-P-rate-constant: {A: 2.0e+13, b: 0.1, Ea: 0.0}
  efficiencies: {O2: 0.7}
  Troe: {A: 0.6, T3: 120.0, T1: 2000.0}
- equation: 2 O (+M) <=> O2 (+M)
  type: falloff
  low-P-rate-constant: {A: 1.0e+16, b: -0.6, Ea: 0.0}
  high-P-rate-constant: {A: 5.0e+12, b: 0.2, Ea: 0.0}
  SRI: {A: 0.54, B: 201.0, C: 1024.0}
- equation: 2 H (+M) <=> H2 (+M)
  type: falloff
  low-P-rate-constant: {A: 1.0e+18, b: -1.0, Ea: 0.0}
  high-P-rate-constant: {A: 3.0e+13, b: 0.1, Ea: 0.0}
  SRI: {A: 1.1, B: 700.0, C: 1234.0, D: 56.0, E: -0.7}
  efficiencies: {H2: 0.5, H2O: 4.0}
- equation: H2 + O (+M) <=> H2O (+M)
  type: falloff
  low-P-rate-constant: {A: 1.0e+18, b: -1.1, Ea: 900.0}
  high-P-rate-constant: {A: 6.0e+13, b: -0.1, Ea: 700.0}
  Tsang: {A: 0.95, B: -1.0e-04}
- equation: H + HO2 (+M) <=> 2 OH (+M)
  type: chemically-activated
  low-P-rate-constant: {A: 7.0e+13, b: 0.0, Ea: 295.0}
  high-P-rate-constant: {A: 3.0e+08, b: 0.7, Ea: 150.0}
  Troe: {A: 0.4, T3: 300.0, T1: 900.0, T2: 4000.0}
- equation: H + HO2 (+M) <=> H2 + O2 (+M)
  type: chemically-activated
  low-P-rate-constant: {A: 1.66e+13, b: 0.0, Ea: 823.0}
  high-P-rate-constant: {A: 2.0e+07, b: 1.0, Ea: 500.0}
- equation: HO2 + O <=> OH + O2
  type: pressure-dependent-Arrhenius
  rate-constants:
  - {P: 0.1 atm, A: 3.25e+13, b: 0.0, Ea: -445.0}
  - {P: 1.0 atm, A: 2.0e+12, b: 0.4, Ea: -300.0}
  - {P: 1.0 atm, A: -1.0e+08, b: 0.6, Ea: 2000.0}
  - {P: 10.0 bar, A: 1.0e+13, b: 0.2, Ea: 10.0}
- equation: O + H + H2 <=> OH + H2
  type: pressure-dependent-Arrhenius
  rate-constants:
  - {P: 1.0 atm, A: 1.0e+17, b: -0.9, Ea: 20.0}
  - {P: 50.0 atm, A: 3.0e+16, b: -0.7, Ea: 10.0}
- equation: HO2 + OH <=> H2O + O2
  type: Chebyshev
  units: {length: cm, quantity: molec}
  temperature-range: [290.0, 3000.0]
  pressure-range: [0.01 atm, 100.0 atm]
  data:
  - [-10.6, -1.1e-02, 3.0e-04]
  - [0.3, 2.0e-02, -1.0e-03]
  - [0.05, -4.0e-03, 2.0e-03]
  - [-0.01, 1.0e-03, 5.0e-04]
- equation: H2 + HO2 => H2O + OH
  type: Chebyshev
  temperature-range: [300.0, 2500.0]
  pressure-range: [0.1 bar, 10.0 bar]
  data: [[9.5, 0.1], [1.2, 0.05]]
- equation: H2 + O2 => 2 OH
  rate-constant: {A: 1.7e+09, b: 0.4, Ea: 24000.0}
  orders: {H2: 0.5, O2: 1.25, H2O: -0.3}
  negative-orders: true
  nonreactant-orders: true
- equation: 2 HO2 => 2 OH + O2
  duplicate: true
  rate-constant: {A: 4.2e+14, b: 0.0, Ea: 12000.0}
- equation: 2 HO2 => 2 OH + O2
  duplicate: true
  negative-A: true
  rate-constant: {A: -1.3e+11, b: 0.0, Ea: -1630.0}
- equation: H2 + 0.5 O2 <=> H2O
  rate-constant: {A: 1.0e+10, b: 0.5, Ea: 30000.0}
- equation: H + OH + O2 <=> H2O + O2
  type: elementary
  rate-constant: {A: 2.2e+19, b: -1.1, Ea: 0.0}
- equation: OH + H2O + O <=> HO2 + H2O
  type: elementary
  rate-constant: {A: 1.0e+16, b: -0.3, Ea: 0.0}
- equation: 2 H2 + 2 OH <=> 2 H2O + 2 H
  duplicate: true
  rate-constant: {A: 1.0e+18, b: 0.0, Ea: 9000.0}
- equation: OH + H2 <=> H2O + H
  duplicate: true
  rate-constant: {A: 2.9e-17 cm^3/molec/s, b: 1.51, Ea: 14.3 kJ/mol}
- equation: 2 OH <=> O + H2O
  units: {length: cm, quantity: molec, activation-energy: K}
  rate-constant: {A: 5.9e-14, b: 0.4, Ea: -1061.0}
- equation: HO2 <=> H + 2 O
  rate-constant: {A: 1.0e+16, b: -0.2, Ea: 1.1 eV}
- equation: HO2 <=> O + OH
  rate-constant: {A: 3.0e+14, b: 0.1, Ea: 60000.0}
- equation: 2 H + O <=> H2O
  rate-constant: {A: 1.0e+17, b: -0.1, Ea: 0.0}
- equation: 3 OH <=> H2O + O2 + H
  rate-constant: {A: 1.0e+14, b: 0.3, Ea: 1000.0}
- equation: H2O + O <=> 2 H + O2
  rate-constant: {A: 1.0e+14, b: 0.0, Ea: 40000.0}
- equation: 2 H + O2 => 2 OH
  rate-constant: {A: 1.0e+15, b: 0.2, Ea: 41000.0}
"""
# rate coefficients that go with the heat of a reaction: of a real gas Cantera has another
HEATS = """
- equation: O + H2 <=> H + OH
  type: Blowers-Masel
  rate-constant: {A: 5.1e+04, b: 2.67, Ea0: 6290.0, w: 110000.0}
- equation: O2 + H2O => HO2 + OH
  type: Blowers-Masel
  rate-constant: [4.0e+13, 0.1, 1.5 kcal/mol, 450 kJ/mol]
- equation: O + HO2 + M => O2 + OH + M
  type: Blowers-Masel
  rate-constant: {A: 3.0e+16, b: -0.4, Ea0: 2000.0, w: 120000.0}
  efficiencies: {H2O: 5.0}
- equation: H2O + HO2 => H2 + OH + O2
  type: Blowers-Masel
  negative-A: true
  rate-constant: {A: -2.0e+09, b: 0.5, Ea0: 14000.0, w: 99000.0}
"""
# a rule for mixtures: rate coefficients depend on mole fractions, and lanes of a warp do not share a point
MIXED = """
- equation: H + H2O (+M) <=> H2 + OH (+M)
  type: linear-Burke
  colliders:
  - name: M
    type: pressure-dependent-Arrhenius
    rate-constants:
    - {P: 0.1 atm, A: 3.3e+13, b: 0.1, Ea: 4450.0}
    - {P: 1.0 atm, A: 2.2e+14, b: 0.0, Ea: 5300.0}
    - {P: 30.0 atm, A: 1.1e+15, b: -0.1, Ea: 6100.0}
  - name: O2
    efficiency: {A: 0.7, b: 0.11, Ea: -130.0}
  - name: H2
    efficiency: {A: 3.1, b: -0.2, Ea: 250.0}
    type: Chebyshev
    temperature-range: [300.0, 3000.0]
    pressure-range: [0.01 atm, 100.0 atm]
    data: [[12.1, 0.9, -0.1], [1.1, 0.2, 0.01], [0.1, 0.05, -0.02]]
  - name: h2O
    efficiency: {A: 11.0, b: 0.0, Ea: 0.0}
    type: falloff
    low-P-rate-constant: {A: 3.0e+18, b: -0.8, Ea: 1700.0}
    high-P-rate-constant: {A: 8.0e+13, b: -0.3, Ea: 0.0}
    Troe: {A: 0.71, T3: 104.0, T1: 1700.0, T2: 5000.0}
- equation: O + H2O (+M) => 2 OH (+M)
  type: linear-Burke
  units: {activation-energy: K}
  colliders:
  - name: M
    type: falloff
    low-P-rate-constant: {A: 2.0e+17, b: -0.5, Ea: 900.0}
    high-P-rate-constant: {A: 6.0e+13, b: 0.1, Ea: 300.0}
    Troe: {A: 0.6, T3: 200.0, T1: 1500.0}
    eig0: {A: 1.1e+14, b: 0.2, Ea: -500.0}
  - name: H2
    eig0: {A: 2.1e+14, b: 0.1, Ea: -700.0}
  - name: H
    eig0: {A: 0.0, b: 0.0, Ea: 0.0}
- equation: 1.5 H2 + HO2 (+M) => H + H2O + OH (+M)
  type: linear-Burke
  colliders:
  - name: M
    type: Chebyshev
    temperature-range: [250.0, 3000.0]
    pressure-range: [0.1 bar, 90.0 bar]
    data: [[11.5, 0.3], [1.2, 0.05]]
"""

KINDS = (REACTIONS, HEATS, MIXED)
OF_LANES = (REACTIONS, HEATS)
CANTERAS = {"ideal": KINDS, "real": (REACTIONS, MIXED)}


def joined(parts):
    return "".join(part.lstrip() for part in parts)


def text(reactions=None, species=SPECIES, extra=""):
    """The file: phases `ideal` and `real`, each with the lines `extra`, and the reactions; None: every kind."""
    reactions = joined(KINDS) if reactions is None else reactions
    phases = "".join(
        PHASE.format(name=name, thermo=thermo, species=species).rstrip() + extra
        for name, thermo in (("ideal", "ideal-gas"), ("real", "Peng-Robinson"))
    )

    units = "{length: cm, quantity: mol, activation-energy: cal/mol}"
    return f"units: {units}\nphases:{phases}\nreactions:\n{reactions.lstrip()}"


@lru_cache(None)
def path(parts=KINDS):
    """A file with every kind of reaction, or some of them."""
    out = Path(mkdtemp()) / "every_kind.yaml"
    out.write_text(text(joined(parts), extra=MULTIPLIERS))
    return out
