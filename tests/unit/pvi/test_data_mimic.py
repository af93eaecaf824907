"""The MIMIC-III loader on generated files of the benchmark's layout; no real stay is here."""

import numpy as np
import pytest
from scipy import stats

from pvi.data import DataError, fill_missing, load_mimic
from pvi.data.mimic import CHANNELS, FEATURES, STATISTICS, read_stay, stay_features

HEADER = "Hours," + ",".join(CHANNELS)
EYE = CHANNELS.index("Glascow coma scale eye opening")
HEART = CHANNELS.index("Heart Rate")


def line(hour, **cells):
    values = {name.replace("_", " "): value for name, value in cells.items()}
    assert values.keys() <= set(CHANNELS)
    return ",".join([str(hour), *(str(values.get(name, "")) for name in CHANNELS)])


def write_task(root, stays):
    """stays: {partition: {stay name: (label, [lines])}}."""
    for partition, listed in stays.items():
        folder = root / partition
        folder.mkdir(parents=True)
        (folder / "listfile.csv").write_text(
            "".join(
                ["stay,y_true\n", *(f"{name},{label}\n" for name, (label, _) in listed.items())]
            )
        )
        for name, (_, lines) in listed.items():
            (folder / name).write_text("\n".join([HEADER, *lines]) + "\n")
    return root


def feature(row, channel, part, statistic):
    return row[FEATURES.index(f"{channel}, {part}, {statistic}")]


@pytest.fixture
def task(tmp_path):
    return write_task(
        tmp_path / "in-hospital-mortality",
        {
            "train": {
                "7_episode1_timeseries.csv": (
                    1,
                    [
                        line(0.0, Heart_Rate=80, Glascow_coma_scale_eye_opening="To Pain"),
                        line(5.0, Heart_Rate=90),
                        line(10.0, Heart_Rate=130, Glascow_coma_scale_eye_opening="None"),
                    ],
                ),
                "3_episode2_timeseries.csv": (0, [line(1.5, pH=7.4)]),
            },
            "test": {"9_episode1_timeseries.csv": (0, [line(2.0, Weight=70.5)])},
        },
    )


def test_stays_come_in_listed_order_with_714_features(task):
    data = load_mimic(task)
    assert data.features.shape == (3, 714)
    assert data.labels.tolist() == [1, 0, 0]
    assert data.names == FEATURES
    assert load_mimic(task, partitions=["test"]).labels.tolist() == [0]


def test_features_of_known_measurements(task):
    row = load_mimic(task).features[0]
    values = [80.0, 90.0, 130.0]
    expected = [80, 130, 100, np.std(values), stats.skew(values), 3]
    for statistic, value in zip(STATISTICS, expected, strict=True):
        assert feature(row, "Heart Rate", "all", statistic) == pytest.approx(value, rel=1e-12)
    # Moments at hours 0, 5 and 10: 10% and 25% reach one of them, 50% two.
    assert feature(row, "Heart Rate", "first 25%", "len") == 1
    assert feature(row, "Heart Rate", "first 50%", "mean") == 85
    assert feature(row, "Heart Rate", "last 50%", "mean") == 110
    assert feature(row, "Heart Rate", "last 10%", "mean") == 130
    assert feature(row, "Heart Rate", "last 10%", "std") == 0
    assert feature(row, "Heart Rate", "last 10%", "skew") == 0
    # Words of the coma scale: "To Pain" is 2, "None" is 0 as in the benchmark.
    assert feature(row, CHANNELS[EYE], "all", "mean") == 1


def test_channels_that_were_never_measured_are_nan(task):
    data = load_mimic(task)
    per_channel = np.isnan(data.features).reshape(3, len(CHANNELS), -1)
    assert np.all(per_channel == per_channel[..., :1])
    assert (~per_channel[..., 0]).sum(axis=1).tolist() == [2, 1, 1]
    filled = fill_missing(data.features, 0.0)
    assert np.isfinite(filled).all()
    kept = ~np.isnan(data.features)
    np.testing.assert_array_equal(filled[kept], data.features[kept])


def test_features_agree_with_a_plain_rendering_of_the_benchmarks_definition():
    """Written a second time, sub-period by sub-period, with scipy's skewness."""
    rng = np.random.default_rng(0)
    for count in (1, 2, 5, 40):
        hours = np.sort(rng.uniform(0, 48, size=count))
        values = rng.normal(100, 20, size=(count, len(CHANNELS)))
        values[rng.random(values.shape) < 0.5] = np.nan
        expected = []
        for column in values.T:
            data = [(t, x) for t, x in zip(hours, column, strict=True) if not np.isnan(x)]
            for kind, percent in [(2, 100), (2, 10), (2, 25), (2, 50), (3, 10), (3, 25), (3, 50)]:
                if not data:
                    expected += [np.nan] * 6
                    continue
                begin, end = data[0][0], data[-1][0]
                width = (end - begin) * percent / 100
                low, high = (begin, begin + width) if kind == 2 else (end - width, end)
                part = [x for t, x in data if low - 1e-6 < t < high + 1e-6]
                skew = stats.skew(part) if len(part) > 1 else 0.0
                expected += [min(part), max(part), np.mean(part), np.std(part), skew, len(part)]
        np.testing.assert_allclose(stay_features(hours, values), expected, rtol=1e-9, atol=1e-9)


def test_a_stay_without_moments_has_no_measurements(tmp_path):
    (tmp_path / "empty.csv").write_text(HEADER + "\n")
    hours, values = read_stay(tmp_path / "empty.csv")
    assert hours.shape == (0,)
    assert values.shape == (0, 17)
    assert np.isnan(stay_features(hours, values)).all()


def test_a_missing_stay_or_listfile(task):
    (task / "test" / "9_episode1_timeseries.csv").unlink()
    with pytest.raises(FileNotFoundError, match="9_episode1_timeseries"):
        load_mimic(task)
    with pytest.raises(FileNotFoundError, match="listfile"):
        load_mimic(task, partitions=["val"])


@pytest.mark.parametrize(
    ("listfile", "message"),
    [
        ("stay,period_length,y_true\n", "has the header"),
        ("stay,y_true\nx.csv,2\n", r"line 2 is \['x.csv', '2'\], must be a stay and 0 or 1"),
        ("stay,y_true\nx.csv\n", "line 2"),
        ("stay,y_true\n../../secret.csv,1\n", "must be a plain file name"),
        ("stay,y_true\n", "list no stays"),
        ("stay,y_true\n..,1\n", "must be a plain file name"),
        ("stay,y_true\n,1\n", "must be a plain file name"),
        ("stay,y_true\n7_episode1_timeseries.csv,1\n" * 2, r"line 3 is \['stay', 'y_true'\]"),
        (
            "stay,y_true\n" + "7_episode1_timeseries.csv,1\n" * 2,
            "lists '7_episode1_timeseries.csv' for the second time",
        ),
        ("stay,y_true\nx\0.csv,1\n", "line 2, must be text, got a NUL byte"),
        ('stay,y_true\n"x.csv,1\n', "line 2, must be CSV"),
    ],
)
def test_listfiles_of_another_layout(task, listfile, message):
    (task / "train" / "listfile.csv").write_text(listfile)
    with pytest.raises(DataError, match=message):
        load_mimic(task, partitions=["train"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("Hours,Heart Rate\n0,80\n", "has the header"),
        ("", "has the header None"),
        (HEADER + "\n0.5,80\n", "line 2 has 2 cells, must have 18"),
        (HEADER + "\n" + line(0, Heart_Rate="fast") + "\n", "line 2: Heart Rate is 'fast'"),
        (
            HEADER + "\n" + line(0, Glascow_coma_scale_eye_opening="Wink") + "\n",
            "is 'Wink', must be a number, empty or one of",
        ),
        (HEADER + "\n" + line("") + "\n", "without a finite hour"),
        (HEADER + "\n" + line("inf") + "\n", "line 2: Hours is 'inf'"),
        (HEADER + "\n" + line(0, pH="inf") + "\n", "line 2: pH is 'inf', must be a number"),
        (HEADER + "\n" + line(0, pH="nan") + "\n", "line 2: pH is 'nan', must be a number"),
        (HEADER + "\n" + line(0, pH="1e400") + "\n", "line 2: pH is '1e400'"),
        (HEADER + "\n" + line(0, pH="-1e200") + "\n", "line 2: pH is '-1e200'"),
        (HEADER + "\n" + line(0, pH="7_4") + "\n", "line 2: pH is '7_4'"),
        (HEADER + "\n" + line(0, pH="7" * 200_000) + "\n", "line 2, must be CSV"),
        (HEADER + "\n" + line(2) + "\n" + line(1) + "\n", "ascending order"),
    ],
)
def test_stays_of_another_layout(task, content, message):
    (task / "test" / "9_episode1_timeseries.csv").write_text(content)
    with pytest.raises(DataError, match=message):
        load_mimic(task, partitions=["test"])


def test_other_encodings_are_refused_and_a_byte_order_mark_is_not(task):
    file = task / "test" / "listfile.csv"
    text = file.read_text()
    file.write_bytes(text.encode("utf-16"))
    with pytest.raises(DataError, match="must be text in utf-8"):
        load_mimic(task)
    file.write_bytes(text.encode("utf-8-sig"))
    assert len(load_mimic(task).features) == 3


def test_a_stay_in_both_partitions_is_refused(task):
    """Whoever is there twice is protected half as well as an ε for one record says."""
    stay = "7_episode1_timeseries.csv"
    (task / "test" / stay).write_bytes((task / "train" / stay).read_bytes())
    (task / "test" / "listfile.csv").write_text(f"stay,y_true\n{stay},1\n")
    with pytest.raises(DataError, match="for the second time"):
        load_mimic(task)
    assert len(load_mimic(task, partitions=["test"]).features) == 1


def test_measurements_of_any_size_have_finite_features():
    for scale in (1e-300, 1e-160, 1e-100, 1.0, 1e99):
        values = scale * np.arange(1.0, 11.0).reshape(-1, 1) * np.ones((1, len(CHANNELS)))
        assert np.isfinite(stay_features(np.arange(10.0), values)).all(), scale


def test_shapes_and_fill_values_are_checked():
    with pytest.raises(ValueError, match="must be \\(T,\\) and"):
        stay_features([0.0], np.zeros((1, 3)))
    with pytest.raises(ValueError, match="`fill` must be finite, got nan"):
        fill_missing([[1.0]], [np.nan])
    with pytest.raises(ValueError, match=r"`fill` must have the shape \(\) or \(1,\), got \(2,\)"):
        fill_missing([[1.0]], [1.0, 2.0])
    assert fill_missing([[np.nan, 1.0]], [5.0, 6.0]).tolist() == [[5.0, 1.0]]
