# SPDX-License-Identifier: Apache-2.0
"""What holds of any bytes as a baseline or as a configuration: read, or refused in one sentence.

Each function raises AssertionError, or whatever the parser raised that it should not have.
"""

import logging
import tomllib

from cyclewatch import _native, configuration
from cyclewatch.pytest_plugin.baseline import Baseline, BaselineError


class Kept(logging.Handler):
    """Keeps what is logged while it is a handler of cyclewatch's logger."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.messages = []

    def emit(self, record):
        self.messages.append(record.getMessage())

    def __enter__(self):
        logging.getLogger("cyclewatch").addHandler(self)
        return self.messages

    def __exit__(self, *error):
        logging.getLogger("cyclewatch").removeHandler(self)


def check_baseline(folder, contents):
    """`contents` as a baseline in `folder`; True if it is one."""
    path = folder / "known.json"
    path.write_bytes(contents)
    try:
        baseline = Baseline.read(path)
    except BaselineError as error:
        assert str(path) in str(error)
        assert "\n" not in str(error)
        return False
    # What was read is written and read again without a difference.
    assert all(entry.count > 0 and entry.reason.strip() for entry in baseline.entries.values())
    again = folder / "again.json"
    baseline.write(again)
    assert Baseline.read(again).entries == baseline.entries
    return True


def check_configuration(folder, name, contents):
    """`contents` as the file `name` of the current folder, `folder`; what was logged of it."""
    for path in folder.iterdir():
        path.unlink()
    (folder / name).write_bytes(contents)
    configuration._in_force = None  # what was told of these very bytes is told again
    with Kept() as messages:
        configuration.read_configuration()
    assert all(str(folder / name) in message for message in messages)
    # The built-in patterns are there whatever the file says.
    assert len(_native.patterns()) >= 10
    if name == "cyclewatch.toml" and not messages:
        document = tomllib.loads(contents.decode())
        assert document.keys() <= {"ignore", "pattern"}
    return messages
