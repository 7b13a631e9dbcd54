"""Entry points that answer with an integer or a text, from Fortran and from C."""

import re
import subprocess

import pytest
from hosts import BUILD, ROOT, compiled, library, need, run

import kernels
from frame.frame import Frame
from kernels import ArgumentError

FILE = ROOT / "examples/mechanisms/h2_o2.yaml"
NS, NR = 9, 23  # as the file's first line says


@pytest.fixture(scope="module")
def answers():
    done = run(compiled("answers.f90"), FILE, NS, FRAME_ON_ERROR="return")
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


def test_a_version_needs_no_initialize(answers):
    assert answers[0] == f"version [{kernels.__version__}]"


def test_numbers_and_names(answers):
    species = ["H2", "O2", "H2O", "OH", "H", "O", "HO2", "H2O2", "N2"]
    for line in (
        f"ns {NS}",
        f"nq {NS + 5}",
        "nGridPoints 16",
        f"nr {NR}",
        *(f"species {i} [{name}]" for i, name in enumerate(species, 1)),
        "reaction 2 [O + H2 <=> H + OH]",
        f"old nr {NR}",
        "old species 2 [O2]",
    ):
        assert line in answers, line


@pytest.mark.parametrize(
    "call, status, words",
    [
        ("early", 2, "called before frame_initialize"),
        ("no mixture", 4, "no mixture yet"),
        ("another case", 3, "unknown number 'nS', did you mean 'ns'; known: nr ns nq nGridPoints."),
        ("before the first", 3, "species 0 came, wanted 1..9."),
        ("behind the last", 3, "species 10 came, wanted 1..9."),
        ("too short", 3, "buf has 2 characters, wanted 17 for 'O + H2 <=> H + OH'."),
        ("old too short", 3, "buf has 3 characters, wanted"),
        ("by value", 3, "wanted an integer by reference; is it passed with %VAL()?"),
    ],
)
def test_a_call_that_cannot_be_answered(answers, call, status, words):
    (line,) = [line for line in answers if line.startswith(f"{call}: ")]
    assert line.startswith(f"{call}: {status} ") and words in line


def test_what_a_failure_leaves(answers):
    """The module sets 0 or blanks; an old symbol writes nothing."""
    assert "after a failure 0" in answers and "after a failure []" in answers
    assert "too short [  ]" in answers and "old too short [kept]" in answers


def test_a_mixture_without_reactions():
    """Has none of them; which is a number, not an error."""
    frame = Frame()
    frame.set_option("backend", "cpu")
    frame.initialize(-1, 8, 1, 6, 0)
    frame.load_mixture(str(ROOT / "examples/mixtures/n2.yaml"), "")

    assert frame.get_number("nr") == 0 and frame.get_name("species", 1) == "N2"

    with pytest.raises(ArgumentError, match="reaction 1 came, but the mixture has no reactions"):
        frame.get_name("reaction", 1)

    frame.finalize()


def test_a_c_host(tmp_path):
    library()
    host = tmp_path / "host"
    source = [str(ROOT / "tests/fortran/answers.c"), "-o", str(host), f"-I{BUILD}", f"-L{BUILD}", "-lframe"]
    subprocess.run(["cc", "-Wall", "-Werror", *source, f"-Wl,-rpath,{BUILD}"], check=True)
    done = run(host, FILE, NS, FRAME_ON_ERROR="return")

    assert done.returncode == 0, done.stdout + done.stderr

    version = kernels.__version__.ljust(60)

    assert done.stdout.splitlines() == [
        f"version [{version}]",
        f"nr {NR}",
        f"last species [{'N2'.ljust(60)}]",
        "unknown: 3",
        f"after a failure {NR}",
    ]


KINDS = {  # option of the host's files that changes kinds which are named: (what the module wants, kind of integers)
    "-finteger-4-integer-8": (("-fdefault-integer-8",), 8),
    "-freal-8-real-4": ((), 4),
    "-freal-4-real-8": ((), 4),
}
THERMAL = """program p
  use frame_interface
  integer :: value
  real(8), target :: T(2, 2), p1(2, 2), Y(2, 2, 1), rho(2, 2)
  T = 300
  p1 = 1e5
  Y = 1
  rho = 0
  call frame_initialize(-1, 16, 1, 1, 0)
  call frame_loadmixture('{mixture}', '')
  call frame_block('thermal', [frame_in('T', T), frame_in('p', p1), frame_in('Y', Y), frame_out('rho', rho)])
  call frame_getnumber('ns', value)
  print '(i0,1x,i0,1x,f5.3)', kind(value), value, rho(2, 2)
  call frame_finalize()
end program
"""


@pytest.mark.parametrize("option", KINDS)
def test_options_that_change_kinds_are_for_the_host_s_other_files(option, tmp_path):
    """The module by itself without the option. With the option its first error says so, where kinds of C change."""
    own, kind = KINDS[option]
    library()
    compiler = need("gfortran")
    mixture = ROOT / "examples/mixtures/n2.yaml"
    rho = kernels.Mixture.from_yaml(mixture).properties("rho", T=300.0, p=1e5)["rho"]
    (tmp_path / "p.f90").write_text(THERMAL.format(mixture=mixture))
    line = ["-ffree-line-length-none"]

    wrong = subprocess.run(
        [compiler, option, *line, "-c", BUILD / "frame_interface.f90"], cwd=tmp_path, capture_output=True, text=True
    )
    if option == "-freal-4-real-8":
        assert wrong.returncode == 0, wrong.stderr
    else:
        first = wrong.stderr.partition("Error")[0]
        assert wrong.returncode != 0 and f"without_{option[1:].replace('-', '_')}" in first, wrong.stderr

    subprocess.run([compiler, *own, *line, "-c", BUILD / "frame_interface.f90"], check=True, cwd=tmp_path)
    link = [f"-L{BUILD}", "-lframe", f"-Wl,-rpath,{BUILD}"]
    command = [compiler, option, *line, "p.f90", "frame_interface.o", "-o", "p", *link]
    subprocess.run(command, check=True, cwd=tmp_path)

    done = run(tmp_path / "p")

    assert done.stdout.split() == [str(kind), "1", f"{rho:.3f}"], done.stdout + done.stderr


LONG = """program p
  use frame_interface
  integer, parameter :: over = 2**32_8
  integer :: value, stat
  character(200) :: text
  real(8), target :: T(4)
  value = -1
  T = 300
  call frame_initialize(-1, over + 16, 3, 8, 0, stat); call tell('initialize')
  call frame_initialize(-1, 16, 3, 8, 0)
  call frame_getnumber('nq', value)
  print '(i0,1x,i0)', kind(value), value
  call frame_launch('thermal', over + 2, stat); call tell('launch')
  call frame_put('T', T, first=over + 1, last=over + 4, stat=stat); call tell('put')
  call frame_put('T', T, first=1 - over, last=4, stat=stat); call tell('put below')
  call frame_setparameter('check', over + 1, stat); call tell('setparameter')
  call frame_finalize()
contains
  subroutine tell(what)
    character(*), intent(in) :: what
    call frame_lasterror(text)
    print '(a,1x,i0,1x,a)', what, stat, trim(text)
  end subroutine
end program
"""


def test_eight_byte_integers(tmp_path):
    """A host compiled with -fdefault-integer-8 has to compile the module so, too: the answer is its integer. A number
    that C's integers have no room for is refused; it lost its upper bits, and others were taken."""
    (tmp_path / "p.f90").write_text((BUILD / "frame_interface.f90").read_text() + LONG)
    link = [f"-L{BUILD}", "-lframe", f"-Wl,-rpath,{BUILD}"]
    command = ["gfortran", "-fdefault-integer-8", "-ffree-line-length-none", "p.f90", "-o", "p", *link]
    subprocess.run(command, check=True, cwd=tmp_path)

    done = run(tmp_path / "p")

    most = 2**31 - 1
    wanted = (
        rf"initialize 3 .*nGridPoints = {most}, wanted 1\.\..*\n8 8\nlaunch 3 .*nActive = {most}, wanted 1\.\.16 .*\n"
        rf"put 3 .*stripe {most}\.\.{most}, wanted within 1\.\.4.*\nput below 3 .*first = -{most + 1}, wanted .*\n"
        r"setparameter 3 .*'check' is 4294967297.0, .*\n"
    )
    assert re.fullmatch(wanted, done.stdout), done.stdout + done.stderr
