noinst_LIBRARIES += src/conf/libconf.a
src_conf_libconf_a_SOURCES = src/conf/conf.h
src_conf_libconf_a_CFLAGS = $(AM_CFLAGS) $(YAML_CFLAGS)
EXTRA_DIST += src/conf/README.md
