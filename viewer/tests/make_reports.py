# SPDX-License-Identifier: Apache-2.0
"""Writes the reports for the browser tests: `python make_reports.py FOLDER`.

All but one are derived from the golden report; a leaking program writes the remaining one.
"""

import copy
import gc
import json
import sys
from pathlib import Path

import cyclewatch

ROOT = Path(__file__).resolve().parents[2]

HOSTILE = [
    "</script><img src=x onerror=window.hurt=1>",
    "<!--<script>window.hurt=1</script>",
    '" onload="window.hurt=1" x=\'',
    "' onmouseover='window.hurt=1",
    "javascript:window.hurt=1//",
    "{{window.hurt=1}} ${window.hurt=1} `",
    "\u202egnp.exe\u2066\u200f\u00ad",
    "\x1b[2J\x1b]0;title\x07\r\n\b\0",
    "lone \ufffd surrogate",
    "A" * 10_000,
    "e" + "\u0301" * 3_000,
    "__proto__",
    "]]>&lt;&#60;%3Cscript%3E",
]
# Fields with a fixed set of values.
ENUMERATIONS = {
    *("schema", "status", "verdict", "source", "collected", "category", "kind", "unit", "occasion"),
}


RANKS, SIGNATURES = 1000, 200


def golden():
    """The golden report, without the accounts that memory() adds."""
    report = json.loads((ROOT / "tests/golden/report.json").read_text(encoding="utf-8"))
    del report["memory"], report["memory_steps"]
    return report


def quiet():
    """A run without findings."""
    report = golden()
    report.update(findings=[], collections=[], retained_bytes=0, notes=[], omitted_collections=0)
    del report["growing"], report["live_owners"], report["device_records"], report["memory_samples"]
    report["stats"].update(owners=0, findings=0, skipped={})
    return report


def single():
    """A run on the CPU in which only one collection had findings, too short for samples."""
    report = golden()
    del report["memory_samples"]
    record = report["collections"][2]
    memory = record["device_memory"][0]
    memory |= {"device": "cpu", "used_before": 2**28 + 3 * 2**19, "used_after": 2**28}
    record.update(released_bytes=2**20, dead_for_at_most=2.5)
    report["collections"] = [record]
    del report["device_records"]
    return report


def backticks():
    """Advice with code between backticks."""
    report = golden()
    report["findings"][0]["advice"] = "Call `model.close()`, or a ` b"
    return report


def scattered():
    """A cut of six references in five files."""
    report = golden()
    finding = report["findings"][0]
    first = finding["cut"][0]
    places = ["a.py:1", "b.py:2", "c.py:3", "c.py:30", "d.py:4", "e.py:5"]
    finding["cut"] = [
        first | {"location": place, "holder": f"lib.{place[0]}.Part{i}", "label": ".owner"}
        for i, place in enumerate(places)
    ]
    return report


def collection_steps(rank, steps, last_step, seconds):
    """The collections of a rank that freed 64 MiB in every second step."""
    return {
        "process": rank,
        "first_step": 0,
        "last_step": last_step,
        "elapsed": 17.6 * last_step,
        "every": 1,
        "shorter_than": 0.0,
        "steps": list(steps),
        "seconds": [round(seconds * (1 + 0.07 * (step % 5)), 6) for step in steps],
        "freed_bytes": [(at % 2) << 26 for at in range(len(steps))],
    }


def merged():
    """Eight ranks; the first finding occurred on all of them, the others on some."""
    report = golden()
    first = report["processes"][0]
    report["processes"] = [first | {"rank": rank, "pid": 4242 + rank} for rank in range(8)]
    for place, finding in enumerate(report["findings"]):
        seen = finding["by_process"][0]
        finding["by_process"] = [
            seen
            | {
                "process": rank,
                "retained_bytes": seen["retained_bytes"] // (rank + 1),
                "first_step": 100 + 7 * rank,
            }
            for rank in range(8)
            if (rank + place) % 3 or place == 0
        ]
    report["collections"] = [
        collection | {"process": rank}
        for rank in range(8)
        for collection in report["collections"][:5]
    ]
    report["collection_steps"] = [
        collection_steps(rank, range(5 * rank, 240, 40), 239, 0.5 + rank / 16) for rank in range(8)
    ]
    return report


def spoiled(value, text, name=""):
    """`value` with all strings replaced."""
    if isinstance(value, str):
        return value if name in ENUMERATIONS else text
    if isinstance(value, list):
        return [spoiled(item, text, name) for item in value]
    if isinstance(value, dict):
        return {key: spoiled(item, text, key) for key, item in value.items()}
    return value


def hostile():
    """A finding for each hostile name; other records also contain hostile names."""
    report = merged()
    template = report["findings"][0]
    report["findings"] = []
    for place, text in enumerate(HOSTILE):
        finding = spoiled(copy.deepcopy(template), text)
        finding["signature"] = text if place % 2 else f"cw1-{place:016x}"
        report["findings"].append(finding)
    for place, process in enumerate(report["processes"]):
        process.update(spoiled(process, HOSTILE[place]))
    for place, collection in enumerate(report["collections"]):
        report["collections"][place] = spoiled(collection, HOSTILE[place % len(HOSTILE)])
    [owner], [growing] = report["live_owners"], report["growing"]
    report["live_owners"] = [spoiled(owner, text) for text in HOSTILE]
    report["growing"] = [spoiled(growing, text) for text in HOSTILE]
    accounts, steps = (memory()[each] for each in ("memory", "memory_steps"))
    report["memory"] = [spoiled(accounts[0], text) for text in HOSTILE]
    report["memory_steps"] = [spoiled(steps[0], text) for text in HOSTILE]
    report["notes"] = list(HOSTILE)
    report["devices"] = list(HOSTILE)
    report["stats"]["skipped"] = dict.fromkeys(HOSTILE, 1)
    return report


# Category, bytes, number, type, shape, root, location and path of live tensors.
MODEL, TRAIN = "train() local model", "examples/train.py:41"
LIVE = [
    (
        "parameter",
        96 << 20,
        24,
        "Parameter",
        "[1024, 1024]",
        MODEL,
        TRAIN,
        "layers[x].attn.qkv.weight",
    ),
    ("parameter", 48 << 20, 1, "Parameter", "[50257, 256]", MODEL, TRAIN, "embedding.weight"),
    (
        "parameter",
        32 << 20,
        24,
        "Parameter",
        "[512, 1024]",
        MODEL,
        TRAIN,
        "layers[x].mlp.up.weight",
    ),
    ("parameter", 1 << 20, 48, "Parameter", "[1024]", MODEL, TRAIN, "layers[x].norm.bias"),
    (
        "gradient",
        96 << 20,
        24,
        "Tensor",
        "[1024, 1024]",
        MODEL,
        TRAIN,
        "layers[x].attn.qkv.weight.grad",
    ),
    (
        "gradient",
        32 << 20,
        24,
        "Tensor",
        "[512, 1024]",
        MODEL,
        TRAIN,
        "layers[x].mlp.up.weight.grad",
    ),
    (
        "optimizer state",
        192 << 20,
        48,
        "Tensor",
        "[1024, 1024]",
        "train() local optimizer",
        "examples/train.py:42",
        "state[<key>]['exp_avg']",
    ),
    ("saved for backward", 128 << 20, 64, "Tensor", "[32, 1024, 1024]", "C code of torch", "", ""),
    (
        "activation",
        160 << 20,
        40,
        "Tensor",
        "[32, 4096]",
        "module global train.losses",
        "",
        "losses[x]",
    ),
    (
        "activation",
        24 << 20,
        3,
        "Tensor",
        "[32, 4096]",
        "exception sys.last_value",
        "",
        "__traceback__.tb_frame.f_locals['x']",
    ),
    (
        "other",
        64 << 20,
        8,
        "Tensor",
        "[8, 3, 256, 256]",
        "class attribute app.data.Loader.cache",
        "",
        "cache['images'][x]",
    ),
    ("other", 4 << 20, 1, "Tensor", "[1024]", "module global app.seed", "", "seed"),
]


def live_owner(place, category, size, count, kind, shape, root, location, rest):
    """One row of LIVE."""
    name = f"torch.nn.parameter.{kind}" if kind == "Parameter" else f"torch.{kind}"
    text = f"{root} -> {rest}" if rest else root
    owner = {
        "type": name,
        "device": f"cuda:{place % 5 // 4}",
        "bytes": size // count,
        "path": text,
        "count": count,
        "allocated_at": "",
        "shape": shape,
        "dtype": "float32",
    }
    root_kinds = ("module global", "class attribute", "exception", "C code")
    kind = next((each for each in root_kinds if root.startswith(each)), "local variable")
    path = {
        "root": {"kind": kind, "text": root, "location": location},
        "references": [],
        "cut_frees": False,
        "text": text.replace("[x]", "[0]"),
    }
    paths = [path]
    if kind == "local variable" and category == "parameter":
        shared = {
            "kind": kind,
            "text": "train() local optimizer",
            "location": "examples/train.py:42",
        }
        text = f"{shared['text']} -> param_groups[0]['params'][{place}]"
        paths.append(path | {"root": shared, "text": text})
    return {
        "process": 0,
        "owner": owner,
        "bytes": size,
        "category": category,
        "held_by": paths,
    }


def live():
    """Live tensors of all categories; the memory of some tensors is growing."""
    report = golden()
    owners = [live_owner(place, *row) for place, row in enumerate(LIVE)]
    report["live_owners"] = sorted(owners, key=lambda each: -each["bytes"])
    report["growing"] = [
        {
            "process": 0,
            "owner": each["owner"],
            "bytes": each["bytes"],
            "held_by": each["held_by"][0]["text"],
            "rate": rate,
            "unit": "step",
            "until_full": until_full,
            "census_bytes": [each["bytes"] - rate * steps for steps in range(5, -1, -1)],
        }
        for each, rate, until_full in [
            (owners[8], 4 << 20, 3000.0),
            (owners[10], 1 << 20, 12000.0),
        ]
    ]
    return report


def memory():
    """Two accounts, and the memory in 240 steps with four censuses."""
    report = live()
    signatures = [each["signature"] for each in report["findings"]]
    sizes = {"parameter": 177 << 20, "optimizer state": 192 << 20, "dead": 96 << 20}
    lines = [{"kind": kind, "use": kind, "bytes": each} for kind, each in sizes.items()]
    lines.append({"kind": "cached", "use": "free in whole segments", "bytes": (35 << 20) + 1})
    account = {
        "process": 0,
        "device": "cuda:0",
        "occasion": "end",
        "at": 34.5,
        "step": 239,
        "in_use": (500 << 20) + 1,
        "total": 80 << 30,
        "source": "reserved by torch's allocator",
        "peak": 480 << 20,
        "headline": "500 MiB of 80.0 GiB in use on cuda:0, of which 96.0 MiB dead in 3 cycles",
        "lines": lines,
        "signatures": signatures[:2],
        "holders": report["live_owners"][:3],
        "notes": ["Autograd graphs were not examined. Held by `trainer.state`."],
    }
    report["memory"] = [account, account | {"occasion": "out of memory", "step": 200, "at": 30.0}]
    times = [turn * 34.5 / 239 for turn in range(240)]
    census = {"step": 0, "at": 0.0, "parameter": 177 << 20, "gradient": 64 << 20}
    census |= {"optimizer_state": 192 << 20, "saved_for_backward": 0, "activation": 0, "other": 0}
    report["memory_steps"] = [
        {
            "process": 0,
            "device": "cuda:0",
            "steps": list(range(240)),
            "times": times,
            "in_use": [800 << 20] * 240,
            "allocated": [(600 << 20) + (turn % 20 << 22) for turn in range(240)],
            "peak": [(600 << 20) + (min(turn, 19) << 22) for turn in range(240)],
            "dead": [0] * 240,
            "censuses": [census | {"step": n, "at": times[n]} for n in range(0, 240, 60)],
        }
    ]
    return report


def only_live():
    """Live tensors, but no findings."""
    report = live()
    empty = {key: quiet()[key] for key in ("findings", "collections", "retained_bytes")}
    return report | empty


def many():
    """A thousand ranks and two hundred signatures; each signature occurs on most ranks."""
    report = golden()
    first, templates = report["processes"][0], report["findings"]
    report["processes"] = [first | {"rank": rank, "pid": 5000 + rank} for rank in range(RANKS)]
    report["findings"] = []
    for place in range(SIGNATURES):
        finding = copy.deepcopy(templates[place % len(templates)])
        finding["signature"] = f"cw1-{place:016x}"
        finding["title"] = f"Layer{place}.{finding['title']}"
        finding["retained_bytes"] = (SIGNATURES - place) * 2**24
        # On most ranks the same cycles occur at the same step, but at different times. One rank in
        # thirteen differs.
        finding["by_process"] = [
            {
                "process": rank,
                "occurrences": 16 if rank % 13 else 1 + (rank * 31 + place * 17) % 97,
                "retained_bytes": (SIGNATURES - place)
                * 2**14
                * (16 if rank % 13 else 1 + (rank * 31 + place * 17) % 97),
                "first_seen": place + (rank * 7919 * (place + 3)) % 1_000_003 / 1e6,
                "first_step": 20 + place * 3 + (0 if rank % 13 else rank % 40),
            }
            for rank in range(RANKS)
            if (rank * 13 + place * 7) % 10
        ]
        report["findings"].append(finding)
    template = report["collections"][0]
    report["collections"] = [
        template
        | {
            "process": rank,
            "number": turn + 1,
            "started_at": turn * 7.5,
            "findings": [
                {
                    "signature": f"cw1-{rank % SIGNATURES:016x}",
                    "occurrences": 2,
                    "retained_bytes": 2**20,
                }
            ],
        }
        for rank in range(RANKS)
        for turn in range(4)
    ]
    report["collection_steps"] = [
        collection_steps(
            rank,
            sorted({(rank * 7919 + turn * 104_729) % 100_000 for turn in range(20)}),
            100_000,
            0.1 + rank * 7919 % 1_000_003 / 1e6,
        )
        for rank in range(RANKS)
    ]
    report["retained_bytes"] = sum(finding["retained_bytes"] for finding in report["findings"])
    return report


def thousand():
    """A thousand findings, each with a hundred occurrences on a hundred ranks."""
    report = golden()
    first, templates = report["processes"][0], report["findings"]
    report["processes"] = [first | {"rank": rank, "pid": 5000 + rank} for rank in range(100)]
    report["findings"] = []
    for place in range(1000):
        finding = copy.deepcopy(templates[place % len(templates)])
        finding.update(
            signature=f"cw1-{place:016x}",
            title=f"Layer{place}.{finding['title']}",
            retained_bytes=(1000 - place) * 2**20,
            occurrences=100,
        )
        finding["by_process"] = [
            {
                "process": rank,
                "occurrences": 1,
                "retained_bytes": (1000 - place) * 2**13 + rank * 7919 % 1000,
                "first_seen": place + (rank * 7919 * (place + 3)) % 1_000_003 / 1e6,
                "first_step": 20 + place * 3 + rank % 40,
            }
            for rank in range(100)
        ]
        report["findings"].append(finding)
    return report


class Node:
    """Refers to itself, and to a tensor."""

    def __init__(self, tensor):
        self.me, self.tensor = self, tensor


class Hostile:
    """Refers to a tensor, and to itself through a name that is invalid Unicode."""

    def __init__(self, tensor):
        setattr(self, "lone \ud800 <img src=x onerror=window.hurt=1>", self)
        self.tensor = tensor


Hostile.__qualname__ = Hostile.__name__ = HOSTILE[0]


def real(path):
    """Save the report of a program that leaks."""
    import torch

    with cyclewatch.watch(devices=("cpu",)) as watch:
        for _ in range(5):
            Node(torch.ones(256, 256))
            Hostile(torch.ones(128, 128))
            gc.collect()
    watch.report().save(path)


def main():
    """Write all reports."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    runs = (golden, quiet, single, backticks, scattered, merged, hostile)
    for make in (*runs, live, memory, only_live, many, thousand):
        source = folder / f"{make.__name__}.json"
        source.write_text(json.dumps(make()), encoding="ascii")
        page = folder / f"{make.__name__}.html"
        page.unlink(missing_ok=True)
        cyclewatch.Report.load(source).save(page)
    page = folder / "real.html"
    page.unlink(missing_ok=True)
    real(page)


if __name__ == "__main__":
    main()
