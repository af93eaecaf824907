"""Tables that a command writes to a file: CSV, or LaTeX by the file's ending."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from accountants.files import write_atomically
from audits import telling
from audits.cli.options import Container, check_writable

_ENDINGS = (".csv", ".tex")
_SPECIAL = str.maketrans(
    {letter: f"\\{letter}" for letter in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"ε": r"$\varepsilon$", "δ": r"$\delta$", "σ": r"$\sigma$", "≤": r"$\leq$", "≥": r"$\geq$"}
)


def add_table(parser: Container, what: str) -> None:
    """Adds `--table`."""
    parser.add_argument(
        "--table",
        type=Path,
        metavar="FILE",
        help=f"{what}, as CSV or LaTeX by the file's ending (.csv, .tex)",
    )


def check_table(file: Path | None) -> None:
    """Refuses a file that could not be written, before anything is computed."""
    if file is None:
        return
    if file.suffix.lower() not in _ENDINGS:
        raise ValueError(f"`--table` must end in one of {list(_ENDINGS)}, got {str(file)!r}.")
    check_writable("--table", file)


def write_table(
    file: Path, columns: Sequence[str], rows: Sequence[Sequence[object]], caption: str
) -> None:
    """Writes the table, whole or not at all; the caption is LaTeX's only."""
    cells = [[str(cell) for cell in row] for row in rows]
    latex = file.suffix.lower() == ".tex"
    write_atomically(file, _latex(columns, cells, caption) if latex else _csv(columns, cells))
    telling.wrote(file)


def _csv(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([columns, *rows])
    return text.getvalue()


def _latex(columns: Sequence[str], rows: Sequence[Sequence[str]], caption: str) -> str:
    r"""A table in LaTeX's own words, without packages.

    >>> print(_latex(["ε"], [["1"]], "100%"), end="")
    \begin{table}
      \centering
      \caption{100\%}
      \begin{tabular}{r}
        \hline
        $\varepsilon$ \\
        \hline
        1 \\
        \hline
      \end{tabular}
    \end{table}
    """

    def line(cells: Sequence[str]) -> str:
        return "    " + " & ".join(cell.translate(_SPECIAL) for cell in cells) + r" \\"

    return "\n".join(
        [
            r"\begin{table}",
            r"  \centering",
            rf"  \caption{{{caption.translate(_SPECIAL)}}}",
            rf"  \begin{{tabular}}{{{'r' * len(columns)}}}",
            r"    \hline",
            line(columns),
            r"    \hline",
            *map(line, rows),
            r"    \hline",
            r"  \end{tabular}",
            r"\end{table}",
            "",
        ]
    )
