#!/bin/bash
# A training on a TPU pod slice: the same command on each of its machines, which JAX finds by the cloud's metadata.
# Beforehand copy a checkout of gluonx and your script to all of them, as ./gluonx and your_script.py.
# NAME=my-slice ZONE=us-west4-a bash examples/cluster_tpu_pod.sh
set -euo pipefail

gcloud compute tpus tpu-vm create "$NAME" --zone "$ZONE" --accelerator-type v5litepod-16 --version v2-alpha-tpuv5-lite
gcloud compute tpus tpu-vm ssh "$NAME" --zone "$ZONE" --worker all --command "
    pip install './gluonx[checkpoint]' 'jax[tpu]' &&
    python -m gluonx.parallel.launch your_script.py --folder gs://your-bucket/checkpoints"
