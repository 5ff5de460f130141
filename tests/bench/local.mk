# Measured by ./dev bench, never by make check.
EXTRA_PROGRAMS += tests/bench/stamp tests/bench/loop
tests_bench_stamp_SOURCES = tests/bench/stamp.c
tests_bench_stamp_CFLAGS = $(AM_CFLAGS) -ffreestanding -fno-stack-protector
tests_bench_stamp_LDFLAGS = $(AM_LDFLAGS) -static -nostdlib
tests_bench_loop_SOURCES = tests/bench/loop.c
EXTRA_DIST += tests/bench/by_hand.py tests/bench/restart.py
CLEANFILES += $(EXTRA_PROGRAMS)
