"""`python -m audits` is `dp-assay`."""

import sys

from audits.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
