include tests/unit/local.mk
include tests/sim/local.mk
include tests/plugins/local.mk
include tests/e2e/local.mk
include tests/stack/local.mk
include tests/fuzz/local.mk
include tests/fail/local.mk
include tests/bench/local.mk
EXTRA_DIST += $(wildcard $(srcdir)/tests/corpus/*) tests/faults/run.py tests/faults/list.txt
EXTRA_DIST += tests/README.md tests/rooms.sh tests/unit/tap.sh
TESTS += tests/rooms.sh
