"""Ids of people from files, for the command line: an array, a table's column, or a column of the records' own table."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riemdp.errors import InputError
from riemdp.io.data import TABLES, _csv_rows, _npz, _reading, _zarr
from riemdp.io.stores import Columns, ParquetCells, one_sentence

Array = NDArray[Any]
OPTION = "--groups"
FORMS = "a .npy, .npz (file.npz:key), .csv or .parquet file (file.csv:column), or a column of DATA"


@dataclass(frozen=True, repr=False)
class Groups:
    """Ids, one for each record, and the column of the records' own table that they are, if they are one."""

    ids: Any
    column: Columns | None = None


def open_groups(text: str, data: str, *, header: bool, option: str = OPTION) -> Groups:
    """What the option names, or another one for something of each record: a file, or a part of one, or of DATA."""
    if found := _file_and_part(text):
        return Groups(_ids(*found, option))
    if Path(data).suffix.lower() not in TABLES:
        raise InputError(f"{option} {text} is no file, and {data!r} no table with such a column: pass {FORMS}.")
    column = Columns((text,), option)
    return Groups(_column(Path(data), column, header=header), column)


def names_column(text: str) -> bool:
    """Whether what an option names is a column of DATA, by its name and not by its place."""
    return _file_and_part(text) is None and Columns((text,)).has_names


def _file_and_part(text: str) -> tuple[Path, str] | None:
    """The file that the text names, and which part of it; None if there is no such file."""
    file, _, key = text.rpartition(":")
    if Path(text).is_file() or Path(text).suffix == ".zarr":
        return Path(text), ""
    return (Path(file), key) if file and Path(file).is_file() else None


def _ids(path: Path, key: str, option: str) -> Any:
    """The ids that a file of their own holds."""
    suffix = path.suffix.lower()
    if suffix in TABLES:
        column = Columns((key,), option) if key else None
        return _column(path, column, header=column is not None and column.has_names)
    if key and suffix != ".npz":
        raise InputError(f"{option} {path}:{key}: only .npz files and tables have parts; leave out {key!r}.")
    if suffix == ".npy":
        return _npy(path, option)
    if suffix == ".npz":
        return _in_a_row(_npz(path, key), f"{path}:{key}" if key else path, option)
    if suffix == ".zarr":
        return _in_a_row(_zarr(path), path, option)
    raise InputError(f"{option} {path} has no known format: pass {FORMS}.")


def _npy(path: Path, option: str) -> Any:
    """Texts too, but no pickled objects, which could do anything."""
    with one_sentence(path, "save it again, with numpy.save, as an array of numbers or texts"):
        return np.asarray(_in_a_row(np.load(path, mmap_mode="r", allow_pickle=False), path, option))


def _in_a_row(array: Any, name: Path | str, option: str) -> Any:
    """One id each: a table with one column is as good."""
    if len(array.shape) == 2 and array.shape[1] == 1:
        return np.asarray(array)[:, 0]
    if len(array.shape) != 1:
        raise InputError(f"{option} {name} has shape {tuple(array.shape)}: pass one for each record.")
    return array


def _column(path: Path, column: Columns | None, *, header: bool) -> Any:
    """A column of a table, or the only one; a cell that is not there is a missing id."""
    if path.suffix.lower() == ".parquet":
        return ParquetCells.open(path, column)
    with _reading(path, "save rows of cells, separated by commas"):
        rows = _csv_rows(path)
        names = rows.pop(0) if header and rows else None
        width = Counter(map(len, rows)).most_common(1)[0][0] if rows else 0
        places = range(width) if column is None else column.places(width, names, path)
        if len(places) != 1:
            raise InputError(f"{str(path)!r} has {width} columns: name the one with ids, as {path.name}:COLUMN.")
        return [_cell(row, places[0], width) for row in rows]


def _cell(row: list[str], place: int, width: int) -> str | None:
    """The id in a row; none if cells are lacking or too many, since nobody knows which, or if a number is missing."""
    text = row[place].strip() if len(row) == width else ""
    return None if text in ("", "nan") else text
