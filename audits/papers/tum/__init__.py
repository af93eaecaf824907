"""TUM: Federated Learning: Collaborative Machine Learning without Centralized Training Data.

A project report, TU München, 2018.

| Where | What of the report |
|---|---|
| `accounting` | Theorems 1 and 2, sections 6.3 and 7.3, Figure 12: what the noise costs |
| `aggregation` | section 3.2: what secure aggregation cannot do |
| `formulas` | sections 5.1 and 5.3.2: formulas that are not what the text says |
| `practice` | sections 4–7, Figure 10: projection, scaling, averaging, performance |
| `credit/` | the study `tum-credit`: sections 5–7 run again on synthetic credit data |
| `theorems`, `published` | what both share: the report's bounds as formulas, and its numbers |
"""

from audits.papers.tum import accounting, aggregation, formulas, practice

STATEMENTS = (accounting, aggregation, formulas, practice)
"""The modules with the report's statements, in their order."""

__all__ = ["STATEMENTS"]
