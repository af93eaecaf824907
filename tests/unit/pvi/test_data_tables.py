"""Clients' data from CSV and NPZ files."""

import tracemalloc
import zipfile

import numpy as np
import pytest

from pvi.data import DataError, read_shards, tables

HEADER = "x1,x2,target,client\n"


def csv_file(folder, text, name="records.csv"):
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def test_columns_by_name(tmp_path):
    file = csv_file(tmp_path, "client,x1,target,x2\nb,1,5,2\na,3,6,4\nb,-1e-3,7,.5\n")
    first, second = read_shards(file, clients=2)
    np.testing.assert_array_equal(first.inputs, [[3.0, 4.0]])
    np.testing.assert_array_equal(first.targets, [6.0])
    np.testing.assert_array_equal(second.inputs, [[1.0, 2.0], [-1e-3, 0.5]])
    np.testing.assert_array_equal(second.targets, [5.0, 7.0])


def test_clients_that_are_numbers_are_in_the_order_of_numbers(tmp_path):
    rows = "".join(f"{own},0,{own},{own}\n" for own in (10, 9, 1))
    shards = read_shards(csv_file(tmp_path, HEADER + rows), clients=3)
    assert [shard.targets.tolist() for shard in shards] == [[1.0], [9.0], [10.0]]


def test_without_a_column_of_clients_records_are_cut_in_order(tmp_path):
    text = "x1,y\n" + "".join(f"0,{number}\n" for number in range(5))
    shards = read_shards(csv_file(tmp_path, text), clients=2, target="y")
    assert [shard.targets.tolist() for shard in shards] == [[0.0, 1.0, 2.0], [3.0, 4.0]]


def test_arrays_by_name(tmp_path):
    file = tmp_path / "records.npz"
    np.savez(file, inputs=[[1.0], [2.0]], income=[3.0, 4.0], site=["north", "east"])
    east, north = read_shards(file, clients=2, target="income", client="site")
    assert (east.inputs.tolist(), east.targets.tolist()) == ([[2.0]], [4.0])
    assert (north.inputs.tolist(), north.targets.tolist()) == ([[1.0]], [3.0])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "`target` must be a column"),
        ("x1,y\n1,2\n", "`target` must be a column"),
        (HEADER, "at least one record"),
        (HEADER + "1,2,3\n", "line 2 .* must have 4 cells, got 3"),
        (HEADER + "1,2,3,0\n1,2,3,0,5\n", "line 3 .* must have 4 cells, got 5"),
        (HEADER + "1,,3,0\n", "`x2` in line 2 .* finite number, got ''"),
        (HEADER + "1,nan,3,0\n", "`x2` in line 2 .* finite number, got 'nan'"),
        (HEADER + "1,2,inf,0\n", "`target` in line 2"),
        (HEADER + "1,2,high,0\n", "`target` in line 2"),
        ("x,x,target\n1,2,3\n", "different names"),
        (HEADER + "1,2,3,0\n", "`client` must name 2 clients in records.csv, got 1"),
        (HEADER + "1,2,3,0\n1,2,3,1\n1,2,3,2\n", "must name 2 clients .* got 3"),
        (HEADER + "1,1e400,3,0\n", "`x2` in line 2"),
        (HEADER + f"1,{10**400},3,0\n", "`x2` in line 2"),
        (HEADER + "1,1_000,3,0\n", "`x2` in line 2"),
        (HEADER + "1,٣,3,0\n", "`x2` in line 2"),
        (HEADER + "1,2\0,3,0\n", "line 2, must be text, got a NUL byte"),
        (HEADER + '1,"2,3,0\n', "must be CSV"),
        (HEADER + '1,"2"2,3,0\n', "must be CSV"),
        (HEADER + "1," + "2" * 200_000 + ",3,0\n", "line 2, must be CSV"),
        (HEADER + "1,2,3,\n1,2,3,1\n", "must say whose each record is"),
        (HEADER + "\n1,2,3,0\n", "line 2 .* must have 4 cells, got 0"),
        ("target,client\n1,0\n1,1\n", "one input"),
    ],
)
def test_tables_that_are_refused(tmp_path, text, message):
    with pytest.raises(DataError, match=message):
        read_shards(csv_file(tmp_path, text), clients=2)


def test_more_parts_than_records_are_refused(tmp_path):
    with pytest.raises(ValueError, match="parts"):
        read_shards(csv_file(tmp_path, "x1,target\n1,2\n"), clients=2)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"target": [1.0]}, "inputs"),
        ({"inputs": [[1.0]]}, "target"),
        ({"inputs": [[np.nan]], "target": [1.0]}, "inputs"),
        ({"inputs": [[1.0]], "target": [1.0, 2.0]}, "target"),
        ({"inputs": [1.0], "target": [1.0]}, "inputs"),
        ({"inputs": [[1.0]], "target": [1.0], "clients": [0]}, r"nothing but .* \['clients.npy'\]"),
        ({"inputs": [[1.0]], "target": [1.0], "client": [0, 1]}, "client"),
        ({"inputs": np.array([[{}]], dtype=object), "target": [1.0]}, "Object arrays cannot be"),
        ({"inputs": [[1.0], [2.0]], "target": [1.0, 2.0], "client": [0]}, "`client` must have one"),
        ({"inputs": [[1.0]], "target": [[1.0]]}, "`target` .* must have 1 axes"),
        ({"inputs": [[[1.0]]], "target": [1.0]}, "`inputs` .* must have 2 axes"),
        ({"inputs": [[1.0]], "target": [1.0], "client": ["nobody's", ""][1:]}, "whose each record"),
        ({"inputs": [[1j]], "target": [1.0]}, "numbers or names, got the type complex"),
        ({"inputs": [["1"]], "target": [1.0]}, "must hold numbers"),
        ({"inputs": [[1.0]], "target": np.array(["2020"], dtype="M8[Y]")}, "numbers or names"),
        ({"inputs": np.zeros((0, 1)), "target": np.zeros(0)}, "at least one record"),
        ({"inputs": np.zeros((1, 0)), "target": [1.0]}, "at least one record and one input"),
        ({"inputs": [[np.longdouble("1e4000")]], "target": [1.0]}, "must be finite"),
    ],
)
def test_arrays_that_are_refused(tmp_path, arrays, message):
    file = tmp_path / "records.npz"
    np.savez(file, **arrays)
    with pytest.raises(DataError, match=message):
        read_shards(file, clients=1)


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path):
    file = tmp_path / "records.csv"
    file.write_bytes("client,x1,target\n1,5,2\n0,6,3\n".encode("utf-8-sig"))
    first, second = read_shards(file, clients=2)
    assert (first.inputs.tolist(), second.inputs.tolist()) == ([[6.0]], [[5.0]])


def test_clients_that_are_called_nan_are_names(tmp_path):
    rows = "".join(f"0,0,{number},{own}\n" for number, own in enumerate(["nan", "2", "inf", "1"]))
    shards = read_shards(csv_file(tmp_path, HEADER + rows), clients=4)
    assert [shard.targets.tolist() for shard in shards] == [[3.0], [1.0], [2.0], [0.0]]


def test_a_small_file_of_large_arrays_is_refused_before_it_is_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "MOST_BYTES", 2**20)
    file = tmp_path / "records.npz"
    np.savez_compressed(file, inputs=np.zeros((2**21, 1)), target=np.zeros(2))
    assert file.stat().st_size < 2**16
    tracemalloc.start()
    try:
        with pytest.raises(DataError, match=r"inputs\.npy .* at most 1,048,576 bytes, got 16,7"):
            read_shards(file, clients=1)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 2**20


def test_an_array_that_promises_more_than_it_holds(tmp_path):
    file = tmp_path / "records.npz"
    for shape in ("(1000000000000000, 1)", "(-1, 1)", "(1e3, 1)", "(True, 1)", "exit()"):
        head = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
        content = b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode()
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("inputs.npy", content + bytes(64))
            archive.writestr("target.npy", content)
        with pytest.raises(DataError, match="`inputs` in records"):
            read_shards(file, clients=1)


def test_every_damage_of_an_npz_file_is_refused_or_harmless(tmp_path):
    """ZIP's CRC guards the arrays; where a flip leaves them readable they are what they were."""
    file = tmp_path / "records.npz"
    np.savez(file, inputs=[[1.0], [2.0]], target=[3.0, 4.0], client=["b", "a"])
    whole, rng = file.read_bytes(), np.random.default_rng(5)
    truth = [shard.targets.tolist() for shard in read_shards(file, clients=2)]
    flips = rng.integers(8 * len(whole), size=200).tolist()
    name = 8 * whole.rindex(b"client.npy")  # in the directory, which is believed
    for place in (*flips, *range(name, name + 80)):
        damaged = bytearray(whole)
        damaged[place // 8] ^= 1 << place % 8
        file.write_bytes(damaged)
        try:
            found = [shard.targets.tolist() for shard in read_shards(file, clients=2)]
        except DataError:
            continue
        assert found == truth, place


def test_names_must_tell_the_columns_apart(tmp_path):
    for names in ({"client": "target"}, {"target": "inputs"}, {"client": "inputs"}):
        with pytest.raises(ValueError, match="must be two names other than 'inputs'"):
            read_shards(csv_file(tmp_path, HEADER + "1,2,3,0\n"), clients=1, **names)


def test_files_that_are_none(tmp_path):
    (tmp_path / "records.npz").write_bytes(b"not a zip")
    with pytest.raises(ValueError, match="must be an NPZ file"):
        read_shards(tmp_path / "records.npz", clients=1)
    (tmp_path / "latin.csv").write_bytes("größe,target\n1,2\n".encode("latin-1"))
    with pytest.raises(ValueError, match="utf-8"):
        read_shards(tmp_path / "latin.csv", clients=1)
    with pytest.raises(ValueError, match="must end in"):
        read_shards(tmp_path / "records.txt", clients=1)
    with pytest.raises(FileNotFoundError):
        read_shards(tmp_path / "missing.csv", clients=1)
    with pytest.raises(ValueError, match="`clients`"):
        read_shards(tmp_path / "missing.csv", clients=0)


def parquet_file(folder, **columns):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table(columns), folder / "records.parquet")
    return folder / "records.parquet"


def test_parquet_has_columns_as_csv_has(tmp_path):
    columns = {"site": ["b", "a", "b"], "x1": [1, 3, 5], "income": [5.0, 6.0, 7.0], "x2": [2, 4, 6]}
    file = parquet_file(tmp_path, **columns)
    first, second = read_shards(file, clients=2, target="income", client="site")
    assert (first.inputs.tolist(), first.targets.tolist()) == ([[3.0, 4.0]], [6.0])
    assert second.inputs.tolist() == [[1.0, 2.0], [5.0, 6.0]]
    numbered = parquet_file(tmp_path, client=[10, 9, 9], x=[0.0, 1.0, 2.0], target=[1, 0, 1])
    assert [shard.size for shard in read_shards(numbered, clients=2)] == [2, 1]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"x": [1.0]}, "`target` must be a column"),
        ({"x": [None, 1.0], "target": [1.0, 2.0]}, "no gaps"),
        ({"x": [float("nan")], "target": [1.0]}, "finite"),
        ({"x": ["one"], "target": [1.0]}, "numbers"),
        ({"x": [[1.0]], "target": [1.0]}, "numbers"),
        ({"target": [1.0]}, "at least one"),
    ],
)
def test_what_is_no_table_in_parquet_is_refused(tmp_path, columns, message):
    with pytest.raises(DataError, match=message):
        read_shards(parquet_file(tmp_path, **columns), clients=1)


def test_what_is_no_parquet_is_refused(tmp_path):
    pytest.importorskip("pyarrow")
    file = tmp_path / "records.parquet"
    file.write_bytes(b"PAR1 and not")
    with pytest.raises(DataError, match="Parquet"):
        read_shards(file, clients=1)
