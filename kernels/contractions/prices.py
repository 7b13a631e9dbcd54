"""Factors of the model's prices, as measuring found them: prices.csv, which says of what each factor is."""

from __future__ import annotations

import csv
import functools
import pathlib

TABLE = pathlib.Path(__file__).with_name("prices.csv")


@functools.lru_cache(None)
def price_of(name: str) -> float:
    """The factor before the count of work of an organisation, by its row in the table."""
    with open(TABLE, newline="") as file:
        return {row["organisation"]: float(row["factor"]) for row in csv.DictReader(file)}[name]
