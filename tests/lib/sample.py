"""The share of the tests that a run takes: others with every commit, the same ones in every clone of it."""

import os
import subprocess
import zlib

from lib import TESTS

__all__ = ["DEAR", "EXAMPLES", "ROUND", "SAMPLED", "TURNS", "WHOLE", "chosen"]


def _content():
    """The hash of the files as committed, or "none" outside of a clone."""
    call = subprocess.run(["git", "rev-parse", "HEAD^{tree}"], cwd=TESTS, capture_output=True, text=True)
    return call.stdout.strip()[:12] or "none"


ROUND = os.environ.get("GLUONX_TEST_ROUND") or _content()


def chosen(nodeid, share):
    """True for one test in `share`; other ones for another share, so that a share of a share is their product."""
    return zlib.crc32(f"{ROUND} {share} {nodeid}".encode()) % share == 0


# A test marked `dear` takes a third of a second of processor time or more: `make test` runs one in so many of them, and
# a third of those that take turns in any case.
DEAR = 24

# The examples in docstrings of the library: two thousand of 20 ms, most of which touch one function each.
EXAMPLES = 3

# Sweeps of which `make test` runs one row in so many, others with every commit; `make test-all` runs them all. Rows
# that take long are in the list for what they cost, and those that look alike for what they show.
SAMPLED = {
    "test_64_bits.py": 7,
    "test_against_oracle.py": 3,
    "test_amp.py": 5,
    "test_any_size.py": 16,
    "test_attention_ops.py": 3,
    "test_autograd.py": 7,
    "test_bad_arguments.py": 10,
    "test_benchmarks.py": 7,
    "test_beside.py": 3,
    "test_bridge.py": 3,
    "test_by_hand.py": 12,
    "test_checkpointing.py": 3,
    "test_citizen.py": 5,
    "test_compat.py": 5,
    "test_compat_modes.py": 3,
    "test_contexts.py": 12,
    "test_contract_edges.py": 10,
    "test_control_flow.py": 3,
    "test_copies_between_devices.py": 5,
    "test_core_ops.py": 5,
    "test_corners.py": 5,
    "test_cpu_algorithms.py": 12,
    "test_custom.py": 3,
    "test_damaged.py": 5,
    "test_data_workers.py": 7,
    "test_deferred_footguns.py": 3,
    "test_distributions.py": 36,
    "test_divergences.py": 12,
    "test_documentation.py": 5,
    "test_dtypes.py": 12,
    "test_dynamic_shapes.py": 3,
    "test_engine.py": 2,
    "test_errors.py": 10,
    "test_estimator.py": 5,
    "test_exchange.py": 5,
    "test_export_mxnet.py": 10,
    "test_fusion_attacks.py": 7,
    "test_fusion_optimizer.py": 12,
    "test_fuzz_files.py": 3,
    "test_fuzzed.py": 7,
    "test_handle_classes.py": 3,
    "test_host_arrays.py": 7,
    "test_image_oracle.py": 3,
    "test_indices.py": 3,
    "test_initializer.py": 3,
    "test_interrupts.py": 7,
    "test_io_files.py": 3,
    "test_jaxprs.py": 20,
    "test_kernels.py": 16,
    "test_kinks.py": 5,
    "test_layers.py": 10,
    "test_layers_on_a_mesh.py": 16,
    "test_legacy_nd.py": 3,
    "test_legacy_ops.py": 10,
    "test_legacy_training.py": 3,
    "test_legacy_updates.py": 3,
    "test_lengths.py": 10,
    "test_linalg_checks.py": 3,
    "test_lists_of_devices.py": 7,
    "test_loss.py": 10,
    "test_lowerings.py": 24,
    "test_metric.py": 3,
    "test_mixed_types.py": 7,
    "test_model_zoo.py": 12,
    "test_module.py": 5,
    "test_moving.py": 12,
    "test_names.py": 12,
    "test_notice.py": 5,
    "test_np.py": 3,
    "test_npx_image.py": 5,
    "test_onnx.py": 3,
    "test_onnx_import.py": 3,
    "test_onnx_import_operators.py": 7,
    "test_onnx_operators.py": 16,
    "test_ops_behaviour.py": 12,
    "test_ops_edges.py": 5,
    "test_ops_golden.py": 12,
    "test_ops_gradients.py": 12,
    "test_optimizer.py": 10,
    "test_optimizer_long.py": 7,
    "test_overrides.py": 7,
    "test_packaging.py": 7,
    "test_parallel.py": 7,
    "test_params_files.py": 3,
    "test_policy.py": 5,
    "test_ports.py": 12,
    "test_ports_legacy.py": 12,
    "test_probability_golden.py": 5,
    "test_profiler.py": 3,
    "test_proposal.py": 5,
    "test_pullbacks.py": 5,
    "test_quantization.py": 7,
    "test_quantize_ops.py": 5,
    "test_random_distributions.py": 7,
    "test_random_programs.py": 3,
    "test_repeats.py": 12,
    "test_reports.py": 7,
    "test_resuming.py": 3,
    "test_rewriting.py": 10,
    "test_rnn_cells.py": 5,
    "test_rnn_golden.py": 12,
    "test_rnn_ops.py": 27,
    "test_rows.py": 7,
    "test_sampling.py": 36,
    "test_scan.py": 10,
    "test_startup.py": 7,
    "test_symbol.py": 5,
    "test_symbol_block.py": 3,
    "test_symbol_calls.py": 10,
    "test_symbol_corners.py": 12,
    "test_symbol_rnn.py": 8,
    "test_threefry.py": 7,
    "test_torch_layers.py": 7,
    "test_tracebacks.py": 7,
    "test_trainer.py": 10,
    "test_trainer_arguments.py": 3,
    "test_trainer_optax.py": 8,
    "test_trainer_optax_more.py": 5,
    "test_trainer_states.py": 5,
    "test_training.py": 3,
    "test_training_oracle.py": 8,
    "test_transformation.py": 7,
    "test_unreached.py": 3,
    "test_untraced.py": 3,
    "test_update_operators.py": 7,
    "test_user_lines.py": 3,
    "test_vectors.py": 10,
    "test_vision_ops.py": 10,
    "test_vision_transforms.py": 3,
    "test_without_a_compiler.py": 3,
}


# Files in which the tests without rows take turns, too: each starts processes, compiles for several devices, or makes
# hundreds of programs.
TURNS = {
    "test_amp.py": 3,
    "test_arrays.py": 2,
    "test_benchmarks.py": 2,
    "test_bert.py": 2,
    "test_beside.py": 3,
    "test_checkpointing.py": 2,
    "test_checkpoints.py": 2,
    "test_citizen.py": 4,
    "test_compat.py": 2,
    "test_compat_workers.py": 2,
    "test_contexts.py": 3,
    "test_cpu_algorithms.py": 2,
    "test_data_workers.py": 2,
    "test_donation_order.py": 2,
    "test_dtypes.py": 2,
    "test_engine.py": 2,
    "test_equinox.py": 2,
    "test_fusion.py": 2,
    "test_fusion_attacks.py": 2,
    "test_fusion_optimizer.py": 4,
    "test_fuzz_files.py": 2,
    "test_host.py": 2,
    "test_jaxprs.py": 4,
    "test_lengths.py": 2,
    "test_linen.py": 2,
    "test_lists_of_devices.py": 3,
    "test_load_artifact.py": 2,
    "test_lowerings.py": 4,
    "test_module.py": 2,
    "test_nnx.py": 2,
    "test_ops_behaviour.py": 2,
    "test_packaging.py": 3,
    "test_parallel.py": 2,
    "test_policy.py": 2,
    "test_ports.py": 3,
    "test_processes.py": 2,
    "test_profiler.py": 2,
    "test_program_cache.py": 2,
    "test_public_imports.py": 4,
    "test_pullbacks.py": 2,
    "test_remat.py": 3,
    "test_reports.py": 3,
    "test_rewriting.py": 4,
    "test_rnn_ops.py": 2,
    "test_scan.py": 3,
    "test_startup.py": 2,
    "test_tracebacks.py": 3,
    "test_trainer_plans.py": 2,
    "test_vectors.py": 2,
    "test_without_a_compiler.py": 2,
}


WHOLE = {  # what nothing else would notice, or what says itself which rows are slow
    ("test_distributions.py", "test_every_mode"),
    ("test_probability_golden.py", "test_signatures"),
    ("test_transformation.py", "test_a_flow_learns_its_scale"),
}
