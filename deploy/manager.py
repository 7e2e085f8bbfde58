#!/usr/local/bin/python3 -I
"""`/manager` in the operator's image, which paddle-operator's Deployment calls: it is `paddock operator`."""

import sys

from paddock.cli.main import main

sys.exit(main(["operator", *sys.argv[1:]]))
