"""Whole models, ready to train or with weights of MXNet: ``model_zoo.vision`` and where their files are found."""

from gluonx.model_zoo import model_store as model_store
from gluonx.model_zoo import vision as vision
from gluonx.model_zoo.vision import get_model as get_model

__all__ = ["get_model", "model_store", "vision"]
