# The suites that need Jupyter, uvicorn and Node: run by ./dev stack, not by make check.
EXTRA_DIST += tests/stack/package.json tests/stack/package-lock.json $(wildcard $(srcdir)/tests/stack/*.py) \
	tests/stack/clients/run_code.mjs tests/stack/clients/mcp_call.mjs tests/stack/clients/create_mcp.mjs
