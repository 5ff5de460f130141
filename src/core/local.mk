noinst_LIBRARIES += src/core/libcore.a
src_core_libcore_a_SOURCES = \
	src/core/core.c src/core/core.h \
	src/core/plan.c src/core/plan.h
src_core_libcore_a_CFLAGS = $(AM_CFLAGS) -Wconversion
EXTRA_DIST += src/core/README.md
