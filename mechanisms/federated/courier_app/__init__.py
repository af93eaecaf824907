"""What Flower ships to the nodes: a courier that needs Flower and the standard library only.

`flower.py` copies this folder into the app. It is in the repository as a package so that it is
tested, and so that its two sides read the same code; nothing of dp-assay may be imported here.
"""
