"""The documentation site: ``make docs`` assembles its pages from the repository and builds them into ``site/``."""
