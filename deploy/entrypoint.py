#!/usr/local/bin/python3 -I
"""`paddock` in the operator's image."""

import sys

from paddock.cli.main import main

sys.exit(main())
