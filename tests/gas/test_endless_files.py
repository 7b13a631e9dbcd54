"""Mixture files without an end, too long, or of random text: an error in short time, and no crash."""

import copy
import os
import random
import time
import warnings

import numpy as np
import pytest
from mixture_files import BASE, SHIPPED, read
from ruamel.yaml import YAML

from kernels.engine.errors import MixtureError
from kernels.gas.species.cantera_yaml import read_cantera_yaml

LAUGHS = "".join(f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 10)}]\n" for k in range(1, 10))
MERGED = "".join(f"a{k}: &a{k}\n  <<: [{', '.join([f'*a{k - 1}'] * 10)}]\n" for k in range(1, 10))


@pytest.mark.parametrize(
    "text",
    [
        "a0: &a0 [x, x]\n" + LAUGHS + "phases: *a9\n",
        BASE + "a0: &a0 [x, x]\n" + LAUGHS + "elements: *a9\n",
        BASE + "a0: &a0 {x: 1}\n" + MERGED,
        "phases: &p [*p]\n",
        "phases: &p [{name: *p, thermo: Peng-Robinson}]\n",
    ],
)
def test_aliases_without_end(text, tmp_path):
    """Each stands for 1e10 items, or for itself; without a limit: 5 GB, and no end."""
    begin = time.process_time()
    with pytest.raises(MixtureError, match="mix.yaml: is not valid YAML: its aliases stand for too much"):
        read(tmp_path, text)
    assert time.process_time() - begin < 5


@pytest.mark.parametrize("part", ["1.5, ", "[], ", "&a 1, ", "x ", "\n  "])
def test_a_file_that_is_too_long(part, tmp_path, recwarn):
    """Half a million of anything would take 20 s. Anchors of equal names would each be printed with the text around."""
    begin = time.process_time()
    with pytest.raises(MixtureError, match=r"cannot be read \(more than 300000 words and lines beside its reactions"):
        read(tmp_path, BASE + "more: [" + 500_000 * part + "1]\n")
    assert time.process_time() - begin < 5

    read(tmp_path, BASE + "more: [" + 500 * part + "1]\n")
    assert not recwarn.list


EQUATION = "- equation: A <=> B  # comment\n  rate-constant: {A: 1e5,\n    b: 0}\n\n"
ENDS = (
    ("reactions:\n" + EQUATION, "not: [closed\n"),
    ("\ngas-reactions: # all\n" + EQUATION * 3 + "  \n# end\n", "not: [closed\n"),
    ("reactions:\n" + EQUATION.replace("1e5", "&a 1"), "not: [closed, *a\n"),  # read: it may be referred to
    ("reactions: [{equation: A <=> B}]\n", "not: [closed\n"),
)


@pytest.mark.parametrize("reactions, broken", ENDS)
def test_reactions_are_passed_over(reactions, broken, tmp_path):
    """Nothing else changes: not the data, and not the line of an error behind them."""
    plain, name = read(tmp_path, BASE)
    for text in (reactions + BASE, BASE + reactions, BASE + reactions.rstrip(), BASE + reactions + "more: 1\n"):
        data, _ = read(tmp_path, text)
        assert data.names == plain.names and np.array_equal(data.kij, plain.kij)

    line = (BASE + reactions + broken).count("\n")
    with pytest.raises(MixtureError, match=rf"mix.yaml: is not valid YAML: .*line {line + 1}, "):
        read(tmp_path, BASE + reactions + broken)
    with pytest.warns(UserWarning, match="several YAML documents"):  # a mark of the next document is no item
        data, _ = read(tmp_path, BASE + reactions + "---\n" + BASE.replace("CO2", "CH4"))
    assert data.names == plain.names


def test_many_reactions_take_no_time(tmp_path):
    begin = time.process_time()
    read(tmp_path, BASE + "reactions:\n" + EQUATION * 50_000)  # 4 MB
    assert time.process_time() - begin < 5


def test_files_without_end(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "large").touch()
    os.truncate(tmp_path / "large", 2**24 + 1)

    for file in ("/dev/zero", tmp_path / "fifo", tmp_path / "large"):
        with pytest.raises(MixtureError, match=r"cannot be read \(no regular file, or larger than 16 MiB\)"):
            read_cantera_yaml(file)


ODD = (None, -1, 0, 1e999, "", "x", "3 bar^999999999", [], {}, [[]], {"a": 1}, True, 2**4000, "nan bar", "all", {1: 2})
SIGNS = ["[", "]", "{", ":", "\n", "\t", "&a ", "*a ", "<<: ", "!!int ", "? ", "- ", "0x", "---\n", ".nan", "'", "\0"]


def test_mutated_copies_of_the_examples(tmp_path):
    """Whatever a file holds, it is read, or refused by MixtureError within a second."""
    chance, tree = random.Random(1), YAML(typ="safe", pure=True).load(SHIPPED[-1].read_text())
    text = SHIPPED[-1].read_text()

    def places(node, path=()):
        children = []
        if isinstance(node, dict):
            children = node.items()
        elif isinstance(node, list):
            children = enumerate(node)

        for key, value in children:
            yield (*path, key)
            yield from places(value, (*path, key))

    for case in range(150):
        if case % 2:
            data = copy.deepcopy(tree)
            *path, last = chance.choice(list(places(data)))
            node = data
            for key in path:
                node = node[key]
            node[last] = copy.deepcopy(chance.choice(ODD))
        else:
            at, end = chance.randrange(len(text)), chance.randrange(40)
            data = text[:at] + chance.choice(SIGNS) + text[at + end :]

        begin = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                read(tmp_path, data)
            except MixtureError as error:
                assert len(str(error)) < 1000, data

        assert time.process_time() - begin < 5, data  # the dump of the tree is in it
