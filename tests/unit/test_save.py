# SPDX-License-Identifier: Apache-2.0
"""Reports on their way into files: what save() replaces, and who may read the result."""

import os
import signal
import stat
import subprocess

import pytest

from cyclewatch import _native


def test_save_replaces_a_file_and_leaves_nothing_beside_it(tmp_path):
    import cyclewatch

    with cyclewatch.watch() as watch:
        pass
    path = tmp_path / "report.json"
    watch.report().save(path)
    watch.report().save(path)
    assert cyclewatch.Report.load(path).findings == []
    assert os.listdir(tmp_path) == ["report.json"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~_umask()


def test_a_file_that_must_stay_is_kept(tmp_path):
    path = tmp_path / "mine"
    path.write_text("mine")
    with pytest.raises(FileExistsError, match="mine"):
        _native.write_file(path, b"ours", replace=False)
    assert path.read_text() == "mine"
    with pytest.raises(FileNotFoundError, match="missing"):
        _native.write_file(os.fsencode(tmp_path / "missing" / "x"), b"ours", replace=True)


def test_a_pipe_that_is_read_no_further_ends_no_program(tmp_path):
    # More than a pipe holds, so that its reader is gone before all of it is written.
    path = tmp_path / "pipe"
    os.mkfifo(path)
    before = signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        with subprocess.Popen(["head", "-c", "1", path], stdout=subprocess.DEVNULL):
            with pytest.raises(BrokenPipeError, match="pipe"):
                _native.write_file(os.fsencode(path), bytes(1 << 20), replace=True)
        assert not signal.sigpending()
        assert signal.SIGPIPE not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
    finally:
        signal.signal(signal.SIGPIPE, before)


def test_a_file_of_ours_is_none_of_the_standard_ones(interpreter, tmp_path):
    # A program may close those and print all the same. The pipe is full while we look.
    path = tmp_path / "pipe"
    os.mkfifo(path)
    interpreter.run(
        """
        import os, select, sys, threading
        from cyclewatch import _native

        reader = os.open(sys.argv[1], os.O_RDONLY | os.O_NONBLOCK)
        os.closerange(0, 3)
        contents = bytes(1 << 20)
        write = lambda: _native.write_file(sys.argv[1], contents, replace=True)
        threading.Thread(target=write, daemon=True).start()
        select.select([reader], [], [])
        for number in range(3):
            try:
                os._exit(bool(os.fstat(number)))
            except OSError:
                pass
        os._exit(0)
        """,
        path,
    )


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask
