"""Records and images from files: arrays, tables, folders and patterns.

Structure is checked (what the file is, how many numbers make a record); values are not looked at, and what is no
number is NaN. A record of a table is a row: its numbers are a point, row by row. What may be large (.npy, folders,
.zarr, .parquet) stays in its files, to be read in blocks.
"""

from __future__ import annotations

import csv
import glob
import logging
import math
import sys
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riemdp.errors import InputError
from riemdp.io.cells import number
from riemdp.io.parquet_sizes import decoded_bytes
from riemdp.io.sources import block_rows
from riemdp.io.stores import Columns, Joined, Npy, Parquet, Zarr, chosen_columns, one_sentence
from riemdp.io.zarr_sizes import check_chunks
from riemdp.manifolds import Space
from riemdp.manifolds.description import ArrayForm

Array = NDArray[Any]
TABLES = (".csv", ".parquet")
TABLE_HINT = "pick columns with --columns if others hold names or numbers of people, and separate cells by commas"
PICTURES = (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff")
CODECS = ("PNG", "JPEG", "BMP", "TIFF")  # whatever a picture's name says, no others: some of them run programs
# No file of records expands more than this, or is refused below that size: headers are claims, not facts.
LARGEST_EXPANSION, SMALL = 1000, 2**28
MOST_CHUNKS = 1000  # of a .zarr array for each of its files: others are not there and count as its fill value
FEWEST_IDS = 10  # of fewer records, numbers may all differ by chance
BLOCKS_PER_CHUNK = 8  # that workers take at a time: tasks are long beside what scheduling one takes


@dataclass(frozen=True)
class TableForm:
    """What the user says about a table."""

    columns: Columns | None = None
    header: bool = False
    without: Columns | None = None  # that hold something else: ids


PLAIN = TableForm()


@dataclass(frozen=True, repr=False)
class Stored:
    """Private arrays as files hold them: one of all records, or several (`is_many`) of one or more each."""

    name: str
    arrays: list[Any]  # in memory, or with slices of rows (riemdp.io.stores)
    is_table: bool = False
    is_many: bool = False

    def __repr__(self) -> str:
        return f"Stored({self.name!r})"

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the only array, or of the first one."""
        return tuple(self.arrays[0].shape)

    def points(self, space: Space) -> Any:
        """The records (n, *point_shape) for one space: an array, a memory map of one .npy, or slices of rows."""
        shape, array = self._record_shape(space), self.arrays[0]
        if self.is_many or not isinstance(array, np.ndarray | Npy):
            return Joined(tuple(self.arrays), shape)
        return (array.map() if isinstance(array, Npy) else array).reshape(-1, *shape)

    def for_workers(self, space: Space) -> Any:
        """The points as a Dask array, whose chunks are read by whoever works on them."""
        import dask.array as da

        shape, array = self._record_shape(space), self.arrays[0]
        rows = array.reshape(-1, *shape) if isinstance(array, np.ndarray) else Joined(tuple(self.arrays), shape)
        step = BLOCKS_PER_CHUNK * block_rows(shape, rows.dtype)
        stored = 1 if isinstance(rows, np.ndarray) else rows.chunks[0]
        chunk = min(len(rows), step * -(-stored // step))
        return da.from_array(rows, chunks=(chunk, *shape), name=False)

    def _record_shape(self, space: Space) -> tuple[int, ...]:
        """The shape of a point in all of the arrays, which hold at least one."""
        if self.is_table and np.iscomplexobj(space.origin):  # real parts alone would pass for matrices
            raise InputError(f"{self.name!r} is a table of real numbers: {space!r} has complex points, save .npy.")
        shapes = {space.shape_of_point(array.dtype) for array in self.arrays}
        if len(shapes) > 1:
            raise InputError(f"{self.name!r} holds real and complex numbers: make all files alike.")
        shape = shapes.pop()
        for array in self.arrays:
            self._check(array, shape, space)
        if sum(array.shape == shape or array.shape[0] for array in self.arrays) == 0:
            raise InputError(f"{self.name!r} holds no records: pass at least one.")
        return shape

    def _check(self, array: Any, shape: tuple[int, ...], space: Space) -> None:
        flat = len(array.shape) == 2 and array.shape[1] == math.prod(shape)
        if not (array.shape[1:] == shape or flat or (self.is_many and array.shape == shape)):
            wanted = f"(n, {', '.join(map(str, shape))})"
            rows = f", or rows of {math.prod(shape)} numbers" if len(shape) > 1 else ""
            rows += f"; {TABLE_HINT}" if self.is_table else ""
            raise InputError(f"{self.name!r} has shape {array.shape}: {space!r} takes records of shape {wanted}{rows}.")

    def remarks(self) -> list[str]:
        """What looks wrong with the lines and columns of a .csv file. **Not private**: for the curator's eyes."""
        if not (self.is_table and isinstance(self.arrays[0], np.ndarray)):
            return []
        table, known = self.arrays[0], np.isfinite(self.arrays[0])
        empty, ids = np.asarray(~known.any(axis=0)), _number_records(table, known)
        found = [f"no numbers in column {_listed(empty)}: pick others with --columns"] if empty.any() else []
        if ids.any():
            what = f"column {_listed(ids)} holds another whole number for each record, as ids do"
            found.append(f"{what}: pick others with --columns")
        if not known[0].any() and known.any():
            found.append("no numbers in the first line: pass --header if it holds names")
        return found

    def size(self, kind: type[Space]) -> int:
        """The size of the space of that kind whose points these arrays hold, by the number of their entries."""
        if len(self.shape) < 2 and not self.is_many:
            raise InputError(f"{self.name!r} has shape {self.shape}: pass an array of several records.")
        return kind.size_in(ArrayForm(self.shape, self.is_table, self.arrays[0].dtype.kind == "c"))


def _listed(which: Array) -> str:
    return ", ".join(str(place + 1) for place in np.flatnonzero(which))


def _number_records(table: Array, known: Array) -> Array:
    """Which columns hold whole numbers, never the same one twice: ids, or the places of the records."""
    enough = known.sum(axis=0) >= FEWEST_IDS
    whole = np.where(known, table == np.rint(table), True).all(axis=0)
    distinct = [len(np.unique(column[sure])) == sure.sum() for column, sure in zip(table.T, known.T, strict=True)]
    return np.asarray(enough & whole & distinct)


def open_records(
    source: str | Path, *, columns: str | None = None, header: bool = False, without: Columns | None = None
) -> Stored:
    """What the file, folder or pattern of that name holds.

    Of a table, `columns` picks some: names, places from 1 or ranges of them, separated by commas. `header` says that
    the first line of a .csv file holds names: nothing else does, for whether it looks so is private. `without` are
    columns that hold no numbers of the records.
    """
    name = str(source)
    many = _members(name, (".npy",))
    if many is None:
        picked = Columns.parse(columns) if columns is not None else None
        path, reader = _reader(name, TableForm(picked, header, without))
        return Stored(name, [_numbers(reader(path), name)], is_table=path.suffix.lower() in TABLES)
    if columns is not None or header:
        raise InputError(f"{name!r} is no table: leave out --columns and --header.")
    if not many:
        raise InputError(f"{name!r} holds no .npy file: pass {known_formats()}.")
    arrays = [_numbers(_npy(path), str(path)) for path in many]
    odd = next((p for p, a in zip(many, arrays, strict=True) if a.shape[-1:] != arrays[0].shape[-1:]), None)
    if odd is not None:
        raise InputError(f"{str(odd)!r} has another shape than {str(many[0])!r}: make all files alike.")
    return Stored(name, arrays, is_many=True)


def load_records(source: str | Path, space: Space, *, columns: str | None = None, header: bool = False) -> Any:
    """The records (n, *point_shape) of a file, folder or pattern, for one space; see `open_records`."""
    return open_records(source, columns=columns, header=header).points(space)


def load_array(source: str | Path) -> Array:
    """The array in one file; that of an .npy file is mapped, and read when it is used."""
    path, reader = _reader(str(source))
    array = _numbers(reader(path), str(source))
    return array.map() if isinstance(array, Npy) else np.asarray(array)


def load_images(source: str | Path, track: Callable[[list[Path]], Iterable[Path]] = iter) -> Array:
    """Images (n, h, w) or (n, h, w, 3) of an array, or of a folder or pattern of picture files, by their names.

    `track` sees the picture files go by.
    """
    name = str(source)
    files = [Path(name)] if Path(name).suffix.lower() in PICTURES and Path(name).is_file() else _members(name, PICTURES)
    if files is None:
        return load_array(name)
    if not files:
        raise InputError(f"{name!r} holds no pictures: pass {', '.join(PICTURES)} files, or an array in a .npy file.")
    images = [_picture(path) for path in track(files)]
    odd = next((f for f, image in zip(files, images, strict=True) if image.shape != images[0].shape), None)
    if odd is not None:
        text = f"{str(odd)!r} differs from {str(files[0])!r}"
        raise InputError(f"{text}: pass images of one size, all grey or all in colour.")
    return np.stack(images)


# --- finding files -----------------------------------------------------------------------------------------


def _members(name: str, suffixes: tuple[str, ...]) -> list[Path] | None:
    """The files of a folder or pattern, in the order of their names; None if the name is that of a file."""
    location = Path(name)
    if location.suffix.lower() == ".zarr" or location.is_file():
        return None
    if location.is_dir():
        return sorted(path for path in location.iterdir() if path.suffix.lower() in suffixes)
    if any(sign in name for sign in "*?["):
        return sorted(Path(path) for path in glob.glob(name) if Path(path).suffix.lower() in suffixes)
    return None


def _reader(name: str, table: TableForm = PLAIN) -> tuple[Path, Callable[[Path], Any]]:
    file, _, key = name.partition(".npz:")
    path = Path(f"{file}.npz" if key else name)
    suffix = path.suffix.lower()
    if not path.exists():
        raise InputError(f"{str(path)!r} does not exist: pass the name of a file.")
    if suffix not in READERS and suffix not in TABLES:
        raise InputError(f"{str(path)!r} has no known format: pass {known_formats()}.")
    if table.header and suffix != ".csv":
        raise InputError(f"{str(path)!r} is no .csv file: leave out --header.")
    if table.columns is not None and suffix not in TABLES:
        raise InputError(f"{str(path)!r} is no table: leave out --columns.")
    if suffix in TABLES:
        return path, lambda path: (_csv if suffix == ".csv" else _parquet)(path, table)
    return path, (lambda path: _npz(path, key)) if key else READERS[suffix]


def _numbers(array: Any, name: str) -> Any:
    if not isinstance(getattr(array, "dtype", None), np.dtype) or array.dtype.kind not in "fiuc":
        raise InputError(f"{name!r} does not hold an array of numbers: save one of floats.")
    return array


# --- formats -----------------------------------------------------------------------------------------------


@contextmanager
def _reading(path: Path, remedy: str) -> Iterator[None]:
    """One sentence about whatever is wrong, and no warnings."""
    with one_sentence(path, remedy), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _npy(path: Path) -> Npy:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Npy.open(path)


def _npz(path: Path, key: str = "") -> Any:
    remedy = "save it again, with numpy.savez, as arrays of numbers"
    with _reading(path, remedy), path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
        names = archive.files
        chosen = names[0] if len(names) == 1 and not key else key
        if chosen not in names:
            found = ", ".join(names) or "no array"
            raise InputError(f"{str(path)!r} holds {found}: name one, as {path.name}:NAME.")
        _require_plausible(path, _claimed(archive.zip, chosen))
        return archive[chosen]


def _claimed(archive: zipfile.ZipFile, name: str) -> int:
    """Bytes that reading this array of an .npz file would allocate."""
    member = archive.getinfo(name if name in archive.namelist() else f"{name}.npy")
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):  # others unpack without any limit
        raise zipfile.BadZipFile
    with archive.open(member) as file:
        version = np.lib.format.read_magic(file)  # type: ignore[no-untyped-call]
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read(file)  # type: ignore[no-untyped-call]
    return max(member.file_size, int(math.prod(shape) * dtype.itemsize))


def _require_plausible(path: Path, claimed: int) -> int:
    """Refuse, before anything is allocated, a header that claims far more than so few bytes hold; number of files."""
    sizes = [file.stat().st_size for file in (path.rglob("*") if path.is_dir() else [path]) if file.is_file()]
    if claimed > max(SMALL, LARGEST_EXPANSION * sum(sizes)):
        raise InputError(f"{str(path)!r} claims {claimed:,} bytes of numbers but has {sum(sizes):,}: save it again.")
    return len(sizes)


def _csv(path: Path, table: TableForm) -> Array:
    """Rows of numbers, with a line of names above them if the user says so; NaN for a cell that is no number."""
    with _reading(path, "save rows of numbers, separated by commas"):
        rows = _csv_rows(path)
        names = rows.pop(0) if table.header and rows else None
        if not rows:
            raise InputError(f"{str(path)!r} holds no records: save one row of numbers for each.")
        width = _csv_width(path, rows, is_whole=table.columns is None and table.without is None)
        if names is not None and len(names) != width:
            raise InputError(f"{str(path)!r} names {len(names)} columns of {width}: name each of them.")
        chosen = chosen_columns(table.columns, table.without, width, names, path)
        return np.array([_csv_row(row, width, chosen) for row in rows])


def _csv_rows(path: Path) -> list[list[str]]:
    """All rows. What is no UTF-8 is no number, and a cell may be long."""
    with path.open("rb") as file:
        if file.read(2) in (b"\xff\xfe", b"\xfe\xff"):
            raise InputError(f"{str(path)!r} is in UTF-16: save it in UTF-8.")
    usual = csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    try:
        with path.open(newline="", encoding="utf-8-sig", errors="replace") as file:
            return _without_blank_lines(list(csv.reader(file)))
    finally:
        csv.field_size_limit(usual)


def _without_blank_lines(lines: list[list[str]]) -> list[list[str]]:
    """In a table of one column a blank line is a row, whose cell is missing; in others, such a row has its commas."""
    rows = list(filter(None, lines))
    has_several = rows and Counter(map(len, rows)).most_common(1)[0][0] > 1
    return rows if has_several else [line or [""] for line in lines]


def _csv_width(path: Path, rows: list[list[str]], *, is_whole: bool) -> int:
    """Cells in most rows, and a sentence if most rows are separated by something else."""
    width, other = Counter((len(row), _other_separator(row)) for row in rows).most_common(1)[0][0]
    if other and is_whole:
        raise InputError(f"{str(path)!r} separates its cells by {other!r}: save it with commas.")
    return width


def _other_separator(row: list[str]) -> str:
    return next((sign for sign in ";\t" if any(sign in cell.strip() for cell in row)), "")


def _csv_row(cells: list[str], width: int, chosen: Iterable[int]) -> list[float]:
    """NaN all over if cells are lacking or too many: nobody knows which."""
    return [number(cells[i]) if len(cells) == width else math.nan for i in chosen]


def _parquet(path: Path, table: TableForm) -> Parquet:
    with _reading(path, "save a table with one row of numbers per record"):
        from pyarrow import parquet

        claims = parquet.read_metadata(path)  # of the whole file: asked for a broken column's, pyarrow ends the process
        _require_plausible(path, max(8 * claims.num_rows * claims.num_columns, decoded_bytes(path)))
        return Parquet.open(path, table.columns, table.without)


def _zarr(path: Path) -> Zarr:
    with _reading(path, "save one array of numbers, with zarr.save"):
        import zarr

        array = zarr.open_array(str(path.absolute()), mode="r")
        _check_zarr(array, path)
        return Zarr(path, array)


def _check_zarr(array: Any, path: Path) -> None:
    """Nothing is unpickled, and nothing is allocated for chunks that are only claimed."""
    if array.dtype.kind not in "fiuc":
        raise InputError(f"{str(path)!r} does not hold an array of plain numbers: save one of floats.")
    chunk_bytes = math.prod(getattr(array, "shards", None) or array.chunks) * array.dtype.itemsize
    if array.nchunks > MOST_CHUNKS * _require_plausible(path, max(array.nbytes, chunk_bytes)):
        raise InputError(f"{str(path)!r} lacks most of its {array.nchunks:,} chunks: save it again.")
    check_chunks(path, getattr(getattr(array, "metadata", None), "zarr_format", 2), chunk_bytes)


def _picture(path: Path) -> Array:
    """Pixels as uint8, grey (h, w) or colour (h, w, 3); 16 bits per pixel are brought to 8, transparency is dropped."""
    with _reading(path, "pass a whole picture"):
        from PIL import Image

        logging.getLogger("PIL").addHandler(logging.NullHandler())  # what it has to say is said below
        with Image.open(path, formats=CODECS) as image:
            if image.mode.startswith("I"):
                return (np.asarray(image) >> 8).astype(np.uint8)
            return np.asarray(image.convert("L" if image.mode in ("1", "L", "LA") else "RGB"))


# By the ending of a file: what reads an array, or what has a shape, a dtype and slices of rows.
READERS: dict[str, Callable[[Path], Any]] = {
    ".npy": _npy,
    ".npz": _npz,
    ".zarr": _zarr,
}


def known_formats() -> str:
    """In words, for whoever is asked for a file."""
    endings = [".npz (file.npz:key)" if ending == ".npz" else ending for ending in (*READERS, *TABLES)]
    return f"{', '.join(endings)}, or a folder or pattern of .npy files"
