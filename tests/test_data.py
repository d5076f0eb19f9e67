"""Records and images come out of every format as they went in; a broken file is one sentence."""

from __future__ import annotations

import csv
import io
import json
import pickle
import struct
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

import riemdp as rd
from manifolds.examples import with_others
from riemdp.io.data import load_array, load_images, load_records, open_records
from riemdp.manifolds import Euclidean, Hyperbolic, KendallShapes, SPDAffine, SPDLogEuclidean, Sphere

PICKED = [Euclidean(4), Sphere(3), Hyperbolic(3), SPDAffine(3), SPDLogEuclidean(2), KendallShapes(5)]
# Products are not on the command line, tables hold no complex numbers, and no file tells a unit of length.
SPACES = with_others(PICKED, but=[rd.Product, rd.HPDAffine, rd.HPDLogEuclidean, rd.RigidMotions])


def records(space, n=6):
    return space.random_point(n, np.random.default_rng(1))


def size_of(space):
    """What --size would be (the name says the dimension of subspaces); that of the only one of its kind is its own."""
    return next((getattr(space, name) for name in ("k", "d", "n") if hasattr(space, name)), space.dim)


def write_csv(path, rows, header=None):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(([header] if header else []) + [[repr(float(x)) for x in row] for row in rows])


def save(path, X):
    """One file, in the format of its suffix."""
    flat = X.reshape(len(X), -1)
    if path.suffix == ".npy":
        np.save(path, X)
    elif path.suffix == ".npz":
        np.savez(path, X)
    elif path.suffix == ".csv":
        write_csv(path, flat)
    elif path.suffix == ".parquet":
        pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        parquet.write_table(pyarrow.table({f"x{i}": column for i, column in enumerate(flat.T)}), path)
    else:
        pytest.importorskip("zarr").save(str(path), X)


# --- what is read ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("space", SPACES, ids=repr)
@pytest.mark.parametrize("suffix", [".npy", ".npz", ".csv", ".parquet", ".zarr"])
@pytest.mark.filterwarnings("ignore::UserWarning")  # zarr's
def test_every_format_gives_back_the_records_and_the_size_of_their_space(tmp_path, space, suffix):
    X = records(space)
    save(tmp_path / f"X{suffix}", X)
    stored = open_records(tmp_path / f"X{suffix}")
    assert np.array_equal(stored.points(space), X)
    assert stored.size(type(space)) == size_of(space)


@pytest.mark.parametrize("space", SPACES, ids=repr)
@pytest.mark.parametrize("each", [1, 3])
@pytest.mark.parametrize("pattern", ["", "/*.npy"])
def test_a_folder_or_pattern_of_files_of_one_or_more_records(tmp_path, space, each, pattern):
    X = records(space)
    for i in range(0, len(X), each):
        np.save(tmp_path / f"{i:03}.npy", X[i] if each == 1 else X[i : i + each])
    (tmp_path / "README.txt").write_text("not a record")
    stored = open_records(f"{tmp_path}{pattern}")
    assert np.array_equal(stored.points(space), X)
    assert stored.size(type(space)) == size_of(space)


@pytest.mark.parametrize("suffix", [".npy", ".npz"])
def test_complex_matrices_and_their_size(tmp_path, suffix):
    X = records(rd.HPDAffine(3))
    save(tmp_path / f"X{suffix}", X)
    stored = open_records(tmp_path / f"X{suffix}")
    assert np.array_equal(stored.points(rd.HPDAffine(3)), X)
    assert stored.size(rd.HPDAffine) == 3


def test_files_of_a_folder_may_hold_different_numbers_of_records(tmp_path):
    X = records(SPDAffine(2))
    np.save(tmp_path / "a.npy", X[:4])
    np.save(tmp_path / "b.npy", X[4])
    np.save(tmp_path / "c.npy", X[5:])
    assert np.array_equal(load_records(tmp_path, SPDAffine(2)), X)


def test_complex_landmarks(tmp_path):
    z = records(KendallShapes(5)) @ [1, 1j]
    np.save(tmp_path / "z.npy", z)
    stored = open_records(tmp_path / "z.npy")
    assert np.array_equal(stored.points(KendallShapes(5)), z)
    assert stored.size(KendallShapes) == 5
    with pytest.raises(rd.InputError, match="Complex data not supported"):
        stored.points(Euclidean(5))


def test_a_named_array_of_an_archive(tmp_path):
    X = records(Sphere(2))
    np.savez_compressed(tmp_path / "many.npz", other=np.zeros(3), mine=X)
    assert np.array_equal(load_records(f"{tmp_path}/many.npz:mine", Sphere(2)), X)
    for name in ("many.npz", "many.npz:yours"):
        with pytest.raises(rd.InputError, match=r"holds other, mine: name one, as many.npz:NAME"):
            open_records(tmp_path / name)


def test_an_npy_file_is_mapped_and_not_read(tmp_path):
    np.save(tmp_path / "X.npy", records(SPDAffine(3)))
    assert isinstance(load_records(tmp_path / "X.npy", SPDAffine(3)), np.memmap)


def test_names_may_look_like_patterns(tmp_path):
    (tmp_path / "run[1]").mkdir()
    np.save(tmp_path / "run[1]" / "X.npy", records(Sphere(2)))
    assert np.array_equal(load_records(tmp_path / "run[1]" / "X.npy", Sphere(2)), records(Sphere(2)))


def test_integers_and_other_floats_are_numbers(tmp_path):
    for dtype in (np.int32, np.uint8, np.float32, ">f8"):
        np.save(tmp_path / "X.npy", np.arange(6).reshape(3, 2).astype(dtype))
        assert rd.check(load_records(tmp_path / "X.npy", Euclidean(2)), rd.Ball(Euclidean(2), [0, 0], 9.0)).n == 3


# --- tables ----------------------------------------------------------------------------------------------------


def test_csv_with_or_without_names_marks_and_missing_values(tmp_path):
    rows = [[1.5, 2.0], [3.0, 4.0]]
    for text in ("1.5,2\n3,4\n", "1.5,2\n3,4", "\ufeff1.5,2\r\n\r\n3,4\r\n", '"1.5", 2 \n3, 4\n'):
        (tmp_path / "X.csv").write_text(text, encoding="utf-8", newline="")
        assert load_records(tmp_path / "X.csv", Euclidean(2)).tolist() == rows
        (tmp_path / "X.csv").write_text(f"\ufeffa,b\n{text}".replace("\n\ufeff", "\n"), encoding="utf-8", newline="")
        assert load_records(tmp_path / "X.csv", Euclidean(2), header=True).tolist() == rows
    (tmp_path / "X.csv").write_text(",\n1,\n 1e999,nan\n")
    expected = [[np.nan, np.nan], [1, np.nan], [np.inf, np.nan]]
    assert np.array_equal(load_records(tmp_path / "X.csv", Euclidean(2)), expected, equal_nan=True)


@pytest.mark.parametrize("first", ["a,b", "1,2", "secret,secret", ",", "x", "1,2,3"])
def test_what_the_first_line_holds_does_not_decide_whether_it_holds_names(tmp_path, first):
    (tmp_path / "X.csv").write_text(f"{first}\n3,4\n5,6\n7,8\n")
    assert open_records(tmp_path / "X.csv").shape == (4, 2)


@pytest.mark.parametrize(
    ("text", "says", "asked"),
    [
        ("", "holds no records", {}),
        ("a,b\n", "holds no records", {"header": True}),
        ("a,b\n1,2,3\n4,5,6\n", "names 2 columns of 3", {"header": True}),
        ("1;2\n3;4\n", "separates its cells by ';': save it with commas", {}),
        ("1,5;2,5\n3,5;4,5\n", "separates its cells by ';'", {}),
        ("1\t2\n3\t4\n", r"separates its cells by '\\t'", {}),
        ("1,2\n3,4\n", "has no column 'x'; it has no names, unless --header", {"columns": "x"}),
        ("a,b\n1,2\n", "has no column 'x': pass one of 1 to 2", {"columns": "x", "header": True}),
        ("1,2\n3,4\n", "has no columns 2-3: pass some of 1 to 2", {"columns": "2-3"}),
        ("1,2\n3,4\n", "has no columns 0", {"columns": "0"}),
        ("1,2\n3,4\n", "has no columns 2-1", {"columns": "2-1"}),
        ("1,2\n3,4\n", "names or places", {"columns": "1,"}),
    ],
)
def test_csv_that_holds_no_rows_of_numbers(tmp_path, text, says, asked):
    (tmp_path / "X.csv").write_text(text)
    with pytest.raises(rd.InputError, match=says):
        open_records(tmp_path / "X.csv", **asked)


def test_columns_of_tables_by_name_place_and_range(tmp_path):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    (tmp_path / "X.csv").write_text("id,1,y,z\nsecret,2,3,4\nsecret,5,6,7\nsecret,8,9,10\n")
    columns = {"id": ["secret"] * 3, "1": [2.0, 5, 8], "y": [3.0, 6, 9], "z": [4.0, 7, 10]}
    parquet.write_table(pyarrow.table(columns), tmp_path / "X.parquet")
    wanted = {"y,z": [3, 4], "3-4": [3, 4], "z, y": [4, 3], "4,3": [4, 3], "y,2": [3, 2], "1,3": [2, 3], "2-4": [2, 3, 4]}  # "1" is a name
    for asked, row in wanted.items():
        for name, options in (("X.csv", {"header": True}), ("X.parquet", {})):
            found = load_records(tmp_path / name, Euclidean(len(row)), columns=asked, **options)
            assert np.asarray(found)[0].tolist() == row, (asked, name)
    with pytest.raises(rd.InputError, match=r"has a column id of type string: pick columns of numbers with --columns"):
        open_records(tmp_path / "X.parquet")
    with pytest.raises(rd.InputError, match=r"\(4, 4\): .* pick columns with --columns .* separate cells by commas"):
        load_records(tmp_path / "X.csv", SPDAffine(3))


@pytest.mark.parametrize("name", ["X.npy", "X.npz", ""])
def test_only_tables_have_columns_and_a_header(tmp_path, name):
    np.save(tmp_path / "X.npy", np.ones((3, 2)))
    np.savez(tmp_path / "X.npz", np.ones((3, 2)))
    for asked in ({"columns": "1"}, {"header": True}):
        with pytest.raises(rd.InputError, match="leave out"):
            open_records(tmp_path / name, **asked)


def test_csv_in_utf_16(tmp_path):
    (tmp_path / "X.csv").write_text("1,2\n3,4\n", encoding="utf-16")
    with pytest.raises(rd.InputError, match=r"X.csv' is in UTF-16: save it in UTF-8"):
        open_records(tmp_path / "X.csv")


def test_parquet_of_lists_and_without_pandas_index(tmp_path):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    X = records(SPDAffine(2))
    lists = pyarrow.table({"matrix": list(X.reshape(-1, 4)), "__index_level_0__": np.arange(6)})
    parquet.write_table(lists, tmp_path / "X.parquet")
    assert np.array_equal(load_records(tmp_path / "X.parquet", SPDAffine(2)), X)
    missing = pyarrow.table({"a": pyarrow.array([1, None]), "b": [2.0, 3.0]})
    parquet.write_table(missing, tmp_path / "Y.parquet")
    assert np.array_equal(load_records(tmp_path / "Y.parquet", Euclidean(2)), [[1, 2], [np.nan, 3]], equal_nan=True)


@pytest.mark.parametrize("columns", [{}, {"a": ["x", "y"]}, {"a": [[[1]], [[2]]]}, {"a\x1b[31m": ["x", "y"]}])
def test_parquet_without_rows_of_numbers(tmp_path, columns):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table(columns), tmp_path / "X.parquet")
    with pytest.raises(rd.InputError, match=r"X.parquet' (cannot be read: save a table|has a column a.* of type)") as caught:
        open_records(tmp_path / "X.parquet")
    assert str(caught.value).isprintable()


@pytest.mark.filterwarnings("ignore::UserWarning")  # zarr's
@pytest.mark.parametrize("form", [2, 3])
@pytest.mark.parametrize("packer", ["none", "gzip", "zstd", "blosc", "sharded", "sharded first", "zlib", "bz2", "lz4"])
def test_zarr_arrays_packed_or_not(tmp_path, form, packer):
    zarr, numcodecs = pytest.importorskip("zarr", minversion="3"), pytest.importorskip("numcodecs")
    X = records(SPDAffine(3), 50)
    how = {"shape": X.shape, "chunks": (10, 3, 3), "dtype": "f8", "zarr_format": form, "store": str(tmp_path / "X.zarr")}
    if packer.startswith("sharded"):
        if form == 2:
            pytest.skip("only the third format has shards")
        how["shards"] = {"shape": (20, 3, 3), "index_location": "start" if packer == "sharded first" else "end"}
    elif packer in ("zlib", "bz2", "lz4") or form == 2:
        if form == 3:
            pytest.skip("packers of the second format")
        how["compressors"] = None if packer == "none" else numcodecs.get_codec({"id": packer})
    else:
        how["compressors"] = {"none": None, "gzip": zarr.codecs.GzipCodec(), "zstd": zarr.codecs.ZstdCodec(checksum=True), "blosc": zarr.codecs.BloscCodec()}[packer]
    zarr.create_array(**how)[...] = X
    assert np.array_equal(np.asarray(load_records(tmp_path / "X.zarr", SPDAffine(3))), X)


def test_names_in_files_are_shown_without_control_characters(tmp_path):
    with zipfile.ZipFile(tmp_path / "X.npz", "w") as archive:
        for name in ("\x1b[2Jone.npy", "two.npy"):
            archive.writestr(name, npy_of(np.ones((3, 2))))
    for bad in (tmp_path / "X.npz", tmp_path / "\x1b[2J.npy", tmp_path / "\x1b[2J.mat"):
        bad.name.endswith(".mat") and bad.write_bytes(b"")
        with pytest.raises(rd.InputError, match=r"\\x1b\[2J") as caught:
            open_records(bad)
        assert str(caught.value).isprintable()


@pytest.mark.parametrize(("suffix", "package"), [(".parquet", "pyarrow"), (".zarr", "zarr")])
def test_a_missing_package_is_named(tmp_path, monkeypatch, suffix, package):
    monkeypatch.setitem(sys.modules, package, None)
    (tmp_path / f"X{suffix}").write_bytes(b"")
    with pytest.raises(rd.InputError, match=rf"needs {package}: install it with pip install \"\.\[dask\]\" in a clone of riemdp, or"):
        open_records(tmp_path / f"X{suffix}")


# --- what is refused -------------------------------------------------------------------------------------------


def lying_header():
    """An .npy file that promises a million records and holds one number."""
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": (10**6, 3)})
    return file.getvalue() + struct.pack("<d", 1.0)


def archive_of(content):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("X.npy", content)
    return file.getvalue()


def npy_of(array):
    np.save(file := io.BytesIO(), array, allow_pickle=True)
    return file.getvalue()


BROKEN = {
    "empty.npy": b"",
    "text.npy": b"1 2 3\n4 5 6\n",
    "short.npy": npy_of(np.ones((9, 3)))[:-1],
    "lying.npy": lying_header(),
    "objects.npy": npy_of(np.array([{}, []], dtype=object)),
    "words.npy": npy_of(np.array(["one", "two"])),
    "truths.npy": npy_of(np.array([[True], [False]])),
    "archive.npy": archive_of(npy_of(np.ones((3, 3)))),
    "overflow.npy": lying_header().replace(b"(1000000, 3), ", b"(%d, 9), " % 2**62)[:128],
    "empty.npz": b"",
    "array.npz": npy_of(np.ones((3, 3))),
    "text.npz": b"PK\x03\x04 no archive",
    "lying.npz": archive_of(lying_header()),
    "objects.npz": archive_of(npy_of(np.array([{}, []], dtype=object))),
    "text.parquet": b"PAR1 no table PAR1",
    "text.zarr": b"no folder",
    "unknown.mat": b"5",
    "nosuffix": b"5",
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files(tmp_path, name):
    for package, suffix in (("pyarrow", ".parquet"), ("zarr", ".zarr")):
        if name.endswith(suffix):
            pytest.importorskip(package)
    (tmp_path / name).write_bytes(BROKEN[name])
    with pytest.raises(rd.InputError, match=name) as caught:
        open_records(tmp_path / name)
    assert "\n" not in str(caught.value)
    with pytest.raises(rd.InputError, match=name):
        load_array(tmp_path / name)


class Bait:
    """Unpickled, it leaves a file."""

    def __init__(self, trace):
        self.trace = trace

    def __reduce__(self):
        return Path.touch, (self.trace,)


@pytest.mark.parametrize("layer", [{"filters": [{"id": "pickle"}]}, {"compressor": {"id": "pickle"}}], ids=str)
@pytest.mark.parametrize("kind", ["<f8", "|O"])
def test_a_zarr_array_that_asks_for_unpickling_is_not_read(tmp_path, monkeypatch, layer, kind):
    """Not even where numcodecs would do it (GHSA-jqc8-qjfv-5m6r)."""
    pytest.importorskip("zarr")
    numcodecs, trace = pytest.importorskip("numcodecs"), tmp_path / "trace"
    monkeypatch.setattr(numcodecs.pickles, "ALLOW_UNSAFE_PICKLE_DECODE", True, raising=False)
    bait, layout = pickle.dumps(Bait(trace)), {"zarr_format": 2, "shape": [2, 3], "chunks": [2, 3], "order": "C"}
    (tmp_path / "X.zarr").mkdir()
    (tmp_path / "X.zarr" / "0.0").write_bytes(bait)
    plain = {"dtype": kind, "fill_value": None, "filters": None, "compressor": None}
    (tmp_path / "X.zarr" / ".zarray").write_text(json.dumps(layout | plain | layer))
    with pytest.raises(rd.InputError, match=r"X\.zarr"):
        load_array(tmp_path / "X.zarr")
    assert not trace.exists()
    numcodecs.get_codec({"id": "pickle"}).decode(bait)
    assert trace.exists()


@pytest.mark.parametrize("name", ["none.npy", "none.npz", "none.npz:key", "none/", "none/*.npy", "none.zarr"])
def test_missing_files(tmp_path, name):
    with pytest.raises(rd.InputError, match=r"does not exist|holds no \.npy file"):
        open_records(f"{tmp_path}/{name}")


def test_folders_that_make_no_records(tmp_path):
    with pytest.raises(rd.InputError, match=r"holds no .npy file"):
        open_records(tmp_path)
    np.save(tmp_path / "a.npy", np.eye(3))
    np.save(tmp_path / "b.npy", np.eye(2))
    with pytest.raises(rd.InputError, match=r"b.npy' has another shape than '.*a.npy'"):
        open_records(tmp_path)
    np.save(tmp_path / "b.npy", np.ones((2, 3)))
    with pytest.raises(rd.InputError, match=r"shape \(2, 3\)"):
        load_records(tmp_path, SPDAffine(3))


@pytest.mark.parametrize(
    ("shape", "space"),
    [
        ((3, 3), SPDAffine(3)),
        ((5, 3, 2), SPDAffine(3)),
        ((5, 2, 2), SPDAffine(3)),
        ((5, 8), SPDAffine(3)),
        ((2, 5, 3, 3), SPDAffine(3)),
        ((5, 2), KendallShapes(5)),
        ((3,), Euclidean(3)),
        ((), Euclidean(1)),
        ((5, 2), Sphere(2)),
    ],
)
def test_shapes_that_are_not_of_records(tmp_path, shape, space):
    np.save(tmp_path / "X.npy", np.ones(shape))
    with pytest.raises(rd.InputError, match=r"has shape \("):
        load_records(tmp_path / "X.npy", space)


def test_one_matrix_is_not_taken_for_flat_rows(tmp_path):
    np.save(tmp_path / "X.npy", np.eye(4))
    stored = open_records(tmp_path / "X.npy")
    with pytest.raises(rd.InputError, match=r"records of shape \(n, 4, 4\)"):
        stored.points(SPDAffine(stored.size(SPDAffine)))
    np.save(tmp_path / "x.npy", np.ones(3))
    with pytest.raises(rd.InputError, match="several records"):
        open_records(tmp_path / "x.npy").size(Euclidean)


def test_no_records(tmp_path):
    np.save(tmp_path / "X.npy", np.ones((0, 3, 3)))
    with pytest.raises(rd.InputError, match="holds no records"):
        load_records(tmp_path / "X.npy", SPDAffine(3))


def test_private_arrays_have_no_representation(tmp_path):
    np.save(tmp_path / "X.npy", np.full((3, 2), 0.123))
    assert "0.123" not in repr(open_records(tmp_path / "X.npy"))


# --- images ----------------------------------------------------------------------------------------------------


def picture(path, pixels, mode=None):
    from PIL import Image

    Image.fromarray(pixels).convert(mode).save(path) if mode else Image.fromarray(pixels).save(path)


def test_images_of_an_array(tmp_path):
    images = np.random.default_rng(0).integers(0, 256, (3, 8, 9), dtype=np.uint8)
    np.savez(tmp_path / "a.npz", images=images)
    assert np.array_equal(load_images(f"{tmp_path}/a.npz:images"), images)


@pytest.mark.parametrize("shape", [(8, 9), (8, 9, 3)])
@pytest.mark.parametrize("suffix", ["png", "bmp", "tiff"])
def test_a_folder_or_pattern_of_pictures_by_name(tmp_path, shape, suffix):
    images = np.random.default_rng(0).integers(0, 256, (3, *shape), dtype=np.uint8)
    for i in (2, 0, 1):
        picture(tmp_path / f"{i}.{suffix}", images[i])
    seen = []
    assert np.array_equal(load_images(tmp_path, lambda files: (seen.append(f) or f for f in files)), images)
    assert [path.name for path in seen] == [f"{i}.{suffix}" for i in range(3)]
    assert np.array_equal(load_images(f"{tmp_path}/[01].*"), images[:2])
    assert np.array_equal(load_images(tmp_path / f"2.{suffix}"), images[2:])


def test_transparent_black_and_white_and_deep_pictures(tmp_path):
    pixels = np.array([[0, 255], [255, 0]], dtype=np.uint8)
    for mode, expected in (("1", pixels), ("LA", pixels), ("RGBA", np.stack([pixels] * 3, axis=-1))):
        picture(tmp_path / "x.png", pixels, mode)
        assert np.array_equal(load_images(tmp_path / "x.png")[0], expected)
    picture(tmp_path / "x.png", pixels.astype(np.uint16) * 257)
    assert np.array_equal(load_images(tmp_path / "x.png")[0], pixels)


def test_pictures_that_differ_or_are_none(tmp_path):
    with pytest.raises(rd.InputError, match="holds no pictures"):
        load_images(tmp_path)
    picture(tmp_path / "a.png", np.zeros((5, 5), dtype=np.uint8))
    picture(tmp_path / "b.png", np.zeros((5, 5, 3), dtype=np.uint8))
    with pytest.raises(rd.InputError, match=r"b.png' differs from '.*a.png'"):
        load_images(tmp_path)
    (tmp_path / "b.png").write_bytes(b"no picture")
    with pytest.raises(rd.InputError, match=r"b.png' cannot be read"):
        load_images(tmp_path)
