"""``python -m mvgrl``."""

import sys

from mvgrl.cli import main

sys.exit(main())
