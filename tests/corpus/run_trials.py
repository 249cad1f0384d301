# SPDX-License-Identifier: Apache-2.0
"""Runs the programs of trials/ and prints the suggestions for each as JSON.

Usage: run_trials.py [NAME...]
"""

import importlib
import json
import sys
from pathlib import Path

from run_cases import INDEX, observe, one_tensor, watch_stand_ins

FOLDER = Path(__file__).parent / "trials"
MOST_ALTERNATIVES = 3


def comparable(answer):
    """Normalise `answer` as answers_of() does."""
    return " + ".join(sorted(INDEX.sub("[x]", part) for part in answer.split(" + ")))


def verdict(answers, accepted, alarming):
    """'first', 'next' (an alternative), 'wrong', or 'alarming' (would break the program)."""
    if any(part in alarming for part in answers[0].split(" + ")):
        return "alarming"
    for rank, answer in enumerate(answers[: 1 + MOST_ALTERNATIVES]):
        if answer in accepted:
            return "next" if rank else "first"
    return "wrong"


def run_trial(function, accepted, alarming):
    def leaky(payload):
        function(payload())  # the program's result is dropped

    findings = observe(leaky, one_tensor)["findings"]
    if not findings:
        return {"verdict": "nothing", "answers": [], "cards": 0}
    answers = findings[0]["answers"]
    return {
        "verdict": verdict(answers, set(map(comparable, accepted)), set(map(comparable, alarming))),
        "answers": answers,
        "cards": len(findings),
        "pattern": findings[0]["pattern"],
    }


def main(names):
    sys.path.insert(0, str(FOLDER))
    watch_stand_ins()
    for path in sorted(FOLDER.glob("*_trials.py")):
        importlib.import_module(path.stem)
    trials = importlib.import_module("registry").TRIALS
    outcome = {name: run_trial(*trials[name]) for name in trials if not names or name in names}
    print(json.dumps(outcome, indent=1))


if __name__ == "__main__":
    main(sys.argv[1:])
