# A plugin is one file that sees <reeve/plugin.h> and what it wraps, and nothing else of ours.
PLUGIN_CPPFLAGS = $(CONFIG_CPPFLAGS) -I$(top_srcdir)/src/include
PLUGIN_CFLAGS = $(AM_CFLAGS) -fPIC -fvisibility=hidden
PLUGIN_LINK = -shared $(PLUGIN_LDFLAGS) $(AM_LDFLAGS)

plugin_PROGRAMS += plugins/exec.so
plugins_exec_so_SOURCES = plugins/exec.c
plugins_exec_so_CPPFLAGS = $(PLUGIN_CPPFLAGS)
plugins_exec_so_CFLAGS = $(PLUGIN_CFLAGS)
plugins_exec_so_LDFLAGS = $(PLUGIN_LINK)

plugin_PROGRAMS += plugins/envd.so
plugins_envd_so_SOURCES = plugins/envd.c
plugins_envd_so_CPPFLAGS = $(PLUGIN_CPPFLAGS)
plugins_envd_so_CFLAGS = $(PLUGIN_CFLAGS)
plugins_envd_so_LDFLAGS = $(PLUGIN_LINK)

plugin_PROGRAMS += plugins/jupyter.so
plugins_jupyter_so_SOURCES = plugins/jupyter.c
plugins_jupyter_so_CPPFLAGS = $(PLUGIN_CPPFLAGS)
plugins_jupyter_so_CFLAGS = $(PLUGIN_CFLAGS) $(CJSON_CFLAGS)
plugins_jupyter_so_LDFLAGS = $(PLUGIN_LINK)
plugins_jupyter_so_LDADD = $(CJSON_LIBS)

plugin_PROGRAMS += plugins/interpreter.so
plugins_interpreter_so_SOURCES = plugins/interpreter.c
plugins_interpreter_so_CPPFLAGS = $(PLUGIN_CPPFLAGS)
plugins_interpreter_so_CFLAGS = $(PLUGIN_CFLAGS)
plugins_interpreter_so_LDFLAGS = $(PLUGIN_LINK)

plugin_PROGRAMS += plugins/mcp-gateway.so
plugins_mcp_gateway_so_SOURCES = plugins/mcp-gateway.c
plugins_mcp_gateway_so_CPPFLAGS = $(PLUGIN_CPPFLAGS)
plugins_mcp_gateway_so_CFLAGS = $(PLUGIN_CFLAGS) $(CJSON_CFLAGS)
plugins_mcp_gateway_so_LDFLAGS = $(PLUGIN_LINK)
plugins_mcp_gateway_so_LDADD = $(CJSON_LIBS)
EXTRA_DIST += plugins/README.md
