bin_PROGRAMS += reevectl
reevectl_SOURCES = src/ctl/main.c \
	src/ctl/call.c src/ctl/call.h \
	src/ctl/fault.c src/ctl/fault.h \
	src/ctl/events.c \
	src/ctl/given.c src/ctl/given.h \
	src/ctl/logs.c \
	src/ctl/show.c src/ctl/show.h \
	src/ctl/words.c src/ctl/words.h
reevectl_CFLAGS = $(AM_CFLAGS) $(CJSON_CFLAGS)
reevectl_LDADD = src/wire/libwire.a src/sys/libsys.a src/base/libbase.a $(CJSON_LIBS)
EXTRA_DIST += src/ctl/README.md
