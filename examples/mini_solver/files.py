"""Files: HDF5 of the whole domain from the blocks of all ranks; a file takes its name when it is whole."""

import importlib
import os

import numpy as np

from .errors import CaseError, OutputError


def needed(package, what):
    """A package that only output takes. CaseError where it is not installed."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise CaseError(f"{what} need {package} ({error}): install the project's extra 'solver'.") from None


def hdf5():
    return needed("h5py", "restart and field files")


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


def write_file(flow, path, blocks, attributes, line=False, **how):
    """An HDF5 file of the whole domain from pairs (name, this rank's block (..., nz, ny, nx)), each with its check sums
    and type (`how`); line: as a line of numbers, x fastest. The file takes its name only when it is whole. OutputError
    where it cannot be written.

    All ranks write together where h5py has parallel HDF5. Else rank 0 writes what the others send.
    """
    together = flow.ranks.size > 1 and hdf5().get_config().mpi
    (_write_together if together else _write_alone)(flow, path, blocks, attributes, line, **how)


def _write_alone(flow, path, blocks, attributes, line, **how):
    """HDF5 makes the file in memory, and Python writes it: a disk that is full ends HDF5 in the middle of its own
    structures, from which it does not recover."""
    file = None
    if flow.ranks.rank == 0:
        file = hdf5().File("image", "w", driver="core", backing_store=False)
        file.attrs.update(attributes)

    for name, block in blocks:
        shape = (*block.shape[:-3], *flow.case.cells[::-1])

        if line:
            values = whole(flow, block)
            file.create_dataset(name, data=values.ravel(), **how) if file else None
            continue

        target = file.create_dataset(name, shape, **how) if file else None
        for first, values in collect(flow, block, shape[:-3]):
            target[(..., *_box(first, values))] = values

    if file:
        save(path, _closed(file))


def _write_together(flow, path, blocks, attributes, line, **how):
    h5py, ranks, told = hdf5(), flow.ranks, ""
    part, cells = path.with_name(path.name + ".part"), flow.case.cells
    attributes = ranks.everyone(attributes)[0]  # sums could differ in their last bits; a file has one of each
    try:
        if ranks.rank == 0:
            path.parent.mkdir(parents=True, exist_ok=True)
        ranks.comm.Barrier()

        with h5py.File(part, "w", driver="mpio", comm=ranks.comm) as file:
            file.attrs.update(attributes)
            for name, block in blocks:
                shape = (*block.shape[:-3], *cells[::-1])

                target = file.create_dataset(name, int(np.prod(shape)) if line else shape, **how)
                with target.collective:  # what check sums ask for
                    if line:
                        _put_line(h5py, target, ranks.first, cells, np.ascontiguousarray(block))
                    else:
                        target[(..., *_box(ranks.first, block))] = block

        if ranks.rank == 0:
            with open(part, "rb+") as file:
                os.fsync(file.fileno())
            os.replace(part, path)
    except (OSError, RuntimeError, ValueError) as error:
        told = getattr(error, "strerror", None) or str(error)

    told = next((t for t in ranks.everyone(told) if t), "")
    if told:
        if ranks.rank == 0 and part.is_file():
            part.unlink()
        raise OutputError(f"'{path}' cannot be written: {told}.")


def _put_line(h5py, target, first, cells, block):
    """A block (nz, ny, nx) to its places in a dataset that has the whole field as a line."""
    (i, j, k), (nx, ny, _), (m, n, planes) = first, cells, block.shape[::-1]
    space = target.id.get_space()
    space.select_none()

    for plane in range(planes):
        start = i + nx * (j + ny * (k + plane))
        space.select_hyperslab((start,), (n,), (nx,), (m,), op=h5py.h5s.SELECT_OR)

    memory, how = h5py.h5s.create_simple((block.size,)), h5py.h5p.create(h5py.h5p.DATASET_XFER)
    how.set_dxpl_mpio(h5py.h5fd.MPIO_COLLECTIVE)
    target.id.write(memory, space, block.ravel(), dxpl=how)


def image(datasets, attributes=()):
    """The bytes of an HDF5 file."""
    file = hdf5().File("image", "w", driver="core", backing_store=False)
    file.attrs.update(dict(attributes))
    for name, values in datasets.items():
        file.create_dataset(name, data=values)

    return _closed(file)


def _closed(file):
    file.flush()
    made = file.id.get_file_image()
    file.close()
    return made


def save(path, data):
    """Bytes to a new file, which then takes its name. OutputError where that cannot be done; the old file stays."""
    part = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)

        with open(part, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())

        os.replace(part, path)
    except OSError as error:
        part.unlink(missing_ok=True) if part.is_file() else None
        raise OutputError(f"'{path}' cannot be written: {error.strerror or error}.") from None
