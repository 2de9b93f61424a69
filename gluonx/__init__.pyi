# Made by `python -m tools.stubs --write` with JAX 0.10; do not edit.
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

from numpy import dtype as _dtype
from numpy.typing import ArrayLike

__version__: str
from gluonx.compat.attribute import AttrScope as AttrScope
from gluonx.block import Block as Block
from gluonx.block.parameter import Constant as Constant
from gluonx.device import Context as Context
from gluonx.errors import DeferredInitializationError as DeferredInitializationError
from gluonx.device import Device as Device
from gluonx.block.fusion.layout import Fused as Fused
from gluonx.errors import GluonxError as GluonxError
from gluonx.block import HybridBlock as HybridBlock
from gluonx.errors import MXNetError as MXNetError
from gluonx.block.parameter import Parameter as Parameter
from gluonx.compat.parameter_dict import ParameterDict as ParameterDict
from gluonx.compat.symbol_block import SymbolBlock as SymbolBlock
from gluonx.trainer import Trainer as Trainer
from gluonx import amp as amp
from gluonx.compat import attribute as attribute
from gluonx import autograd as autograd
from gluonx import errors as _base
base = _base
from gluonx import block as block
from gluonx.compat import callback as callback
from gluonx import checkpoint as checkpoint
from gluonx import compat as compat
from gluonx import device as _context
context = _context
from gluonx.compat import contrib as contrib
from gluonx.device import cpu as cpu
from gluonx.device import cpu_pinned as cpu_pinned
from gluonx.device import current_context as current_context
from gluonx.device import current_device as current_device
from gluonx import data as data
from gluonx import device as device
from gluonx import dtype as dtype
from gluonx import ema as ema
from gluonx import engine as engine
from gluonx import errors as _error
error = _error
from gluonx import errors as errors
from gluonx import estimator as estimator
from gluonx import export as export
from gluonx import files as files
from gluonx import flax as flax
from gluonx.block.functional import from_jax as from_jax
from gluonx.block.functional import functional as functional
from gluonx.generation import generate as generate
from gluonx import generation as generation
from gluonx import gluon as gluon
from gluonx.device import gpu as gpu
from gluonx import image as image
from gluonx import image as _img
img = _img
from gluonx import initializer as _init
init = _init
from gluonx import initializer as initializer
from gluonx.compat import io as io
from gluonx.compat.util import is_np_array as is_np_array
from gluonx.compat.util import is_np_default_dtype as is_np_default_dtype
from gluonx.compat.util import is_np_shape as is_np_shape
from gluonx.compat import kvstore as _kv
kv = _kv
from gluonx.compat import kvstore as kvstore
from gluonx.block.artifact import load as load
from gluonx.compat import log as log
from gluonx import lora as lora
from gluonx import loss as loss
from gluonx import lr_scheduler as lr_scheduler
from gluonx import metric as metric
from gluonx.compat import module as _mod
mod = _mod
from gluonx.compat import model as model
from gluonx import model_zoo as model_zoo
from gluonx.compat import module as module
from gluonx.compat import monitor as _mon
mon = _mon
from gluonx.compat import monitor as monitor
from gluonx.compat import name as name
from gluonx.compat import nd as nd
from gluonx import nn as nn
from gluonx import np as np
from gluonx.compat.util import np_array as np_array
from gluonx.compat.util import np_default_dtype as np_default_dtype
from gluonx.compat.util import np_shape as np_shape
from gluonx import npx as npx
from gluonx.device import num_gpus as num_gpus
from gluonx import np as _numpy
numpy = _numpy
from gluonx import npx as _numpy_extension
numpy_extension = _numpy_extension
from gluonx.compat import onnx as onnx
from gluonx.compat import operator as operator
from gluonx import ops as ops
from gluonx import optimizer as optimizer
from gluonx import parallel as parallel
from gluonx.block import parameter as parameter
from gluonx import probability as probability
from gluonx import quantization as quantization
from gluonx import random as random
from gluonx.data import recordio as recordio
from gluonx.compat import registry as registry
from gluonx import rnn as rnn
from gluonx.compat import runtime as runtime
from gluonx.compat.util import set_np_shape as set_np_shape
from gluonx import sparse as sparse
from gluonx.generation import stream as stream
from gluonx.compat import symbol as _sym
sym = _sym
from gluonx.compat import symbol as symbol
from gluonx.compat import test_utils as test_utils
from gluonx.device import tpu as tpu
from gluonx import trainer as trainer
from gluonx.compat.util import use_np as use_np
from gluonx.compat.util import use_np_array as use_np_array
from gluonx.compat.util import use_np_default_dtype as use_np_default_dtype
from gluonx.compat.util import use_np_shape as use_np_shape
from gluonx.compat import util as util
from gluonx import utils as utils
from gluonx.compat import visualization as visualization
from gluonx.compat import visualization as _viz
viz = _viz
from gluonx.engine import waitall as waitall
from gluonx import weights as weights
