"""The Workshop: Differentially Private Federated Variational Inference (workshop paper, 2019).

| Where | What of the paper |
|---|---|
| `accounting` | Algorithm 1, eq. 4 and Tables 3 and 5: what a client's budget buys; threat model |
| `data` | Appendix C and Table 1: how Adult is divided, and which δ clients get |
| `training` | Table 5: accuracies; slow, it trains |
| `table5/` | the study `workshop-table5`: Tables 1–5, Figures 1, 4 and 5 run again |
| `published`, `adult` | what both share: the printed tables, and Adult among clients |
"""

from audits.papers.workshop import accounting, data, training

STATEMENTS = (accounting, data, training)
"""The modules with the paper's statements, in their order."""

__all__ = ["STATEMENTS"]
