# Plugins that misbehave, one way each, and one that behaves; for tests/unit/hostlink.c.

check_PROGRAMS += tests/plugins/good.so
tests_plugins_good_so_SOURCES = tests/plugins/good.c
tests_plugins_good_so_CPPFLAGS = $(PLUGIN_CPPFLAGS)
tests_plugins_good_so_CFLAGS = $(PLUGIN_CFLAGS)
tests_plugins_good_so_LDFLAGS = $(PLUGIN_LINK)

check_PROGRAMS += tests/plugins/inspector.so
tests_plugins_inspector_so_SOURCES = tests/plugins/inspector.c
tests_plugins_inspector_so_CPPFLAGS = $(PLUGIN_CPPFLAGS)
tests_plugins_inspector_so_CFLAGS = $(PLUGIN_CFLAGS)
tests_plugins_inspector_so_LDFLAGS = $(PLUGIN_LINK)

check_PROGRAMS += tests/plugins/mortal.so
tests_plugins_mortal_so_SOURCES = tests/plugins/mortal.c
tests_plugins_mortal_so_CPPFLAGS = $(PLUGIN_CPPFLAGS)
tests_plugins_mortal_so_CFLAGS = $(PLUGIN_CFLAGS)
tests_plugins_mortal_so_LDFLAGS = $(PLUGIN_LINK)

check_PROGRAMS += tests/plugins/nullops.so
tests_plugins_nullops_so_SOURCES = tests/plugins/nullops.c
tests_plugins_nullops_so_CPPFLAGS = $(PLUGIN_CPPFLAGS)
tests_plugins_nullops_so_CFLAGS = $(PLUGIN_CFLAGS)
tests_plugins_nullops_so_LDFLAGS = $(PLUGIN_LINK)

check_PROGRAMS += tests/plugins/oldabi.so
tests_plugins_oldabi_so_SOURCES = tests/plugins/oldabi.c
tests_plugins_oldabi_so_CPPFLAGS = $(PLUGIN_CPPFLAGS)
tests_plugins_oldabi_so_CFLAGS = $(PLUGIN_CFLAGS)
tests_plugins_oldabi_so_LDFLAGS = $(PLUGIN_LINK)

check_PROGRAMS += tests/plugins/hugesize.so
tests_plugins_hugesize_so_SOURCES = tests/plugins/hugesize.c
tests_plugins_hugesize_so_CPPFLAGS = $(PLUGIN_CPPFLAGS)
tests_plugins_hugesize_so_CFLAGS = $(PLUGIN_CFLAGS)
tests_plugins_hugesize_so_LDFLAGS = $(PLUGIN_LINK)

check_PROGRAMS += tests/plugins/hugestate.so
tests_plugins_hugestate_so_SOURCES = tests/plugins/hugestate.c
tests_plugins_hugestate_so_CPPFLAGS = $(PLUGIN_CPPFLAGS)
tests_plugins_hugestate_so_CFLAGS = $(PLUGIN_CFLAGS)
tests_plugins_hugestate_so_LDFLAGS = $(PLUGIN_LINK)

check_PROGRAMS += tests/plugins/endlesstable.so
tests_plugins_endlesstable_so_SOURCES = tests/plugins/endlesstable.c
tests_plugins_endlesstable_so_CPPFLAGS = $(PLUGIN_CPPFLAGS)
tests_plugins_endlesstable_so_CFLAGS = $(PLUGIN_CFLAGS)
tests_plugins_endlesstable_so_LDFLAGS = $(PLUGIN_LINK)

check_PROGRAMS += tests/plugins/othername.so
tests_plugins_othername_so_SOURCES = tests/plugins/othername.c
tests_plugins_othername_so_CPPFLAGS = $(PLUGIN_CPPFLAGS)
tests_plugins_othername_so_CFLAGS = $(PLUGIN_CFLAGS)
tests_plugins_othername_so_LDFLAGS = $(PLUGIN_LINK)

check_PROGRAMS += tests/plugins/noplugin.so
tests_plugins_noplugin_so_SOURCES = tests/plugins/noplugin.c
tests_plugins_noplugin_so_CPPFLAGS = $(PLUGIN_CPPFLAGS)
tests_plugins_noplugin_so_CFLAGS = $(PLUGIN_CFLAGS)
tests_plugins_noplugin_so_LDFLAGS = $(PLUGIN_LINK)

check_PROGRAMS += tests/plugins/diesloading.so
tests_plugins_diesloading_so_SOURCES = tests/plugins/diesloading.c
tests_plugins_diesloading_so_CPPFLAGS = $(PLUGIN_CPPFLAGS)
tests_plugins_diesloading_so_CFLAGS = $(PLUGIN_CFLAGS)
tests_plugins_diesloading_so_LDFLAGS = $(PLUGIN_LINK)

check_PROGRAMS += tests/plugins/diesrehearsing.so
tests_plugins_diesrehearsing_so_SOURCES = tests/plugins/diesrehearsing.c
tests_plugins_diesrehearsing_so_CPPFLAGS = $(PLUGIN_CPPFLAGS)
tests_plugins_diesrehearsing_so_CFLAGS = $(PLUGIN_CFLAGS)
tests_plugins_diesrehearsing_so_LDFLAGS = $(PLUGIN_LINK)

check_PROGRAMS += tests/plugins/crash.so
tests_plugins_crash_so_SOURCES = tests/plugins/crash.c
tests_plugins_crash_so_CPPFLAGS = $(PLUGIN_CPPFLAGS)
tests_plugins_crash_so_CFLAGS = $(PLUGIN_CFLAGS)
tests_plugins_crash_so_LDFLAGS = $(PLUGIN_LINK)

check_PROGRAMS += tests/plugins/spin.so
tests_plugins_spin_so_SOURCES = tests/plugins/spin.c
tests_plugins_spin_so_CPPFLAGS = $(PLUGIN_CPPFLAGS)
tests_plugins_spin_so_CFLAGS = $(PLUGIN_CFLAGS)
tests_plugins_spin_so_LDFLAGS = $(PLUGIN_LINK)

check_PROGRAMS += tests/plugins/sleeper.so
tests_plugins_sleeper_so_SOURCES = tests/plugins/sleeper.c
tests_plugins_sleeper_so_CPPFLAGS = $(PLUGIN_CPPFLAGS)
tests_plugins_sleeper_so_CFLAGS = $(PLUGIN_CFLAGS)
tests_plugins_sleeper_so_LDFLAGS = $(PLUGIN_LINK)

check_PROGRAMS += tests/plugins/endless.so
tests_plugins_endless_so_SOURCES = tests/plugins/endless.c
tests_plugins_endless_so_CPPFLAGS = $(PLUGIN_CPPFLAGS)
tests_plugins_endless_so_CFLAGS = $(PLUGIN_CFLAGS)
tests_plugins_endless_so_LDFLAGS = $(PLUGIN_LINK)

check_PROGRAMS += tests/plugins/garbage.so
tests_plugins_garbage_so_SOURCES = tests/plugins/garbage.c
tests_plugins_garbage_so_CPPFLAGS = $(PLUGIN_CPPFLAGS)
tests_plugins_garbage_so_CFLAGS = $(PLUGIN_CFLAGS)
tests_plugins_garbage_so_LDFLAGS = $(PLUGIN_LINK)

check_PROGRAMS += tests/plugins/wildpointer.so
tests_plugins_wildpointer_so_SOURCES = tests/plugins/wildpointer.c
tests_plugins_wildpointer_so_CPPFLAGS = $(PLUGIN_CPPFLAGS)
tests_plugins_wildpointer_so_CFLAGS = $(PLUGIN_CFLAGS)
tests_plugins_wildpointer_so_LDFLAGS = $(PLUGIN_LINK)

check_PROGRAMS += tests/plugins/moody.so
tests_plugins_moody_so_SOURCES = tests/plugins/moody.c
tests_plugins_moody_so_CPPFLAGS = $(PLUGIN_CPPFLAGS)
tests_plugins_moody_so_CFLAGS = $(PLUGIN_CFLAGS)
tests_plugins_moody_so_LDFLAGS = $(PLUGIN_LINK)

check_PROGRAMS += tests/plugins/taker.so
tests_plugins_taker_so_SOURCES = tests/plugins/taker.c
tests_plugins_taker_so_CPPFLAGS = $(PLUGIN_CPPFLAGS)
tests_plugins_taker_so_CFLAGS = $(PLUGIN_CFLAGS)
tests_plugins_taker_so_LDFLAGS = $(PLUGIN_LINK)

check_PROGRAMS += tests/plugins/slowhttp.so
tests_plugins_slowhttp_so_SOURCES = tests/plugins/slowhttp.c
tests_plugins_slowhttp_so_CPPFLAGS = $(PLUGIN_CPPFLAGS)
tests_plugins_slowhttp_so_CFLAGS = $(PLUGIN_CFLAGS)
tests_plugins_slowhttp_so_LDFLAGS = $(PLUGIN_LINK)

if HAVE_CMOCKA
check_PROGRAMS += tests/unit/hostlink
tests_unit_hostlink_SOURCES = tests/unit/hostlink.c tests/unit/server.h
tests_unit_hostlink_CFLAGS = $(UNIT_CFLAGS)
tests_unit_hostlink_LDADD = src/daemon/libdaemon.a src/host/libhost.a src/conf/libconf.a src/wire/libwire.a \
	src/sys/libsys.a src/base/libbase.a $(CMOCKA_LIBS) $(CJSON_LIBS) $(EV_LIBS)
TESTS += tests/unit/hostlink

check_PROGRAMS += tests/unit/host_http
tests_unit_host_http_SOURCES = tests/unit/host_http.c tests/unit/server.h
tests_unit_host_http_CFLAGS = $(UNIT_CFLAGS)
tests_unit_host_http_LDADD = src/host/libhost.a src/wire/libwire.a src/sys/libsys.a \
	src/base/libbase.a $(CMOCKA_LIBS) $(CJSON_LIBS) $(EV_LIBS)
TESTS += tests/unit/host_http

check_PROGRAMS += tests/unit/plugins
tests_unit_plugins_SOURCES = tests/unit/plugins.c tests/unit/stage.h
tests_unit_plugins_CFLAGS = $(UNIT_CFLAGS)
tests_unit_plugins_LDADD = src/base/libbase.a $(CMOCKA_LIBS)
check_PROGRAMS += tests/unit/inspect
tests_unit_inspect_SOURCES = tests/unit/inspect.c tests/unit/stage.h
tests_unit_inspect_CFLAGS = $(UNIT_CFLAGS)
tests_unit_inspect_LDADD = src/base/libbase.a $(CMOCKA_LIBS)
check_PROGRAMS += tests/unit/plugins_sessions
tests_unit_plugins_sessions_SOURCES = tests/unit/plugins_sessions.c tests/unit/stage.h
tests_unit_plugins_sessions_CFLAGS = $(UNIT_CFLAGS)
tests_unit_plugins_sessions_LDADD = src/base/libbase.a $(CMOCKA_LIBS)
check_PROGRAMS += tests/unit/plugins_init
tests_unit_plugins_init_SOURCES = tests/unit/plugins_init.c tests/unit/stage.h
tests_unit_plugins_init_CFLAGS = $(UNIT_CFLAGS)
tests_unit_plugins_init_LDADD = src/base/libbase.a $(CMOCKA_LIBS)
check_PROGRAMS += tests/unit/plugins_loss
tests_unit_plugins_loss_SOURCES = tests/unit/plugins_loss.c tests/unit/stage.h
tests_unit_plugins_loss_CFLAGS = $(UNIT_CFLAGS)
tests_unit_plugins_loss_LDADD = src/base/libbase.a $(CMOCKA_LIBS)
TESTS += tests/unit/plugins tests/unit/plugins_sessions tests/unit/plugins_loss \
	tests/unit/plugins_init tests/unit/inspect
endif

TESTS += tests/plugins/manual.sh
EXTRA_DIST += tests/plugins/manual.sh

if FUZZ
noinst_PROGRAMS += tests/fuzz/hostproto
tests_fuzz_hostproto_SOURCES = tests/fuzz/hostproto.c
tests_fuzz_hostproto_CFLAGS = $(AM_CFLAGS) -fsanitize=fuzzer
tests_fuzz_hostproto_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
tests_fuzz_hostproto_LDADD = src/wire/libwire.a src/base/libbase.a

noinst_PROGRAMS += tests/fuzz/plugins
tests_fuzz_plugins_SOURCES = tests/fuzz/plugins.c
tests_fuzz_plugins_CFLAGS = $(AM_CFLAGS) -fsanitize=fuzzer
tests_fuzz_plugins_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
endif
