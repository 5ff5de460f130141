# A plugin is one file that sees <reeve/plugin.h> and what it wraps, and nothing else of ours.
PLUGIN_CPPFLAGS = -I$(top_srcdir)/src/include
PLUGIN_CFLAGS = $(AM_CFLAGS) -fPIC -fvisibility=hidden
PLUGIN_LINK = -shared $(PLUGIN_LDFLAGS) $(AM_LDFLAGS)

plugin_PROGRAMS += plugins/exec.so
plugins_exec_so_SOURCES = plugins/exec.c
plugins_exec_so_CPPFLAGS = $(PLUGIN_CPPFLAGS)
plugins_exec_so_CFLAGS = $(PLUGIN_CFLAGS)
plugins_exec_so_LDFLAGS = $(PLUGIN_LINK)
