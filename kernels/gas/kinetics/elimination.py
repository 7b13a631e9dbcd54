"""Sparse elimination of the linear systems of an integration (linear_systems.h): order and fill, from the mechanism."""

from __future__ import annotations

import itertools

import numpy as np

from .tables import ReactionTables

DENSE = 16  # unknowns; smaller systems are dense
SPARSER = 0.9  # a sparse form needs less than this part of the dense one's multiplications
BORDERS = 2  # full rows and columns: of T, and of p


def elimination(tables: ReactionTables) -> list[int]:
    """Order and fill of Gauss' elimination without pivoting, by Markowitz. Empty where the dense form is as good.

    First where the part of each species begins; then each part: species, number of rows, number of columns, these."""
    coupled = _coupled(tables)
    parts, terms = _markowitz(coupled)
    n = len(coupled) + 1
    if n <= DENSE or terms > SPARSER * n**3 / 3:
        return []

    place = {s: at for at, (s, _, _) in enumerate(parts)}
    lists = []
    for s, rows, columns in parts:
        latest_first = sorted(columns, key=lambda k: -place[k])
        lists.append([s, len(rows), len(columns), *rows, *latest_first])

    starts = itertools.accumulate(map(len, lists), initial=len(lists))
    return [*itertools.islice(starts, len(lists)), *itertools.chain(*lists)]


def _coupled(tables: ReactionTables):
    """(ns, ns): whether a reaction that makes or consumes species i depends on species j, other than by the weight
    that most species have in a sum."""
    out = np.eye(tables.ns, dtype=bool)
    for r in tables.reactions:
        rows = [*r.reactants, *r.products]
        columns = {*r.orders, *r.reactants}
        if r.reversible:
            columns |= set(r.products)
        for weights in r.sums(tables.ns):
            values, counts = np.unique(weights, return_counts=True)
            columns |= set(np.flatnonzero(weights != values[counts.argmax()]))
        out[np.ix_(rows, sorted(columns))] = True
    return out


def _markowitz(coupled):
    """([(species, its rows, its columns) in the order of elimination], number of multiplications)"""
    filled, left = coupled.copy(), np.ones(len(coupled), bool)
    row_has, column_has = filled.sum(1), filled.sum(0)
    parts, terms = [], 0
    for _ in coupled:
        best = int(np.where(left, (row_has - 1) * (column_has - 1), filled.size).argmin())
        left[best] = False
        rows = np.flatnonzero(filled[:, best] & left)
        columns = np.flatnonzero(filled[best] & left)

        # Entries that become nonzero.
        block = np.ix_(rows, columns)
        row_has[rows] += (~filled[block]).sum(1) - 1
        column_has[columns] += (~filled[block]).sum(0) - 1
        filled[block] = True

        terms += (rows.size + BORDERS) * (columns.size + BORDERS + 1)
        parts.append((best, rows.tolist(), columns.tolist()))
    return parts, terms
