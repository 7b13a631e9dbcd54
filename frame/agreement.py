"""Things that all ranks must have in common: settings that are right, the same models, the same mixture.

Each function is collective, or gets the answers of all ranks. An error of one rank is an error on all ranks, so that
no rank waits for another.
"""

from __future__ import annotations

from .errors import FrameError, StateError, refuse
from .mpi import Alone, Communicator

NAMED = 8  # how many ranks a message names


def fail_together(comm: Alone | Communicator, failed: FrameError | None) -> None:
    """Raises the error of a rank on all ranks. Collective. failed: the error of this rank."""
    said = comm.share(str(failed or ""))
    wrong = [rank for rank, text in enumerate(said) if text]
    if wrong:
        raise failed or StateError(f"rank {wrong[0]} failed: {said[wrong[0]]}")


def refuse_other_models(words: list[str]) -> None:
    """Raises StateError where FRAME_ACCURACY differs between ranks. words: of each rank."""
    for rank, word in enumerate(words):
        refuse(
            word != words[0],
            f"FRAME_ACCURACY is '{words[0]}' on rank 0 and '{word}' on rank {rank}, so that they would compute by "
            "different models. Does the launcher pass it on to all nodes (Open MPI: mpirun -x FRAME_ACCURACY)?",
            StateError,
        )


def refuse_other_mixtures(fingerprints: list[str]) -> None:
    """Raises StateError where ranks have loaded different mixtures. fingerprints: as for other_mixtures."""
    others = other_mixtures(fingerprints)
    refuse(others, f"{others}.", StateError)


def other_mixtures(fingerprints: list[str]) -> str:
    """The ranks whose mixture is not that of the first rank with a mixture; "" if all have the same.

    fingerprints: of each rank; "" for a rank without a mixture.
    """
    loaded = {rank: mark for rank, mark in enumerate(fingerprints) if mark}
    first = min(loaded, default=0)
    others = [rank for rank, mark in loaded.items() if mark != loaded[first]]
    if not others:
        return ""

    ranks = f"rank{'s' if len(others) > 1 else ''} {', '.join(map(str, others[:NAMED]))}"
    more = f" and {len(others) - NAMED} more" if len(others) > NAMED else ""
    return (
        f"the mixture of {ranks}{more} is another than that of rank {first} (species data, reactions or options): "
        "do all nodes read the same file, with the same settings?"
    )
