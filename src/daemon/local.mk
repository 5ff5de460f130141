noinst_LIBRARIES += src/daemon/libdaemon.a
src_daemon_libdaemon_a_SOURCES = \
	src/daemon/engine.c src/daemon/engine.h \
	src/daemon/hands.c src/daemon/hands.h \
	src/daemon/load.c src/daemon/load.h \
	src/daemon/say.c src/daemon/say.h \
	src/daemon/tell.c src/daemon/tell.h

# What services write.
src_daemon_libdaemon_a_SOURCES += \
	src/daemon/capture.c src/daemon/capture.h \
	src/daemon/logfile.c src/daemon/logfile.h \
	src/daemon/outlet.c src/daemon/outlet.h \
	src/daemon/rotate.c \
	src/daemon/tail.c src/daemon/tail.h

bin_PROGRAMS += reeve
reeve_SOURCES = src/daemon/main.c
reeve_LDADD = src/daemon/libdaemon.a src/host/libhost.a src/conf/libconf.a src/wire/libwire.a \
	src/core/libcore.a src/sys/libsys.a src/base/libbase.a \
	$(YAML_LIBS) $(CJSON_LIBS) $(EV_LIBS)
EXTRA_DIST += src/daemon/README.md
