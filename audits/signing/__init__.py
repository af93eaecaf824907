"""A statement to sign about one run: what it cost, and what must hold for that to be true."""

from audits.signing.run import Reading, Run, of_event, of_history
from audits.signing.statement import Statement, certificates_in, state

__all__ = ["Reading", "Run", "Statement", "certificates_in", "of_event", "of_history", "state"]
