# A plugin is one file that sees <reeve/plugin.h> and what it wraps, and nothing else of ours. A script that its check hook
# runs is a file beside it, which it sees as the string check_script in NAME-check.h.
PLUGIN_CPPFLAGS = $(CONFIG_CPPFLAGS) -I$(top_srcdir)/src/include -I$(top_builddir)/plugins
PLUGIN_CFLAGS = $(AM_CFLAGS) -fPIC -fvisibility=hidden
PLUGIN_LINK = -shared $(PLUGIN_LDFLAGS) $(AM_LDFLAGS)

plugin_PROGRAMS += plugins/exec.so
plugins_exec_so_SOURCES = plugins/exec.c
plugins_exec_so_CPPFLAGS = $(PLUGIN_CPPFLAGS)
plugins_exec_so_CFLAGS = $(PLUGIN_CFLAGS)
plugins_exec_so_LDFLAGS = $(PLUGIN_LINK)

plugin_PROGRAMS += plugins/envd.so
plugins_envd_so_SOURCES = plugins/envd.c plugins/init.c plugins/init.h \
	plugins/loss.c plugins/loss.h plugins/marks.c plugins/marks.h plugins/variables.c plugins/variables.h
plugins_envd_so_CPPFLAGS = $(PLUGIN_CPPFLAGS)
plugins_envd_so_CFLAGS = $(PLUGIN_CFLAGS) $(CJSON_CFLAGS)
plugins_envd_so_LDFLAGS = $(PLUGIN_LINK)
plugins_envd_so_LDADD = $(CJSON_LIBS)

plugin_PROGRAMS += plugins/jupyter.so
plugins_jupyter_so_SOURCES = plugins/jupyter.c plugins/contexts.c plugins/contexts.h \
	plugins/contextlist.c plugins/contextlist.h plugins/loss.c plugins/loss.h \
	plugins/sessions.c plugins/sessions.h
plugins_jupyter_so_CPPFLAGS = $(PLUGIN_CPPFLAGS)
plugins_jupyter_so_CFLAGS = $(PLUGIN_CFLAGS) $(CJSON_CFLAGS)
plugins_jupyter_so_LDFLAGS = $(PLUGIN_LINK)
plugins_jupyter_so_LDADD = $(CJSON_LIBS)

plugin_PROGRAMS += plugins/interpreter.so
plugins_interpreter_so_SOURCES = plugins/interpreter.c plugins/loss.c plugins/loss.h \
	plugins/sessions.c plugins/sessions.h plugins/telling.c plugins/telling.h plugins/variables.c plugins/variables.h
plugins_interpreter_so_CPPFLAGS = $(PLUGIN_CPPFLAGS)
plugins_interpreter_so_CFLAGS = $(PLUGIN_CFLAGS) $(CJSON_CFLAGS)
plugins_interpreter_so_LDFLAGS = $(PLUGIN_LINK)
plugins_interpreter_so_LDADD = $(CJSON_LIBS)

plugin_PROGRAMS += plugins/mcp-gateway.so
plugins_mcp_gateway_so_SOURCES = plugins/mcp-gateway.c plugins/loss.c plugins/loss.h
plugins_mcp_gateway_so_CPPFLAGS = $(PLUGIN_CPPFLAGS)
plugins_mcp_gateway_so_CFLAGS = $(PLUGIN_CFLAGS) $(CJSON_CFLAGS)
plugins_mcp_gateway_so_LDFLAGS = $(PLUGIN_LINK)
plugins_mcp_gateway_so_LDADD = $(CJSON_LIBS)
EXTRA_DIST += plugins/README.md

inspection_files = plugins/jupyter-check.py plugins/interpreter-check.py plugins/mcp-gateway-check.sh
inspection_strings = plugins/jupyter-check.h plugins/interpreter-check.h plugins/mcp-gateway-check.h
EXTRA_DIST += $(inspection_files) plugins/embed.sh
CLEANFILES += $(inspection_strings)

plugins/jupyter-check.h: plugins/jupyter-check.py plugins/embed.sh
	$(AM_V_GEN)$(MKDIR_P) plugins && $(SHELL) $(top_srcdir)/plugins/embed.sh $(top_srcdir)/plugins/jupyter-check.py >$@
plugins/interpreter-check.h: plugins/interpreter-check.py plugins/embed.sh
	$(AM_V_GEN)$(MKDIR_P) plugins && $(SHELL) $(top_srcdir)/plugins/embed.sh $(top_srcdir)/plugins/interpreter-check.py >$@
plugins/mcp-gateway-check.h: plugins/mcp-gateway-check.sh plugins/embed.sh
	$(AM_V_GEN)$(MKDIR_P) plugins && $(SHELL) $(top_srcdir)/plugins/embed.sh $(top_srcdir)/plugins/mcp-gateway-check.sh >$@
plugins/jupyter_so-jupyter.$(OBJEXT): plugins/jupyter-check.h
plugins/interpreter_so-interpreter.$(OBJEXT): plugins/interpreter-check.h
plugins/mcp_gateway_so-mcp-gateway.$(OBJEXT): plugins/mcp-gateway-check.h
