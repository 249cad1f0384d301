# SPDX-License-Identifier: Apache-2.0
"""DOT as other programs read it, and where code of Graphviz runs."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import cyclewatch
from cyclewatch import _native

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "report.json"
GRAPHVIZ_NAME = re.compile(r"^(ag|gv|GV)[A-Za-z]")

# Prints a digest of DOT and SVG for a cycle, and how often Graphviz was used before.
DRAWING_PROGRAM = """
    import gc, hashlib
    import cyclewatch
    from cyclewatch import _native

    class Buffer:
        pass

    class Holder:
        def __init__(self):
            self.me = {"self": self}
            self.parts = {name: Buffer() for name in ("left", "right")}

    cyclewatch.register_owner(
        Buffer, lambda buffer: {"device": "cuda:0", "nbytes": 4096, "data_ptr": id(buffer)}
    )
    with cyclewatch.watch(devices="all") as watch:
        Holder()
        gc.collect()
    report = watch.report()
    assert len(report.findings) == 1
    used = _native.graphviz_sessions()
    drawn = report.to_dot() + report.findings[0].to_svg()
    assert "Holder" in drawn
    assert _native.graphviz_sessions() > used
    print(used, hashlib.sha256(drawn.encode()).hexdigest())
"""


@pytest.fixture(scope="module")
def report():
    return cyclewatch.Report.load(GOLDEN)


@pytest.fixture(scope="module")
def expected(report):
    """(holder, target) of each line of the pictures, by the names in DOT."""
    return {
        (f"f{rank}n{arrow['from']}", f"f{rank}n{arrow['to']}")
        for rank, finding in enumerate(json.loads(report.to_json())["findings"], 1)
        for arrow in finding["picture"]["arrows"]
    }


def test_graphviz_runs_only_if_a_picture_is_drawn(interpreter):
    used, _ = interpreter.run(DRAWING_PROGRAM).stdout.split()
    assert used == "0"


def test_pictures_are_the_same_on_every_run(main_interpreter):
    drawn = {
        main_interpreter.run(DRAWING_PROGRAM, PYTHONHASHSEED=seed).stdout
        for seed in ("1", "1", "2")
    }
    assert len(drawn) == 1


def test_networkx_and_pygraphviz_read_dot(report, expected):
    pytest.importorskip("pygraphviz")
    networkx = pytest.importorskip("networkx")
    import pygraphviz

    graph = networkx.nx_agraph.from_agraph(pygraphviz.AGraph(string=report.to_dot()))
    assert {(start, end) for start, end, _ in graph.edges} == expected
    # Every finding is a cycle also for networkx.
    assert len(list(networkx.strongly_connected_components(graph))) < len(graph)
    labels = {data["label"].strip() for _, _, data in graph.edges(data=True)}
    assert "cut: closure:self" in labels


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_pydot_reads_dot(report, expected):
    pydot = pytest.importorskip("pydot")
    [graph] = pydot.graph_from_dot_data(report.to_dot())
    clusters = graph.get_subgraphs()
    assert len(clusters) == len(report.findings)
    edges = {
        (edge.get_source(), edge.get_destination())
        for part in clusters
        for edge in part.get_edges()
    }
    assert edges == expected


def test_dot_lays_dot_out(report, tmp_path, expected):
    if shutil.which("dot") is None:
        pytest.skip("dot is not installed")
    source = tmp_path / "report.dot"
    source.write_text(report.to_dot(), encoding="utf-8")
    done = subprocess.run(
        ["dot", "-Tplain", str(source)], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    lines = [line.split() for line in done.stdout.splitlines()]
    assert {(words[1], words[2]) for words in lines if words[0] == "edge"} == expected


def symbols(path, *options):
    """The names that nm lists for `path`."""
    command = ["nm", "--format=posix", *options, str(path)]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return {line.split()[0].partition("@")[0] for line in listed.splitlines()}


def needs_graphviz(path):
    """Whether an object file refers to a function or variable of Graphviz."""
    return any(GRAPHVIZ_NAME.match(name) for name in symbols(path, "--undefined-only"))


def test_only_the_code_of_pictures_refers_to_graphviz(build_folder):
    if shutil.which("nm") is None:
        pytest.skip("nm is not installed")
    targets = {
        path.name.removesuffix(".dir"): [*path.rglob("*.o")]
        for path in (build_folder / "src" / "CMakeFiles").glob("*.dir")
    }
    users = {name for name, objects in targets.items() if any(map(needs_graphviz, objects))}
    assert users == {"cyclewatch_pictures"}
    assert {"cyclewatch_core", "cyclewatch_runtime", "_native"} < targets.keys()


def test_extension_exports_nothing_of_graphviz():
    if shutil.which("nm") is None:
        pytest.skip("nm is not installed")
    exported = symbols(_native.__file__, "--dynamic", "--defined-only")
    assert {name for name in exported if GRAPHVIZ_NAME.match(name)} == set()
    assert "PyInit__native" in exported
