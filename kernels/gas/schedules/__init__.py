"""From a plan to source: what a family of kernels needs between its declaration and the compiler."""

from ..plan import Plan
from . import packs, threads


def render(p: Plan, boxed: bool = False):
    """The Source of a plan, in the style that it was made for. boxed: for a box of larger arrays."""
    return (packs if p.how is None else threads).render(p, boxed)
