"""What was learned, to look at."""

from mvgrl.reports.embedding_map import check_picture, draw_map, embedding_map, project

__all__ = ["check_picture", "draw_map", "embedding_map", "project"]
