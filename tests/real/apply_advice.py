# SPDX-License-Identifier: Apache-2.0
"""Applies the code of each first card to the installed library, and runs the program again.

Usage: apply_advice.py [--cache DIR] [--write] [NAME...]

The advice is harmless if leaky() still runs, and right if the cycle of the card is gone. Applied
automatically: the property that replaces a back reference, the function that replaces a bound
method, and the function that replaces a partial. The library is changed in a copy of its
installation. --write writes executed.md.
"""

import argparse
import collections
import gc
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import traceback
import weakref
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]
sys.path.insert(0, str(FOLDER))

import observe  # noqa: E402
from libraries import InstallError, install, pins_of  # noqa: E402

CONTAINERS = ("list", "dict", "set", "tuple", "collections.OrderedDict", "collections.defaultdict")
FIELDS = ("holder", "base_class", "label", "target", "location")
CODE = {"property": "a property `", "method": "weakref.WeakMethod(", "partial": "function(ref()"}
TIME_LIMIT = 400  # seconds, for one run of one case
HELPERS = """
import weakref as _advice_weakref
def _advice_method(method):
    ref = _advice_weakref.WeakMethod(method)
    return lambda *args, **kwargs: (m := ref()) and m(*args, **kwargs)
def _advice_partial(function, first, *rest, **more):
    ref = _advice_weakref.ref(first)
    return lambda *args, **kwargs: function(ref(), *rest, *args, **{**more, **kwargs})
"""
HEAD = """\
| Case | Result | Note |
|---|---|---|
"""


def find_class(name):
    """Return the class with the full name `name`, or None."""
    parts = name.split(".")
    for end in range(len(parts) - 1, 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:end]))
        except ImportError:
            continue
        for part in parts[end:]:
            found = getattr(found, part, None)
        return found if isinstance(found, type) else None
    return None


def weak_property(owner, name):
    """Replace the attribute or slot `name` of `owner` as the card says."""
    stored = "_" + name.lstrip("_") + "_ref"
    slot = owner.__dict__.get(name)
    slot = slot if type(slot).__name__ == "member_descriptor" else None

    def read(self):
        reference = slot.__get__(self) if slot else self.__dict__.get(stored)
        return reference and reference()

    def write(self, value):
        reference = None if value is None else weakref.ref(value)
        if slot:
            slot.__set__(self, reference)
        else:
            self.__dict__[stored] = reference

    setattr(owner, name, property(read, write))


def apply_property(cut):
    """Apply the advice on a back reference. Return whether that was possible."""
    owner = find_class(cut["base_class"] or cut["holder"])
    name = cut["label"].removeprefix("slot:").removeprefix(".")
    if owner is None or not name.isidentifier() or not owner.__flags__ & (1 << 9):
        return False
    if "slot:" in cut["label"]:
        bases = [base for base in owner.__mro__ if name in base.__dict__]
        owner = bases[0] if bases else owner
    try:
        weak_property(owner, name)
    except TypeError:
        return False
    return True


def edit(copy, cut):
    """Change the line that creates a bound method or a partial. Return whether it was found."""
    path, _, number = (cut["location"] or "").rpartition(":")
    path = copy / path
    if not number.isdigit() or not path.is_file():
        return False
    lines = path.read_text().split("\n")
    line = lines[int(number) - 1]
    if "_advice_" in line:
        return True  # for another reference that the same line creates
    if cut["label"] == "__self__":
        method = cut["holder"].rpartition(".")[2]
        new = re.sub(
            rf"\b\w+\.{method}\b(?!\s*\()", lambda match: f"_advice_method({match[0]})", line
        )
    else:
        new = re.sub(r"\b(functools\.)?partial\(", "_advice_partial(", line)
    if new == line:
        return False
    lines[int(number) - 1] = new
    at = next((i for i, text in enumerate(lines) if text.startswith("from __future__")), -1) + 1
    path.unlink()  # the copy consists of hard links
    path.write_text("\n".join([*lines[:at], *([] if at else []), *lines[at:], HELPERS]))
    return True


def kind_of(cut):
    """How the advice on a reference is applied; "" if it is not applied automatically."""
    is_attribute = cut["label"].startswith((".", "slot:"))
    is_object = not cut["holder"].startswith(("function ", "frame "))
    # "locals() of f" is a dict, and "function f" has another remedy: only instances of a class
    # are replaced by a weak reference.
    is_instance = re.fullmatch(r"[\w.<>]+", cut["target"]) and cut["target"] not in CONTAINERS
    if is_attribute and is_object and is_instance:
        return "property"
    if cut["label"] == "__self__" and cut["holder"].startswith("bound method "):
        return "method"
    return "partial" if cut["label"] == "args[0]" else ""


def cuts_of(finding):
    """The references to cut, as plain data."""
    return [{name: getattr(cut, name) for name in FIELDS} for cut in observe.cut_of(finding)]


def first_card(module):
    """Return the signature and the cuts of the largest finding."""
    import cyclewatch

    for owner, size in getattr(module, "OWNERS", {}).items():
        cyclewatch.register_owner(owner, observe.memory_reader(size))
    observe.warm_up(module.leaky)
    with cyclewatch.watch(devices=("cpu",)) as watch:
        module.leaky()
        gc.collect()
    findings = observe.relative(watch.report()).findings
    if not findings:
        return {"cuts": []}
    return {
        "signature": findings[0].signature,
        "title": findings[0].title,
        "pattern": findings[0].pattern,
        "advice": findings[0].advice,
        "cuts": cuts_of(findings[0]),
    }


def run_changed(module, card):
    """Apply the properties, run leaky() and say what happened."""
    # Several references can have one attribute of one class; the slot of a class is replaced once.
    places = {(cut["base_class"] or cut["holder"], cut["label"]): cut for cut in card["cuts"]}
    for cut in places.values():
        if kind_of(cut) == "property" and not apply_property(cut):
            return {"not_applied": f"{cut['label']} of {cut['holder']}"}
    try:
        again = first_card(module)
    except Exception as error:  # whatever the changed library raises
        last = traceback.extract_tb(error.__traceback__)[-1]
        return {
            "broken": f"{type(error).__name__}: {error} ({Path(last.filename).name}:{last.lineno})"
        }
    same = again.get("signature") == card["signature"] or again["cuts"] == card["cuts"]
    return {"left": again["title"]} if again["cuts"] and same else {"other": again.get("title", "")}


def child(case, program, libraries, cache, *options):
    """Run this script on the program of a case, and return its result."""
    path = [str(libraries), os.environ.get("PYTHONPATH") or str(ROOT)]
    pairs = dict(pair.split("=", 1) for pair in case.get("env", "").split())
    variables = {**os.environ, "OMP_NUM_THREADS": "1", **pairs, "PYTHONPATH": os.pathsep.join(path)}
    command = [sys.executable, "-P", "-W", "ignore", __file__, "--child", *options, str(program)]
    done = subprocess.run(
        command, env=variables, cwd=libraries, capture_output=True, text=True, timeout=TIME_LIMIT
    )
    results = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    if not results:
        return {"broken": (done.stderr.strip().splitlines() or ["no output"])[-1]}
    return json.loads(results[-1].removeprefix("RESULT "))


def run_case(name, case, cache):
    """Return the verdict on one case and a note."""
    libraries = install(cache, name, pins_of(case))
    program = (cache / "programs" / f"{name}.py").resolve()
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(case["program"])
    card = child(case, program, libraries, cache)
    if not card.get("cuts"):
        return "no card", card.get("broken", "nothing found")
    # The card shows the code for the first reference; the others are changed in the same way.
    code = CODE.get(kind_of(card["cuts"][0]), "")
    is_other = "In code" in card["advice"] and code not in card["advice"]
    by_hand = [cut for cut in card["cuts"] if is_other or not kind_of(cut)]
    if by_hand:
        return "not applied", f"{by_hand[0]['label']} of {by_hand[0]['holder']}"
    copy = (cache / "changed" / name / "site-packages").resolve()
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(libraries, copy, copy_function=os.link)
    for cut in card["cuts"]:
        if kind_of(cut) in ("method", "partial") and not edit(copy, cut):
            return "not applied", f"{cut['label']} of {cut['holder']}"
    file = program.with_suffix(".json")
    file.write_text(json.dumps(card))
    result = child(case, program, copy, cache, "--card", str(file))
    if "not_applied" in result:
        return "not applied", result["not_applied"]
    if "broken" in result:
        return "breaks", result["broken"]
    return ("cycle left", result["left"]) if "left" in result else ("works", result["other"])


def parse_arguments():
    """Parse sys.argv."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "cyclewatch-real")
    parser.add_argument("--write", action="store_true", help="write executed.md")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--card", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("names", nargs="*", metavar="NAME")
    return parser.parse_args()


def main():
    """Run the chosen cases one after the other."""
    options = parse_arguments()
    if options.child:
        module = observe.load(Path(options.names[0]))
        card = json.loads(options.card.read_text()) if options.card else None
        print("\nRESULT " + json.dumps(run_changed(module, card) if card else first_card(module)))
        return
    cases = tomllib.loads((FOLDER / "cases.toml").read_text())
    rows = []
    for name, case in cases.items():
        if options.names and name not in options.names:
            continue
        try:
            verdict, note = run_case(name, case, options.cache)
        except (InstallError, subprocess.TimeoutExpired) as error:
            verdict, note = "failed", str(error)[:100]
        print(f"{name:32} {verdict:12} {note}", flush=True)
        rows.append((name, verdict, note))
    counts = collections.Counter(verdict for _, verdict, _ in rows)
    print(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
    if options.write:
        table = "".join(f"| `{name}` | {verdict} | {note} |\n" for name, verdict, note in rows)
        (FOLDER / "executed.md").write_text(HEAD + table)


if __name__ == "__main__":
    main()
