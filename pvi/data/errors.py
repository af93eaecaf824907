"""What a loader raises: one family, whatever the file did wrong."""


class DataError(ValueError):
    """A file does not hold the data that it should; the message names what is wrong."""


class DataUnavailableError(DataError, OSError):
    """No source of a data set could be reached or read; the message says what to do."""


class HashMismatchError(DataError):
    """A file is there, but it is not the file that was expected."""
