"""The suites of the real stack use the harness and the fixtures of tests/e2e."""
import os
import sys

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [here, os.path.join(os.path.dirname(here), "e2e")]
from fixtures import *  # noqa: E402,F401,F403
