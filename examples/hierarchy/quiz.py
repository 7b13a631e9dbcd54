"""Exercise 7: what do sums of 10 give, of every thread, every team, and nested?"""

from common import check, kernels_of, main, say, seconds

declared = kernels_of(__file__)
quiz_flat = declared("quiz_flat", sums="total", numbers="E N", range="E*N")
quiz_team = declared("quiz_team", sums="total", numbers="E N", league="E", team=32)
quiz_nested = declared("quiz_nested", sums="total", numbers="E N", league="E", team=32)


def exercise(backend, E=7, N=32, nrepeat=10, quick=False):
    for kernel, wanted in ((quiz_flat, E * N * 10), (quiz_team, E * N * 10), (quiz_nested, E * N * N * 10)):
        run = kernel.bind({}, backend, quick=quick, E=E, N=N)
        time = seconds(backend, run, nrepeat)
        check(kernel.name, run.value("total"), wanted)
        say(kernel.name, backend, (E, N), run.value("total"), time, 8)


if __name__ == "__main__":
    main(exercise)
