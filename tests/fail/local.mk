# A reeve whose allocations fail one after the other; run.py boots it once for each.
check_PROGRAMS += tests/fail/reeve
tests_fail_reeve_SOURCES = src/daemon/main.c tests/fail/fail.c
tests_fail_reeve_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=strdup
tests_fail_reeve_LDADD = $(reeve_LDADD)
TESTS += tests/fail/run.py tests/fail/check.py
EXTRA_DIST += tests/fail/run.py tests/fail/check.py
