"""The line that says what a long computation is doing."""

import io

from audits.cli.stages import StageLine


def test_the_line_says_what_is_done_and_is_padded_over_the_last() -> None:
    stream = io.StringIO()
    line = StageLine(shown=True, stream=stream)
    line.update("lower end", 1000, 1000)
    line.update("steps", 2, 2)
    line.close()
    assert stream.getvalue() == "\rlower end: 1,000 of 1,000\rsteps: 2 of 2            \n"


def test_it_is_silent_where_nobody_looks() -> None:
    stream = io.StringIO()
    line = StageLine(stream=stream)
    line.update("steps", 2, 2)
    line.close()
    assert stream.getvalue() == ""
