"""The dashboard: experiments described, started, watched and compared in a browser.

It holds no privacy logic. A plan is `dp-assay plan`, a run is `dp-assay run`, each in a process of
its own; what the pages show is what these say of themselves (`mechanisms.progress`), and nothing
that no release covers.
"""
