"""Records from files: .npy, .npz (`file.npz:key`), .csv, .parquet, .zarr, a folder or a pattern of .npy files.

Structure is checked (what the file is, how many numbers make a record); values are not looked at. A record of a
table is a row: its numbers are a point, row by row.
"""

from __future__ import annotations

import csv
import glob
import math
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riemdp.errors import InputError
from riemdp.manifolds import Space

Array = NDArray[Any]
FORMATS = ".npy, .npz (file.npz:key), .csv, .parquet, .zarr, or a folder or pattern of .npy files"


def load_records(source: str | Path, space: Space) -> Array:
    """The records (n, *point_shape) of a file, for one space; memory-mapped where the format allows."""
    name = str(source)
    return _as_points(_read(name), space, name)


def _as_points(array: Array, space: Space, name: str) -> Array:
    """Rows of flat numbers become points; anything else must have the shape of points already."""
    shape = space.point_shape
    if array.dtype.kind not in "fiuc":
        raise InputError(f"{name!r} holds {array.dtype} instead of numbers: save an array of floats.")
    if array.dtype.kind == "c" or array.shape[1:] == shape:
        return array  # complex landmarks are checked by the space
    if array.ndim == 2 and array.shape[1] == math.prod(shape):
        return array.reshape(-1, *shape)
    if array.shape[2:] == shape:  # several files of several records
        return array.reshape(-1, *shape)
    wanted = ", ".join(map(str, shape))
    raise InputError(
        f"{name!r} has shape {array.shape}: {space!r} takes records of shape (n, {wanted}), or rows of "
        f"{math.prod(shape)} numbers."
    )


def _read(name: str) -> Array:
    path, _, key = name.partition(".npz:")
    if key:
        return _npz(Path(path + ".npz"), key)
    if any(sign in name for sign in "*?["):
        return _many(sorted(glob.glob(name)), name)
    location = Path(name)
    if location.is_dir() and location.suffix != ".zarr":
        return _many(sorted(map(str, location.glob("*.npy"))), name)
    if not location.exists():
        raise InputError(f"{name!r} does not exist: pass a data file.")
    if location.suffix.lower() not in READERS:
        raise InputError(f"{name!r} has no known format: pass {FORMATS}.")
    return READERS[location.suffix.lower()](location)


def _npy(path: Path) -> Array:
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)  # type: ignore[no-any-return]
    except (ValueError, OSError, EOFError):
        raise InputError(f"'{path}' is not a whole .npy file of numbers: save it again with numpy.save.") from None


def _npz(path: Path, key: str = "") -> Array:
    if not path.is_file():
        raise InputError(f"'{path}' does not exist: pass a data file.")
    try:
        with np.load(path, allow_pickle=False) as archive:
            names = archive.files
            if not key and len(names) == 1:
                key = names[0]
            if key in names:
                return np.asarray(archive[key])
    except (ValueError, OSError, EOFError, zipfile.BadZipFile):
        raise InputError(f"'{path}' is not a whole .npz file of numbers: save it again with numpy.savez.") from None
    known = ", ".join(names) or "no array"
    raise InputError(f"'{path}' holds {known}: name the array to read as {path.name}:NAME.")


def _csv(path: Path) -> Array:
    """Rows of numbers, with or without one line of names; an empty cell is a missing value."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = [row for row in csv.reader(file) if row]
    except (OSError, UnicodeDecodeError, csv.Error):
        raise InputError(f"'{path}' is not a CSV file: save rows of numbers, separated by commas.") from None
    if rows and not any(map(_is_number, rows[0])):
        rows = rows[1:]
    if not rows:
        raise InputError(f"'{path}' holds no records: save one row of numbers for each.")
    return np.array([_numbers(row, i, len(rows[0]), path) for i, row in enumerate(rows, start=1)])


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _numbers(row: list[str], number: int, width: int, path: Path) -> list[float]:
    if len(row) != width:
        raise InputError(f"'{path}', record {number}: {len(row)} numbers instead of {width}; make all rows alike.")
    wrong = [j for j, cell in enumerate(row, start=1) if cell.strip() and not _is_number(cell)]
    if wrong:
        raise InputError(f"'{path}', record {number}, column {wrong[0]}: not a number; leave unknown values empty.")
    return [float(cell) if cell.strip() else math.nan for cell in row]


def _parquet(path: Path) -> Array:
    """All columns, in order: numbers, or one column of lists."""
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise InputError(f"'{path}' needs pyarrow: install riemdp[dask], or save the records as .npy.") from None
    try:
        columns = [column.to_numpy() for column in parquet.read_table(path).itercolumns()]
        stacked = [np.stack(column) if column.dtype == object else column[:, None] for column in columns]
        return np.concatenate(stacked, axis=1, dtype=np.float64)
    except (ArrowException, ValueError, TypeError, OSError):
        raise InputError(f"'{path}' is not a Parquet table of numbers: save one row of numbers per record.") from None


def _zarr(path: Path) -> Array:
    try:
        import zarr
    except ImportError:
        raise InputError(f"'{path}' needs zarr: install riemdp[dask], or save the records as .npy.") from None
    try:
        return np.asarray(zarr.open_array(str(path), mode="r")[...])
    except Exception:  # zarr's own errors differ from version to version
        raise InputError(f"'{path}' is not a Zarr array of numbers: save one with zarr.save.") from None


def _many(paths: list[str], name: str) -> Array:
    """Files of one record each, or of several; in the order of their names."""
    if not paths:
        raise InputError(f"{name!r} holds no .npy file: pass {FORMATS}.")
    arrays = [_npy(Path(path)) for path in paths]
    odd = next((p for p, a in zip(paths, arrays, strict=True) if a.shape != arrays[0].shape), None)
    if odd is None:
        return np.stack(arrays)
    if {a.shape[1:] for a in arrays} == {arrays[0].shape[1:]} and arrays[0].ndim > 1:
        return np.concatenate(arrays)
    raise InputError(f"{odd!r} has another shape than {paths[0]!r}: make all files alike.")


READERS: dict[str, Callable[[Path], Array]] = {
    ".npy": _npy,
    ".npz": _npz,
    ".csv": _csv,
    ".parquet": _parquet,
    ".zarr": _zarr,
}
