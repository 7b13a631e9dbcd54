"""Exercise 13: an id a team, from pools of several sizes; a pool of one id makes the teams take turns."""

import numpy as np
from common import check, kernels_of, main, on, say, seconds

unique_token_team = kernels_of(__file__)(
    "unique_token_team",
    arrays="owner(size):whole count(size):whole overlaps(1):whole held(1):whole most(1):whole",
    writes="owner count overlaps held most",
    numbers="E",
    league="E",
    tokens={"pool": "size"},
    team=64,
)


def exercise(backend, E=100, nrepeat=1, quick=False):
    for size in (1, 3, 4096):
        whole = {name: np.zeros(size, np.int64) for name in ("owner", "count")}
        one = {name: np.zeros(1, np.int64) for name in ("overlaps", "held", "most")}
        arrays = on(backend, **whole, **one)
        run = unique_token_team.bind(arrays, backend, quick=quick, E=E)
        time = seconds(backend, run, nrepeat, turns=1)
        got = {name: backend.to_host(a) for name, a in arrays.items()}
        members = run.members
        teams = got["count"].sum() / members / (1 + nrepeat)
        check(f"unique_token_team, teams with a pool of {size}", teams, E)
        check("unique_token_team, ids held twice", got["overlaps"][0], 0)
        check("unique_token_team, ids still held", run.tokens["pool"].held + got["held"][0], 0)
        most = int(got["most"][0])
        check("unique_token_team, ids held beyond the resident teams", max(most - min(size, run.resident), 0), 0)
        more = f"(pool of {size}; at most {most} ids held at the same time, {run.resident} teams resident)"
        say("unique_token_team", backend, (E, size), teams, time, 8 * E, more)


if __name__ == "__main__":
    main(exercise)
