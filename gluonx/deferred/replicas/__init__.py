"""Several devices, each with arrays of its own: what a loop over ``ctx=[gpu(0), gpu(1)]`` records.

All of it is recorded into one graph. When that is computed, its path is parted into *replicas*, one for each device:
the nodes whose values lie there, as a path of their own. Replicas meet only in `operators.Joint`, the sum of gradients
and a Trainer's update, and in the middle of a forward in `operators.Together`, which needs replicas that read alike.

- *Replicas that read alike* (the same operators on the same shapes, in one order) become ONE program: that of the first
  replica under ``jax.shard_map``, over a mesh of the devices. The arrays of the replicas are taken as shards of one,
  which moves nothing, and a sum over replicas is a ``psum``.
- Else the graph falls apart into one graph for each replica, and these are computed one after the other by the ordinary
  way. So it does where gradients will still flow through what is asked for, such as a loss that is printed before its
  backward: a segment of the tape belongs to one device.
- What cannot be parted (a value of one device that another took, without a copy) runs operator by operator.

Devices that share one of JAX's (see `gluonx.device`) need none of this: their work is one ordinary program, and a
replica is a device of JAX. But where a forward has `Together` operators, each device is a replica; where some of these
share a device of JAX, all are computed on the first one, under ``jax.vmap`` in place of ``jax.shard_map``.

In the order of the imports: `operators`, `parting` (the graph taken apart), `program` (of replicas that read alike, and
which way it goes), `joining` (operators over all devices, as a Trainer calls them). A flush asks `program.way_of`, and
nobody else knows of it.
"""
