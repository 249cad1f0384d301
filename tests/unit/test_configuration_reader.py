# SPDX-License-Identifier: Apache-2.0
"""The tables [[pattern]] and [[ignore]]: which are valid, and what is wrong with the others."""

import pytest

from cyclewatch.settings.configuration_reader import read

KNOWN = ["back-pointer", "unknown"]
VALID = {"id": "mine", "title": "T", "explanation": "why {variable}", "steps": [{"label": ".x"}]}
LIBRARY = {"package": "torch", "versions": ">=2"}


def test_all_keys_of_a_pattern_are_read():
    [pattern], _, problems = read(
        {
            "pattern": [
                VALID
                | {"advice": "A", "variants": {"other": {"advice": "B"}}, "links": ["l"]}
                | {"tags": ["benign"], "library": LIBRARY, "before": "x", "after": "y"}
                | {"steps": [{"holder": "h", "label": "l", "target": "t"}]}
                | {"suggests": {"label": "closure:*"}, "shape": "S"}
            ]
        },
        None,
    )
    assert problems == []
    assert pattern["words"] == {"explanation": "why {variable}", "advice": "A", "cost": ""}
    inherited = {"explanation": "why {variable}", "advice": "B", "cost": ""}
    assert pattern["variants"] == {"other": inherited}
    assert (pattern["before"], pattern["after"], pattern["shape"]) == ("x", "y", "S")
    assert (pattern["links"], pattern["benign"]) == (["l"], True)
    assert pattern["library"] == LIBRARY | {"first": [2], "fixed_in": []}
    assert pattern["steps"] == [("h", "l", "t")]
    assert pattern["suggests"] == ("*", "closure:*", "*")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"id": ""}, 'pattern[0] needs id = "..."'),
        ({"explanation": ""}, 'pattern[0] needs explanation = "..."'),
        ({"id": 3}, "pattern[0].id is not a string; put it in quotes"),
        ({"titel": "T"}, 'pattern[0] has no key "titel"; the keys are id, title, shape'),
        ({"explanation": "{who}"}, "pattern[0].explanation has an unknown slot {who}; the slots"),
        ({"steps": []}, "pattern[0] does not describe a cycle; add steps = ["),
        ({"id": "unknown"}, 'pattern[0].id = "unknown" is already used'),
        (
            {"steps": [{"lable": "x"}]},
            'pattern[0].steps[0] has no key "lable"; the keys are holder',
        ),
        ({"links": [1]}, "pattern[0].links has an entry that is not a string"),
        ({"steps": {}}, "pattern[0].steps is not a list"),
        ({"suggests": 1}, "pattern[0].suggests is not a table"),
        ({"tags": ["odd"]}, 'pattern[0].tags has an unknown tag "odd"; the only tag is "benign"'),
        ({"library": {"package": "p"}}, 'pattern[0].library needs versions = "..."'),
        ({"variants": {"v": 1}}, "pattern[0].variants.v is not a table"),
        ({"variants": {"v": {}}}, "pattern[0] has variants, which only built-in patterns may have"),
    ],
)
def test_invalid_pattern_is_described_and_the_others_are_read(changes, sentence):
    patterns, _, [problem] = read({"pattern": [VALID | changes, VALID]}, KNOWN)
    assert problem.startswith(sentence)
    assert [pattern["id"] for pattern in patterns] == ["mine"]


@pytest.mark.parametrize(
    ("versions", "first", "fixed_in"),
    [
        (">=0.8.0,<0.8.2", [0, 8, 0], [0, 8, 2]),
        (" >= 2.1 , < 3 ", [2, 1], [3]),
        (">=2.1", [2, 1], []),
        ("<3", [], [3]),
    ],
)
def test_version_range(versions, first, fixed_in):
    library = LIBRARY | {"versions": versions}
    [pattern], _, _ = read({"pattern": [VALID | {"library": library}]}, KNOWN)
    assert (pattern["library"]["first"], pattern["library"]["fixed_in"]) == (first, fixed_in)


@pytest.mark.parametrize(
    "versions", ["2.0", ">=", ">=1.0,", ",<2", ">=1<2", "~=1.4", "==1", ">=x", ">=1.0rc1", "<3,>=2"]
)
def test_invalid_version_range(versions):
    library = LIBRARY | {"versions": versions}
    patterns, _, [problem] = read({"pattern": [VALID | {"library": library}]}, KNOWN)
    assert patterns == []
    assert problem.startswith("pattern[0].library.versions is not a version range; write, for")


def test_suppressions():
    ignored = [
        {"signature": "cw1-0123456789abcdef", "reason": "r"},
        {"pattern": "mine", "reason": "r"},
        {"pattern": "back-pointer"},
        {"pattern": "back-pionter", "reason": "r"},
        {"signature": "cw1-0123", "reason": "r"},
        {"reason": "r"},
        {"pattern": 3},
    ]
    _, suppressions, problems = read({"pattern": [VALID], "ignore": ignored}, KNOWN)
    assert [each["pattern"] for each in suppressions] == ["", "mine"]
    assert problems == [
        "ignore[2]: a reason is required: a few words on why the finding is acceptable",
        'ignore[3]: "back-pionter" is not a pattern; the patterns are back-pointer, unknown, mine',
        'ignore[4]: "cw1-0123" is not a signature; copy it from the report: "cw1-" and 16 digits',
        "ignore[5]: a signature or a pattern is required",
        "ignore[6].pattern is not a string; put it in quotes",
    ]


@pytest.mark.parametrize("document", [{"pattern": 3}, {"ignore": {}}])
def test_lists_must_be_lists(document):
    [name] = document
    assert read(document, KNOWN) == ([], [], [f"{name} is not a list; write it in square brackets"])
