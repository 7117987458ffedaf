"""Evaluate embeddings: arrays in, scores out."""

from mvgrl.evaluation.clustering import cluster, clustering_scores
from mvgrl.evaluation.linear_probe import linear_predictions, linear_probe
from mvgrl.evaluation.logistic import LogisticFit, logistic_fit, logistic_predictions, logistic_probe
from mvgrl.evaluation.regression import is_continuous, regression_scores, regression_splits
from mvgrl.evaluation.split_scores import linear_scores, logistic_scores, summary
from mvgrl.evaluation.splits import random_splits
from mvgrl.evaluation.svm import LinearSVM, cross_validate
from mvgrl.methods.propagated import propagated
from mvgrl.methods.untrained import untrained

__all__ = [
    "LinearSVM",
    "LogisticFit",
    "cluster",
    "clustering_scores",
    "cross_validate",
    "is_continuous",
    "linear_predictions",
    "linear_probe",
    "linear_scores",
    "logistic_fit",
    "logistic_predictions",
    "logistic_probe",
    "logistic_scores",
    "propagated",
    "random_splits",
    "regression_scores",
    "regression_splits",
    "summary",
    "untrained",
]
