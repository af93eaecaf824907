"""`dp-assay certify`: what noisy steps cost, as a certificate that others can check."""

import argparse
from pathlib import Path

from accountants import Certificate, FourierAccountant
from accountants.files import write_atomically
from audits.cli import Commands, options, training, verify
from audits.wording import interval

_EXAMPLES = """\
examples:
  dp-assay certify --noise-multiplier 1 --sampling-rate 0.01 --steps 1000 --delta 1e-5
  dp-assay certify --noise-multiplier 1 --sampling-rate 0.01 --steps 1000 --delta 1e-5 \\
      --output certificate.json --verify

The certificate is printed, or written to the file of --output; the answer of --verify then goes to
standard error, or to standard output. Whoever receives it runs `dp-assay verify FILE`.

exit codes: 0, and with --verify 0 VERIFIED, 1 REFUTED, 2 NOT COVERED
"""


def add(commands: Commands) -> None:
    """Adds the sub-command."""
    parser = commands.add_parser(
        "certify",
        help="what noisy steps cost, as a certificate in JSON",
        description="Certifies ε(δ) of Gaussian noise on clipped sums, with all that it rests on: "
        "sampling,\nneighbours, noise, versions, date and a checksum.",
        epilog=_EXAMPLES,
    )
    training.add_noise(parser)
    training.add_steps(parser)
    training.add_epochs(parser)
    training.add_delta(parser)
    training.add_sampling(parser)
    training.add_records(parser)
    parser.add_argument(
        "--output", type=Path, metavar="FILE", help="write the certificate there, print its ε"
    )
    parser.add_argument(
        "--verify",
        action="store_true",
        help="also check it by `dp-assay verify`; needs python-flint",
    )
    options.add_json(parser)
    parser.set_defaults(run=_run)


def certificate(given: argparse.Namespace) -> Certificate:
    """The certificate of the steps that were typed."""
    noise, sampling = training.read_noise(given), training.read_sampling(given)
    delta, steps = training.read_delta(given), training.read_steps(given, sampling)
    event, count = sampling.repeated(noise, steps)
    return FourierAccountant(sampling.relation).compose(event, count).certify([delta])


def _run(given: argparse.Namespace) -> int:
    if given.output is not None:
        options.check_writable("--output", given.output)
    check = verify.checker() if given.verify else None  # refused before anything is computed
    made = certificate(given)
    text = made.to_json()
    if given.output is not None:
        write_atomically(given.output, text + "\n")
    if given.output is None or (given.json and check is None):
        print(text)
    elif not given.json:
        for delta, *_ in made.points:
            print(f"{given.output}: ε in {interval(made.bounds(delta))} at δ = {delta:g}")
    if check is None:
        return 0
    return verify.report(check(text), as_json=given.json, aside=given.output is None)
