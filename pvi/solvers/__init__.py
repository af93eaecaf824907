"""Local solvers: how a client maximises its local free energy."""
