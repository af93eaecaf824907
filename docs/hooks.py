"""Pages of the site that are made when it is built: the API, the gallery, the proofs.

A page that would repeat what stands elsewhere is not written down: the API's come from `__all__` of
the packages, the gallery's from the specimens and their record, the mathematics from the files
beside the code that it proves.
"""

import importlib
import io
import json
import os
import re
import textwrap
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
PACKAGES = {
    "accountants": "accountants",
    "verify": "accountants.verify",
    "known_answers": "accountants.known_answers",
    "mechanisms": "mechanisms",
    "pvi": "pvi",
    "audits": "audits",
}
MATHEMATICS = {
    "fourier": "accountants/fourier/DERIVATION.md",
    "fixed_size": "accountants/fourier/fixed_size/PROOF.md",
}
# A picture takes two audits: with this set to 0 (tests of the rest), there are none.
PICTURES = os.environ.get("DP_ASSAY_GALLERY_PICTURES", "1") != "0"


def on_files(files: Files, config: Any) -> Files:
    """Adds the made pages."""
    made: dict[str, str | bytes] = {
        f"mathematics/{name}.md": (ROOT / path).read_text(encoding="utf-8")
        for name, path in MATHEMATICS.items()
    }
    made |= {f"api/{name}.md": _api(package) for name, package in PACKAGES.items()}
    made |= _gallery()
    for path, content in made.items():
        files.append(File.generated(config, path, content=content))
    return files


def _api(package: str) -> str:
    """Every public name of a package, in the order of its `__all__`."""
    module = importlib.import_module(package)
    names = [name for name in module.__all__ if _is_ours(getattr(module, name))]
    values = [name for name in module.__all__ if name not in names]
    introduction = (module.__doc__ or "").split(">>>")[0].strip()
    parts = [f"# `{package}`\n\n{introduction}\n"]
    parts += [f"::: {package}.{name}\n" for name in names]
    if values:
        parts += ["## Values and modules\n", ", ".join(f"`{name}`" for name in values), "\n"]
    return "\n".join(parts)


def _is_ours(value: object) -> bool:
    """Whether it is a class or function of this project, with a docstring to show."""
    package = str(getattr(value, "__module__", "")).split(".")[0]
    return callable(value) and hasattr(value, "__name__") and package in PACKAGES.values()


def _slug(name: str) -> str:
    """A file's name for a specimen.

    >>> _slug("each of four workers adds σ/4")
    'each_of_four_workers_adds_sigma_4'
    """
    words = name.lower().translate({ord("δ"): "delta", ord("ε"): "epsilon", ord("σ"): "sigma"})
    return re.sub("[^a-z0-9]+", "_", words).strip("_")


def _gallery() -> dict[str, str | bytes]:
    """A page for each specimen, and one that lists them."""
    import numpy as np

    from accountants.rounding import down, up
    from audits.specimens import LINTS, SPECIMENS, run_zoo
    from audits.specimens.pictures import plot_examination, plot_lint

    record = json.loads((ROOT / "audits/specimens/recorded.json").read_text(encoding="utf-8"))
    rows, pages = [], dict[str, str | bytes]()
    for name, one in (*SPECIMENS.items(), *LINTS.items()):
        slug = _slug(name)
        picture = ""
        if PICTURES:
            if name in SPECIMENS:
                figure = plot_examination(run_zoo([SPECIMENS[name]], np.random.default_rng(0))[0])
            else:
                figure = plot_lint(LINTS[name])
            drawn = io.BytesIO()
            figure.savefig(drawn, format="svg", metadata={"Date": None})
            pages[f"gallery/{slug}.svg"] = drawn.getvalue()
            picture = f"![{one.flaw}]({slug}.svg)\n\n"
        found = record["specimens"].get(name, {}) if name in SPECIMENS else {}
        facts = ""
        if name in SPECIMENS:
            claimed = up(SPECIMENS[name].claim.epsilon_upper(1e-5), 3)
            proof = SPECIMENS[name].epsilon_proved(1e-5)
            proved = "–" if proof is None else f"≥ {down(proof, 3)}"
            rows.append(
                f"| [{name}]({slug}.md) | {one.flaw} | {claimed} | {proved} | "
                f"{found.get('flawed_samples_median', 0):.0f} |"
            )
            facts = (
                f"Claimed at δ = 1e-5: ε ≤ {claimed}; proved of the flawed one: {proved}. Of "
                f"{found.get('seeds', 0)} audits at 99%, {found.get('flawed_refuted', 0)} refuted "
                f"the flawed mechanism, after {found.get('flawed_samples_median', 0):.0f} draws "
                f"per side in the median; the repaired twin was refuted in "
                f"{found.get('repaired_refuted', 0)}.\n\n"
            )
        else:
            rows.append(f"| [{name}]({slug}.md) | {one.flaw} | on paper | | |")
        explanation = textwrap.dedent(one.explanation).strip()
        pages[f"gallery/{slug}.md"] = (
            f"# {name[0].upper()}{name[1:]}\n\n{one.flaw}\n\n{picture}{facts}{explanation}\n\n"
            f'Reference: {one.reference}\n\nRun it: `dp-assay zoo "{name}"`\n'
        )
    pages["gallery/index.md"] = (
        "# Gallery of flaws\n\nMechanisms with a mistake that was made in earnest somewhere, each "
        "beside its repaired twin. The audit sees outputs only.\n\n"
        "| Flaw | What it does | claimed ε | proved ε | draws to refute |\n|---|---|---|---|---|\n"
        + "\n".join(rows)
        + "\n\nε at δ = 1e-5; draws per side, the median of 200 seeds at 99%.\n"
    )
    return pages
