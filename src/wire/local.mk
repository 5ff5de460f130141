noinst_LIBRARIES += src/wire/libwire.a
src_wire_libwire_a_SOURCES = \
	src/wire/answer.c src/wire/answer.h \
	src/wire/codec.c src/wire/codec.h \
	src/wire/hostproto.c src/wire/hostproto.h \
	src/wire/json.c src/wire/json.h \
	src/wire/retry.c src/wire/retry.h \
	src/wire/rpc.c src/wire/rpc.h src/wire/rpcread.c \
	src/wire/variables.c src/wire/variables.h
src_wire_libwire_a_CFLAGS = $(AM_CFLAGS) $(CJSON_CFLAGS)
EXTRA_DIST += src/wire/README.md
