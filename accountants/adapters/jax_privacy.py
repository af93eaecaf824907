"""Our accountant in jax-privacy's place; needs jax-privacy when it is called."""

from typing import Any

from dp_accounting import NeighboringRelation

from accountants.dp_sgd import ADD_OR_REMOVE_ONE
from accountants.fourier.accountant import FourierAccountant


def fourier_config(neighboring_relation: NeighboringRelation = ADD_OR_REMOVE_ONE) -> Any:
    """What `DpsgdTrainingAccountant(dp_accountant_config=…)` takes: a `DpAccountantConfig`.

    The ε that comes out is the proved upper end for the events that jax-privacy composes. `last` is
    the accountant that was made last, with those events: it has both ends, and `certify`. The
    certificate says which sampling the events stand for; the data pipeline must do that.

    Args:
      neighboring_relation: Which data sets are neighbours; jax-privacy's own accountants take one
        record more or less.
    """
    from jax_privacy.accounting import DpAccountantConfig

    class FourierAccountantConfig(DpAccountantConfig):  # type: ignore[misc]
        last = FourierAccountant(neighboring_relation)

        def create_accountant(self) -> FourierAccountant:
            self.last = FourierAccountant(neighboring_relation)
            return self.last

    return FourierAccountantConfig()
