"""What the studies' recorded runs found."""

import base64
from importlib import resources
from typing import Any

from audits.report.gather import Contents
from audits.report.markup import Markup, details, facts, join, table, tag


def section(contents: Contents) -> Markup:
    """Tables and figures of each record."""
    intro = tag(
        "p",
        "Training as the papers did, with the certified cost beside each result. These runs take "
        "minutes to hours, so the report shows their records.",
    )
    return join([intro, *(_study(name, record) for name, record in contents.studies.items())])


def _study(name: str, record: dict[str, Any] | None) -> Markup:
    if record is None:
        missing = join(["Not recorded. Run ", tag("code", f"dp-assay study {name}"), "."])
        return join([tag("h3", name), tag("p", missing, class_="missing")])
    parts = [tag("h3", name), tag("p", record["summary"])]
    for one in record["tables"]:
        parts.append(table(one["title"], one["columns"], one["rows"]))
        if one["note"]:
            parts.append(tag("p", one["note"], class_="note"))
    parts.extend(_figure(name, file) for file in record["figures"])
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


def _figure(study: str, file: str) -> Markup:
    source = resources.files("pvi.studies").joinpath("recorded", file)
    words = file.removesuffix(".png").removeprefix(f"{study}_").replace("_", " ")
    if not source.is_file():
        return tag("p", f"The figure {file} is not there.", class_="missing")
    encoded = base64.b64encode(source.read_bytes()).decode("ascii")
    image = tag(
        "img", src=f"data:image/png;base64,{encoded}", alt=f"Figure of the study {study}: {words}"
    )
    return tag("figure", image, tag("figcaption", words), class_="picture")
