#!/bin/bash
# A training on the machines that Slurm gives: one process for each, which JAX finds by Slurm's variables.
# sbatch examples/cluster_slurm.sh
#SBATCH --job-name=gluonx
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
#SBATCH --time=04:00:00
#SBATCH --requeue                     # a run that lost a machine starts again, from its last checkpoint
#SBATCH --open-mode=append

# jax.distributed takes one device for a process of Slurm's unless it is told otherwise; here each has all of its machine.
export JAX_LOCAL_DEVICE_IDS=0,1,2,3,4,5,6,7

srun --kill-on-bad-exit=1 \
    python -m gluonx.parallel.launch --heartbeat 60 \
    -m examples.bert_pretrain --mesh data=8,model=4 --folder "$SLURM_SUBMIT_DIR/checkpoints" \
    || scontrol requeue "$SLURM_JOB_ID"
