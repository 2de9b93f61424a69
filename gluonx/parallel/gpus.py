"""GPUs that plans are made for: what XLA's compiler asks of one, and what it can do by its data sheet.

What the compiler asks (`text`) is what a GPU tells of itself, as in XLA's own descriptions of machines:
https://github.com/openxla/xla/tree/main/xla/backends/gpu/target_config/specs (a100_sxm_40, a100_sxm_80, h100_sxm, h200,
b200). XLA has none of an L4: its limits are those of compute capability 8.9 in
https://docs.nvidia.com/cuda/cuda-c-programming-guide/#compute-capabilities and in
https://docs.nvidia.com/cuda/ada-tuning-guide/ (shared memory), its counts, caches and clock those of
https://resources.nvidia.com/en-us-data-center-overview/l4-gpu-datasheet and
https://www.techpowerup.com/gpu-specs/l4.c4091, and its memory what `nvidia-smi` says of one (23034 MiB).

Products, memory's bandwidth and NVLink were compared with what others copied from NVIDIA's sheets, and agree:
https://glennklockwood.com/garden/processors/A100, /h100 (of the H200 as well) and /B200 (HGX at 1,000 W; 8 TB/s, where
XLA's description, which is used, has 7.67),
https://itkb.uw.cz/2026/06/nvidia-h200-vs-b300-precisions-cores.html (H200),
https://grokipedia.com/page/NVIDIA_L4_vs_L40S (L4: 242 TFLOP/s with sparsity, of which half counts here).

So were the multiprocessors, their lanes and the clock. A100: 108 of 64, 1.41 GHz and 41,943,040 bytes of cache, as one
said of itself on https://upb-pc2.atlassian.net/wiki/spaces/PC2DOK/pages/1900609/NVIDIA+A100+40GB+with+NVLINK. H100: 132
of 128, 1.98 GHz (1.83 while it computes in low precision), https://glennklockwood.com/garden/processors/h100, which
says the same of the H200. B200: 148 of 128, https://hmc-tech.com/gpus/nvidia-b200-vs-nvidia-b100, with 1.98 GHz where
XLA's description, which is used, has 1.965. L4: 2.04 GHz; 7,424 lanes, which are 58 of 128,
https://fpsbench.com/compare/gpu/nvidia-l4-vs-nvidia-tesla-m40, though that page and others also say 60, the count of
the whole chip AD104. Nothing of gluonx's own is computed from counts and clock: the compiler alone is told of them.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Chip:
    """A kind of device: a TPU chip, or a GPU.

    Parameters
    ----------
    flops : float
        Of bfloat16 matrix products in a second.
    bandwidth : float
        Bytes in a second from its memory.
    memory : int
        Bytes that it has.
    links : float
        Bytes in a second over all its links to neighbours; of a GPU, to the others of its host and one way.
    network : float, optional
        Bytes in a second and one way from it to other hosts; None where the links go from host to host, as a TPU's do.
    """

    flops: float
    bandwidth: float
    memory: int
    links: float
    network: float | None = None


@dataclass(frozen=True)
class GPU(Chip):
    """A kind of GPU; `network` is of one of several that share their host's."""

    name: str = ""
    capability: str = ""
    cores: int = 0
    """Streaming multiprocessors."""
    lanes: int = 128
    """Of float32 in one of them."""
    threads: int = 2048
    """At most, on one of them."""
    shared: int = 0
    """Bytes of shared memory in one of them; a block can have 1 KiB less."""
    cache: int = 0
    """Bytes of the cache that all share."""
    clock: float = 0.0
    """In GHz."""
    of_host: int = 8
    """At most so many are in a host."""

    def text(self) -> str:
        """Return what XLA's compiler is told of it, a `GpuTargetConfigProto` as text."""
        major, _, minor = self.capability.partition(".")
        return _TEXT.format(gpu=self, block=self.shared - 1024, major=major, minor=minor)


_TEXT = """\
gpu_device_info {{
  threads_per_block_limit: 1024
  threads_per_warp: 32
  shared_memory_per_block: 49152
  shared_memory_per_core: {gpu.shared}
  threads_per_core_limit: {gpu.threads}
  core_count: {gpu.cores}
  fpus_per_core: {gpu.lanes}
  block_dim_limit_x: 2147483647
  block_dim_limit_y: 65535
  block_dim_limit_z: 65535
  memory_bandwidth: {gpu.bandwidth:.0f}
  l2_cache_size: {gpu.cache}
  clock_rate_ghz: {gpu.clock}
  device_memory_size: {gpu.memory}
  shared_memory_per_block_optin: {block}
  cuda_compute_capability {{ major: {major} minor: {minor} }}
  registers_per_core_limit: 65536
  registers_per_block_limit: 65536
}}
runtime_version: {{ major: 12 minor: 8 }}
platform_name: "CUDA"
dnn_version_info {{ major: 9 minor: 7 }}
device_description_str: "{gpu.name}"
"""

# Products of bfloat16 without sparsity, and NVLink, which data sheets give as the sum of both ways. The network is what
# NVIDIA's own machine of eight has, a port a GPU; of an L4, a share in the network of a host of eight that is rented.
GPUS = {
    # https://www.nvidia.com/content/dam/en-zz/Solutions/Data-Center/a100/pdf/nvidia-a100-datasheet-us-nvidia-1758950-r4-web.pdf
    # https://docs.nvidia.com/dgx/dgxa100-user-guide/introduction-to-dgxa100.html (8 ports of 200 Gb/s)
    # https://cloud.google.com/compute/docs/gpus (sixteen of them in an a2-megagpu-16g)
    "a100-40": GPU(
        312e12, 1555.2e9, 42331013120, 300e9, 25e9, "NVIDIA A100-SXM4-40GB", "8.0", 108, 64, 2048, 167936, 41943040,
        1.41, of_host=16,
    ),
    "a100-80": GPU(
        312e12, 2039.04e9, 85100068864, 300e9, 25e9, "NVIDIA A100-SXM4-80GB", "8.0", 108, 64, 2048, 167936, 41943040,
        1.41,
    ),
    # https://resources.nvidia.com/en-us-data-center-overview/l4-gpu-datasheet (16 lanes of PCIe 4, no NVLink)
    # https://cloud.google.com/compute/docs/gpus (eight in a g2-standard-96, with 100 Gb/s)
    "l4": GPU(
        121e12, 300e9, 24152899584, 32e9, 1.5625e9, "NVIDIA L4", "8.9", 58, 128, 1536, 102400, 50331648, 2.04,
    ),
    # https://resources.nvidia.com/en-us-tensor-core/nvidia-tensor-core-gpu-datasheet
    # https://docs.nvidia.com/dgx/dgxh100-user-guide/introduction-to-dgxh100.html (8 ports of 400 Gb/s)
    "h100": GPU(
        989.4e12, 3352.32e9, 84942979072, 450e9, 50e9, "NVIDIA H100 80GB HBM3", "9.0", 132, 128, 2048, 233472, 52428800,
        1.98,
    ),
    # https://www.nvidia.com/en-us/data-center/h200/
    # https://docs.nvidia.com/dgx/dgxh100-user-guide/introduction-to-dgxh100.html, which is of the DGX H200 as well
    "h200": GPU(
        989.4e12, 4800e9, 151397597184, 450e9, 50e9, "NVIDIA H200 141GB HBM3e", "9.0", 132, 128, 2048, 233472, 52428800,
        1.98,
    ),
    # https://resources.nvidia.com/en-us-blackwell-architecture/datasheet (HGX B200; a B200 is an eighth of it)
    # https://docs.nvidia.com/dgx/dgxb200-user-guide/introduction-to-dgxb200.html (8 ports of 400 Gb/s)
    "b200": GPU(
        2250e12, 7672.32e9, 191514411008, 900e9, 50e9, "NVIDIA B200", "10.0", 148, 128, 2048, 233472, 132644864, 1.965,
    ),
}  # fmt: skip
