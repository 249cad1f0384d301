# SPDX-License-Identifier: Apache-2.0
"""Notebooks, executed by a real kernel."""

import base64
import os
import re
import textwrap
from pathlib import Path

import nbclient
import nbformat
import pytest

NOTEBOOK = Path(__file__).resolve().parents[2] / "examples/notebooks/reference_cycle.ipynb"

PICTURE = re.compile(r'(?<=src="data:image/svg\+xml;base64,)([^"]+)')

FAILING_CELLS = (
    """
    import gc
    import cyclewatch

    class Data(bytearray):
        pass

    cyclewatch.register_owner(
        Data, lambda data: {"device": "cpu", "nbytes": len(data), "data_ptr": id(data)}
    )

    def fail():
        data = Data(4096)
        raise MemoryError

    watch = cyclewatch.warn_tensor_cycles(devices="cpu", report_dir="FOLDER")
    """,
    "fail()",
    "1/0",
    "_ = gc.collect()",
    "[finding] = watch.report().findings; finding",
    "print(finding.status, finding.pattern)",
)


def run(notebook, **options):
    """Run a notebook, and return the outputs of each code cell."""
    # On a busy machine, ipykernel sends the output of one print() as several messages.
    options = {"timeout": 300, "kernel_name": "python3", "coalesce_streams": True, **options}
    # In development mode, asyncio prints what took longer than 0.1 s into the output of the cell.
    environment = {**os.environ, "PYTHONDEVMODE": ""}
    nbclient.NotebookClient(notebook, **options).execute(env=environment)
    return [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]


@pytest.fixture(scope="module")
def outputs():
    """The displayed MIME bundles of each code cell of the example."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    return [[output.data for output in cell if "data" in output] for cell in run(notebook)]


def cards_in(bundles):
    """The words of each card, with each duration replaced by "-"."""
    texts = [bundle["text/plain"] for cell in bundles for bundle in cell]
    cards = re.findall(r"#\d+  .*?\n    id +cw1-\w+", "\n".join(texts), flags=re.DOTALL)
    return [re.sub(r"[\d.]+ [mu]?s\b", "-", card).split() for card in cards]


def relative(picture):
    """Return the picture, with paths of installed files made relative to site-packages."""
    drawn = base64.b64decode(picture[1]).decode()
    return base64.b64encode(re.sub(r"/\S*/site-packages/", "", drawn).encode()).decode()


def test_committed_notebook_contains_its_outputs(outputs):
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    committed = [
        [output.data for output in cell.outputs if "data" in output]
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]
    if os.environ.get("CYCLEWATCH_UPDATE_PAGES") == "1":
        for outputs_of_cell in run(notebook):
            for output in outputs_of_cell:
                if "text/html" in output.get("data", {}):
                    output.data["text/html"] = PICTURE.sub(relative, output.data["text/html"])
        for cell in notebook.cells:
            cell.metadata.pop("execution", None)
        notebook.metadata.pop("language_info", None)
        nbformat.write(notebook, NOTEBOOK)
    else:
        assert len(cards_in(outputs)) == 3
        assert cards_in(committed) == cards_in(outputs)


def test_magic_displays_what_the_cell_left(outputs):
    [bundle] = outputs[2]
    assert "3 reference cycles" in bundle["text/html"]
    assert "cell [2], line 7" in bundle["text/html"]  # where the lambda is created
    assert "self.hooks = [lambda: self.weight.sum()]" in bundle["text/html"]
    assert "closure:self" in bundle["text/plain"]


def test_warning_is_displayed_below_the_running_cell(outputs):
    assert "self.me = self" in outputs[3][0]["text/html"]


def test_report_displays_itself_without_scripts(outputs):
    [bundle] = outputs[4]
    assert "cell [4], line 11" in bundle["text/html"]
    assert "<script" not in bundle["text/html"]
    assert len(bundle["text/html"]) < 200_000


def test_each_card_has_its_picture(outputs):
    html = outputs[4][0]["text/html"]
    pictures = PICTURE.findall(html)
    assert len(pictures) == html.count("<pre") >= 1
    for picture in pictures:
        drawn = base64.b64decode(picture).decode()
        assert "Diagram of the reference cycle" in drawn
        assert "prefers-color-scheme:dark" in drawn
        # The line of the class statement; up to 3.12, the line of its first method.
        assert re.search(r">cell \[4\], line [89]<", drawn)
        assert not re.search(r">\d+\.py:", drawn)


def test_memory_of_a_failed_cell_is_attributed_to_ipython(tmp_path):
    cells = [
        nbformat.v4.new_code_cell(textwrap.dedent(cell).replace("FOLDER", str(tmp_path)))
        for cell in FAILING_CELLS
    ]
    *_, fails, _, collects, shows, prints = run(
        nbformat.v4.new_notebook(cells=cells), allow_errors=True
    )
    assert fails[-1].ename == "MemoryError"
    assert not collects  # no warning: no code of the user refers to the exception
    assert "gc.collect()" in shows[0].data["text/html"]  # the advice
    assert prints[0].text == "library ipython-failed-cell\n"


DEFINITIONS = """
import cyclewatch
%load_ext cyclewatch

class Data(bytearray):
    pass

cyclewatch.register_owner(
    Data, lambda data: {"device": "cpu", "nbytes": len(data), "data_ptr": id(data)}
)
"""
LEAK = """%%cyclewatch --devices cpu
class Model:
    def __init__(self):
        self.data = Data(4096)
        self.me = self
Model()
del Model
"""


def cells(*sources):
    notebook = nbformat.v4.new_notebook()
    notebook.cells = [nbformat.v4.new_code_cell(source) for source in sources]
    return notebook


def test_lines_of_a_cell_under_the_magic_are_numbered_as_in_the_notebook():
    bundle = run(cells(DEFINITIONS, "1", LEAK))[2][-1]["data"]
    for text in bundle.values():
        assert "cell [3], line 5" in text
        assert ".py:" not in text
    assert "self.me = self" in bundle["text/plain"]


def test_a_failing_cell_under_the_magic_fails():
    notebook = cells(DEFINITIONS, f"{LEAK}raise ValueError('wrong')", "print('unreachable')")
    with pytest.raises(nbclient.exceptions.CellExecutionError, match="wrong"):
        run(notebook)
    displayed, error = notebook.cells[1].outputs
    assert error["ename"] == "ValueError"
    assert "self.me = self" in displayed["data"]["text/plain"]
    assert "_run_cell" not in "".join(error["traceback"])
    assert notebook.cells[2].outputs == []


def test_a_semicolon_under_the_magic_silences_the_last_value():
    ends = (";", ";  # not shown", "; # '\n")
    leaks = [LEAK.replace("Model()\ndel Model", f"Model(){end}") for end in ends]
    _, *displayed, [kept] = run(cells(DEFINITIONS, *leaks, "print(Out)"))
    for outputs in displayed:
        # On a busy machine, Python's development mode also prints a warning of the kernel.
        [output] = [each for each in outputs if each["output_type"] != "stream"]
        assert "self.me = self" in output["data"]["text/plain"]
    assert kept["text"] == "{}\n"


def test_the_last_value_under_the_magic_is_displayed():
    after = "x = 3;\nx"
    source = f"%%cyclewatch --devices cpu\n{after}"
    outputs = run(cells(DEFINITIONS, source, "%%cyclewatch --devices cpu\n!echo 'a b';", after))
    assert outputs[1][0]["data"]["text/plain"] == "3"
    assert outputs[2][0]["text"] == "a b\r\n"
    assert outputs[3][0]["data"]["text/plain"] == "3"


def test_usage_error_of_the_magic_is_one_line():
    message_of = {
        "%%cyclewatch\nawait f()": "does not support await",
        "%%cyclewatch --device x\n1": "unrecognized arguments: --device x",
        "%%cyclewatch --devices nonsense\n1": "nonsense",
        "%%cyclewatch --devices 'cpu\n1": "No closing quotation",
    }
    _, *outputs = run(cells(DEFINITIONS, *message_of), allow_errors=True)
    for [output], message in zip(outputs, message_of.values(), strict=True):
        assert message in output["text"]
        assert "Traceback" not in output["text"]


def test_printed_texts_name_cells():
    shows = """
with cyclewatch.watch(devices="cpu") as watch:
    model = Model()
    del model
    gc.collect()
[finding] = watch.report().findings
print(watch.report().to_text(), finding.to_text(), finding.headline)
"""
    defines = LEAK.partition("\n")[2].removesuffix("Model()\ndel Model\n")
    [output] = run(cells(f"import gc\n{DEFINITIONS}{defines}", shows))[1]
    assert output["text"].count("cell [1]") >= 3
    assert ".py:" not in output["text"]


def test_a_failing_cell_under_the_magic_leaves_no_cycle_of_its_own():
    fails = "%%cyclewatch --devices cpu\ndef f():\n    data = Data(4096)\n    1 / 0\nf()"
    shows = """
with cyclewatch.watch(devices="cpu") as watch:
    gc.collect()
print([finding.title for finding in watch.report().findings if "_run_cell" in finding.to_text()])
"""
    outputs = run(cells(f"import gc\n{DEFINITIONS}", fails, "2 / 0", shows), allow_errors=True)
    assert outputs[3][0]["text"] == "[]\n"
