reeveincludedir = $(includedir)/reeve
reeveinclude_HEADERS = src/include/reeve/plugin.h
