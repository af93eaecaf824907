"""The notebooks as they lie: complete, executed in order, without an error. nbmake runs them."""

from pathlib import Path

import nbformat
import pytest

FOLDER = Path(__file__).parents[2] / "notebooks"
NAMES = (
    "01_accountants_agree",
    "02_sqrt_m_noise_splitting",
    "03_random_walk_and_resets",
    "04_percentile_clipping",
    "05_sampling_matters",
    "06_audit_your_own_mechanism",
    "07_dp_pvi_end_to_end",
    "08_reading_the_papers",
    "09_canaries",
    "10_what_epsilon_means",
    "11_verify",
)


def test_the_notebooks_are_all_there():
    assert sorted(path.stem for path in FOLDER.glob("*.ipynb")) == list(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_kept_with_its_outputs(name):
    notebook = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    nbformat.validate(notebook)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [output for cell in cells for output in cell.outputs]
    assert not [output for output in outputs if output.output_type == "error"]
    assert any("image/png" in output.get("data", {}) for output in outputs)
    text = "".join(output.get("text", "") for output in outputs if output.output_type == "stream")
    assert "Warning" not in text
    assert str(Path.home()) not in nbformat.writes(notebook)
