# SPDX-License-Identifier: Apache-2.0
"""The advice on cycles that no collection frees can be followed: it frees the memory, and the
program still works."""

import gc

import followed_advice
import pytest
import torch

import cyclewatch

RELEASE = tuple(map(int, torch.__version__.split(".")[:2]))
pytestmark = [
    pytest.mark.skipif(
        RELEASE < (2, 13), reason="before torch 2.13, the counts of nodes cannot be read"
    ),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]

PROGRAMS = pytest.mark.parametrize(
    "program", followed_advice.PROGRAMS, ids=lambda program: program.__name__
)


def never_freed():
    return cyclewatch.never_freed(settle=0, devices="cpu").findings


@PROGRAMS
def test_advice_is_given(program):
    labels, pattern, advice = followed_advice.PROGRAMS[program]
    known = {finding.signature for finding in never_freed()}
    references, use, cut = program(advised=False)
    del use
    gc.collect()
    assert all(reference() is not None for reference in references)
    (finding,) = [each for each in never_freed() if each.signature not in known]
    assert [cut.label for cut in finding.cuts] == labels
    assert finding.pattern == pattern
    assert advice in finding.advice
    for each in finding.cuts:
        # The function for a reentrant checkpoint is called by a node, which does not name it.
        if program is followed_advice.reentrant_checkpoint_with_later_output:
            assert each.location is None
        else:
            assert each.location.startswith(followed_advice.__file__)
    assert finding.status == "new"
    cut()
    gc.collect()
    assert not any(reference() is not None for reference in references)


@PROGRAMS
def test_advice_frees_the_memory_and_the_program_works(program):
    references, use, _ = program(advised=True)
    del use
    gc.collect()
    assert not any(reference() is not None for reference in references)
    references, use, _ = program(advised=True)
    use()
    del use
    gc.collect()
    assert not any(reference() is not None for reference in references)
