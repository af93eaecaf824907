"""What must hold for a certificate to be about this run: each line is for somebody to sign."""

from typing import NamedTuple

from accountants import Certificate

_SAMPLING_FAILS = "The loader shuffles; the last batch is smaller; a weighted sampler; duplicates."


class Item(NamedTuple):
    """One assumption, and how it fails in practice."""

    title: str
    statement: str
    fails: str


def checklist(certificate: Certificate, *, delta: float, data_size: int | None) -> tuple[Item, ...]:
    """The assumptions that no accountant can check."""
    moved = "2C" if certificate.neighboring_relation.name == "REPLACE_ONE" else "C"
    size = "" if data_size is None else f": 1/{data_size:,} is {1.0 / data_size:.2g}"
    return (
        Item("Sampling", " ".join(certificate.sampling), _SAMPLING_FAILS),
        Item(
            "Clipping",
            "Each record's contribution has norm at most C over all parameters together, so that "
            f"neighbours differ by at most {moved} in every sum.",
            "Layers clipped apart; batch normalisation; a loss that averages over the batch.",
        ),
        Item(
            "Noise",
            "Drawn anew for each release, from a source that nobody can predict, with the standard "
            "deviation that is stated, relative to C, on the sum.",
            "Noise on the mean; one seed on all workers; accumulated steps that add it too rarely.",
        ),
        Item(
            "One unit",
            f"What is protected is one {certificate.unit}. Nobody has more of them than is stated.",
            "People with several records; records that were copied or augmented before sampling.",
        ),
        Item(
            "Nothing else",
            "Nothing else that depends on the data was released or chosen by it.",
            "Vocabulary, scaling, class counts; validation on private data; the best of many runs.",
        ),
        Item(
            "δ",
            f"δ = {delta:g} is far below 1/n, n the number of records{size}.",
            "δ = 1/n permits publishing one record.",
        ),
        Item(
            "Code",
            "The code that ran does what is written here.",
            "It was not audited, or not in the version that ran.",
        ),
    )
