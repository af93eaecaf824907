"""The TUM report's own numbers (section 7.3, Figure 12). Published figures, never ours."""

SIGMA, CLIP = 0.5, 0.2
"""Standard deviation of the noise, and the radius of Figure 12, which is called the sensitivity."""
MU = CLIP / SIGMA
ITERATIONS = (112, 187, 512)
"""Figure 12(a): of logistic regression, until three AUC values are reached."""
NETWORK_ITERATIONS = (132, 314, 989)
"""Figure 12(b): of the neural network."""
TOTAL_DELTA = 0.1
