"""The field: released libraries, driven as their users drive them, against their own promises.

`findings/` has one file per finding; `served` runs it inside of the library's own environment,
`library` brings its draws here, `examine` audits them, `record` keeps what came of it.
"""
