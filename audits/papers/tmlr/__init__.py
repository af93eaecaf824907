"""TMLR: Differentially private partitioned variational inference (submission to TMLR).

| Where | What of the paper |
|---|---|
| `optimisation` | Theorem 3, sections 2.2 and 3.1: DP optimisation |
| `perturbation` | Theorems 4, 6 and 9, Corollaries 5 and 10: perturbed updates, each client alone |
| `shares` | Theorems 8 and 11, Table 1: the trusted aggregator, noise shares of all clients |
| `linear` | Theorem 7, section 3.2.2: local averaging and virtual clients, on linear regression |
| `properties` | Properties A.2 to A.5: the same without noise, on logistic regression |
| `tables` | Appendix B, Tables 2–4: how data are divided; what needs the paper's own runs |
| `adult/` | the study `tmlr-adult`: Figures 1, 3 and 4 run again on Adult |
| `published` | what both share: the printed tables |
| `record_level`, `logistic` | what the checks share: the scope, and a small model by quadrature |
"""

from audits.papers.tmlr import linear, optimisation, perturbation, properties, shares, tables

STATEMENTS = (optimisation, perturbation, shares, linear, properties, tables)
"""The modules with the paper's statements, in their order."""

__all__ = ["STATEMENTS"]
