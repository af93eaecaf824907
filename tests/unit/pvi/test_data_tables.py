"""Clients' data from CSV and NPZ files."""

import numpy as np
import pytest

from pvi.data import read_shards

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
    ],
)
def test_tables_that_are_refused(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
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
        ({"inputs": [[1.0]], "target": [1.0], "client": [0, 1]}, "client"),
        ({"inputs": np.array([[{}]], dtype=object), "target": [1.0]}, "."),
    ],
)
def test_arrays_that_are_refused(tmp_path, arrays, message):
    file = tmp_path / "records.npz"
    np.savez(file, **arrays)
    with pytest.raises(ValueError, match=message):
        read_shards(file, clients=1)


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
