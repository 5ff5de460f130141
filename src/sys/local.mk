noinst_LIBRARIES += src/sys/libsys.a
src_sys_libsys_a_SOURCES = \
	src/sys/clock.h \
	src/sys/fd.c src/sys/fd.h \
	src/sys/sockfile.c src/sys/sockfile.h
EXTRA_DIST += src/sys/README.md
