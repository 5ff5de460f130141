noinst_LIBRARIES += src/conf/libconf.a
src_conf_libconf_a_SOURCES = \
	src/conf/advice.c \
	src/conf/budget.c \
	src/conf/build.c \
	src/conf/bytes.c \
	src/conf/complain.c \
	src/conf/conf.h \
	src/conf/draft.c src/conf/draft.h \
	src/conf/ending.c \
	src/conf/environ.c \
	src/conf/expand.c src/conf/exposed.c \
	src/conf/fixed.c \
	src/conf/graph.c \
	src/conf/http.c src/conf/httpbody.c \
	src/conf/keys.c \
	src/conf/limits.c \
	src/conf/mainpid.c \
	src/conf/mask.c \
	src/conf/net.c \
	src/conf/options.c \
	src/conf/overlay.c \
	src/conf/plan.c \
	src/conf/ports.c \
	src/conf/print.c src/conf/print.h src/conf/printenv.c src/conf/printready.c \
	src/conf/ready.c \
	src/conf/schema.c src/conf/schema.h \
	src/conf/service.c \
	src/conf/settle.c \
	src/conf/socket.c \
	src/conf/top.c \
	src/conf/tree.c src/conf/tree.h \
	src/conf/variant.c \
	src/conf/whole.h \
	src/conf/yaml.c src/conf/yamlerror.c src/conf/yamlerror.h
src_conf_libconf_a_CFLAGS = $(AM_CFLAGS) $(YAML_CFLAGS)
EXTRA_DIST += src/conf/README.md
