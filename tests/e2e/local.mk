# Stories with a real reeve and a real reevectl: each test_*.py in this folder. Three programs run a third of the files each
# with pytest and print TAP.
EXTRA_DIST += $(wildcard $(srcdir)/tests/e2e/*.py) tests/e2e/gateway-standin tests/e2e/jupyter-standin
TESTS += tests/e2e/third1.py tests/e2e/third2.py tests/e2e/third3.py
