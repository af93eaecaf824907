"""What other libraries know of a run, as events, and our accountants in their places.

Nothing of `accountants` imports this package, and it is empty itself: each module needs the library
that it is named after, but for `history`, which only reads what Opacus has written.
"""
