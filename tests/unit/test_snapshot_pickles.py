# SPDX-License-Identifier: Apache-2.0
"""Pickles are read as data: nothing in them can run code or use unlimited memory."""

import gc
import os
import pickle
import pickletools
import resource
import struct
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cyclewatch.snapshots import pickle_data
from cyclewatch.snapshots.pickle_data import SnapshotFormatError, load

START = b"\x80\x04"
READ = {  # the opcodes that create data
    *("PROTO", "FRAME", "STOP", "MARK", "NONE", "NEWTRUE", "NEWFALSE"),
    *("BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT"),
    *("BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"),
    *("EMPTY_DICT", "EMPTY_LIST", "EMPTY_TUPLE", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3"),
    *("APPEND", "APPENDS", "SETITEM", "SETITEMS"),
    *("BINPUT", "LONG_BINPUT", "MEMOIZE", "BINGET", "LONG_BINGET"),
}

values = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 100), 1 << 100) | st.text() | st.floats(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.text() | st.integers(), inner)
        | st.tuples(inner, inner)
        | inner.map(lambda each: [each, each])  # a reference to the memo
    ),
    max_leaves=30,
)


@given(values, st.sampled_from([2, 3, 4, 5]))
@settings(deadline=None)
def test_data_is_read_as_the_pickle_module_reads_it(value, protocol):
    data = pickle.dumps(value, protocol)
    assert repr(load(data)) == repr(pickle.loads(data))


@pytest.mark.parametrize("opcode", pickletools.opcodes, ids=lambda opcode: opcode.name)
def test_every_other_opcode_is_refused_by_name(opcode):
    if opcode.name in READ:
        return
    stack = b"\x8c\x02os\x8c\x06system"
    arguments = b"os\nsystem\n" + bytes(8)
    with pytest.raises(SnapshotFormatError, match=r"os\.system|opcode " + opcode.name):
        load(START + stack + opcode.code.encode("latin-1") + arguments + b".")


class Hostile:
    def __init__(self, *reduced):
        self.reduced = reduced

    def __reduce_ex__(self, protocol):
        return self.reduced


class Slots:
    __slots__ = ("value",)


def test_nothing_that_a_pickle_names_is_run(tmp_path):
    mark = tmp_path / "ran"
    command = f"touch {mark}"
    attacks = [
        Hostile(os.system, (command,)),
        Hostile(eval, (f"open({str(mark)!r}, 'w')",)),
        Hostile(Slots, (), (None, {"value": 1})),
        {"segments": [Hostile(os.system, (command,))]},
        print,
        Slots,
        {1, 2},
        b"bytes",
        bytearray(b"bytes"),
        1 + 2j,
        frozenset("ab"),
        range(3),
    ]
    for attack in attacks:
        for protocol in range(2, 6):
            with pytest.raises(SnapshotFormatError):
                load(pickle.dumps(attack, protocol))
    assert not mark.exists()


def test_references_to_extensions_and_other_pickles_are_refused():
    for code in (b"\x82\x01", b"\x83\x01\x00", b"\x84\x01\x00\x00\x00", b"Pid\n", b"Nq\x00Q"):
        with pytest.raises(SnapshotFormatError, match="contains the opcode"):
            load(START + code + b".")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not a pickle of protocol 2 to 5"),
        (b"\x80", "not a pickle of protocol 2 to 5"),
        (b"I1\n.", "not a pickle of protocol 2 to 5"),
        (pickle.dumps({"segments": []}, 0), "it is a pickle of protocol 0 or 1, which torch does"),
        (pickle.dumps({"segments": []}, 1), "it is a pickle of protocol 0 or 1, which torch does"),
        (pickle.dumps([], 0), "it is a pickle of protocol 0 or 1, which torch does not write"),
        (pickle.dumps([], 1), "it is a pickle of protocol 0 or 1, which torch does not write"),
        (b"[hello]", "not a pickle of protocol 2 to 5"),
        (b"(hello)", "not a pickle of protocol 2 to 5"),
        (b"PK\x03\x04", "torch.save"),
        (b"\x1f\x8b\x08", "gzip"),
        (b"\x80\x09N.", "protocol 9 is not known"),
        (START, "truncated: it ends after 2 bytes"),
        (START + b".", "damaged"),
        (START + b"NN.", "damaged"),
        (START + b"(N.", "damaged"),
        (START + b"u.", "damaged"),
        (START + b"}(Nu.", "damaged"),
        (START + b"N\x85\x86.", "damaged"),
        (START + b"h\x05.", "damaged"),
        (START + b"M\x01", "truncated: it ends after 4 bytes"),
        (START + b"\x8c\x09abc", "truncated: it ends after 7 bytes"),
        (START + b"\x8d" + b"\xff" * 8 + b"abc", "truncated"),
        (START + b"\x8c\x01\xff.", "not UTF-8"),
        (START + b"\x8a\xff", "integer of 255 bytes"),
        (START + b"NN(Ne.", "appends to a NoneType"),
        (START + b"](NNu.", "sets items of a list"),
        (START + b"})Ns.", "a tuple as a dict key"),
        (START + b"}}Ns.", "a dict as a dict key"),
        (START + b"}G" + struct.pack(">d", 0.5) + b"Ns.", "a float as a dict key"),
        (START + b"\xff.", "unknown opcode"),
    ],
)
def test_damaged_pickles_are_refused(data, message):
    with pytest.raises(SnapshotFormatError, match=message):
        load(data)


def test_every_truncation_is_refused():
    value = {"segments": [{"size": 1 << 40, "frames": [{"name": "é", "line": 3.5}] * 2}]}
    for protocol in (2, 4):
        data = pickle.dumps(value, protocol)
        for end in range(len(data)):
            with pytest.raises(SnapshotFormatError):
                load(data[:end])


@given(st.binary(max_size=200))
@settings(deadline=None)
def test_arbitrary_bytes_are_data_or_refused(data):
    try:
        load(START + data)
    except SnapshotFormatError:
        pass


def test_nesting_of_any_depth_is_read():
    depth = 200_000
    nested = START + b"]" * depth + b"a" * (depth - 1) + b"."
    tuples = START + b")" + b"\x85" * depth + b"."
    cycle = START + b"]\x94h\x00a."
    for data in (nested, tuples):
        value = load(data)
        assert len(value) == 1
        del value
    value = load(cycle)
    assert value[0] is value
    value.clear()


def test_exponentially_shared_data_takes_linear_time():
    data = START + b"N" + b"\x94h" + bytes([0]) + b"\x86"
    for at in range(1, 200):
        data += b"\x94h" + bytes([at]) + b"\x86"
    assert len(load(data + b".")) == 2


BOMBS = {
    "containers": b"]" * 5_000_000,
    "marks": b"(" * 1000,
    "memo index": b"Nr\xff\xff\xff\xff" * 10 + b".",
    "values": b"K\x01" * 21_000_000,
    "long string": b"X\xff\xff\xff\xff",
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_bombs_use_little_memory(bomb, tmp_path):
    path = tmp_path / "bomb.pickle"
    path.write_bytes(START + BOMBS[bomb])
    program = (
        "import sys; from cyclewatch.snapshots import pickle_data as p\n"
        "try: p.load(open(sys.argv[1], 'rb').read()); print('read')\n"
        "except p.SnapshotFormatError as error: print(error)"
    )
    limit = 2 << 30
    done = subprocess.run(
        [sys.executable, "-c", program, path],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )
    expected = {
        "containers": "more than 4,000,000 containers",
        "marks": "more than 100 open marks",
        "memo index": "damaged",
        "values": "more than 20,000,000 values",
        "long string": "truncated",
    }
    assert expected[bomb] in done.stdout, done.stderr[-500:]


def test_large_files_are_refused_before_they_are_decoded(monkeypatch):
    monkeypatch.setattr(pickle_data, "MAX_BYTES", 1000)
    with pytest.raises(SnapshotFormatError, match="larger than 0 MiB; record fewer events"):
        load(START + b"N" * 2000)
    monkeypatch.setattr(pickle_data, "MAX_OPCODES", 50)
    with pytest.raises(SnapshotFormatError, match="more than 50 opcodes"):
        load(START + b"N" * 100)


def test_reading_leaves_no_garbage():
    data = pickle.dumps({"segments": [{"blocks": [1, 2]}] * 3})
    gc.collect()
    gc.disable()
    try:
        load(data)
        assert gc.collect() == 0
    finally:
        gc.enable()
