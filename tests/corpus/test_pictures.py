# SPDX-License-Identifier: Apache-2.0
"""The pictures of the corpus: what overlaps, crosses or does not fit the page, and their DOT."""

import functools
import itertools
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
PAGE = (860, 620)  # pixels
COLUMN = 6.65  # width of a character of a label
DIAGRAM = re.compile(
    r'<svg class="diagram[^"]*".*? width="([\d.]+)" height="([\d.]+)".*?</svg>', re.DOTALL
)
BOX = re.compile(
    r'<rect class="box" x="([-\d.]+)" y="([-\d.]+)" width="([\d.]+)" height="([\d.]+)"'
)
LINE = re.compile(r'<path class="line" d="([^"]*)"')
LABEL = re.compile(r'<text class="label[^"]*" x="([-\d.]+)" y="([-\d.]+)">([^<]*)<')
ENTITY = re.compile(r"&[^;]+;")


class Drawing:
    """Rectangles (left, top, right, bottom) of boxes and labels, and points on lines."""

    def __init__(self, svg):
        diagram = DIAGRAM.search(svg)
        self.size = (float(diagram[1]), float(diagram[2]))
        self.boxes = []
        for found in BOX.findall(diagram[0]):
            x, y, width, height = map(float, found)
            self.boxes.append((x, y, x + width, y + height))
        self.labels = []
        for x, y, text in LABEL.findall(diagram[0]):
            half = COLUMN * len(ENTITY.sub("x", text)) / 2
            self.labels.append((float(x) - half, float(y) - 9, float(x) + half, float(y) + 3))
        self.lines = [points_of(path) for path in LINE.findall(diagram[0])]

    def ends(self, line):
        """The boxes at both ends of `line`."""
        return {min(self.boxes, key=functools.partial(distance, at)) for at in (line[0], line[-1])}


def points_of(path):
    """Points along the Bezier curves of `path`."""
    numbers = [float(number) for number in re.findall(r"-?[\d.]+", path)]
    controls = [*zip(numbers[::2], numbers[1::2], strict=True)]
    points = []
    for start in range(0, len(controls) - 1, 3):
        a, b, c, d = controls[start : start + 4]
        for t in (i / 24 for i in range(25)):
            weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
            points.append(
                tuple(sum(w * p[axis] for w, p in zip(weights, (a, b, c, d))) for axis in (0, 1))
            )
    return points


def distance(point, box):
    dx = max(box[0] - point[0], 0, point[0] - box[2])
    dy = max(box[1] - point[1], 0, point[1] - box[3])
    return dx * dx + dy * dy


def overlap(a, b):
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def runs_through(line, box):
    return any(box[0] + 1 < x < box[2] - 1 and box[1] + 1 < y < box[3] - 1 for x, y in line)


def side(a, b, c):
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def cross(first, second):
    """Whether two lines cross, except at their ends."""
    return any(
        side(a, b, c) * side(a, b, d) < 0 and side(c, d, a) * side(c, d, b) < 0
        for a, b in itertools.pairwise(first[1:-1])
        for c, d in itertools.pairwise(second[1:-1])
    )


@functools.cache
def outputs(interpreter):
    """SVG, DOT and data by the name of the picture."""
    done = interpreter.run(FOLDER / "pictures.py", PYTHONHASHSEED="0")
    texts = json.loads(done.stdout)
    assert len(texts) > 90
    return texts


@functools.cache
def drawings(interpreter):
    return {name: Drawing(text["svg"]) for name, text in outputs(interpreter).items()}


@pytest.fixture
def pictures(main_interpreter):
    return drawings(main_interpreter)


@pytest.fixture
def dot_files(main_interpreter, tmp_path):
    """A file with the DOT of each picture, by its name."""
    files = {}
    for number, (name, text) in enumerate(outputs(main_interpreter).items()):
        files[name] = tmp_path / f"{number}.dot"
        files[name].write_text(text["dot"], encoding="utf-8")
    return files


def test_nothing_covers_a_box(pictures):
    covered = [
        name
        for name, drawing in pictures.items()
        if any(itertools.starmap(overlap, itertools.combinations(drawing.boxes, 2)))
        or any(itertools.starmap(overlap, itertools.product(drawing.labels, drawing.boxes)))
        or any(itertools.starmap(runs_through, itertools.product(drawing.lines, drawing.boxes)))
    ]
    assert covered == []


def test_nothing_covers_a_label(pictures):
    covered = [
        name
        for name, drawing in pictures.items()
        if any(itertools.starmap(overlap, itertools.combinations(drawing.labels, 2)))
        or any(itertools.starmap(runs_through, itertools.product(drawing.lines, drawing.labels)))
    ]
    assert covered == []


def test_arrows_lead_from_the_cycle_to_what_a_box_holds(main_interpreter):
    unreached = {}
    for name in ("hub of 14", "large tree", "own_table_of_methods", "own_many_kinds_of_callbacks"):
        data = outputs(main_interpreter)[name]["data"]
        items, arrows = data["items"], data["arrows"]
        reached = {i for i, item in enumerate(items) if item["on_cycle"]}
        for _ in items:
            reached |= {arrow["to"] for arrow in arrows if arrow["from"] in reached}
        if len(reached) < len(items):
            unreached[name] = [item["text"] for i, item in enumerate(items) if i not in reached]
    assert unreached == {}


def test_few_lines_cross(pictures):
    # Lines that meet at the same box are not counted. A reference to cut may cross one that leads
    # to its holder.
    crossings = [
        name
        for name, drawing in pictures.items()
        for first, second in itertools.combinations(drawing.lines, 2)
        if not drawing.ends(first) & drawing.ends(second) and cross(first, second)
    ]
    assert len(crossings) <= 5, crossings


def test_nearly_all_fit_the_page(pictures):
    large = [
        name
        for name, drawing in pictures.items()
        if drawing.size[0] > PAGE[0] or drawing.size[1] > PAGE[1]
    ]
    assert len(large) <= 5, large


# Reads each file with agmemread(), and prints the number of nodes and edges of the first finding.
READER = """
    import ctypes, json, sys
    cgraph = ctypes.CDLL("libcgraph.so.6")
    for name in ("agmemread", "agsubg"):
        getattr(cgraph, name).restype = ctypes.c_void_p
    counts = []
    for path in sys.argv[1:]:
        with open(path, "rb") as file:
            graph = ctypes.c_void_p(cgraph.agmemread(file.read()))
        assert graph.value, path
        finding = ctypes.c_void_p(cgraph.agsubg(graph, b"cluster_f1", 0))
        assert finding.value, path
        counts.append([cgraph.agnnodes(finding), cgraph.agnedges(finding)])
        cgraph.agclose(graph)
    print(json.dumps(counts))
"""


def test_cgraph_reads_back_what_is_drawn(main_interpreter, pictures, dot_files):
    done = main_interpreter.run(READER, *dot_files.values())
    assert done.stderr == ""
    read = dict(zip(dot_files, json.loads(done.stdout), strict=True))
    drawn = {name: [len(each.boxes), len(each.lines)] for name, each in pictures.items()}
    assert read == drawn


def test_dot_draws_the_same_boxes(pictures, dot_files, tmp_path):
    if shutil.which("dot") is None:
        pytest.skip("dot is not installed")
    command = ["dot", "-Tsvg", "-O", *map(str, dot_files.values())]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    for name, path in dot_files.items():
        svg = Path(f"{path}.svg").read_text(encoding="utf-8")
        nodes = re.findall(r'<g id="node\d+" class="node">\s*<title>(f1n\d+)</title>', svg)
        assert len(nodes) == len(pictures[name].boxes), name
