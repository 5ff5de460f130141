noinst_LIBRARIES += src/host/libhost.a
src_host_libhost_a_SOURCES = \
	src/host/call.c \
	src/host/drive.c src/host/drive.h \
	src/host/get.c \
	src/host/host.c src/host/host.h \
	src/host/http.h \
	src/host/inside.h \
	src/host/instance.c src/host/instance.h \
	src/host/load.c src/host/load.h \
	src/host/trust.c src/host/trust.h \
	src/host/turn.c \
	src/host/web.c src/host/web.h
EXTRA_DIST += src/host/README.md

# libcurl is mapped by the host at its first request, and by nobody else.
reevelib_PROGRAMS += http.so
http_so_SOURCES = src/host/http.c src/host/http.h
http_so_CFLAGS = $(AM_CFLAGS) $(CURL_CFLAGS) -fPIC -fvisibility=hidden
http_so_LDFLAGS = -shared $(PLUGIN_LDFLAGS) $(AM_LDFLAGS)
http_so_LDADD = $(CURL_LIBS) $(EV_LIBS)
