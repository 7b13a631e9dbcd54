"""How a fused CUDA launch is organised: a good default for every size, the candidates, and what tuning learnt on this
device."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools

from . import tune
from .emit import Launch


def default(kernels, mixture, precision: str = "double") -> Launch:
    """What was best or nearly so for the project's collections on an H200, among those that spill no registers up to 20
    species (or three values at most)."""
    ns, options = mixture.ns, mixture.options
    sweeps_pairs = any(k.name in ("mixture_diffusion", "mixture_diffusion_mass") for k in kernels)
    wilke = any(k.name == "wilke_transport" for k in kernels)  # it holds three numbers of each species
    tabulated = options["takahashi"] == "smooth" and options["diffusion"] != "cantera"
    linear = options["takahashi"] == "off" and options["diffusion"] != "cantera"  # sums over pairs by constant matrices
    single = precision == "single"
    some = 12 if single else 10  # one load brings two constants, or four single numbers
    if sweeps_pairs and not linear:
        alone, kinetic = not any(k.name == "cubic_root" for k in kernels), options["diffusion"] == "kinetic"
        if ns <= 6 or ns <= 12 and not tabulated:
            return Launch(blocks=6 if ns <= 6 else 3, pairs=3)
        if ns <= 11:
            return (
                Launch(64, blocks=6, pairs=5, constants="shared") if kinetic or not alone else Launch(blocks=4, pairs=3)
            )
        if ns <= 24:  # unrolled, the pairs' code would not fit the instruction cache
            return Launch(
                blocks=4 if alone and tabulated else 3, hold="shared", unroll=some, pairs="units", constants="shared"
            )
        if not tabulated:
            return Launch(256, hold="reload", unroll=4, blocks=4, pairs=10, constants="shared")
        # one block: the constants' other copies would take the cache from the table
        if alone:
            sums = dict(unroll=4, pairs=10) if kinetic else dict(unroll=some, pairs="units")
            return Launch(384, hold="reload", **sums, blocks=1, constants="shared", persistent=True)
        return Launch(
            256 if kinetic else 384,
            hold="reload",
            unroll=24 if single else 25,
            blocks=1,
            pairs="units",
            constants="shared",
        )
    if any(
        k.header.stem in ("inversion", "derivatives") for k in kernels
    ):  # more is alive at once, spills at 12 to 24 species else
        return (
            Launch(blocks=2, pairs=3)
            if ns <= 12
            else Launch(blocks=2, hold="shared", unroll=some, pairs="units", constants="shared")
        )
    if ns <= 6:
        return Launch(blocks=6, pairs=3) if sweeps_pairs else Launch(64, blocks=12, pairs=3)
    if ns <= 12:
        if not sweeps_pairs and not wilke:
            return Launch(64, blocks=10, pairs=2)
        if wilke or options["viscosity"] == "lucas":
            return Launch(blocks=4, pairs=3)
        return (
            Launch(64, blocks=10 if ns <= 10 else 8, pairs=5)
            if options["diffusion"] == "fuller"
            else Launch(256, blocks=3, pairs=5)
        )
    if ns <= 24 and wilke:
        return Launch(blocks=2, pairs=5 if sweeps_pairs else 4, constants="shared")
    if ns <= 24:
        resident = dict(threads=256, blocks=2) if sweeps_pairs and not single else dict(blocks=5 if single else 4)
        resident = dict(blocks=3) if sweeps_pairs and ns > 20 else resident | dict(persistent=True)
        return Launch(**resident, hold="shared", unroll=8 if single else 20, pairs="units", constants="shared")
    if sweeps_pairs or wilke:
        blocks = 3 if single and options["diffusion"] == "fuller" else 2
        return Launch(
            blocks=blocks, hold="shared", unroll=some, pairs="units", constants="shared", persistent=not wilke
        )
    one_block = (
        not single and ns <= 56
    )  # its constants are copied once, which leaves the cache room; beyond, there is none
    unroll = (
        ns if mixture.structure == "dense" and one_block else 24 if single else 25
    )  # two sweeps over factors of low rank would spill
    resident = dict(threads=384, blocks=1) if one_block else dict(blocks=3 if single and ns <= 50 else 2)
    return Launch(**resident, hold="shared", unroll=unroll, pairs="units", constants="shared", persistent=True)


def candidates(ns: int) -> list[Launch]:
    """What may win: registers up to 24 species; above, matrix units and panels."""
    out = []
    for threads in (64, 128, 256, 384):
        if ns <= 24:
            for resident in (256, 384, 512, 640, 768):
                for constants in ("constant", "shared"):
                    out += [
                        Launch(threads, blocks=resident // threads, pairs=pairs, constants=constants)
                        for pairs in (2, 3, 4, 5)
                    ]
        if ns > 12:
            for resident, hold in itertools.product((256, 384, 512, 768, 1024), ("shared", "reload")):
                sums = [dict(unroll=4, pairs=10)] + [
                    dict(unroll=unroll, pairs="units") for unroll in (12, ns) if resident <= 512
                ]
                out += [
                    Launch(threads, hold=hold, blocks=resident // threads, constants="shared", **how) for how in sums
                ]
    out += [dataclasses.replace(how, persistent=True) for how in out if how.hold != "registers"]
    return [how for how in out if how.blocks]


def text(how: Launch) -> str:
    return " ".join(f"{k}={v}" for k, v in dataclasses.asdict(how).items())


def launch(words: str) -> Launch | None:
    """The Launch of such a text; None when it is of another version of the project."""
    types = {
        "threads": int,
        "points": int,
        "hold": str,
        "unroll": int,
        "blocks": int,
        "constants": str,
        "persistent": lambda v: v == "True",
        "pairs": lambda v: v if v == "units" else int(v),
    }
    given = dict(word.partition("=")[::2] for word in words.split())
    return Launch(**{k: types[k](v) for k, v in given.items()}) if set(given) == set(types) else None


def key(
    product: str, compiler: str, kernels, outputs, mixture, points: int = 10**6, precision: str = "double"
) -> tune.Key:
    names = "+".join(k.name for k in kernels) + " -> " + " ".join(outputs or ())
    shape = f"NS={mixture.ns} k_ij={mixture.structure} " + " ".join(f"{k}={v}" for k, v in mixture.options.items())
    arithmetic = "float32" if precision == "single" else "float64"
    return tune.Key(
        product, f"program {hashlib.sha256(names.encode()).hexdigest()[:16]}", shape, arithmetic, compiler, points
    )


def chosen(product: str, compiler: str, kernels, outputs, mixture, precision: str = "double") -> Launch:
    """What tuning kept, else the default."""
    known = tune.choice(key(product, compiler, kernels, outputs, mixture, precision=precision))
    return (launch(known) if known else None) or default(kernels, mixture, precision)
