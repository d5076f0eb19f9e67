"""Every parser and entry point as a function of bytes: a result or a RiemdpError of one line, nothing else.

`TARGETS[name].check(case)` raises AssertionError, or whatever else went wrong, for a case that breaks the rule.
"""

from __future__ import annotations

import base64
import io
import json
import os
import re
import shutil
import sqlite3
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import chdir, closing, contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, replace
from functools import cache
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np

import riemdp as rd
from mutations import Mutation, of_bytes, of_csv, of_json, of_npy, of_zip, several, zipped
from riemdp.accounting.composition import compose
from riemdp.accounting.guarantee import Guarantee
from riemdp.descriptors import covariance_descriptors
from riemdp.errors import RiemdpError
from riemdp.io import ledger_file
from riemdp.io.data import Stored, load_images, open_records
from riemdp.io.values import joined_array, plain_array
from riemdp.manifolds import package_spaces, space_from_dict, space_names, space_to_dict
from riemdp.manifolds.catalogue import center_names
from riemdp.privacy import ledger as ledger_module
from watch import new_folder, watched

# Of four numbers each, or eight; a space that is missing here takes part with one of its examples.
PICKED = [rd.Euclidean(4), rd.Sphere(3), rd.Hyperbolic(3), rd.SPDAffine(2), rd.SPDLogEuclidean(2), rd.KendallShapes(4)]
PRODUCT = rd.Product(rd.Sphere(2), rd.Euclidean(1))
SPACES = PICKED + [k.examples()[-1] for k in package_spaces() if k not in set(map(type, [*PICKED, PRODUCT]))]
GUARANTEES = [rd.PureDP(1.0), rd.ApproxDP(1.0, 1e-6), rd.GDP(1.0), rd.RDP(2.0, 0.5), rd.ZCDP(0.1)]
LONGEST_MESSAGE = 3000
NAME = re.compile(r"(?!.*\.\.)[\w.]{1,40}(/[\w.]{1,40}){0,4}")  # of a file within a folder


@dataclass(frozen=True)
class Target:
    """Valid cases, how to change them, and what to do with one."""

    seeds: Callable[[], list[bytes]]
    mutate: Mutation
    use: Callable[[bytes, Path], None]

    def prepare(self) -> list[bytes]:
        """The seeds, each used once: whatever is imported or cached at first use is there afterwards."""
        seeds = self.seeds()
        for seed in seeds:
            with _emptied(_folder()) as folder:
                _one_line(lambda seed=seed, folder=folder: self.use(seed, folder))
        return seeds

    def check(self, case: bytes) -> None:
        """Use the case in a folder of its own, and see that nothing but a RiemdpError of one line comes of it."""
        with _emptied(_folder()) as folder, watched(folder), warnings.catch_warnings():
            warnings.simplefilter("error")
            for kind in (rd.UselessRelease, rd.NoAdaptation):  # by public numbers: of no interest here
                warnings.simplefilter("ignore", kind)
            _one_line(lambda: self.use(case, folder))


@contextmanager
def _emptied(folder: Path) -> Iterator[Path]:
    try:
        yield folder
    finally:
        for entry in os.scandir(folder):
            shutil.rmtree(entry) if entry.is_dir(follow_symlinks=False) else os.unlink(entry)


@cache
def _folder() -> Path:
    return new_folder()


def _one_line(action: Callable[[], object]) -> None:
    try:
        action()
    except RiemdpError as problem:
        text = str(problem)
        assert text and "\n" not in text and len(text) < LONGEST_MESSAGE, f"not one line: {text[:200]!r}"


def _rng() -> np.random.Generator:
    return np.random.default_rng(5)


def _bytes_of(write: Callable[[io.BytesIO], object]) -> bytes:
    write(buffer := io.BytesIO())
    return buffer.getvalue()


def _npy(array: Any) -> bytes:
    return _bytes_of(lambda file: np.save(file, array))


# --- files of records --------------------------------------------------------------------------------------------


def _use_records(name: str) -> Callable[[bytes, Path], None]:
    def use(case: bytes, folder: Path) -> None:
        (folder / name).write_bytes(case)
        read_records(folder / name)

    return use


def read_records(path: Path) -> None:
    """Everything that commands do with a file of records."""
    stored = open_records(path)
    assert all(array.dtype.kind in "fiuc" for array in stored.arrays)
    assert all(map(str.isprintable, stored.remarks()))
    if stored.is_table:
        _one_line(lambda: open_records(path, columns="1-4", header=path.suffix == ".csv").points(SPACES[0]))
    for space in SPACES:
        _one_line(lambda space=space: stored.size(type(space)))
        _one_line(lambda space=space: stored.points(space))
    fitting = next((space for space in SPACES if _fits(stored, space)), SPACES[0])
    rd.check(stored.points(fitting)[:50], rd.Ball(fitting, fitting.origin, 0.3))


def _fits(stored: Stored, space: rd.Space) -> bool:
    return stored.arrays[0].shape[1:] in (space.point_shape, (np.prod(space.point_shape),))


def _arrays() -> list[Any]:
    points = [space.random_point(4, _rng()) for space in SPACES]
    landmarks, matrices = (space.random_point(4, _rng()) for space in (rd.KendallShapes(4), rd.SPDAffine(2)))
    return [*points, landmarks @ [1, 1j], np.arange(8, dtype=np.int32).reshape(2, 4), np.asfortranarray(matrices)]


def _tables() -> list[Any]:
    return [_real(array.reshape(len(array), -1)) for array in _arrays()[: len(SPACES)]]


def _real(rows: Any) -> Any:
    """Tables hold no complex numbers: their two parts, side by side."""
    return rows.view(np.float64) if np.iscomplexobj(rows) else rows


def _npz_seeds() -> list[bytes]:
    archives = [zipped([("X.npy", _npy(array))], zipfile.ZIP_DEFLATED) for array in _arrays()]
    return [*archives, zipped([("a.npy", _npy(_arrays()[0])), ("b.npy", _npy(_arrays()[1]))])]


def _csv_seeds() -> list[bytes]:
    rows = ["\n".join(",".join(map(repr, row)) for row in table.tolist()) for table in _tables()]
    return [*(text.encode() for text in rows), b"a,b,c,d\n" + rows[0].encode(), b"\xef\xbb\xbf1,2,,4\r\n5,6,7,nan\r\n"]


def _parquet_seeds() -> list[bytes]:
    import pyarrow
    from pyarrow import parquet

    wide = [{f"x{i}": column for i, column in enumerate(table.T)} for table in _tables()]
    lists = {"X": list(_tables()[3]), "__index_level_0__": np.arange(4)}
    holes = {
        "X": pyarrow.array([[True, None], None, [False], [True, True]]),
        "y": pyarrow.array([True, None, False, True]),
    }
    mixed = {
        "a": pyarrow.array([1, None, 3]),
        "b": pyarrow.array([0.5, 1.5, 2.5], pyarrow.float32()),
        "c": ["x", "y", "x"],
    }
    ways: list[dict[str, Any]] = [
        {},
        {"compression": "none"},
        {"compression": "gzip"},
        {"data_page_version": "2.0"},
        {"use_dictionary": False},
    ]
    tables = [*wide, lists, holes, mixed]
    return [_bytes_of(lambda f, t=t, w=w: parquet.write_table(pyarrow.table(t), f, **w)) for t in tables for w in ways]


# A zarr array is a folder; a case is a JSON object of its files by name, their bytes in base 64 unless they are text.


def _zarr_seeds() -> list[bytes]:
    import zarr

    seeds = []
    for array, form in [(a, f) for a in _arrays()[:4] for f in (2, 3)]:
        place = new_folder()
        zarr.save_array(str(place), array, zarr_format=form)
        seeds.append(json.dumps(_tree(place)).encode())
        shutil.rmtree(place)
    return [*seeds, *map(_packed_zarr, (None, {"id": "gzip"}, {"id": "zlib"}, {"id": "bz2"}))]


def _packed_zarr(packer: dict[str, str] | None) -> bytes:
    """Four vectors, packed by what the metadata say."""
    import numcodecs

    chunk = _arrays()[0].astype("<f8").tobytes()
    facts = {"zarr_format": 2, "shape": [4, 4], "chunks": [4, 4], "dtype": "<f8", "order": "C", "fill_value": 0}
    packed = numcodecs.get_codec(packer).encode(chunk) if packer else chunk
    files = {".zarray": facts | {"filters": None, "compressor": packer}, "0.0": base64.b64encode(packed).decode()}
    return json.dumps(files).encode()


def _tree(place: Path) -> dict[str, Any]:
    files = {str(path.relative_to(place)): path.read_bytes() for path in sorted(place.rglob("*")) if path.is_file()}
    return {name: _as_text(name, content) for name, content in files.items()}


def _as_text(name: str, content: bytes) -> Any:
    return (
        json.loads(content) if name.endswith(("zarray", "zarr.json", "zattrs")) else base64.b64encode(content).decode()
    )


def _use_zarr(case: bytes, folder: Path) -> None:
    try:
        tree = json.loads(case)
        files = {name: _content(value) for name, value in tree.items()}
    except (ValueError, TypeError, AttributeError, RecursionError):
        return
    for name, content in files.items():
        if NAME.fullmatch(name):
            _put(folder / "X.zarr" / name, content)
    read_records(folder / "X.zarr")


def _put(path: Path, content: bytes) -> None:
    with suppress(OSError):  # a file where a folder should be
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _content(value: Any) -> bytes:
    return base64.b64decode(value, validate=True) if isinstance(value, str) else json.dumps(value).encode()


# --- pictures ----------------------------------------------------------------------------------------------------


def _picture_seeds() -> list[bytes]:
    from PIL import Image

    pixels = _rng().integers(0, 256, (7, 8, 4), dtype=np.uint8)
    images = [Image.fromarray(pixels[..., 0]), Image.fromarray(pixels[..., :3]), Image.fromarray(pixels)]
    images += [images[0].convert("1"), images[1].convert("P"), Image.fromarray(pixels[..., 0].astype(np.uint16) * 257)]
    seeds = []
    for image in images:
        for form in ("PNG", "BMP", "TIFF", "JPEG"):
            try:
                seeds.append(_bytes_of(lambda file, image=image, form=form: image.save(file, form)))
            except OSError:
                continue  # the format has no such mode
    return seeds


def _use_picture(case: bytes, folder: Path) -> None:
    (folder / "x.png").write_bytes(case)
    images = load_images(folder)
    assert images.dtype == np.uint8
    if images.size < 10**6:
        covariance_descriptors(images)


def _descriptor_seeds() -> list[bytes]:
    shapes: list[list[int]] = [[2, 7, 8], [1, 6, 7, 3], [2, 5, 5]]
    asked = [{"features": "tuzel"}, {"features": "five", "eta": 1e-3}, {"region": [1, 1, 5, 5]}]
    return [
        json.dumps({"shape": s, "dtype": t, "value": 0.5, "asked": a}).encode()
        for s in shapes
        for t in ("uint8", "f4", "f8")
        for a in asked
    ]


def _use_descriptors(case: bytes, folder: Path) -> None:
    data = _object(case, "shape", "dtype", "value", "asked")
    try:
        shape = [int(side) % 12 for side in data["shape"]]
        images = _rng().random(shape[:5]).astype(np.dtype(str(data["dtype"])[:4])) * data["value"]
    except Exception:
        return  # NumPy's own complaint about what makes no array
    covariance_descriptors(images, **_chosen(data["asked"], "eta", "features", "region"))


def _chosen(asked: Any, *names: str) -> dict[str, Any]:
    return {name: asked[name] for name in names if name in asked} if isinstance(asked, dict) else {}


def _object(case: bytes, *names: str) -> dict[str, Any]:
    """A JSON object with at least these names; their values are anything."""
    try:
        data = json.loads(case)
    except (ValueError, RecursionError):
        data = None
    return dict.fromkeys(names) | (data if isinstance(data, dict) else {})


# --- releases and guarantees -------------------------------------------------------------------------------------


def _release_seeds() -> list[bytes]:
    seeds = []
    for space, guarantee in zip([*SPACES, PRODUCT], cycle(GUARANTEES), strict=False):
        made = _some_mean(space.random_point(40, _rng()), rd.Ball(space, space.origin, 0.5), guarantee)
        seeds.append(json.dumps(made.to_dict()).encode())
    X = rd.Sphere(2).random_point(2000, _rng())
    made = rd.private_mean(X, rd.Ball(rd.Sphere(2), [0, 0, 1], 1.0), rd.GDP(20.0), adapt=True)
    return [*seeds, json.dumps(made.to_dict()).encode()]


def _some_mean(X: Any, ball: rd.Ball, guarantee: Guarantee) -> rd.Release:
    """The Fréchet mean, or that of the logs in a space with nothing but its core."""
    try:
        return rd.private_mean(X, ball, guarantee)
    except rd.MechanismError:
        return rd.private_mean(X, ball, guarantee, statistic="tangent-mean")


def _use_release(case: bytes, folder: Path) -> None:
    (folder / "r.json").write_bytes(case)
    loaded = rd.Release.load(folder / "r.json")
    assert loaded.space.contains(loaded.value).all()
    assert repr(loaded)
    loaded.save(folder / "again.json")
    assert json.dumps(rd.Release.load(folder / "again.json").to_dict()) == json.dumps(loaded.to_dict())
    _one_line(lambda: loaded.ball)


def _guarantee_seeds() -> list[bytes]:
    pairs = [[a.to_dict(), b.to_dict()] for a in GUARANTEES for b in GUARANTEES]
    return [json.dumps(pair).encode() for pair in pairs]


def _use_guarantees(case: bytes, folder: Path) -> None:
    try:
        data = json.loads(case)
    except (ValueError, RecursionError):
        return
    for part in data if isinstance(data, list) else [data]:
        _one_line(lambda part=part: Guarantee.from_dict(part))
    if not isinstance(data, list) or len(data) < 2:
        return
    first, second, *_ = map(Guarantee.from_dict, data)
    assert Guarantee.from_dict(json.loads(json.dumps(first.to_dict()))) == first
    assert repr(first) and str(first)
    assert isinstance(first <= second, bool)
    _one_line(lambda: first.to_like(second))
    _one_line(lambda: first.to_approx(delta=1e-6))
    _one_line(lambda: compose([first, second, first], like=second))


# --- sums of sites -----------------------------------------------------------------------------------------------

STUDY_KEY = bytes(range(32))


def _site_seeds() -> list[bytes]:
    seeds = []
    for space in [*SPACES, PRODUCT]:
        made = rd.site_sum(space.random_point(5, _rng()), rd.Ball(space, space.origin, 0.5), site="A", study="S")
        seeds += [json.dumps(made.to_dict(key=key)).encode() for key in (None, STUDY_KEY)]
    return seeds


def _use_site(case: bytes, folder: Path) -> None:
    """A file that is read is saved as the same, pooled once, and never pooled with its copy."""
    (folder / "A.json").write_bytes(case)
    for key, copy in ((STUDY_KEY, "B.json"), (None, "C.json")):
        _one_line(lambda key=key, copy=copy: _pool(rd.SiteSum.load(folder / "A.json", key=key), folder / copy))


def _pool(loaded: rd.SiteSum, path: Path) -> None:
    assert repr(loaded)
    loaded.save(path, key=STUDY_KEY)
    copy = rd.SiteSum.load(path, key=STUDY_KEY)
    assert copy.to_dict() == loaded.to_dict()
    with suppress(RiemdpError):
        rd.private_mean_of_sums([loaded, copy], rd.GDP(1.0))
        raise AssertionError("a sum was pooled with its copy")
    if loaded.ball.space.dim <= 200:  # larger ones are right, and slow
        assert rd.private_mean_of_sums([loaded], rd.GDP(1.0)).n == loaded.n


# --- ledgers -----------------------------------------------------------------------------------------------------


@cache
def _ledger_seeds() -> list[bytes]:
    seeds, place = [], new_folder()
    for number, budget in enumerate(GUARANTEES):
        book = rd.Ledger(place / f"{number}.db", budget)
        book.confirm(book.reserve(book._share(0.25), "a release"))
        book.reserve(book._share(0.25), "another")
        with book._transaction("BEGIN IMMEDIATE") as db:
            count = replace(book._count(db), stated_at=-ledger_module.EVERY)
            ledger_file.append(db, count.text_of_next(book._share(0.125)), "states a count", "reserved")
        seeds.append(book.path.read_bytes())
    shutil.rmtree(place)
    return seeds


def _use_ledger(case: bytes, folder: Path) -> None:
    (folder / "ledger.db").write_bytes(case)
    spend(folder / "ledger.db")


def spend(path: Path) -> None:
    """Everything that can be done with a ledger."""
    book = rd.Ledger(path, timeout=0.05)
    for action in (
        book.history,
        lambda: book.spent,
        lambda: book.remaining,
        book.recount,
        lambda: book.reserve(rd.PureDP(1e-6), "x"),
        lambda: book.confirm(1),
    ):
        _one_line(action)
    _one_line(lambda: rd.Ledger(path, rd.GDP(1.0)))
    _command(["ledger", "show", str(path), "--wait", "0.05"])


# Rows that whoever holds the file could write: the digests are right. A case is a JSON list of rows.


def _row_seeds() -> list[bytes]:
    return [json.dumps(_rows(case)).encode() for case in _ledger_seeds()]


def _rows(case: bytes) -> list[list[Any]]:
    with closing(sqlite3.connect(":memory:")) as db:
        db.deserialize(case)
        return [list(row[:-1]) for row in db.execute("SELECT * FROM entry ORDER BY id")]


def _use_rows(case: bytes, folder: Path) -> None:
    path = folder / "ledger.db"
    try:
        _forge(path, json.loads(case))
    except (ValueError, TypeError, OverflowError, RecursionError, sqlite3.Error):
        return  # SQLite has no place for such a row
    spend(path)


def _forge(path: Path, rows: list[list[Any]]) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        schema = ledger_file.schema(ledger_file.FORMAT)
        db.execute("PRAGMA synchronous = OFF")
        db.execute(schema[0].replace("CHECK (status IN ('budget', 'reserved', 'released'))", "CHECK (1)"))
        digest = ""
        for row in rows:
            row = [b"\xff" if isinstance(cell, list) else cell for cell in row]
            db.execute("INSERT INTO entry VALUES (?, ?, ?, ?, ?, ?, '')", row)
            (stored,) = db.execute("SELECT * FROM entry WHERE id IS ?", row[:1]).fetchall()
            digest = ledger_file.Row(*stored).digest_after(digest)
            db.execute("UPDATE entry SET digest = ? WHERE id IS ?", (digest, row[0]))
        for statement in schema[1:]:
            db.execute(statement)
        db.execute("PRAGMA writable_schema = ON")
        db.execute("UPDATE sqlite_master SET sql = ? WHERE type = 'table'", schema[:1])


# --- the command line --------------------------------------------------------------------------------------------

_FILES = (
    "X.npy",
    "S.npy",
    "K.npy",
    "X.csv",
    "X.npz",
    "X.npz:X",
    "center.npy",
    "images.npy",
    "folder",
    "*.npy",
    "ledger.db",
    "none.npy",
    "r.json",
    "",
)
_WORDS = (
    "mean plan check descriptors audit ledger show --space --center --radius --eigenvalues --size --curvature --epsilon --delta --mu --rho --alpha"
    " --columns --header --no-header --mechanism --statistic --calibration --footpoint --adapt --anyway --ledger --budget-epsilon --budget-delta --budget-mu --budget-rho --budget-alpha --wait"
    " --out --report --json --quiet --records --spread --draws --confidence --seed --eta --features --region --help --version -h --"
    f" {' '.join([*space_names(), *center_names()])} auto wrapped-laplace wrapped-gaussian riemannian-laplace kng"
    " extrinsic-laplace extrinsic-gaussian pointwise-laplace frechet-mean tangent-mean analytic classical tuzel five"
).split()
_NUMBERS = (
    "0",
    "1",
    "2",
    "3",
    "4",
    "0.5",
    "1e-6",
    "-1",
    "nan",
    "inf",
    "1e308",
    "1e-308",
    "1e999",
    "10",
    "1000",
    "999999999999",
    "9" * 40,
    "x",
    "0x1",
    "1_0",
    "é",
)
_LINES = (
    "mean X.npy --space spd-affine --center identity --radius 1 --epsilon 1 --out mean.npy --anyway",
    "mean X.npy --space spd-log-euclidean --eigenvalues 0.1 10 --mu 0.1 --ledger ledger.db --json --anyway",
    "mean S.npy --space sphere --center north --radius 0.5 --rho 0.1 --mechanism wrapped-gaussian --ledger new.db --budget-rho 1 --anyway",
    "mean K.npy --space kendall --center origin --radius 0.2 --epsilon 1 --alpha 2 --footpoint center.npy --out mean.json --quiet --anyway",
    "mean X.csv --space euclidean --center origin --radius 3 --epsilon 1 --delta 1e-6 --calibration classical --adapt --anyway",
    "mean X.csv --space euclidean --columns 2-3,1 --no-header --center origin --radius 3 --epsilon 1 --anyway",
    "plan --space kendall --size 4 --records 100 --radius 0.2 --epsilon 1 --json",
    "plan --space hyperbolic --size 3 --curvature -2 --records 100 --radius 0.2 --mu 1 --adapt --spread 0.1",
    "check X.npz:X --space spd-affine --center identity --radius 1 --size 2",
    "descriptors images.npy --out D.npy --eta 1e-3 --features five --region 0 0 6 6",
    "audit --space sphere --size 2 --records 10 --radius 0.5 --epsilon 1 --draws 1000 --confidence 0.99 --seed 1",
    "ledger show ledger.db --wait 0.1 --json",
)  # fmt: skip


def _line_seeds() -> list[bytes]:
    return [json.dumps(line.split()).encode() for line in _LINES]


def _of_line(case: bytes, chance: Any) -> bytes:
    """Another word, one more or one less."""
    try:
        words = [str(word) for word in json.loads(case)]
    except (ValueError, TypeError, RecursionError):
        words = ["mean"]
    place, other = chance.randrange(len(words) + 1), chance.choice(chance.choice((_FILES, _WORDS, _NUMBERS)))
    kept = place + chance.choice((0, 1, 1, 1, 2))
    return json.dumps([*words[:place], *([other] if chance.random() < 0.8 else []), *words[kept:]][:40]).encode()


@cache
def _world() -> dict[str, bytes]:
    """The files that command lines name."""
    points = {"X": rd.SPDAffine(2), "S": rd.Sphere(2), "K": rd.KendallShapes(4)}
    arrays = {name: space.random_point(12, _rng()) for name, space in points.items()}
    arrays |= {"center": rd.KendallShapes(4).origin, "images": np.ones((2, 6, 7), dtype=np.uint8)}
    files = {f"{name}.npy": _npy(array) for name, array in arrays.items()}
    return files | {
        "X.csv": _csv_seeds()[0],
        "X.npz": zipped([("X.npy", files["X.npy"])]),
        "ledger.db": _ledger_seeds()[2],
        "r.json": b"{}",
    }


def _use_line(case: bytes, folder: Path) -> None:
    try:
        words = [str(word) for word in json.loads(case)]
    except (ValueError, TypeError, RecursionError):
        return
    if "demo" in words or any("\0" in word or ".." in word or word.startswith("/") for word in words):
        return
    for name, content in _world().items():
        (folder / name).write_bytes(content)
    (folder / "folder").mkdir()
    with chdir(folder):
        _command(words + ["--draws", "200"] * (words[:1] == ["audit"]))


def _command(words: list[str]) -> None:
    """Exit codes 0, 1 (an audit that contradicts), 2 and 3; a mistake is one line on stderr."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            code: Any = _application().main(args=words, prog_name="riemdp")
        except SystemExit as end:
            code = end.code
    assert code in ((0, 1, 2, 3) if words[:1] == ["audit"] else (0, 2, 3)), code
    if code >= 2:
        assert err.getvalue().startswith("riemdp: "), err.getvalue()
        assert len(err.getvalue().splitlines()) == 1, err.getvalue()
        assert out.getvalue() == ""


@cache
def _application() -> Any:
    from typer.main import get_command

    from riemdp.cli import app

    return get_command(app)


# --- records in memory -------------------------------------------------------------------------------------------


def _mean_seeds() -> list[bytes]:
    seeds = []
    for space, guarantee in zip([*SPACES, PRODUCT], cycle(GUARANTEES), strict=False):
        for mechanism in ("auto", "wrapped-gaussian", "wrapped-laplace", "riemannian-laplace", "kng"):
            X = plain_array(space.random_point(3, _rng()))
            asked = {
                "mechanism": mechanism,
                "statistic": "frechet-mean",
                "calibration": "analytic",
                "footpoint": None,
                "adapt": False,
            }
            ball = {"center": plain_array(space.origin), "radius": 0.25}
            seeds.append(
                {"space": space_to_dict(space), **ball, "X": X, "guarantee": guarantee.to_dict(), "asked": asked}
            )
    return [json.dumps(seed).encode() for seed in seeds]


def _use_mean(case: bytes, folder: Path) -> None:
    data = _object(case, "space", "center", "radius", "X", "guarantee", "asked")
    space = space_from_dict(data["space"])
    if space.dim > 200:
        return  # large, and right: not what is looked for here
    ball, guarantee = (
        rd.Ball(space, joined_array(data["center"]), data["radius"]),
        Guarantee.from_dict(data["guarantee"]),
    )
    X = joined_array(data["X"])
    asked = _chosen(data["asked"], "mechanism", "statistic", "calibration", "footpoint", "adapt")
    made = rd.private_mean(X, ball, guarantee, **asked)
    assert space.contains(made.value).all()
    rd.check(X, ball)


TARGETS = {
    "npy": Target(lambda: list(map(_npy, _arrays())), several(of_npy), _use_records("X.npy")),
    "npz": Target(_npz_seeds, several(of_zip), _use_records("X.npz")),
    "csv": Target(_csv_seeds, several(of_csv), _use_records("X.csv")),
    "parquet": Target(_parquet_seeds, several(of_bytes), _use_records("X.parquet")),
    "zarr": Target(_zarr_seeds, several(of_json), _use_zarr),
    "pictures": Target(_picture_seeds, several(of_bytes), _use_picture),
    "descriptors": Target(_descriptor_seeds, several(of_json), _use_descriptors),
    "releases": Target(_release_seeds, several(of_json), _use_release),
    "site-sums": Target(_site_seeds, several(of_json), _use_site),
    "guarantees": Target(_guarantee_seeds, several(of_json), _use_guarantees),
    "ledgers": Target(lambda: list(_ledger_seeds()), several(of_bytes), _use_ledger),
    "ledger-rows": Target(_row_seeds, several(of_json), _use_rows),
    "command-line": Target(_line_seeds, _of_line, _use_line),
    "means": Target(_mean_seeds, several(of_json), _use_mean),
}
