"""CUDA without a GPU: every source that the emitter can produce compiles for sm_90.

NVRTC compiles on any machine; what the kernels compute is tested in test_gpu.py and gas/test_gas_on_device.py.
    PYTHONPATH=tests python tests/engine/test_cuda_compile.py     registers, stack and spills of the collections
"""

import concurrent.futures
import dataclasses
import itertools
import re
import subprocess

import mechanisms_for_tests as mechanisms
import numpy as np
import pytest
from kernel_cases import of_reactions
from mixtures_for_tests import ROOT, changed, species_set

from frame.tools.bench import inputs
from kernels import Contraction, Mixture, get_backend, marshal, registry, resolve
from kernels.contractions import table as organisations
from kernels.engine.backend import cache, cuda, nvrtc
from kernels.engine.backend.base import Source
from kernels.engine.errors import BackendError, CompileError
from kernels.gas import launches
from kernels.gas.plan import Launch
from kernels.gas.planning import make_plan
from kernels.gas.schedules import render, schedule_of_plan
from kernels.gas.schedules.text import folders
from kernels.gas.species import GAS_CONSTANT

ARCH = "sm_90"
NS = (1, 2, 10, 53)
KIJ = ("none", "dense", "low_rank", "sparse")
EVERY_STEP = ("thermal", "viscous", "thermal_viscous", "critical_state_of_mixture")
RATES = ("kinetics", "thermal_kinetics")  # of mixtures with reactions; the others here have none
REACTORS = ("react_volume", "react_pressure")
# Of mixtures with phases = equilibrium
IN_EQUILIBRIUM = tuple(f"phases_from_{state}" for state in ("T_p", "e_rho", "h_p", "s_p", "rho_T", "p_rho"))
EQUILIBRIA = tuple(f"equilibrate_{state}" for state in ("T_p", "T_rho", "h_p", "e_rho", "s_p", "s_rho"))  # want atoms
FEW = """
phases:
- name: gas
  thermo: ideal-gas
  species: [{h2o2.yaml/species: [H2, H, AR]}]
  kinetics: bulk
reactions:
- {equation: 2 H + M <=> H2 + M, rate-constant: [1.0e+12, -1.0, 0.0], efficiencies: {H2: 0.5}}
"""


def option_sets():
    """Nineteen mixtures: every k_ij with every root rule, every value of the other options with either; two of ideal
    gases; one of pseudo-critical pairs; two of a general alpha; two of equation mapped with its own transport."""
    for i in range(12):
        yield (
            KIJ[i % 4],
            dict(
                root=("gibbs", "vapour", "liquid")[i % 3],
                chung=("polefree", "published", "cantera")[i // 2 % 3],
                diffusion=("kinetic", "fuller", "cantera", "kinetic")[i % 4],
                viscosity=("chung", "lucas")[i // 3 % 2],
                takahashi=("smooth", "table", "off")[i // 4],
                alpha=("smooth", "smooth", "published", "cantera")[i // 3],
                equation=("pr", "srk", "pr", "pr")[i // 3],
                translation=("none", "peneloux")[i // 2 % 2],
            ),
        )

    for law in ("sutherland", "powerlaw"):
        yield "none", dict(equation="ideal", viscosity=law, takahashi="off")
    yield "dense", dict(mixing="pseudocritical", alpha="published")
    yield "dense", dict(equation="rkpr")
    yield "none", dict(equation="rk")
    yield "dense", dict(equation="mapped", viscosity="residual")
    yield "dense", dict(equation="mapped", viscosity="residual", enhancement="critical")


# Of these, one of each structure of k_ij, of ideal gases, of pairs and of a general alpha; make test leaves the others
# to make test-full.
SOME = (0, 3, 5, 10, 12, 14, 15)
PARTS = {"some": SOME, "others": tuple(i for i in range(18) if i not in SOME)}


def made(ns, kij, options):
    """The mixture; of 53 species some have no measured critical volume, which rkpr wants of all."""
    data = species_set(ns, kij)
    if options.get("equation") == "rkpr":
        Vc = np.where(np.isnan(data.Vc), 0.27 * GAS_CONSTANT * data.Tc / data.pc, data.Vc)
        data = changed(data, Vc=Vc)

    return Mixture(data, **options)


def planned(kernels, outputs, mix, precision="double"):
    how = launches.chosen(kernels, mix, precision, table=launches.read(launches.COMMITTED))
    return make_plan(kernels, outputs, mix, how, precision, name="+".join(outputs or [k.name for k in kernels])[:40])


def build(plan, name):
    """Registers, stack, spills of one plan's kernel; raises when it does not compile."""
    source = render(plan)
    flags = [*cuda.OPTIONS, *(f"--include-path={folder}" for folder in (cuda.HERE, *source.folders))]
    cubin, log = nvrtc.compile_cubin(source.text, ARCH, flags, name=name)
    assert cubin.startswith(b"\x7fELF") and "warning" not in log, log
    return nvrtc.resources(log)["frame_run"]


def build_all(plans):
    """Two at a time: NVRTC runs outside Python's lock."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return dict(zip(plans, pool.map(lambda name: build(plans[name], name), plans)))


def collection_plans(ns, name, part="some"):
    """The properties of every step with all sets (in two parts) at 10 species, else one of each structure of k_ij and
    of ideal gases; what is derived from them with four sets, at 2 and 53 species."""
    c = registry.collections[name]
    sets = list(option_sets())

    if name not in EVERY_STEP:
        sets = [sets[i] for i in (0, 5, 14, 15 if ns == 2 else 16)] if ns in (2, 53) else []
    else:
        sets = [sets[i] for i in (PARTS[part] if ns == 10 else SOME[:-1])]

    for kij, options in sets:
        mix = made(ns, kij, options)
        yield (
            f"{name} NS={ns} {kij} {' '.join(options.values())}",
            planned(resolve(c.outputs, c.given, mix.options), c.outputs, mix),
        )


def collection_cases():
    for ns in NS:
        for name in sorted(set(registry.collections) - {*RATES, *REACTORS, *IN_EQUILIBRIUM, *EQUILIBRIA}):
            yield pytest.param(ns, name, "some", id=f"{ns}-{name}")
            if ns == 10 and name in EVERY_STEP:
                yield pytest.param(ns, name, "others", id=f"{ns}-{name}-others")


@pytest.mark.parametrize("ns, name, part", list(collection_cases()))
@pytest.mark.long(ns=[1, 10, 53], name=["thermal_viscous", "viscous"])
@pytest.mark.long(
    ns=[2, 53],
    name=[
        "T_from_e_rho",
        "T_from_h_p",
        "T_from_s_p",
        "gamma_jacobian_properties",
        "gamma_matrices",
        "gamma_solve_dU",
        "gamma_times_dQ",
        "rho_h0_from_T_p",
        "thermal",
        "viscous",
    ],
)
@pytest.mark.long(part="others")
@pytest.mark.long(ns=[2, 10, 53], name=["thermal", "viscous"])
@pytest.mark.long(ns=53)
def test_collections_compile(ns, name, part):
    report = build_all(dict(collection_plans(ns, name, part)))
    if name not in EVERY_STEP:
        assert len(report) == 4 * (ns in (2, 53))
    else:
        assert len(report) == (len(PARTS[part]) if ns == 10 else 6)

    for what, r in report.items():
        # The matrix units' operands of 53 species fill the registers. So do two sweeps over pairs of ten species with a
        # general alpha, and the map's sums beside them.
        allowed = 256
        if ns > 24 or " mapped" in what:
            allowed = 1024
        elif name == "thermal_viscous" or " rk" in what:
            allowed = 512

        assert r["spill_stores"] <= allowed and r["spill_loads"] <= 2 * allowed and r["registers"] <= 255, (what, r)


@pytest.mark.parametrize("precision", ["double", "mixed"])
@pytest.mark.parametrize("name", ["viscous", "thermal_viscous"])
@pytest.mark.quick(name="viscous", precision="mixed")
@pytest.mark.quick(name="thermal_viscous", precision="double")
def test_transport_by_residual_entropy_compiles(name, precision):
    """With a density that is given, whose s+ takes an iteration, and with the root's. Equation mapped fills the
    registers by itself: 584 bytes of ten species spill with Chung's rules, 600 with these."""
    c, plans = registry.collections[name], {}
    for ns in (1, 4, 10):
        mix = made(ns, "file", dict(equation="mapped", viscosity="residual")) if ns != 4 else four()
        records = resolve(c.outputs, c.given, mix.options)
        assert any(record.name == "residual_viscosity" for record in records)
        plans[f"{name} NS={ns}"] = planned(records, c.outputs, mix, precision)

    for what, r in build_all(plans).items():
        assert r["spill_stores"] <= 768 and r["registers"] <= 255, (what, r)


@pytest.mark.parametrize("name", ["viscous", "thermal_viscous"])
def test_the_critical_enhancement_compiles(name):
    """With the thermal properties that it needs. The sums of the mixture fill the registers, as above."""
    c, models = registry.collections[name], dict(equation="mapped", viscosity="residual", enhancement="critical")
    plans = {}
    for ns in (1, 10):
        mix = made(ns, "file", models)
        records = resolve(c.outputs, c.given, mix.options)
        assert any(record.name == "critical_enhancement" for record in records)
        plans[f"{name} NS={ns}"] = planned(records, c.outputs, mix, "double")

    for what, r in build_all(plans).items():
        assert r["spill_stores"] <= 512 and r["registers"] <= 255, (what, r)


def four():
    """Methane, oxygen and what they burn to."""
    return Mixture.from_yaml(ROOT / "examples/mixtures/ch4_o2_4.yaml", equation="mapped", viscosity="residual")


@pytest.mark.full
def test_rates_with_cold_ranges_compile():
    """Potentials below the polynomials: their sums cost registers only where polynomials begin above the coldest
    temperature of rates, 200 K. 272 and 328 bytes spill, and rates keep their pace."""
    mix = Mixture.from_yaml(mechanisms.path(mechanisms.OF_LANES), "ideal", equation="ideal", cold_cp="fitted")
    warm = dataclasses.replace(mix.species, T_min=np.full(mix.ns, 300.0))
    c, spills = registry.collections[RATES[0]], {}
    for name, mixture in (("200 K", mix), ("300 K", Mixture(warm, equation="ideal", cold_cp="fitted"))):
        r = build(planned(resolve(c.outputs, c.given, mixture.options), c.outputs, mixture), name)
        assert r["registers"] <= 255, r
        spills[name] = r["spill_stores"]

    assert spills["200 K"] <= 320 and spills["300 K"] <= 384, spills


MAPPED = (
    "thermal",
    "T_from_h_p",
    "T_from_s_p",
    "T_from_e_rho",
    "T_from_p_rho",
    "gamma_matrices",
    "critical_state_of_mixture",
)


@pytest.mark.parametrize("name", MAPPED)
@pytest.mark.quick(name=["thermal", "T_from_e_rho", "gamma_matrices"])
def test_equation_mapped_compiles(name):
    """With k_ij of every pair and none; spills as of any general alpha."""
    c, plans = registry.collections[name], {}
    for ns, kij in ((1, "file"), (10, "dense"), (10, "none")):
        mix = Mixture(species_set(ns, kij), equation="mapped")
        plans[f"{name} NS={ns} {kij}"] = planned(resolve(c.outputs, c.given, mix.options), c.outputs, mix)

    for what, r in build_all(plans).items():
        assert r["spill_stores"] <= 512 and r["registers"] <= 255, (what, r)


@pytest.mark.parametrize("name", ["thermal", "viscous"])
@pytest.mark.quick(name="thermal")
def test_chosen_organisations_spill_nothing_up_to_20_species(name):
    """Three values and a half at most: that is cheaper than the threads that two more registers would cost. Six where
    what Takahashi's pairs take of 10 species fills the registers: measured faster than fewer threads. 128 bytes where
    the sums of a smooth alpha have a second pass over the pairs, in warps with a point beyond a bend only: it holds
    what the first found."""
    c, plans = registry.collections[name], {}
    for ns, precision in ((1, "double"), (4, "double"), (10, "double"), (20, "double"), (13, "single"), (20, "single")):
        for options in ({}, {"alpha": "published"}, {"takahashi": "off"}, {"takahashi": "off", "diffusion": "fuller"}):
            if options == {} or (name == "viscous") != ("alpha" in options):
                mix = inputs.mixture(ns, "dense", **options)
                records = resolve(c.outputs, c.given, mix.options)
                plans[f"{name} {precision} NS={ns} {options}"] = planned(records, c.outputs, mix, precision)

    for what, r in build_all(plans).items():
        allowed = 28
        if name == "thermal" and "{}" in what:
            allowed = 128  # a second pass, beyond a bend
        elif "NS=10 {}" in what:
            allowed = 48

        assert r["spill_stores"] <= allowed, (what, r)


@pytest.mark.parametrize("part", ["first", "some", "others"])
@pytest.mark.parametrize("ns", [2, 53])
@pytest.mark.quick(ns=2, part="first")
def test_every_kernel_compiles_alone(ns, part):
    """Each declared kernel under each set of options that it serves. First: the first of these. Some: those with an
    option or a constant that the kernel has not had before."""
    plans, known, names = {"first": {}, "some": {}, "others": {}}, set(), set()
    for kij, options in option_sets():
        mix = made(ns, kij, options)
        for kernel in registry.kernels.values():
            if part == "first" and kernel.name in names:
                continue
            if kernel.serves(mix.options) and not of_reactions(kernel):
                plan = planned([kernel.for_options(mix.options)], None, mix)
                key = relevant(plan)
                new = {(kernel.name, word) for word in key} - known
                known |= new

                if all(key not in p for p in plans.values()):
                    found = "some" if new else "others"
                    plans[found if kernel.name in names else "first"][key] = plan
                    names.add(kernel.name)

    others = {k.name for k in registry.kernels.values() if of_reactions(k) or k.phases == "equilibrium"}
    assert {name for name, *_ in plans["first"]} == set(registry.kernels) - others
    plans = plans[part]
    build_all({" ".join(map(str, key)): plan for key, plan in plans.items()})


@pytest.mark.parametrize("what", ["10", "53", "alone"])
@pytest.mark.parametrize("precision", ["mixed", "single"])
@pytest.mark.quick(precision="single", what="10")
def test_single_precision_compiles(precision, what):
    """Collections with 10 and 53 species (registers and shared memory, panels and matrix units); all kernels alone."""
    plans = {}
    for ns in [int(what)] if what != "alone" else ():
        mix = Mixture(species_set(ns, "dense"), takahashi="off" if ns == 53 else "smooth")
        for name in EVERY_STEP + ("gamma_jacobian_properties",) + ("T_from_h_p",) * (precision == "mixed"):
            c = registry.collections[name]
            records = resolve(c.outputs, c.given, mix.options)
            plans[f"{name} NS={ns}"] = planned(records, c.outputs, mix, precision)

    mix = Mixture(species_set(2))
    for kernel in registry.kernels.values() if what == "alone" else ():
        if (
            kernel.serves(mix.options)
            and not of_reactions(kernel)
            and (precision == "mixed" or not kernel.running.double_only)
        ):
            plans[kernel.name] = planned([kernel], None, mix, precision)

    for name, r in build_all(plans).items():
        allowed = 768 if "NS=53" in name else 512  # operands of the matrix units, as in double precision
        assert r["spill_stores"] <= allowed and r["registers"] <= 255, (name, r)


@pytest.mark.parametrize("name, precision", [(RATES[1], "double"), (RATES[0], "mixed"), ("alone", "double")])
@pytest.mark.quick(precision="double")
def test_rates_compile(name, precision):
    """Both collections and the rates by reaction, in both precisions; every kind of reaction, and none but plain ones.
    A point's arrays over species and reactions lie in local memory, or spill from registers: `stack`."""
    mix = Mixture.from_yaml(mechanisms.path(), "real")
    if name == "alone":
        kernels = ("reaction_rates", "equilibrium_constants")
        records, outputs = [registry.kernels[k].for_options(mix.options) for k in kernels], None
    else:
        c = registry.collections[name]
        records, outputs = resolve(c.outputs, c.given, mix.options), c.outputs

    r = build(planned(records, outputs, mix, precision), name)
    assert r["spill_stores"] <= 128 and r["registers"] <= 255 and r["stack"] < 2048, r


@pytest.mark.parametrize("name, precision", [(RATES[1], "double"), (RATES[0], "mixed")])
@pytest.mark.quick(precision="double")
def test_rates_by_a_crew_compile(name, precision):
    """Both collections of a real gas, and every kind of reaction, where the warps of a block share its points."""
    mix, c = Mixture.from_yaml(mechanisms.path(), "real"), registry.collections[name]
    how = Launch(256, "crew", unroll=2, blocks=2)
    r = build(make_plan(resolve(c.outputs, c.given, mix.options), c.outputs, mix, how, precision, name), name)
    assert r["registers"] <= 128 and r["spill_stores"] <= 512, r


@pytest.mark.parametrize("file, hold", [("h2o2.yaml", "registers"), ("gri30.yaml", "crew")])
def test_production_stays_on_the_multiprocessor(file, hold):
    """For an ideal gas, a point is in registers, or in shared memory that is enough for two blocks."""
    mix = Mixture.from_yaml(file, equation="ideal", takahashi="off")
    plan = planned(resolve(["omega"], ["T", "p", "rho", "Y"], mix.options), ["omega"], mix)
    r = build(plan, file)

    assert plan.how.hold == hold and r["spill_stores"] <= 64, (plan.how, r)
    assert r["stack"] <= (128 if hold == "registers" else 0), r
    assert plan.how.blocks * (schedule_of_plan(plan).shape(plan).shared + 1024) <= 228 * 1024


@pytest.mark.parametrize("what", ["few", "few mapped", "react_volume", "react_pressure", "product"])
@pytest.mark.quick(what="few")
def test_reactors_compile(what, tmp_path):
    """A reactor over a step and a Jacobian's product; matrices of a point lie in local memory. A mechanism with a
    single reaction of three species compiles in a tenth of the time."""
    if what == "product":
        mix = Mixture.from_yaml(mechanisms.path(), "ideal", equation="ideal")
        outputs, given = ["J_cp_dw"], ["T", "rho", "Y", "dw"]
    elif what.startswith("few"):
        (tmp_path / "few.yaml").write_text(FEW)
        options = dict(equation="ideal") if what == "few" else dict(equation="mapped", critical="fill")
        mix, c = Mixture.from_yaml(tmp_path / "few.yaml", **options), registry.collections["react_volume"]
        outputs, given = c.outputs, c.given
    else:
        options = dict(equation="ideal") if what == "react_volume" else dict(critical="fill")
        mix, c = Mixture.from_yaml("h2o2.yaml", takahashi="off", **options), registry.collections[what]
        outputs, given = c.outputs, c.given

    r = build(planned(resolve(outputs, given, mix.options), outputs, mix), what)
    assert r["registers"] <= 255 and r["stack"] < 16384, r


@pytest.mark.parametrize("how", [Launch(64), Launch(64, "lanes", pairs=3, constants="shared")], ids=["queue", "warp"])
def test_reactors_in_mixed_precision_compile(how, tmp_path):
    """Mass fractions then stay in registers, in double, until they are stored."""
    (tmp_path / "few.yaml").write_text(FEW)
    mix, c = Mixture.from_yaml(tmp_path / "few.yaml", equation="ideal"), registry.collections["react_volume"]
    r = build(make_plan(resolve(c.outputs, c.given, mix.options), c.outputs, mix, how, "mixed"), "mixed")
    assert r["registers"] <= 255, r


def test_reactors_of_large_mechanisms_stay_on_the_multiprocessor():
    mix, c = Mixture.from_yaml("gri30.yaml", equation="ideal", takahashi="off"), registry.collections["react_volume"]
    plan = planned(resolve(c.outputs, c.given, mix.options), c.outputs, mix)
    r = build(plan, c.name)
    assert plan.how.hold == "lanes" and not r["spill_stores"] and r["stack"] <= 128, (plan.how, r)
    assert schedule_of_plan(plan).shape(plan).covers >= 4 and schedule_of_plan(plan).shape(plan).shared <= 227 * 1024


IN_PHASES = [
    ("pr", 2, "phases_from_T_p"),
    ("pr", 2, "warm"),
    ("pr", 2, "thermal"),
    ("pr", 10, "warm"),
    ("mapped", 2, "warm"),
    ("mapped", 2, "phases_from_p_rho"),
    ("mapped", 2, "thermal"),
]


@pytest.mark.parametrize("equation, ns, name", IN_PHASES)
@pytest.mark.quick(ns=2, name="warm", equation="pr")
def test_phases_compile(equation, ns, name):
    """Phase equilibrium: the state of a point lies in local memory, the more so with many species."""
    mix = Mixture(species_set(ns, "dense"), phases="equilibrium", equation=equation)
    if name == "warm":
        outputs, given = "T p ln_kappa eta phases_status".split(), "e rho Y T_start ln_kappa eta".split()
    else:
        outputs, given = registry.collections[name].outputs, registry.collections[name].given

    r = build(planned(resolve(outputs, given, mix.options), outputs, mix), name)
    assert r["registers"] <= 255, r


def relevant(plan):
    """A kernel's name and what of its source depends on the options: the flags that its header's bodies look at."""
    (kernel,) = plan.kernels
    text = "".join(p.read_text() for p in cache.included(render(plan).text, [cuda.HERE, *folders(plan)]))
    seen = tuple(sorted(flag for flag, on in plan.flags.items() if on and f"M::{flag}" in text and uses(kernel, flag)))
    return (kernel.name, *seen, *(name for name, _ in plan.constants))


def uses(kernel, flag):
    """Flags of k_ij matter to kernels with its constants; the others where the kernel's own header names them."""
    return "kij" in " ".join(kernel.constants) if flag.startswith("kij") else f"M::{flag}" in kernel.header.read_text()


def test_a_broken_source_is_shown_with_the_compilers_words():
    with pytest.raises(BackendError, match="sm_90.*broken.cu(.|\n)*undefined_name"):
        nvrtc.compile_cubin("__global__ void k(double *x) { x[0] = undefined_name; }", ARCH, name="broken.cu")


NVRTC_OF_13_0 = """
#include <dlfcn.h>
const char *nvrtcGetErrorString(int status) { return "an error"; }
int nvrtcVersion(int *major, int *minor) {
    *major = 99, *minor = 0;
    return dlopen("libnvrtc-builtins.so.99.0", RTLD_NOW) ? 0 : 7;
}
"""


def test_nvrtc_whose_builtins_are_not_where_the_loader_looks(tmp_path, monkeypatch):
    """The wheel of CUDA 13.0 has no rpath: "failed to open libnvrtc-builtins.so.13.0"."""
    library = shared_library(tmp_path / "libnvrtc.so.99", NVRTC_OF_13_0)
    shared_library(tmp_path / "libnvrtc-builtins.so.99.0", "int builtins;")
    monkeypatch.setattr(nvrtc, "_candidates", lambda: [str(library)])
    monkeypatch.setattr(nvrtc, "library", nvrtc.library.__wrapped__)
    assert nvrtc.version.__wrapped__() == "99.0"


def shared_library(path, source):
    """A library whose name for the loader is that of its file."""
    command = ["gcc", "-shared", "-fPIC", f"-Wl,-soname,{path.name}", "-xc", "-", "-o", path]
    subprocess.run(command, input=source, text=True, check=True)
    return path


def test_marshal_compiles_without_spills():
    report = get_backend(arch=ARCH).compile(marshal.SOURCE).report
    assert len(report) == 6
    # 64 registers: 1024 threads a multiprocessor, enough loads in flight for the link and for device memory
    assert all(r["spill_stores"] == 0 and r["registers"] <= 64 for r in report.values()), report


@pytest.mark.parametrize("given", ["T p", "e rho T_start"])
@pytest.mark.quick(given="T p")
def test_the_first_pass_over_points_calls_no_function(given):
    """The numbers that a function is given lie in memory: two phases from a start took a third longer so."""
    mix = Mixture(species_set(2, "dense"), phases="equilibrium", equation="pr")
    outputs = "ln_kappa eta phases_status".split()
    plan = planned(resolve(outputs, f"{given} Y ln_kappa eta".split(), mix.options), outputs, mix)
    source = render(plan)
    flags = [*cuda.OPTIONS, *(f"--include-path={folder}" for folder in (cuda.HERE, *source.folders))]
    cubin, _ = nvrtc.compile_cubin(source.text, ARCH, flags, name="first_pass")
    names = set(re.findall(rb"_Z\d+\w+", cubin)) - {b"_Z13IS_QUICK_PASSI9QuickPassE"}  # _ZN: members of classes
    assert any(b"in_whole" in name for name in names)
    assert not [name for name in names if b"QuickPass" in name]


def test_two_phases_stay_in_registers():
    """Loops over the rows of small matrices are written out: no array lies in a thread's own memory."""
    mix = Mixture.from_names("N2 NC12H26 CH4 CO2", equation="pr", phases="equilibrium")
    program = mix.program(kernels=["equilibrium_thermal"], backend=get_backend("cuda", arch=ARCH))
    report = program.module.report["frame_run"]
    assert report["stack"] == 0, report


LOOP = r"\s*(UNROLL\w*|FOR_[A-Z]+|for|while|do)\b"


@pytest.mark.parametrize("folder", ["engine/numbers", "gas"])
def test_loops_of_discarded_branches_stand_in_braces(folder):
    """`if constexpr (no) for (...) { ... }` makes NVRTC 13 lose the statement that follows where that has a pragma of
    its own: species slopes of rates came without their molar masses (J_cv off by a factor of 15)."""
    for path in (cuda.HERE / folder).rglob("*.h"):
        text = path.read_text()
        bare = re.findall(rf"(?<!#)\belse{LOOP}.*", text)

        for found in re.finditer(r"if constexpr (?=\()", text):
            depths = itertools.accumulate((c == "(") - (c == ")") for c in text[found.end() :])
            behind = text[found.end() + 1 + next(i for i, depth in enumerate(depths) if depth == 0) :]
            bare += re.findall(rf"\A{LOOP}.*", behind)

        assert not bare, f"{path}: {bare}"


@pytest.mark.parametrize("knows_the_option", [True, False])
def test_machine_code_that_the_compiler_had_kept(tmp_path, monkeypatch, knows_the_option):
    """NVRTC's own cache answers without a report: it is not asked, or names of kernels are found nevertheless."""
    compile_cubin = nvrtc.compile_cubin

    def from_its_cache(source, arch, options=(), name="kernels.cu"):
        asked_anew = nvrtc.NO_CACHE in options
        if asked_anew and not knows_the_option:
            raise CompileError("unknown option")
        code, log = compile_cubin(source, arch, options, name)
        return code, log if asked_anew else ""

    monkeypatch.setenv("FRAME_CACHE", str(tmp_path))
    monkeypatch.setattr(nvrtc, "compile_cubin", from_its_cache)
    plan = Contraction("o[i] = a[i j] b[j]", dict(i=4, j=4), backend=get_backend("cuda", arch="sm_90"), how="flat")
    report, symbols = cuda._report(cuda.machine_code(plan.source, "sm_90"))
    assert symbols["contraction"] == plan.source.symbol != "contraction"
    assert ("registers" in report["contraction"]) == knows_the_option


@pytest.mark.parametrize("name", ["Y_l", "Y_v", "v_Y", "h_Y", "e_Y"])
@pytest.mark.quick(name=["Y_v", "h_Y"])
def test_species_values_of_a_kernel_that_are_asked_for_alone(name):
    """The others stay in registers: its arguments are of different types then."""
    mix = made(2, "none", dict(phases="equilibrium"))
    plan = planned(resolve((name,), ("T", "p", "Y"), mix.options), (name,), mix)
    assert build(plan, name)["registers"]


def test_the_cache_is_filled_without_a_device(tmp_path, monkeypatch):
    """A login node's part: cubins land in the cache, are found again, and a damaged one is made anew."""
    monkeypatch.setenv("FRAME_CACHE", str(tmp_path))
    (what, plan), *_ = collection_plans(2, "thermal")
    source = render(plan)
    path = cuda.machine_code(source, ARCH)
    code = path.read_bytes()

    assert path.parent == tmp_path and code.startswith(b"\x7fELF")
    stamp = path.stat().st_mtime_ns
    assert cuda.machine_code(source, ARCH) == path and path.stat().st_mtime_ns == stamp

    path.write_bytes(code[:100])
    assert cuda.machine_code(source, ARCH).read_bytes() == code
    assert cuda.machine_code(source, "sm_80") != path
    assert cuda.machine_code(Source(source.name, source.text + "// said\n"), ARCH) == path


def test_a_device_that_is_not_here_gets_what_its_table_says(tmp_path, monkeypatch):
    """Compiled for sm_90 without a GPU; then planned as on an H200 without a compiler, by the table and the model."""
    text, sizes, how = "o[c f] = d[c p] x[c f p]", dict(f=8, p=36), "sums threads=128 lanes=8 near=2"
    target, there = get_backend("cuda", arch="sm_90"), get_backend("cuda", arch="sm_90")
    there.product = "NVIDIA H200"
    first = Contraction(text, sizes, backend=there, quick=True)
    row = organisations.Row(first.key, 0, how, "test", 10, 1.0, 2.0, "2026-11-23")
    organisations.write(tmp_path / "table.csv", [row])
    monkeypatch.setenv("FRAME_CACHE", str(tmp_path))
    monkeypatch.setenv("FRAME_ORGANISATIONS", str(tmp_path / "table.csv"))
    Contraction(text, sizes, backend=target, quick=True).compile_ahead()
    monkeypatch.setattr(nvrtc, "compile_cubin", lambda *_, **__: pytest.fail("it is compiled once more"))
    tabled = Contraction(text, sizes, backend=there, quick=True)

    assert tabled.row and organisations.written(tabled.how) == how != organisations.written(first.how)
    for plan in (tabled, first):
        plan.compile_ahead()
    plain = Contraction(text, sizes, backend=there, quick=True, how="flat")

    with pytest.raises(pytest.fail.Exception, match="once more"):
        plain.compile()


if __name__ == "__main__":
    print(f"NVRTC {nvrtc.version()}, {ARCH}; default options, k_ij none and dense")
    print(f"{'collection':<18}{'NS':>4} {'k_ij':<6}{'registers':>10}{'stack B':>9}{'spills B':>9}")
    for name, c in registry.collections.items():
        for ns in NS if name not in (*IN_EQUILIBRIUM, *EQUILIBRIA) else ():
            for kij in KIJ[:2]:
                mix = Mixture(species_set(ns, kij))
                r = build(planned(resolve(c.outputs, c.given, mix.options), c.outputs, mix), name)
                print(
                    f"{name[:17]:<18}{ns:>4} "
                    f"{kij:<6}{r['registers']:>10}{r['stack']:>9}{r['spill_stores'] + r['spill_loads']:>9}"
                )
