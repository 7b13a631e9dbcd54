"""From a plan to source: what a family of kernels needs between its declaration and the compiler."""

from . import packs, threads
from .plan import Plan


def render(p: Plan):
    """The Source of a plan, in the style that it was made for."""
    return (packs if p.how is None else threads).render(p)
