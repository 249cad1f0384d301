# SPDX-License-Identifier: Apache-2.0
"""Finds arrays of the real JAX on the CPU, which simulates four devices. Prints JSON."""

import gc
import json
import os
import sys

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"

import cyclewatch  # noqa: E402

assert "jax" not in sys.modules

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec  # noqa: E402

KIB = 256  # float32 elements


class Node:
    """Holds arrays and refers to itself."""

    def __init__(self, *held):
        self.held = held
        self.me = self


def collected(make):
    """The bytes and the owners of a dead cycle that holds the arrays that `make` returns."""
    with cyclewatch.watch(devices="cpu", budget=1) as watch:
        Node(make())
        gc.collect()
    report = watch.report()
    owners = [
        (each.type, each.nbytes, each.count, each.shape, each.dtype, each.path)
        for finding in report.findings
        for each in finding.owners
    ]
    return report.retained_bytes, owners


def ones(*shape, dtype=jnp.float32):
    return jnp.ones(shape, dtype).block_until_ready()


def sharded(*spec):
    mesh = Mesh(numpy.array(jax.devices()), ("x",))
    layout = NamedSharding(mesh, PartitionSpec(*spec))
    return jax.device_put(jnp.ones((4, 4 * KIB)), layout).block_until_ready()


def with_views():
    """An array and the arrays of its shards, which use the same buffers."""
    array = sharded("x")
    return [array, *(shard.data for shard in array.addressable_shards)]


def without_buffers():
    """A donated and a deleted array."""
    donated, deleted = ones(8 * KIB), ones(8 * KIB)
    jax.jit(lambda x: x + 1, donate_argnums=0)(donated).block_until_ready()
    deleted.delete()
    assert donated.is_deleted()
    return [donated, deleted]


def main():
    answers = {
        "cycle": collected(lambda: ones(8, KIB)),
        "bfloat16": collected(lambda: ones(KIB, dtype=jnp.bfloat16)),
        "empty": collected(lambda: ones(0, KIB)),
        "shards": collected(lambda: sharded("x")),
        "replicated": collected(sharded),
        "with views": collected(with_views),
        "key": collected(lambda: jax.random.key(1)),
        "without buffers": collected(without_buffers),
    }
    gc.disable()
    globals()["cache"] = {"logits": ones(64, KIB)}
    [owner] = cyclewatch.live_owners(devices="cpu", min_bytes=64 * 4 * KIB)
    answers["live"] = (owner.nbytes, owner.count, owner.device, str(owner.held_by[0]))
    answers["why"] = [str(path) for path in cyclewatch.why_alive(globals()["cache"]["logits"])]

    kept = [sharded("x"), sharded()]
    viewed = sharded("x")
    views = [shard.data for shard in viewed.addressable_shards]
    before = len(jax.live_arrays())
    owners = cyclewatch.live_owners(devices="cpu", min_bytes=4 * 4 * KIB)
    answers["sharded"] = [
        (each.type, each.nbytes, each.count, [str(path) for path in each.held_by], repr(each))
        for each in owners
        if each.shape in ((1, 4 * KIB), (4, 4 * KIB))
    ]
    answers["account of shards"] = cyclewatch.memory("cpu").verdict
    answers["arrays made"] = len(jax.live_arrays()) - before
    why = cyclewatch.why_alive(kept[0])
    answers["why sharded"] = [str(path) for path in why]
    del kept, viewed, views

    Node(ones(16 * KIB))
    answers["scan"] = cyclewatch.scan(devices="cpu").retained_bytes
    account = cyclewatch.memory("cpu")
    answers["account"] = dict(account.lines).get("dead in 1 cycle (a collection frees them)")
    answers["counted again"] = [each.nbytes for each in account.holders].count(16384)
    gc.collect()

    # Neither waits for the computation, nor starts one.
    slow = jax.jit(lambda x: jax.lax.fori_loop(0, 400, lambda _, y: jnp.tanh(y @ x), x))
    big = jnp.ones((512, 512)).block_until_ready()
    slow.lower(big).compile()
    slow(big).block_until_ready()
    pending = slow(big)
    Node(pending)
    gc.collect()
    owners = cyclewatch.live_owners(devices="cpu", min_bytes=1 << 20)
    answers["still running"] = not pending.is_ready()
    answers["pending is listed"] = sum(each.count for each in owners if each.nbytes >= 1 << 20)
    pending.block_until_ready()
    print(json.dumps(answers))


if __name__ == "__main__":
    main()
