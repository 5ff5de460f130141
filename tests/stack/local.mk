# The suites that need Jupyter, uvicorn and Node: run by ./dev stack, not by make check.
EXTRA_DIST += tests/stack/conftest.py tests/stack/test_envd_standin.py
