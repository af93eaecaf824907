"""The sub-commands of `dp-assay`, one module each with an `add(commands)`.

What a command needs beyond the accountants it imports when it runs: the others need not wait.
"""

import argparse
from typing import TypeAlias

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
