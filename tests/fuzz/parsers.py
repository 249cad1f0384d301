# SPDX-License-Identifier: Apache-2.0
"""Reads arbitrary bytes as a baseline or a configuration.

Invalid input must be rejected with a message. If a parser fails in any other way, these functions
raise AssertionError or the parser's exception.
"""

import logging
import tomllib

from cyclewatch import _native, configuration
from cyclewatch.pytest_plugin.baseline import Baseline, BaselineError


class Kept(logging.Handler):
    """Records the messages that cyclewatch logs inside the `with` block."""

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
    """Write `contents` to a file in `folder`; return whether the file is a valid baseline."""
    path = folder / "known.json"
    path.write_bytes(contents)
    try:
        baseline = Baseline.read(path)
    except BaselineError as error:
        assert str(path) in str(error)
        assert "\n" not in str(error)
        return False
    # Writing and rereading the baseline does not change it.
    assert all(entry.count > 0 and entry.reason.strip() for entry in baseline.entries.values())
    again = folder / "again.json"
    baseline.write(again)
    assert Baseline.read(again).entries == baseline.entries
    return True


def check_configuration(folder, name, contents):
    """Write and read the file `name` in `folder` (the current directory), and return the log."""
    for path in folder.iterdir():
        path.unlink()
    (folder / name).write_bytes(contents)
    configuration._active = None  # log messages for the same bytes again
    with Kept() as messages:
        configuration.read_configuration()
    assert all(str(folder / name) in message for message in messages)
    # The file cannot remove built-in patterns.
    assert len(_native.patterns()) >= 10
    if name == "cyclewatch.toml" and not messages:
        document = tomllib.loads(contents.decode())
        assert document.keys() <= {"ignore", "pattern"}
    return messages
