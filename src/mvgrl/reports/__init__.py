"""Maps of embeddings, and reports of experiments."""

from mvgrl.reports.embedding_map import check_picture, draw_map, embedding_map
from mvgrl.reports.projection import project

__all__ = ["check_picture", "draw_map", "embedding_map", "project"]
