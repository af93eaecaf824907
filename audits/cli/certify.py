"""`dp-assay certify`: what a run cost, as a certificate to check and a page to sign."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from accountants import Certificate, FourierAccountant
from accountants.files import write_atomically
from audits import telling
from audits.cli import Commands, options, runs, training, verify
from audits.wording import interval

if TYPE_CHECKING:
    from accountants.verify import Verification

_EXAMPLES = """\
examples:
  dp-assay certify --noise-multiplier 1 --sampling-rate 0.01 --steps 1000 --delta 1e-5
  dp-assay certify --noise-multiplier 1 --batch-size 600 --data-size 60k --epochs 10 \\
      --delta 1e-5 --page run.html
  dp-assay certify --history checkpoint.pt --sampling poisson --delta 1e-5 --page run.html
  dp-assay certify --experiment experiment.toml --page run.html
  dp-assay certify --noise-multiplier 1 --steps 1000 --delta 1e-5 --output certificate.json --verify

The certificate is printed, or written to the file of --output; the answer of --verify then goes to
standard error, or to standard output. With --page there is a page of one or two sides to print and
sign, and beside it the same as JSON. Whoever receives either runs `dp-assay verify FILE`.

exit codes: 0, and with --verify 0 VERIFIED, 1 REFUTED, 2 NOT COVERED
"""


def add(commands: Commands) -> None:
    """Adds the sub-command."""
    parser = commands.add_parser(
        "certify",
        help="what a run cost: a certificate in JSON, a page to sign",
        description="Certifies ε(δ) of a run, with all that it rests on: sampling, neighbours, "
        "noise, versions,\ndate and a checksum.",
        epilog=_EXAMPLES,
    )
    runs.add_sources(parser)
    training.add_noise(parser, required=False)
    training.add_steps(parser)
    training.add_epochs(parser)
    training.add_delta(parser, required=False)
    training.add_sampling(parser)
    training.add_records(parser)
    parser.add_argument(
        "--output", type=Path, metavar="FILE", help="write the certificate there, print its ε"
    )
    parser.add_argument(
        "--page",
        type=Path,
        metavar="FILE.html",
        help="write a page to sign there, and the same as FILE.json beside it",
    )
    parser.add_argument("--title", default="", metavar="TEXT", help="what the run is called")
    parser.add_argument(
        "--verify",
        action="store_true",
        help="also check it by `dp-assay verify`; needs python-flint",
    )
    options.add_json(parser)
    parser.set_defaults(run=_run)


def certificate(given: argparse.Namespace) -> Certificate:
    """The certificate of what was given: of the first scope, where there are several."""
    if runs.source_of(given) is None:
        noise, sampling = training.read_noise(given), training.read_sampling(given)
        delta, steps = training.read_delta(given), training.read_steps(given, sampling)
        event, count = sampling.repeated(noise, steps)
        return FourierAccountant(sampling.relation).compose(event, count).certify([delta])
    run, delta = runs.read(given)
    return run.signed[0].certify(delta)


def _run(given: argparse.Namespace) -> int:
    if given.output is not None:
        options.check_writable("--output", given.output)
    if given.page is not None:
        _check_page(given)
    check = verify.checker() if given.verify else None  # refused before anything is computed
    if given.page is not None:
        return _page(given, check)
    if given.title:
        raise ValueError("`--title` must come with --page, got it without.")
    made = certificate(given)
    text = made.to_json()
    if given.output is not None:
        write_atomically(given.output, text + "\n")
        telling.wrote(given.output)
    if given.output is None or (given.json and check is None):
        print(text)
    elif not given.json:
        for delta, *_ in made.points:
            print(f"ε in {interval(made.bounds(delta))} at δ = {delta:g}")
    if check is None:
        return 0
    return verify.report([("", check(text))], as_json=given.json, aside=given.output is None)


def _check_page(given: argparse.Namespace) -> None:
    if given.output is not None:
        raise ValueError("`--output` must be left out with --page, which has JSON beside it.")
    if given.page.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"`--page` must end in .html, got {str(given.page)!r}.")
    options.check_writable("--page", given.page)
    options.check_writable("--page", given.page.with_suffix(".json"))


def _page(given: argparse.Namespace, check: "Callable[[str], Verification] | None") -> int:
    from audits.signing import state
    from audits.signing.page import render

    run, delta = runs.read(given)
    made = state(run, delta=delta, title=given.title or "A training run")
    beside = given.page.with_suffix(".json")
    text = made.to_json()
    write_atomically(beside, text)
    write_atomically(given.page, render(made, file=beside.name))
    if given.json:
        if check is None:
            print(text, end="")
    else:
        for scope, one in made.certificates:
            print(f"ε in {interval(one.bounds(delta))} at δ = {delta:g}: {scope}")
        for cost in made.refused:
            print(f"no certificate: {cost.words}: {cost.refusal}")
        for note in made.notes:
            print(note)
    telling.wrote(given.page, beside)
    if check is None:
        return 0
    found = [(scope, check(one.to_json())) for scope, one in made.certificates]
    return verify.report(found, as_json=given.json)
