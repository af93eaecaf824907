"""The sections of the report, each a function from `Contents` to HTML."""
