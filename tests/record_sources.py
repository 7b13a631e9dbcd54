"""Records the sources that the tests compile, as a list by which two checkouts can be compared.

    PYTHONPATH=tests python -m pytest -p record_sources --record-sources FILE ...

FILE gets a line for each source of C++ or CUDA: its digest, and the names of the headers that it includes. The text is
without comments and blanks, and an included header counts by its own text and not by its name. So a change that only
moves or renames files gives the same digests:

    for file in before after; do cut -d" " -f1 $file | sort > $file.digests; done; comm -3 before.digests after.digests
"""

import hashlib
import importlib
import pathlib
import re

PLACES = ("kernels.engine.backend.cache", "kernels.engine.backend.cache")  # the second of them in older checkouts
INCLUDE = re.compile(r'#\s*include\s*["<]([^">\n]+)[">]')
lines: set[str] = set()


def cache():
    """The module whose `texts` every backend asks before it compiles."""
    for place in PLACES:
        try:
            return importlib.import_module(place)
        except ModuleNotFoundError:
            continue

    raise ModuleNotFoundError(f"none of {PLACES}")


def line(texts) -> str:
    """The line of one source: texts as cache.texts gives them, the source first."""
    plain = [INCLUDE.sub("#include", text) for text in texts]
    headers = [hashlib.sha256(text.encode()).hexdigest() for text in plain[1:]]
    digest = hashlib.sha256("\0".join([plain[0], *sorted(headers)]).encode()).hexdigest()
    names = [name.rpartition("/")[2] for name in INCLUDE.findall(texts[0])]
    return f"{digest[:24]} {' '.join(names)}"


def pytest_addoption(parser):
    parser.addoption("--record-sources", metavar="FILE", help="write a digest of each source compiled to FILE")


def pytest_configure(config):
    module = cache()
    texts = module.texts

    def recorded(source, folders):
        found = texts(source, folders)
        lines.add(line(found))
        return found

    if config.getoption("--record-sources"):
        module.texts = recorded


def pytest_sessionfinish(session):
    """A process of xdist hands its lines to the process that started it."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["sources"] = sorted(lines)


def pytest_testnodedown(node, error):
    lines.update(getattr(node, "workeroutput", {}).get("sources", ()))


def pytest_unconfigure(config):
    file = config.getoption("--record-sources", None)
    if file and not hasattr(config, "workerinput"):
        pathlib.Path(file).write_text("".join(f"{each}\n" for each in sorted(lines)))
