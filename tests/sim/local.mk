# The simulator sees libcore.a as it ships, and two more cores from the same sources: one with planted
# faults, one that sweeps (see tests/sim/rename.h).
check_LIBRARIES = tests/sim/libfaulty.a tests/sim/libsweep.a
SIM_CORE_FLAGS = $(AM_CPPFLAGS) -include $(top_srcdir)/tests/sim/rename.h '-DRV_FAULT(n)=(sim_planted==(n))'
tests_sim_libfaulty_a_SOURCES = $(CORE_SOURCES) tests/sim/brain.c
tests_sim_libfaulty_a_CPPFLAGS = $(SIM_CORE_FLAGS) -DSIM_PREFIX=faulty_ -DSIM_BRAIN=brain_faulty
tests_sim_libsweep_a_SOURCES = $(CORE_SOURCES) tests/sim/brain.c
tests_sim_libsweep_a_CPPFLAGS = $(SIM_CORE_FLAGS) -DSIM_PREFIX=sweep_ -DSIM_BRAIN=brain_sweep -DRV_SWEEP

check_PROGRAMS += tests/sim/sim
tests_sim_sim_SOURCES = tests/sim/sim.c tests/sim/sim.h tests/sim/play.c tests/sim/plot.c \
	tests/sim/law.c tests/sim/afterwards.c tests/sim/world.c tests/sim/graph.c tests/sim/graph.h \
	tests/sim/brain.c tests/sim/brain.h tests/sim/dice.h tests/sim/rename.h
tests_sim_sim_LDADD = tests/sim/libfaulty.a tests/sim/libsweep.a src/core/libcore.a
TESTS += tests/sim/sim

check_PROGRAMS += tests/sim/story
tests_sim_story_SOURCES = tests/sim/story.c tests/sim/notation.c tests/sim/notation.h \
	tests/sim/graph.c tests/sim/graph.h tests/sim/brain.h tests/sim/dice.h
tests_sim_story_LDADD = src/core/libcore.a
TESTS += tests/sim/stories.sh

check_PROGRAMS += tests/sim/scale
tests_sim_scale_SOURCES = tests/sim/scale.c
tests_sim_scale_LDADD = src/core/libcore.a
TESTS += tests/sim/scale

EXTRA_DIST += tests/sim/stories.sh tests/sim/stories
