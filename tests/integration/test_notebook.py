# SPDX-License-Identifier: Apache-2.0
"""The example notebook, executed by a real kernel."""

from pathlib import Path

import nbclient
import nbformat
import pytest

NOTEBOOK = Path(__file__).resolve().parents[2] / "examples/notebooks/reference_cycle.ipynb"


@pytest.fixture(scope="module")
def outputs():
    """Per code cell: the displayed mime bundles."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    return [
        [output.data for output in cell.outputs if "data" in output]
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def test_magic_displays_what_the_cell_left(outputs):
    [bundle] = outputs[2]
    assert "3 reference cycles" in bundle["text/html"]
    assert "cell [2], line 7" in bundle["text/html"]  # where the lambda is created
    assert "self.hooks = [lambda: self.weight.sum()]" in bundle["text/html"]
    assert "data:image/svg+xml" in bundle["text/html"]
    assert "closure:self" in bundle["text/plain"]


def test_warning_is_displayed_below_the_running_cell(outputs):
    assert "self.me = self" in outputs[3][0]["text/html"]


def test_report_displays_itself_without_scripts(outputs):
    [bundle] = outputs[4]
    assert "cell [4], line 11" in bundle["text/html"]
    assert "<script" not in bundle["text/html"]
    assert len(bundle["text/html"]) < 200_000
