"""What the studies' recorded runs found."""

import base64
import re
from importlib import resources
from typing import Any

from audits.report.gather import Contents
from audits.report.markup import Markup, details, facts, join, table, tag


def lead(contents: Contents) -> str:
    """One sentence under the title."""
    return (
        "Training as the papers did, with the certified cost beside each result. These runs take "
        "minutes to hours, so these are their records: the figures, and the tables on a click."
    )


def section(contents: Contents) -> Markup:
    """Tables and figures of each record."""
    return join(_study(name, record) for name, record in contents.studies.items())


def _study(name: str, record: dict[str, Any] | None) -> Markup:
    if record is None:
        missing = join(["Not recorded. Run ", tag("code", f"dp-assay study {name}"), "."])
        return join([tag("h3", name), tag("p", missing, class_="missing")])
    figures = join(_figure(name, file) for file in record["figures"])
    parts = [
        tag("h3", name),
        tag("p", record["summary"]),
        tag("div", figures, class_="figures"),
        *(_table(one) for one in record["tables"]),
    ]
    versions = ", ".join(f"{package} {version}" for package, version in record["versions"].items())
    made = facts(
        [
            ("Command", tag("code", record["command"])),
            ("Seeds", ", ".join(map(str, record["seeds"]))),
            ("Settings", tag("code", record["settings"])),
            ("Versions", f"Python {record['python']}, {versions}"),
        ]
    )
    return join([*parts, details("How this was made", made)])


def _table(one: dict[str, Any]) -> Markup:
    """Behind its title: some have dozens of rows."""
    note = [tag("p", one["note"], class_="note")] if one["note"] else []
    rows = table(one["title"], one["columns"], one["rows"])
    return details(f"{one['title']} ({len(one['rows'])} rows)", rows, *note)


def _figure(study: str, file: str) -> Markup:
    source = resources.files("audits.papers").joinpath("recorded", file)
    words = _caption(file.removesuffix(".png").removeprefix(f"{study}_"))
    if not source.is_file():
        return tag("p", f"The figure {file} is not there.", class_="missing")
    encoded = base64.b64encode(source.read_bytes()).decode("ascii")
    image = tag(
        "img", src=f"data:image/png;base64,{encoded}", alt=f"Figure of the study {study}: {words}"
    )
    return tag("figure", image, tag("figcaption", words), class_="picture")


def _caption(name: str) -> str:
    """Words for a file's name: `fig4_4_and_4_5` is "Fig. 4.4 and 4.5"."""
    words = re.sub(r"(\d)_(\d)", r"\1.\2", name).replace("_", " ")
    return re.sub(r"^fig(?=\d)", "fig. ", words).capitalize()
