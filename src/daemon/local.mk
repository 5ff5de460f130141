noinst_LIBRARIES += src/daemon/libdaemon.a
src_daemon_libdaemon_a_SOURCES = \
	src/daemon/say.c src/daemon/say.h

bin_PROGRAMS += reeve
reeve_SOURCES = src/daemon/main.c
reeve_LDADD = src/daemon/libdaemon.a src/host/libhost.a src/conf/libconf.a src/wire/libwire.a \
	src/core/libcore.a src/sys/libsys.a src/base/libbase.a \
	$(YAML_LIBS) $(CJSON_LIBS) $(EV_LIBS)
EXTRA_DIST += src/daemon/README.md
