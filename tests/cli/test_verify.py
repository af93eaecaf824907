"""`dp-assay verify`: words and exit codes."""

import json

import dp_accounting as dpa
import pytest
from dp_accounting import NeighboringRelation

from accountants import Certificate
from audits.cli.main import main

# ε(1e-5) of one Gaussian at σ = 1 is 4.3771780957 (Balle, Wang 2018, Theorem 8, by mpmath).
TRUE, TOO_LOW = (4.3771, 4.3772), (4.37, 4.3771)


def write(path, ends, event=None):
    certificate = Certificate(
        event=event or dpa.GaussianDpEvent(1.0),
        neighboring_relation=NeighboringRelation.ADD_OR_REMOVE_ONE,
        points=((1e-5, *ends),),
        method="by hand",
    )
    path.write_text(certificate.to_json(), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("ends", "event", "code", "word"),
    [
        (TRUE, None, 0, "VERIFIED"),
        (TOO_LOW, None, 1, "REFUTED"),
        (TRUE, dpa.ZCDpEvent(1.0), 2, "NOT COVERED"),
    ],
)
def test_words_and_codes(tmp_path, capsys, ends, event, code, word):
    file = write(tmp_path / "certificate.json", ends, event)
    assert main(["verify", file]) == code
    assert capsys.readouterr().out.splitlines()[0] == word
    assert main(["verify", file, "--json"]) == code
    assert json.loads(capsys.readouterr().out)["word"] == word


def test_an_edited_file_is_refused(tmp_path, capsys):
    file = tmp_path / "certificate.json"
    write(file, TRUE)
    file.write_text(file.read_text("utf-8").replace("4.3772", "4.3773"), encoding="utf-8")
    assert main(["verify", str(file)]) == 2
    assert "its sha256 is another content's" in capsys.readouterr().err


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff\xfe", b'{"a": 1, "a": 2}'])
def test_what_is_no_certificate_is_refused(tmp_path, capsys, content):
    file = tmp_path / "certificate.json"
    file.write_bytes(content)
    assert main(["verify", str(file)]) == 2
    assert capsys.readouterr().out == ""
    assert main(["verify", str(tmp_path / "missing.json")]) == 2
