"""Bytes as a file, which takes its name when it is complete."""

import os


def write_bytes(path, data, durable=False):
    """Write bytes to a new file beside `path`, which then takes this name. durable: the bytes are on the disk before.
    Raises OSError with the path where this fails; the old file stays, and the new file is removed."""
    part = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)

        with open(part, "wb") as file:
            file.write(data)
            if durable:
                file.flush()
                os.fsync(file.fileno())

        os.replace(part, path)
    except OSError as error:
        if part.is_file():
            part.unlink()
        raise OSError(error.errno, error.strerror, str(path)) from None  # a full disk's error has no path
