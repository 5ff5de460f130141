noinst_LIBRARIES += src/host/libhost.a
src_host_libhost_a_SOURCES = src/host/host.h
EXTRA_DIST += src/host/README.md
