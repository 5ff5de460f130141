noinst_LIBRARIES += src/base/libbase.a
src_base_libbase_a_SOURCES = \
	src/base/address.c src/base/address.h \
	src/base/arena.c src/base/arena.h \
	src/base/buf.c src/base/buf.h \
	src/base/err.c src/base/err.h \
	src/base/keys.h src/base/lists.h \
	src/base/names.c src/base/names.h \
	src/base/regcode.c src/base/regcode.h \
	src/base/regex.c src/base/regex.h \
	src/base/text.c src/base/text.h \
	src/base/want.h
EXTRA_DIST += src/base/README.md
