noinst_LIBRARIES += src/core/libcore.a
CORE_SOURCES = \
	src/core/adopt.c src/core/await.c src/core/begin.c src/core/bits.c src/core/core.c src/core/deadline.c \
	src/core/ground.c src/core/guest.c src/core/heir.c src/core/judge.c src/core/machine.c src/core/plan.c src/core/policy.c \
	src/core/run.c src/core/settle.c src/core/stop.c src/core/told.c src/core/whole.c \
	src/core/bits.h src/core/core.h src/core/deadline.h src/core/mind.h src/core/plan.h
src_core_libcore_a_SOURCES = $(CORE_SOURCES)
src_core_libcore_a_CFLAGS = $(AM_CFLAGS) -Wconversion
EXTRA_DIST += src/core/README.md
