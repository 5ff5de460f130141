# Stories with a real reeve and a real reevectl: each test_*.py in this folder. One program runs them all with pytest and
# prints TAP.
EXTRA_DIST += $(wildcard $(srcdir)/tests/e2e/*.py)
TESTS += tests/e2e/run.py
