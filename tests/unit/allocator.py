# SPDX-License-Identifier: Apache-2.0
"""A model of torch's caching allocator, which writes snapshots with torch's documented structure.

Sizes: blocks are rounded to 512 bytes. Requests up to 1 MiB come from segments of 2 MiB, requests
up to 10 MiB from segments of 20 MiB, larger ones from segments of their own size, rounded to 2 MiB.
"""

import pickle

KIB, MIB = 1 << 10, 1 << 20
FIELDS = {  # of events, by torch version; frames and time_us are in all of them
    "2.1": (),
    "2.6": ("compile_context",),
    "2.13": ("compile_context", "user_metadata", "pool_id"),
}


def frames(*places):
    """The frames of a stack from ``path:line function`` texts, innermost first."""
    found = []
    for place in places:
        location, _, name = place.partition(" ")
        path, _, line = location.rpartition(":")
        found.append({"name": name, "filename": path, "line": int(line)})
    return found


class Allocator:
    """Allocates from imaginary devices."""

    def __init__(self, torch="2.13", capacity=1 << 40, settings=None):
        self.version = tuple(map(int, torch.split(".")))
        self.fields = FIELDS[torch]
        self.capacity = capacity
        self.settings = settings or {}
        self.segments = []
        self.traces = {}
        self.time = 1_700_000_000_000_000
        self.address = 0x7F0000000000

    def malloc(self, size, stack=(), *, device=0, pool=(0, 0)):
        """Allocate, and return the address. Raises MemoryError if the device is full."""
        rounded = max(512, -(-size // 512) * 512)
        kind = "small" if rounded <= MIB else "large"
        segment, block = self._find(rounded, kind, device, pool) or (None, None)
        if block is None:
            segment = self._reserve(rounded, kind, device, pool, size, stack)
            block = segment["blocks"][0]
        if block["size"] - rounded >= (512 if kind == "small" else MIB):
            at = segment["blocks"].index(block)
            rest = self._block(block["address"] + rounded, block["size"] - rounded)
            segment["blocks"].insert(at + 1, rest)
            block["size"] = rounded
        block.update(state="active_allocated", requested_size=size, frames=list(stack))
        self.event("alloc", block["address"], size, stack, device)
        return block["address"]

    def free(self, address, *, device=0, completes=True):
        """Free; without `completes`, the block waits for another stream."""
        segment, block = self._at(address)
        self.event("free_requested", address, block["requested_size"], (), device)
        if not completes:
            block["state"] = "active_pending_free"
            return
        self.event("free_completed", address, block["requested_size"], (), device)
        block.update(state="inactive", requested_size=0, frames=[])
        merged = []
        for each in segment["blocks"]:
            if merged and {each["state"], merged[-1]["state"]} == {"inactive"}:
                merged[-1]["size"] += each["size"]
            else:
                merged.append(each)
        segment["blocks"] = merged

    def annotate(self, address, metadata):
        """What ``torch._C._cuda_annotateMemory()`` does since 2.14."""
        for segment in self.segments:
            for block in segment["blocks"]:
                if block["address"] == address and block["state"] == "active_allocated":
                    device = segment["device"]
                    self.event("annotate", address, block["requested_size"], (), device)
                    self.traces[device][-1]["user_metadata"] = metadata
                    return
        raise RuntimeError("invalid device pointer")

    def event(self, action, address, size, stack, device):
        """Record an event."""
        self.time += 1000
        where = "device_free" if action == "oom" else "addr"
        event = {"action": action, where: address, "size": size, "stream": 0, "time_us": self.time}
        event.update({"compile_context": "N/A", "user_metadata": "", "pool_id": (0, 0)})
        for name in FIELDS["2.13"]:
            if name not in self.fields:
                del event[name]
        if stack:
            event["frames"] = list(stack)
        self.traces.setdefault(device, []).append(event)

    def snapshot(self):
        """What ``torch.cuda.memory._snapshot()`` returns."""
        for segment in self.segments:
            used = [each for each in segment["blocks"] if each["state"] != "inactive"]
            allocated = [each for each in used if each["state"] == "active_allocated"]
            segment["active_size"] = sum(each["size"] for each in used)
            segment["allocated_size"] = sum(each["size"] for each in allocated)
            segment["requested_size"] = sum(each["requested_size"] for each in allocated)
        devices = range(1 + max(self.traces, default=-1))
        found = {
            "segments": self.segments,
            "device_traces": [self.traces.get(device, []) for device in devices],
            "allocator_settings": {
                "PYTORCH_CUDA_ALLOC_CONF": "",
                "max_split_size": -1,
                "garbage_collection_threshold": 0.0,
                "expandable_segments": False,
                "roundup_power2_divisions": {"1": 0},
                **self.settings,
            },
        }
        if self.version >= (2, 6):
            found["external_annotations"] = []
        return found

    def dump(self, path, protocol=pickle.DEFAULT_PROTOCOL):
        """Write a file as ``torch.cuda.memory._dump_snapshot()`` does."""
        path.write_bytes(pickle.dumps(self.snapshot(), protocol))
        return path

    @property
    def reserved(self):
        """The size of all segments."""
        return sum(segment["total_size"] for segment in self.segments)

    def _block(self, address, size):
        return {
            "address": address,
            "size": size,
            "requested_size": 0,
            "state": "inactive",
            "frames": [],
        }

    def _reserve(self, rounded, kind, device, pool, size, stack):
        total = 2 * MIB if kind == "small" else 20 * MIB
        if rounded > 10 * MIB:
            total = -(-rounded // (2 * MIB)) * 2 * MIB
        if self.reserved + total > self.capacity:
            self.event("oom", self.capacity - self.reserved, size, stack, device)
            raise MemoryError
        segment = {
            "device": device,
            "address": self.address,
            "total_size": total,
            "stream": 0,
            "segment_type": kind,
            "segment_pool_id": pool,
            "is_expandable": False,
            "frames": list(stack),
            "blocks": [self._block(self.address, total)],
        }
        self.address += total
        self.segments.append(segment)
        self.event("segment_alloc", segment["address"], total, stack, device)
        return segment

    def _find(self, rounded, kind, device, pool):
        fitting = [
            (block["size"], at, segment, block)
            for at, segment in enumerate(self.segments)
            if (segment["segment_type"], segment["device"]) == (kind, device)
            and segment["segment_pool_id"] == pool
            for block in segment["blocks"]
            if block["state"] == "inactive" and block["size"] >= rounded
        ]
        return min(fitting, key=lambda each: each[:2])[2:] if fitting else None

    def _at(self, address):
        return next(
            (segment, block)
            for segment in self.segments
            for block in segment["blocks"]
            if block["address"] == address and block["state"] == "active_allocated"
        )
