bin_PROGRAMS += reevectl
reevectl_SOURCES = src/ctl/main.c
reevectl_CFLAGS = $(AM_CFLAGS) $(CJSON_CFLAGS)
reevectl_LDADD = src/wire/libwire.a src/sys/libsys.a src/base/libbase.a $(CJSON_LIBS)
EXTRA_DIST += src/ctl/README.md
