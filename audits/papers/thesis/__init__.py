"""The Thesis: Distributed Variational Inference and Privacy (MPhil thesis, Cambridge, 2019).

| Where | What of the paper |
|---|---|
| `accounting` | section 2.2: theorems on privacy; section 4.2: the figures of ε |
| `dp_sgd` | Algorithm 2, line 8, and section 4.3: noise whose scale is read from the data |
| `noise_splitting` | section 3.3, Algorithm 3, Figure 3.3: noise split over clients |
| `central_noise` | section 3.3, Algorithm 4: central noise and likelihood resets |
| `variational` | Theorem 2.1.1, and the linear model of chapter 4 |
| `linreg/` | the study `thesis-linreg`: chapter 4, Figures 4.1–4.5 run again |
| `data_sets` | what the checks of the data-set level algorithms share |
"""

from audits.papers.thesis import accounting, central_noise, dp_sgd, noise_splitting, variational

STATEMENTS = (accounting, dp_sgd, noise_splitting, central_noise, variational)
"""The modules with the paper's statements, in their order."""

__all__ = ["STATEMENTS"]
