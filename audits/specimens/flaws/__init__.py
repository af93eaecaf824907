"""One flaw a module, beside its repair; each defines `SPECIMENS`, `LINTS` or both."""
