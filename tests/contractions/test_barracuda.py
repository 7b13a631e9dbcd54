"""Barracuda (Nelson et al. 2015): the written sum, TCR files, sums before products, extents, the command."""

import numpy as np
import pytest

from frame.tools import cli
from kernels import Contraction, contract, get_backend
from kernels.contractions import orders
from kernels.contractions.text import parse, read
from kernels.engine.errors import ArgumentError

EQN1 = "V[i j k] += A[l k] B[m j] C[n i] U[l m n]"
WRITTEN = "V[i j k] += Sum([l m n], A[l k] * B[m j] * C[n i] * U[l m n])"
TCR = """ex
access: linearize
define:
N = J = M = I = L = K = 10
variables:
temp3: (J, I, L)
A: (L, K)
C: (N, I)
B: (M, J)
U: (L, M, N)
V: (I, J, K)
temp1: (I, L, M)
operations:
temp1: (i, l, m) += C: (n, i) * U: (l, m, n)
temp3: (j, i, l) += B: (m, j) * temp1: (i, l, m)
V: (i, j, k) += A: (l, k) * temp3: (j, i, l)
"""


def eqn1(extent=10):
    """(arrays, V afterwards) of Eqn.(1) in small whole numbers."""
    rng = np.random.default_rng(0)
    arrays = {name: rng.integers(-3, 4, (extent, extent)).astype(float) for name in "ABC"}
    arrays |= {name: rng.integers(-3, 4, (extent,) * 3).astype(float) for name in "UV"}
    product = np.einsum("lk,mj,ni,lmn->ijk", *(arrays[name] for name in "ABCU"), optimize=True)
    return arrays, arrays["V"] + product


@pytest.mark.parametrize("text", [EQN1, WRITTEN, TCR], ids=["juxtaposed", "written", "tcr"])
def test_eqn1_as_the_paper_writes_it(text):
    arrays, wanted = eqn1()
    assert np.array_equal(contract(text, quick=True, **arrays), wanted)


def test_a_written_sum_is_the_statement():
    assert parse(WRITTEN) == parse(EQN1)
    assert parse("o[i] = 2 x[i] - 3 Sum([j], a[i j] b[j] + c[i j])") == parse(
        "o[i] = 2 x[i] - 3 a[i j] b[j] - 3 c[i j]"
    )
    assert parse("o(i) = Sum([j], a(i,j)\n  * b(j)) * c(i)") == parse("o(i) = a(i,j) b(j) c(i)")  # over two lines
    assert parse("o[i] =\n a[i j] *\n b[j] -\n c[i]\np[i] = 1") == parse("o[i] = a[i j] b[j] - c[i]; p[i] = 1")
    assert parse("o[i] = Sum([j], a[i j] * Sum([k], b[j k]))") == parse("o[i] = a[i j] b[j k]")
    assert parse("o[i j] = Sum[i j] + 1").inputs == ("Sum",)  # an array may have this name


@pytest.mark.parametrize(
    "text, why",
    [
        ("o[i] = Sum([i], a[i])", "index 'i' of Sum is on the left side too"),
        ("o[i] = Sum([k], a[i j])", "index 'k' of Sum is in none of its factors"),
        ("o[i] = Sum([j], a[i j k])", "index 'k' is neither on the left side nor in Sum's list"),
        ("o[i] = Sum([j], a[i j]) Sum([j], b[j])", "index 'j' belongs to two sums of a term"),
        ("o[i] = Sum([j], a[i j]", "'the end' where '\\)' is wanted"),
        ("o[i] = Sum([j] a[i j])", "'a' where ',' is wanted"),
        ("o[i] = sum([j], a[i j])", "'\\[' where an index of 'sum' is wanted; a written sum is Sum\\(\\[l m\\],"),
        ("o[i] = Sum(j, a[i j])", "'\\[' where an index of 'Sum' is wanted; a written sum is Sum"),
        ("o[i] = conj(a[i])", "'\\[' where an index of 'conj' is wanted; functions are for maps: map q\\[i\\] = conj"),
        ("o[i] = (a[i] + b[i]) c[i]", "a sum in brackets is not read; write each term, or a statement of its own"),
        ("o[i] = c[i] * (a[i] + b[i])", "a sum in brackets is not read"),
        (TCR.replace("linearize", "tiled"), "access 'tiled', wanted linearize"),
        (TCR.replace("N = J", "N = 3 J"), "wanted NAME = NAME = NUMBER"),
        (TCR.replace("A: (L, K)", "A: (L, Q)"), "variable 'A': 'Q' is not defined"),
        (TCR.replace("A: (L, K)", "A L K"), "variable 'A L K', wanted NAME"),
        (TCR.replace("A: (L, K)\n", ""), "'A' is not among the variables"),
        (TCR.replace("A: (l, k)", "A: (l)"), "'A' has 1 indices in"),
        (TCR.replace("A: (L, K)", "A: (3, K)"), "array 'A', index 'l': extent 3, wanted 10"),
        (TCR.replace("A: (L, K)", "A: (2..12, K)"), "array 'A', index 'l': extent 2..12, wanted 10"),
        (TCR.replace("A: (L, K)", "A: (L, K)\nA: (L, L, K)"), "variable 'A' is there twice, with different extents"),
        (TCR.replace("= 10", "= 10\nK = 9"), "'K' is defined as 10 and as 9"),
        (TCR.replace("= 10", "= 9..4"), "extents 9..4, wanted 1 or more, and in order"),
        (TCR.replace("variables:", "variable:"), "section 'variable', wanted .*, did you mean 'variables'"),
        (TCR + "end\n", "'end' in 'V: .*', wanted NAME"),
        (TCR[: TCR.index("temp1: (i, l")], "there are no operations"),
        ("extent i=3..2; o[i] = a[i]", "extents 3..2, wanted 1 or more, and in order"),
        ("extent j=3; o[i] = a[i]", "extent of j: no such index; the text has i"),
        ("how rows; how lanes; o[i] = a[i]", "wanted one how, once"),
    ],
)
def test_what_is_refused(text, why):
    with pytest.raises(ArgumentError, match=why):
        parse(text)


LOOSE = """
program : scaled   // the name
Access : linearize
Define : P = 2 .. 6 ; Q = 3, R = 4
VARIABLES: A:(P Q); B : ( P , R )
\tV: (Q, R)
Operations:
  V: (q, r) +=
      2 * A: (p, q)   # over lines
        * B: (p,r) ; V:(q,r) -= A:(p,q)*B:(p,r)
"""


def test_tcr_as_it_may_be_written():
    """Blanks, letters large and small, entries beside each other, operations over lines, ranges of extents."""
    script = read(LOOSE.replace("program : scaled", "scaled").replace("\n", "\r\n"))
    assert [str(s) for s in script.expression.statements] == [
        "V[q r] += 2 A[p q] B[p r]",
        "V[q r] += - A[p q] B[p r]",
    ]
    assert script.extents == {"p": range(2, 7), "q": range(3, 4), "r": range(4, 5)}

    text = LOOSE.replace("program : scaled", "")
    for p in (2, 5):
        A, B, V = np.ones((p, 3)), np.ones((p, 4)), np.ones((3, 4))
        assert (contract(text, A=A, B=B, V=V, quick=True) == 1 + p).all()

    with pytest.raises(ArgumentError, match=r"index 'p': extent 7, wanted 2\.\.6 as the text has it"):
        contract(text, A=np.ones((7, 3)), B=np.ones((7, 4)), V=V)
    with pytest.raises(ArgumentError, match="section 'program', wanted access, define, variables, operations"):
        read(LOOSE)


def test_a_temporary_is_not_given():
    with pytest.raises(ArgumentError, match="array 'temp1' is local: it is never stored, so it cannot be given"):
        contract(TCR, temp1=np.zeros((10, 10, 10)), **eqn1()[0])


def test_a_tcr_file_knows_temporaries_and_extents():
    script = read(TCR)
    assert script.expression.local == {"temp1", "temp3"} and script.expression.updated == {"V"}
    assert {index: list(x) for index, x in script.extents.items()} == dict.fromkeys("ijklmn", [10])
    assert Contraction(TCR, backend="cpu").sizes == dict.fromkeys("jklmn", 10)  # i is the batch index


def test_extents_of_a_text():
    """A range is what arrays may have, a number what they must have; a plan takes numbers."""
    text = "extent i=2..4 j=3\no[e i] = a[e i j]"
    assert contract(text, a=np.ones((5, 4, 3))).tolist() == [[3.0] * 4] * 5
    with pytest.raises(ArgumentError, match="index 'i': extent 5, wanted 2..4 as the text has it"):
        contract(text, a=np.ones((5, 5, 3)))
    with pytest.raises(ArgumentError, match="index 'j': extent 2, wanted 3 as the text has it"):
        contract(text, a=np.ones((5, 4, 2)))
    with pytest.raises(ArgumentError, match="extent of index 'i' is 2..4, wanted a number"):
        Contraction(text, backend="cpu")
    assert Contraction(text, dict(i=3), backend="cpu").sizes == dict(i=3, j=3)


def test_an_index_of_one_factor_is_summed_first():
    """Algorithm 1, lines 5 to 9: 28 000 multiply-adds become 9400."""
    text, sizes = "o[i j] = a[i x] b[i k] c[k j]", dict(i=20, j=20, k=20, x=50)
    e = parse(text, batch="")
    ((_, _, found),) = orders.choices(e, sizes)

    assert found.cost == 20 * 50 + 20 * 20 + 20**3

    low = orders.lower(e, sizes)
    assert [str(s) for s in low.statements][0] == "t0[i] = a[i x]"

    # Not where it costs more: a sum of products of the same length.
    assert len(orders.lower(parse("o[i] = a[i x] b[i]", batch=""), dict(i=9, x=9)).statements) == 1


@pytest.mark.parametrize(
    "text, sizes",
    [
        ("o[i j] = a[i x] b[i k] c[k j]", dict(i=3, j=4, k=5, x=6)),
        ("o[i k] = a[i x] b[i k y]", dict(i=3, k=4, x=5, y=6)),
        ("o[k] = a[x] b[k y] c[k]", dict(k=4, x=5, y=6)),
        ("o[] = a[x y] b[y z]", dict(x=5, y=6, z=3)),
        ("o[i] = a[x y] b[i]", dict(i=3, x=5, y=6)),
    ],
)
def test_sums_before_products_have_the_values(text, sizes):
    e, rng = parse(text), np.random.default_rng(0)
    (s,) = e.statements
    factors = s.terms[0].factors
    arrays = {f.name: rng.integers(-3, 4, [sizes[i] for i in f.indices]).astype(float) for f in factors}
    spelled = ",".join("".join(f.indices) for f in factors) + "->" + "".join(s.out.indices)

    assert np.array_equal(contract(text, quick=True, **arrays), np.einsum(spelled, *arrays.values()))


def test_one_tensor_is_no_single_block():
    """Eqn.(1) verbatim: nobody named a batch index, so what lacks it is not free, and each i is a block's. With a batch
    of tensors that is named, products without it stay free."""
    plan = Contraction(EQN1, dict.fromkeys("jklmn", 10), backend=get_backend("cuda", arch="sm_90"))
    assert plan.expression.batch == "i" and plan.expression.found
    assert not any(a.kind == "shared" for a in plan.program.arrays.values())
    assert plan.flops == 6 * 10**3 + 100
    assert getattr(plan.how, "entries", 1) == 1

    named = Contraction(EQN1, dict.fromkeys("jklmn", 10), batch="i", backend="cpu")
    assert any(a.kind == "shared" for a in named.program.arrays.values())


def test_the_batch_index_that_is_found():
    """The first index of the first output that every output has in one place, and that no array has twice."""
    assert parse("o[i j] = a[i j]; p[j] = b[j]").batch == "j"
    assert parse("o[i j] = a[i i] b[j]").batch == "j" and parse("ii->i").batch is None


def test_the_command_prints_sources(tmp_path, capsys):
    file = tmp_path / "ex.tcr"
    file.write_text(TCR)

    for language, word in (("cuda", "__global__|KERNEL"), ("cpp", "contractions/packs.h")):
        assert cli.main(["contraction", str(file), "--print", language]) == 0
        text = capsys.readouterr().out
        assert any(part in text for part in word.split("|"))

    assert cli.main(["contraction", WRITTEN, "--print", "statements"]) == 0
    assert capsys.readouterr().out.strip() == EQN1
    assert cli.main(["contraction", EQN1, "--size", "10", "--how", "rows", "--order", "1"]) == 0
    assert "organisation rows" in capsys.readouterr().out
    assert cli.main(["contraction", EQN1, "--size", "l=10"]) == 1
    assert "the extent of index 'k' is not told" in capsys.readouterr().err


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_a_printed_source_says_what_it_computes(dtype, capsys):
    command = ["contraction", "ij,jk,kl->il", "--size", "9", "--how", "apart", "--print", "cuda", "--type", dtype]
    assert cli.main(command) == 0
    told = [line for line in capsys.readouterr().out.splitlines() if line.startswith("// ")]
    first = told.index("// t0[i k] = operand0[i j] operand1[j k]")

    assert told[first + 1].startswith("// organisation ") and f", {dtype}; headers" in told[first + 1]
    assert "// out[i l] = t0[i k] operand2[k l]" in told


@pytest.mark.parametrize(
    "given, why",
    [
        ("lg33", "'lg33' is no text, no file, and no name, did you mean 'lg3' or 'lg3t'; names: lg3"),
        ("folder/ex.tcr", "'folder/ex.tcr' is no text, no file, and no name"),
    ],
)
@pytest.mark.parametrize("command", [["contraction"], ["tune", "tensor"], ["compile", "--contraction"]])
def test_a_name_that_nobody_knows(command, given, why, capsys):
    more = ["12"] if command[0] == "compile" else []
    assert cli.main([*command, given, *more]) == 1
    assert why in capsys.readouterr().err


def test_commands_read_files(tmp_path, capsys):
    """Statements or TCR; of a range the upper end, or what the command says."""
    file = tmp_path / "product.txt"
    file.write_text("extent j=2..3  # of the sum\no[e i] = a[e i j] b[j]")
    assert cli.main(["contraction", str(file), "--size", "5"]) == 0
    assert "i = 5, j = 3" in capsys.readouterr().out
    assert cli.main(["compile", "--backend", "cpu", "--contraction", str(file), "i=4"]) == 0

    told = capsys.readouterr().out
    assert "i = 4, j = 2" in told and "i = 4, j = 3" in told
    assert cli.main(["contraction", str(file), "--size", "i=4..5"]) == 1
    assert "extents 'i=4..5': 4..5, wanted one number" in capsys.readouterr().err


def test_frame_compile_takes_ranges(capsys):
    """A kernel for each combination; more than 256 are refused."""
    command = ["compile", "--backend", "cpu", "--contraction", "o[e i] = a[e i j] b[j]"]
    assert cli.main([*command, "i=2..3,j=4"]) == 0

    told = capsys.readouterr().out
    assert "i = 2, j = 4" in told and "i = 3, j = 4" in told
    assert cli.main([*command, "i=1..20,j=1..20"]) == 1
    assert "the ranges have 400 combinations, at most 256" in capsys.readouterr().err
