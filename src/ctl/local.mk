bin_PROGRAMS += reevectl
reevectl_SOURCES = src/ctl/main.c \
	src/ctl/call.c src/ctl/call.h \
	src/ctl/fault.c src/ctl/fault.h \
	src/ctl/env.c src/ctl/env.h src/ctl/events.c src/ctl/field.h \
	src/ctl/given.c src/ctl/given.h \
	src/ctl/logs.c \
	src/ctl/reloaded.c \
	src/ctl/request.c \
	src/ctl/show.c src/ctl/show.h \
	src/ctl/words.c src/ctl/words.h
reevectl_CFLAGS = $(AM_CFLAGS) $(CJSON_CFLAGS)
reevectl_LDADD = src/wire/libwire.a src/sys/libsys.a src/base/libbase.a $(CJSON_LIBS)
EXTRA_DIST += src/ctl/README.md

# Not in bindir: a real gateway may have that name there. An image puts a link where its SDK looks.
reevelibexecdir = $(libexecdir)/reeve
reevelibexec_PROGRAMS = mcp-gateway
mcp_gateway_SOURCES = src/ctl/gateway.c src/ctl/field.h \
	src/ctl/call.c src/ctl/call.h \
	src/ctl/fault.c src/ctl/fault.h \
	src/ctl/words.h
mcp_gateway_CFLAGS = $(reevectl_CFLAGS)
mcp_gateway_LDADD = $(reevectl_LDADD)
