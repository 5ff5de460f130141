# libFuzzer targets (clang): `./dev fuzz`, or tests/fuzz/conf -max_total_time=60 CORPUS conf.seeds
if FUZZ
noinst_PROGRAMS += tests/fuzz/conf
tests_fuzz_conf_SOURCES = tests/fuzz/conf.c
tests_fuzz_conf_CFLAGS = $(AM_CFLAGS) -fsanitize=fuzzer
tests_fuzz_conf_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
tests_fuzz_conf_LDADD = src/conf/libconf.a src/base/libbase.a $(YAML_LIBS)
endif
EXTRA_DIST += tests/fuzz/conf.seeds/full.yaml tests/fuzz/conf.seeds/ready.yaml tests/fuzz/conf.seeds/wrong.yaml
