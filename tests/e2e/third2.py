#!/usr/bin/python3
"""The second third of the stories, by files: most of their time is waiting, so the three run side by side."""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import run  # noqa: E402

sys.exit(run.main([], third=1))
