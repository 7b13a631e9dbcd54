"""Small mixture files for the tests: text, as data to change, written and read again."""

import json

from mixtures_for_tests import ROOT
from ruamel.yaml import YAML

from kernels.gas.species.cantera_yaml import read_cantera_yaml

SHIPPED = sorted((ROOT / "examples/mixtures").glob("*.yaml"))

BASE = """
phases:
- name: gas
  thermo: Peng-Robinson
  transport: high-pressure-Chung
  species: [CO2, N2]
species:
- name: CO2
  composition: {C: 1, O: 2}
  critical-parameters: {critical-temperature: 304.13, critical-pressure: 7.3773e+06, acentric-factor: 0.22394,
                        critical-molar-volume: 0.094118}
  equation-of-state: {model: Peng-Robinson, binary-a: {N2: 2.4e+05}}
  thermo: &thermo
    model: NASA7
    temperature-ranges: [200.0, 1000.0, 3500.0]
    data: [[3.5, 0, 0, 0, 0, -1000.0, 4.0], [3.5, 0, 0, 0, 0, -1000.0, 4.0]]
  transport: {model: gas, geometry: linear, well-depth: 244.0, diameter: 3.763, polarizability: 2.65,
              rotational-relaxation: 2.1, acentric-factor: 0.22394}
  real-gas: {association-factor: 0.0, diffusion-volume: 26.9}
- name: N2
  composition: {N: 2}
  critical-parameters: {critical-temperature: 126.19, critical-pressure: 3.3958e+06, acentric-factor: 0.0372}
  thermo: *thermo
"""


def base():
    return json.loads(json.dumps(YAML(typ="safe", pure=True).load(BASE)))  # without parts shared by both species


def read(tmp_path, data, phase=None, name="mix.yaml"):
    if not isinstance(data, (str, bytes)):
        with open(tmp_path / name, "w") as out:
            YAML(typ="safe", pure=True).dump(data, out)
    elif isinstance(data, str):
        (tmp_path / name).write_text(data)
    else:
        (tmp_path / name).write_bytes(data)

    return read_cantera_yaml(tmp_path / name, phase)
