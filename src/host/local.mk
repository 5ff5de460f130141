noinst_LIBRARIES += src/host/libhost.a
src_host_libhost_a_SOURCES = \
	src/host/drive.c src/host/drive.h \
	src/host/host.c src/host/host.h \
	src/host/http.h \
	src/host/load.c src/host/load.h \
	src/host/web.c src/host/web.h
EXTRA_DIST += src/host/README.md
