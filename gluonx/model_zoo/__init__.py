"""Whole models: ``model_zoo.vision`` with weights of MXNet, where their files are found, and ``transformers``."""

from gluonx.model_zoo import model_store as model_store
from gluonx.model_zoo import transformers as transformers
from gluonx.model_zoo import vision as vision
from gluonx.model_zoo.vision import get_model as get_model

__all__ = ["get_model", "model_store", "transformers", "vision"]
