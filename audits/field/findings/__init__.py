"""One file per finding, see `audits.field.finding`; they import nothing of this project."""
