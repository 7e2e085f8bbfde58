"""Settings that must stand before `import paddle`, so this module is imported first; and silence during set-up."""

import contextlib
import io
import logging
import os
import warnings

# Heterogeneous parameter servers need the older program representation of PaddlePaddle 3.0.0.
os.environ.setdefault("FLAGS_enable_pir_api", "0")
# PaddlePaddle logs lines for each batch, so errors alone are shown.
os.environ.setdefault("GLOG_minloglevel", "2")
warnings.filterwarnings("ignore", module="paddle")
logging.disable(logging.INFO)


@contextlib.contextmanager
def hushed():
    """Without what PaddlePaddle prints of its data structures. An error that ends the program is still shown."""
    with contextlib.redirect_stdout(io.StringIO()):
        yield
