# A unit test program links one room and what that room may see, and nothing else.
UNIT_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/base
tests_unit_base_SOURCES = tests/unit/base.c
tests_unit_base_CFLAGS = $(UNIT_CFLAGS)
tests_unit_base_LDADD = src/base/libbase.a $(CMOCKA_LIBS)
check_PROGRAMS += tests/unit/regex
tests_unit_regex_SOURCES = tests/unit/regex.c
tests_unit_regex_CFLAGS = $(UNIT_CFLAGS)
tests_unit_regex_LDADD = src/base/libbase.a $(CMOCKA_LIBS)
TESTS += tests/unit/base tests/unit/regex
endif

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/capture
tests_unit_capture_SOURCES = tests/unit/capture.c
tests_unit_capture_CFLAGS = $(UNIT_CFLAGS)
tests_unit_capture_LDADD = src/daemon/libdaemon.a src/sys/libsys.a src/base/libbase.a \
	$(CMOCKA_LIBS) $(EV_LIBS)
check_PROGRAMS += tests/unit/probe
tests_unit_probe_SOURCES = tests/unit/probe.c
tests_unit_probe_CFLAGS = $(UNIT_CFLAGS)
tests_unit_probe_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=clock_gettime
tests_unit_probe_LDADD = src/daemon/libdaemon.a src/conf/libconf.a src/sys/libsys.a src/base/libbase.a \
	$(CMOCKA_LIBS) $(EV_LIBS)
check_PROGRAMS += tests/unit/endreport
tests_unit_endreport_SOURCES = tests/unit/endreport.c
tests_unit_endreport_CFLAGS = $(UNIT_CFLAGS) $(CJSON_CFLAGS)
tests_unit_endreport_LDADD = src/daemon/libdaemon.a src/wire/libwire.a src/sys/libsys.a src/base/libbase.a \
	$(CMOCKA_LIBS) $(CJSON_LIBS)
TESTS += tests/unit/capture tests/unit/endreport tests/unit/probe
endif

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/spawn tests/unit/reap tests/unit/ident tests/unit/listen
tests_unit_spawn_SOURCES = tests/unit/spawn.c
tests_unit_spawn_CFLAGS = $(UNIT_CFLAGS)
tests_unit_spawn_LDADD = src/daemon/libdaemon.a src/conf/libconf.a src/sys/libsys.a src/base/libbase.a $(CMOCKA_LIBS)
tests_unit_reap_SOURCES = tests/unit/reap.c
tests_unit_reap_CFLAGS = $(UNIT_CFLAGS)
tests_unit_reap_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=rv_proc_variable,--wrap=rv_proc_has_program
tests_unit_reap_LDADD = src/daemon/libdaemon.a src/conf/libconf.a src/sys/libsys.a src/base/libbase.a \
	$(CMOCKA_LIBS) $(EV_LIBS)
tests_unit_ident_SOURCES = tests/unit/ident.c
tests_unit_ident_CFLAGS = $(UNIT_CFLAGS)
tests_unit_ident_LDADD = src/daemon/libdaemon.a src/conf/libconf.a src/sys/libsys.a src/base/libbase.a $(CMOCKA_LIBS)
tests_unit_listen_SOURCES = tests/unit/listen.c
tests_unit_listen_CFLAGS = $(UNIT_CFLAGS)
tests_unit_listen_LDADD = src/daemon/libdaemon.a src/conf/libconf.a src/sys/libsys.a src/base/libbase.a \
	$(CMOCKA_LIBS) $(EV_LIBS)
check_PROGRAMS += tests/unit/place tests/unit/mainpid
tests_unit_place_SOURCES = tests/unit/place.c
tests_unit_place_CFLAGS = $(UNIT_CFLAGS)
tests_unit_place_LDADD = src/daemon/libdaemon.a src/conf/libconf.a src/sys/libsys.a src/base/libbase.a \
	$(CMOCKA_LIBS) $(EV_LIBS)
tests_unit_mainpid_SOURCES = tests/unit/mainpid.c
tests_unit_mainpid_CFLAGS = $(UNIT_CFLAGS)
tests_unit_mainpid_LDADD = src/daemon/libdaemon.a src/conf/libconf.a src/sys/libsys.a src/base/libbase.a \
	$(CMOCKA_LIBS) $(EV_LIBS)
TESTS += tests/unit/spawn tests/unit/reap tests/unit/ident tests/unit/listen tests/unit/place tests/unit/mainpid
endif

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/wire_host
tests_unit_wire_host_SOURCES = tests/unit/wire_host.c
tests_unit_wire_host_CFLAGS = $(UNIT_CFLAGS)
tests_unit_wire_host_LDADD = src/wire/libwire.a src/base/libbase.a $(CMOCKA_LIBS)
check_PROGRAMS += tests/unit/wire_answer
tests_unit_wire_answer_SOURCES = tests/unit/wire_answer.c
tests_unit_wire_answer_CFLAGS = $(UNIT_CFLAGS)
tests_unit_wire_answer_LDADD = src/wire/libwire.a src/base/libbase.a $(CMOCKA_LIBS) $(CJSON_LIBS)
check_PROGRAMS += tests/unit/wire_variables
tests_unit_wire_variables_SOURCES = tests/unit/wire_variables.c
tests_unit_wire_variables_CFLAGS = $(UNIT_CFLAGS)
tests_unit_wire_variables_LDADD = src/wire/libwire.a src/base/libbase.a $(CMOCKA_LIBS) $(CJSON_LIBS)
TESTS += tests/unit/wire_host tests/unit/wire_answer tests/unit/wire_variables
endif

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/wire_rpc
tests_unit_wire_rpc_SOURCES = tests/unit/wire_rpc.c
tests_unit_wire_rpc_CFLAGS = $(UNIT_CFLAGS) $(CJSON_CFLAGS)
tests_unit_wire_rpc_LDADD = src/wire/libwire.a src/base/libbase.a $(CMOCKA_LIBS) $(CJSON_LIBS)
TESTS += tests/unit/wire_rpc
endif

if HAVE_CMOCKA
CONF_TESTS = tests/unit/conf_yaml tests/unit/conf_check tests/unit/conf_expand \
	tests/unit/conf_ready tests/unit/conf_plan tests/unit/conf_manual tests/unit/conf_fail
check_PROGRAMS += $(CONF_TESTS)
TESTS += $(CONF_TESTS)
CONF_LIBS = src/conf/libconf.a src/base/libbase.a $(CMOCKA_LIBS) $(YAML_LIBS)
tests_unit_conf_yaml_SOURCES = tests/unit/conf_yaml.c tests/unit/conf_help.h
tests_unit_conf_yaml_CFLAGS = $(UNIT_CFLAGS)
tests_unit_conf_yaml_LDADD = $(CONF_LIBS)
tests_unit_conf_check_SOURCES = tests/unit/conf_check.c tests/unit/conf_help.h
tests_unit_conf_check_CFLAGS = $(UNIT_CFLAGS)
tests_unit_conf_check_LDADD = $(CONF_LIBS)
tests_unit_conf_expand_SOURCES = tests/unit/conf_expand.c tests/unit/conf_help.h
tests_unit_conf_expand_CFLAGS = $(UNIT_CFLAGS)
tests_unit_conf_expand_LDADD = $(CONF_LIBS)
tests_unit_conf_ready_SOURCES = tests/unit/conf_ready.c tests/unit/conf_help.h
tests_unit_conf_ready_CFLAGS = $(UNIT_CFLAGS)
tests_unit_conf_ready_LDADD = $(CONF_LIBS)
tests_unit_conf_fail_SOURCES = tests/unit/conf_fail.c tests/unit/conf_help.h
tests_unit_conf_fail_CFLAGS = $(UNIT_CFLAGS)
tests_unit_conf_fail_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
tests_unit_conf_fail_LDADD = $(CONF_LIBS)
tests_unit_conf_manual_SOURCES = tests/unit/conf_manual.c tests/unit/conf_help.h
tests_unit_conf_manual_CFLAGS = $(UNIT_CFLAGS)
tests_unit_conf_manual_LDADD = $(CONF_LIBS)
tests_unit_conf_plan_SOURCES = tests/unit/conf_plan.c tests/unit/conf_help.h
tests_unit_conf_plan_CFLAGS = $(UNIT_CFLAGS)
tests_unit_conf_plan_LDADD = $(CONF_LIBS)
endif

# The engine, the captures and the rest of the daemon are the test's own.
if HAVE_CMOCKA
check_PROGRAMS += tests/unit/control
tests_unit_control_SOURCES = tests/unit/control.c
tests_unit_control_CFLAGS = $(UNIT_CFLAGS) $(CJSON_CFLAGS)
tests_unit_control_LDADD = src/daemon/libdaemon.a src/conf/libconf.a src/wire/libwire.a src/sys/libsys.a \
	src/base/libbase.a $(CMOCKA_LIBS) $(CJSON_LIBS) $(EV_LIBS)
TESTS += tests/unit/control
endif

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/core
tests_unit_core_SOURCES = tests/unit/core.c
tests_unit_core_CFLAGS = $(UNIT_CFLAGS)
tests_unit_core_LDADD = src/core/libcore.a $(CMOCKA_LIBS)
TESTS += tests/unit/core
endif
