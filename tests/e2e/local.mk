# Stories with a real reeve and a real reevectl. One program runs them all with pytest and prints TAP; list each new
# file here, so that it is in the release archive.
e2e_files = tests/e2e/run.py tests/e2e/conftest.py tests/e2e/fixtures.py tests/e2e/harness.py \
	tests/e2e/test_harness.py
EXTRA_DIST += $(e2e_files)
TESTS += tests/e2e/run.py
