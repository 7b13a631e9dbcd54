"""Files: HDF5 of the whole domain from the blocks of all ranks. A file takes its name when it is complete.

The flow goes on while a thread writes (writer.py): what is written is a copy in memory.
"""

import dataclasses
import hashlib
import importlib
import importlib.util
import os

import numpy as np

from .errors import CaseError, OutputError, wanted
from .saved import write_bytes
from .writer import Writer


@dataclasses.dataclass(frozen=True)
class Form:
    """How a file holds the fields of the domain."""

    type: str = "f8"  # of the numbers
    line: bool = False  # (cells,) or (cells, rows), x fastest; else (rows, nz, ny, nx)
    checked: bool = False  # a restart: with check sums, of HDF5's chunks and of all bytes behind HDF5's end of the
    # file; and on the disk before it takes its name, so that it outlives the machine's end
    notes: dict = dataclasses.field(default_factory=dict)  # {dataset: its attributes}: units, names of rows

    def options(self) -> dict:
        """Arguments of h5py's create_dataset."""
        return {"dtype": self.type, **({"fletcher32": True} if self.checked else {})}

    def shape(self, block, cells) -> tuple:
        """Shape of the dataset of a field. block: (rows, nz, ny, nx) or (nz, ny, nx) of a rank."""
        rows = block.shape[:-3]
        return (int(np.prod(cells)), *rows) if self.line else (*rows, *cells[::-1])


def need(package, what):
    """Raises CaseError where a package that only output needs is not installed. Nothing is imported."""
    wanted(importlib.util.find_spec(package), f"{what} need {package}: install the project's extra 'solver'.")


def hdf5():
    """The module h5py. Raises CaseError where it cannot be imported."""
    try:
        return importlib.import_module("h5py")
    except ImportError as error:
        raise CaseError(f"restart and field files need h5py ({error}): install the project's extra 'solver'.") from None


def collect(flow, block, rows=()):
    """Yield (first, array) of every rank's `block` (..., nz, ny, nx) on rank 0, one at a time; nothing on the
    others."""
    ranks = flow.ranks
    if ranks.rank:
        ranks.comm.Send(np.ascontiguousarray(block), 0, tag=99)
        return

    yield ranks.first, block

    for other in range(1, ranks.size):
        first, count = ranks.block_of(other, flow.case.cells)
        into = np.empty((*rows, *tuple(count)[::-1]))
        ranks.comm.Recv(into, other, tag=99)
        yield first, into


def whole(flow, block):
    """The field (..., nz, ny, nx) of the whole domain on rank 0, None elsewhere."""
    rows = block.shape[:-3]
    out = np.empty((*rows, *flow.case.cells[::-1])) if flow.ranks.rank == 0 else None
    for first, part in collect(flow, block, rows):
        out[(..., *_box(first, part))] = part

    return out


def _box(first, part):
    return tuple(slice(f, f + n) for f, n in zip(tuple(first)[::-1], part.shape[-3:]))


class Files:
    """The files of a run, which are written in the order of these calls. An error, OutputError, is raised by one of the
    next calls, or by `wait`. artist: an Artist, which draws."""

    def __init__(self, flow, artist):
        self.flow = flow
        self._writer, self._artist = Writer(), artist

    def write(self, path, blocks, attributes, form):
        """Write an HDF5 file of the whole domain. Collective.

        blocks: {name: block (nz, ny, nx) or (rows, nz, ny, nx) of this rank}. attributes: of the file. form: a Form.
        All ranks write together where h5py has parallel HDF5; otherwise rank 0 writes what the others send.
        """
        if self.flow.ranks.size > 1 and hdf5().get_config().mpi:
            self._writer.wait()
            _write_together(self.flow, path, blocks, attributes, form)
            return

        data = _image_of_all(self.flow, blocks, attributes, form)
        if data is not None:
            self.do(_save_sealed if form.checked else save, path, data)

    def do(self, job, *given):
        """Do job(*given) on this rank, behind the files before it."""
        self._writer.do(job, *given)

    def draw(self, order):
        """Have the artist do an order: a Sheet, Frame or Film."""
        self._writer.do(self._artist.send, order)

    def wait(self):
        """Return when this rank's files are written, and all that was ordered is drawn. The artist then has left."""
        self._writer.wait()
        self._artist.finish()


def _image_of_all(flow, blocks, attributes, form):
    """The bytes of a file of the whole domain on rank 0, None elsewhere. HDF5 makes the file in memory, and Python
    writes it: a full disk ends HDF5 in the middle of its own structures, from which it does not recover."""
    file = None
    if flow.ranks.rank == 0:
        file = hdf5().File("image", "w", driver="core", backing_store=False)
        file.attrs.update(attributes)

    for name, block in blocks.items():
        if form.line:
            values = whole(flow, block)
            if file:
                file.create_dataset(name, data=_as_line(values), **form.options())
            continue

        target = file.create_dataset(name, form.shape(block, flow.case.cells), **form.options()) if file else None
        for first, values in collect(flow, block, block.shape[:-3]):
            target[(..., *_box(first, values))] = values

    if not file:
        return None

    _annotate(file, form.notes)
    return _closed(file)


def _write_together(flow, path, blocks, attributes, form):
    """Write a file by all ranks, under a name of its own until it is whole. Errors: OutputError, on all ranks."""
    ranks, error_text = flow.ranks, ""
    part = path.with_name(path.name + ".part")
    attributes = ranks.everyone(attributes)[0]  # sums could differ in their last bits; a file has one of each

    try:
        if ranks.rank == 0:
            path.parent.mkdir(parents=True, exist_ok=True)
        ranks.comm.Barrier()

        with hdf5().File(part, "w", driver="mpio", comm=ranks.comm) as file:
            file.attrs.update(attributes)
            for name, block in blocks.items():
                _put_block(file, name, block, flow, form)
            _annotate(file, form.notes)

        if ranks.rank == 0:
            with open(part, "rb+") as file:
                os.fsync(file.fileno())
            os.replace(part, path)
    except (OSError, RuntimeError, ValueError) as error:
        error_text = getattr(error, "strerror", None) or str(error)

    error_text = next((text for text in ranks.everyone(error_text) if text), "")
    if error_text:
        if ranks.rank == 0 and part.is_file():
            part.unlink()
        raise OutputError(f"'{path}' cannot be written: {error_text}.")


def _put_block(file, name, block, flow, form):
    """Write this rank's block of a field. Collective."""
    cells, first = flow.case.cells, flow.ranks.first
    target = file.create_dataset(name, form.shape(block, cells), **form.options())

    with target.collective:  # check sums need this
        if form.line:
            _put_line(hdf5(), target, first, cells, np.ascontiguousarray(block))
        else:
            target[(..., *_box(first, block))] = block


def _as_line(field):
    """(nz, ny, nx) as (cells,), and (rows, nz, ny, nx) as (cells, rows)."""
    rows = field.shape[:-3]
    return np.moveaxis(field, 0, -1).reshape(-1, *rows) if rows else field.ravel()


def _put_line(h5py, target, first, cells, block):
    """Write a block to its places in a dataset of the form `line`."""
    rows = block.shape[:-3]
    (i, j, k), (nx, ny, _), (m, n, planes) = first, cells, block.shape[:-4:-1]
    space = target.id.get_space()
    space.select_none()

    for plane in range(planes):
        start = i + nx * (j + ny * (k + plane))
        zeros, ones = (0,) * len(rows), (1,) * len(rows)
        space.select_hyperslab((start, *zeros), (n, *ones), (nx, *rows), (m, *rows), op=h5py.h5s.SELECT_OR)

    memory, how = h5py.h5s.create_simple((block.size,)), h5py.h5p.create(h5py.h5p.DATASET_XFER)
    how.set_dxpl_mpio(h5py.h5fd.MPIO_COLLECTIVE)
    target.id.write(memory, space, np.ascontiguousarray(_as_line(block)).ravel(), dxpl=how)


def _annotate(file, notes):
    """Write the attributes of datasets. notes: {dataset: {attribute: value}}; a dataset that is absent is left out."""
    for name, attributes in notes.items():
        if name in file:
            file[name].attrs.update(attributes)


def image(datasets, attributes=(), notes=()):
    """The bytes of an HDF5 file. datasets: {name: array}. attributes: of the file. notes: {dataset: attributes}."""
    file = hdf5().File("image", "w", driver="core", backing_store=False)
    file.attrs.update(dict(attributes))

    for name, values in datasets.items():
        file.create_dataset(name, data=values)
    _annotate(file, dict(notes))

    return _closed(file)


def _closed(file):
    """The bytes of a file in memory, which is closed."""
    file.flush()
    data = file.id.get_file_image()
    file.close()

    return data


SEAL = b"castles-frame sha256"  # HDF5 does not look at bytes behind its end of the file


def seal(data) -> bytes:
    """The check sum that stands behind the bytes of an HDF5 file."""
    return SEAL + hashlib.sha256(data).digest()


def seal_fits(path) -> bool:
    """Whether a file has the bytes that its check sum is of. True for a file without one: of an earlier version, of
    ranks that wrote together, or of another program that has changed it. Raises OSError."""
    length = len(seal(b""))
    with open(path, "rb") as file:
        file.seek(0, os.SEEK_END)
        left = file.tell() - length
        if left < 0:
            return True

        file.seek(left)
        found = file.read(length)
        if not found.startswith(SEAL):
            return True

        file.seek(0)
        check = hashlib.sha256()
        while left > 0:
            part = file.read(min(left, 2**20))
            check.update(part)
            left -= len(part)

    return found == SEAL + check.digest()


def _save_sealed(path, data):
    """Write the bytes of an HDF5 file with their check sum behind them."""
    save(path, data + seal(data), durable=True)


def save(path, data, durable=False):
    """Write bytes to a file, as write_bytes does. Raises OutputError where this fails; the old file stays."""
    try:
        write_bytes(path, data, durable)
    except OSError as error:
        raise OutputError(f"'{path}' cannot be written: {error.strerror or error}.") from None
