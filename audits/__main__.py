"""`python -m audits` is `dp-assay`."""

import sys

from audits.cli import main

if __name__ == "__main__":
    sys.exit(main())
