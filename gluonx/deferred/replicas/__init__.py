"""Several devices, each with its own arrays: what a loop over ``ctx=[gpu(0), gpu(1)]`` records.

Everything is recorded into one graph. When that is computed, its path is split into *replicas*, one for each device:
the nodes whose values lie there, as a separate path. Replicas meet only in `operators.Joint`, the sum of gradients and
a Trainer's update, and, in the middle of a forward, in `operators.Together`, which needs replicas that are alike.

- *Replicas that are alike* (the same operators on the same shapes, in the same order) become ONE program: that of the
  first replica under ``jax.shard_map``, over a mesh of the devices. The arrays of the replicas are taken as the shards
  of one array, which copies nothing, and a sum over replicas is a ``psum``.
- Otherwise the graph is split into one graph for each replica, and these are computed one after the other in the usual
  way. This also happens if gradients may still flow through a wanted value, such as a loss that is printed before its
  backward, because a segment of the tape belongs to one device.
- A graph that cannot be split (one device uses a value of another without a copy) runs operator by operator.

Devices that share one JAX device (see `gluonx.device`) need none of this: their work is one ordinary program, and a
replica is a JAX device. But if a forward has `Together` operators, each device is a replica; if some of them share a
JAX device, all are computed on the first one, under ``jax.vmap`` instead of ``jax.shard_map``.

The modules, in the order of their imports: `operators`, `parting` (splits the graph), `program` (programs of replicas
that are alike, and the choice of the way), `joining` (operators over all devices, as a Trainer calls them). A flush
asks `program.way_of`; no other code knows of this package.
"""
