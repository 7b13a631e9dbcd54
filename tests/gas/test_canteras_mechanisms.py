"""The mechanisms that Cantera ships: which load, what the others say, and which options give Cantera's digits."""

import re
import subprocess
import sys
import warnings

import numpy as np
import pytest
from mixtures_for_tests import CANTERA_NAMES, ROOT

from frame.tools import mechanisms
from kernels import Mixture
from kernels.gas.species import GAS_CONSTANT as R, critical
from kernels.gas.species.cantera_yaml import cantera_data, gas_phases, read_cantera_yaml

pytest.importorskip("chemicals")
cantera = pytest.importorskip("cantera")
DATA = cantera_data()
pytestmark = pytest.mark.filterwarnings("ignore:.*jumps from")

ELECTRON = "the electron, no molecule"
KOH_WITHOUT = "Electron H+ H- H2+ H2- H2O+ H3O+ K+ KO- KOH+ O+ O- OH+ OH- O2+ O2-"
REFUSED = {  # (file, phase): what the real gas says, and the options with which it loads
    ("KOH.yaml", "KOH_plasma"): (ELECTRON, dict(critical="fill", without=KOH_WITHOUT.split())),
    ("airNASA9.yaml", "airNASA9"): (
        "an ion; there are no transport data",
        dict(critical="fill", without=["N2+", "O2+", "NO+", "N+", "O+", "e-"]),
    ),
    ("gri30_ion.yaml", "gas"): (ELECTRON, dict(critical="fill", without=["E"])),
}


PHASES = [
    ("KOH.yaml", "KOH_plasma"),
    ("SiF4_NH3_mec.yaml", "gas"),
    ("air.yaml", "air"),
    ("airNASA9.yaml", "airNASA9"),
    ("diamond.yaml", "gas"),
    ("example_data/ammonia-CO-H2-Alzueta-2023.yaml", "baseline"),
    ("example_data/ammonia-CO-H2-Alzueta-2023.yaml", "linear-Burke"),
    ("example_data/ammonia-Ru-Ba-YSZ-CSM-2019.yaml", "gas"),
    ("example_data/co2-thermo.yaml", "CO2-Ideal"),
    ("example_data/co2-thermo.yaml", "CO2-RK"),
    ("example_data/n-hexane-NUIG-2015.yaml", "gas"),
    ("gri30.yaml", "gri30"),
    ("gri30_highT.yaml", "gri30"),
    ("gri30_ion.yaml", "gas"),
    ("h2o2.yaml", "ohmech"),
    ("h2o2.yaml", "ohmech-RK"),
    ("methane_pox_on_pt.yaml", "gas"),
    ("nDodecane_Reitz.yaml", "nDodecane_RK"),
    ("nDodecane_Reitz.yaml", "nDodecane_IG"),
    ("ohn.yaml", "gas"),
    ("ptcombust.yaml", "gas"),
    ("sofc.yaml", "gas"),
]


def test_the_list_of_phases_is_complete():
    """By the text of the files: to read them all takes half a minute. The names of the command's rows come from the
    files."""
    found = re.compile(r"^ *- name: (.+)\n +thermo: (?:ideal-gas|Redlich-Kwong|Peng-Robinson)\b", re.M)
    texts = {str(path.relative_to(DATA)): path.read_text(encoding="utf-8") for path in sorted(DATA.rglob("*.yaml"))}
    assert [(name, phase) for name, text in texts.items() for phase in found.findall(text)] == PHASES
    assert len(PHASES) == 22


@pytest.mark.parametrize("file, phase", PHASES, ids=lambda text: str(text).split("/")[-1].removesuffix(".yaml"))
@pytest.mark.quick(file=["air.yaml", "airNASA9.yaml", "example_data/co2-thermo.yaml", "gri30_ion.yaml"])
@pytest.mark.quick(phase=["CO2-Ideal", "CO2-RK", "air", "airNASA9", "ohmech-RK"])
def test_every_mechanism_loads_or_says_what_to_do(file, phase):
    """Every species: identified by the table, with the formula of its composition; or estimated with a reason; or
    refused with a reason. With the options that the message names the phase loads."""
    row = mechanisms.row(DATA / file, phase, "", DATA)
    real, options = REFUSED.get((file, phase), (None, {"critical": "fill"}))

    assert (row.ideal == "refused", row.real == "refused") == (False, bool(real))
    assert (real or "") in row.said.get("real", "")
    assert all("without=[" in text for way, text in row.said.items() if way != "omega")

    page = (ROOT / "docs/howto/mechanisms.md").read_text()
    thermo = dict(gas_phases(DATA / file))[phase] if "NUIG" not in file else "ideal-gas"
    assert (
        f"| {file} | {phase} | {thermo} | {row.ideal} | {row.real} |" in page
    )  # as `python -m frame mechanisms` prints it

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        choices = critical.choices(options.get("critical"))
        data = read_cantera_yaml(DATA / file, phase, without=options.get("without", ()), choices=choices)[0]

    assert np.isfinite([data.Tc, data.pc, data.omega]).all()

    for name in data.names:
        words = data.origin[name]["Tc"]
        assert words.startswith(("estimated: ", "chemicals ")) and words.rpartition("; ")[2], name
        if words.startswith("chemicals"):
            Zc = data.pc * data.Vc / (R * data.Tc)
            assert not Zc[data.index(name)] > 0.36, name


@pytest.mark.parametrize("options", [dict(equation="ideal"), dict(critical="fill")], ids=["ideal", "real"])
@pytest.mark.quick(options={"equation": "ideal"})
def test_a_thousand_species_load_in_seconds(options):
    """1268 species: 20 s of one core, of which reading the YAML takes 3 to 10, and 1 GB."""
    code = (
        "import re, resource, warnings; warnings.simplefilter('ignore'); from kernels import Mixture; "
        f"mix = Mixture.from_yaml('example_data/n-hexane-NUIG-2015.yaml', **{options!r}); "
        "used = resource.getrusage(resource.RUSAGE_SELF); "
        # of the program alone: ru_maxrss also counts the process that started it
        "most = re.search(r'VmHWM:\\s*(\\d+)', open('/proc/self/status').read())[1]; "
        "print(mix.ns, used.ru_utime + used.ru_stime, most)"
    )

    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    ns, seconds, kilobytes = map(float, done.stdout.split())
    assert ns == 1268 and seconds < 20 and kilobytes < 1e6, done.stdout


# ---- as Cantera has it ----------------------------------------------------------------------------------------------

THERMAL = tuple("rho h e s cp cv c".split())
IDEAL = dict(equation="ideal", diffusion="cantera")


@pytest.mark.parametrize(
    "file, phase, options, quantities",
    [
        ("h2o2.yaml", "ohmech", IDEAL, (*THERMAL, "mu", "lam", "D")),
        ("h2o2.yaml", "ohmech-RK", dict(equation="rk"), THERMAL),
        ("gri30.yaml", "gri30", IDEAL, (*THERMAL, "mu", "lam", "D")),
        ("nDodecane_Reitz.yaml", "nDodecane_RK", dict(equation="rk"), THERMAL),
    ],
)
@pytest.mark.quick(file="h2o2.yaml")
def test_options_that_reproduce_cantera(file, phase, options, quantities):
    """The digits that the page promises, at 100 states of random composition, 400 to 3000 K, 0.1 to 300 bar. A sum
    over up to 100 species: 1e-13. D: Cantera's own fit of the same integrals, read by another formula, 1e-12. mu and
    lam of an ideal gas are other models than Cantera's mixture-averaged: they agree within 5 and 25 %."""
    gas, mix = cantera.Solution(file, phase), Mixture.from_yaml(file, phase, **options)
    random = np.random.default_rng(3)
    T, p = random.uniform(400, 3000, 100), np.exp(random.uniform(*np.log([1e4, 3e7]), 100))
    Y = random.dirichlet(np.ones(mix.ns), 100).T
    ours, theirs = mix.properties(list(quantities), T=T, p=p, Y=Y), {name: [] for name in quantities}

    for k in range(T.size):
        gas.TPY = T[k], p[k], Y[:, k]
        for name in quantities:
            theirs[name].append(getattr(gas, CANTERA_NAMES[name]))

    for name in quantities:
        wanted = np.moveaxis(np.array(theirs[name]), 0, -1)
        size = np.abs(wanted).max() if name in ("h", "e") else np.abs(wanted)
        limit = {"D": 1e-12, "mu": 0.05, "lam": 0.25}.get(name, 1e-13)
        assert (np.abs(ours[name] - wanted) <= limit * size).all(), (name, (np.abs(ours[name] - wanted) / size).max())


def test_electrons_in_an_ideal_gas():
    """Thermodynamics and rates of ions and electrons at one temperature, against Cantera. Sums over 56 species and 331
    reactions, whose terms have roundings of 1e-16 and cancel in part."""
    mix, gas = Mixture.from_yaml("gri30_ion.yaml", equation="ideal"), cantera.Solution("gri30_ion.yaml")
    random = np.random.default_rng(5)
    for _ in range(5):
        state = dict(T=random.uniform(400, 2500), p=random.uniform(1e5, 1e6), Y=random.dirichlet(np.ones(mix.ns)))
        gas.TPY = tuple(state.values())
        found = mix.properties("rho h cp s omega", **state)
        wanted = dict(rho=gas.density, h=gas.enthalpy_mass, cp=gas.cp_mass, s=gas.entropy_mass)
        for name, value in wanted.items():
            assert found[name] == pytest.approx(value, rel=1e-13), name
        omega = gas.net_production_rates * gas.molecular_weights
        np.testing.assert_allclose(found["omega"], omega, rtol=0, atol=1e-12 * np.abs(omega).max())
