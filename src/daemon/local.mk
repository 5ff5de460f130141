noinst_LIBRARIES += src/daemon/libdaemon.a
src_daemon_libdaemon_a_SOURCES = \
	src/daemon/engine.c src/daemon/engine.h src/daemon/pump.h src/daemon/heard.c \
	src/daemon/deeds.c src/daemon/view.c \
	src/daemon/because.c src/daemon/because.h \
	src/daemon/booted.c src/daemon/ending.c \
	src/daemon/suspicion.c src/daemon/suspicion.h \
	src/daemon/endreport.c src/daemon/endreport.h \
	src/daemon/envchange.c src/daemon/envchange.h \
	src/daemon/envforce.c src/daemon/envforce.h \
	src/daemon/envrenew.c src/daemon/envtell.c src/daemon/envstep.h \
	src/daemon/envset.c src/daemon/envset.h \
	src/daemon/envsource.c src/daemon/envsource.h \
	src/daemon/fresh.c src/daemon/fresh.h \
	src/daemon/given.c src/daemon/given.h \
	src/daemon/hands.c src/daemon/hands.h \
	src/daemon/lifeenv.c src/daemon/lifeenv.h \
	src/daemon/herald.c src/daemon/herald.h \
	src/daemon/history.c src/daemon/history.h \
	src/daemon/hostasks.c \
	src/daemon/hostchannel.c \
	src/daemon/hostdeath.c \
	src/daemon/hosthung.c \
	src/daemon/hostinside.h \
	src/daemon/hostlink.c src/daemon/hostlink.h \
	src/daemon/hostload.c \
	src/daemon/hostparts.h \
	src/daemon/hostrun.c \
	src/daemon/hosttake.c \
	src/daemon/hostvalues.c \
	src/daemon/load.c src/daemon/load.h src/daemon/report.c \
	src/daemon/reload.c src/daemon/reload.h src/daemon/reloadin.h \
	src/daemon/replace.c src/daemon/succeed.c \
	src/daemon/say.c src/daemon/say.h \
	src/daemon/tell.c src/daemon/tell.h

# What `reeve check` looks at.
src_daemon_libdaemon_a_SOURCES += \
	src/daemon/accounts.c \
	src/daemon/checkup.c src/daemon/checkup.h \
	src/daemon/guise.c src/daemon/guise.h \
	src/daemon/program.c src/daemon/program.h \
	src/daemon/verify.c

# What services write.
src_daemon_libdaemon_a_SOURCES += \
	src/daemon/capture.c src/daemon/capture.h \
	src/daemon/lines.c src/daemon/lines.h \
	src/daemon/logfile.c src/daemon/logfile.h \
	src/daemon/outlet.c src/daemon/outlet.h \
	src/daemon/pipes.c src/daemon/pipes.h \
	src/daemon/rotate.c \
	src/daemon/tail.c src/daemon/tail.h

# Processes: starting, finding and collecting them; users; listeners.
src_daemon_libdaemon_a_SOURCES += \
	src/daemon/child.c src/daemon/child.h \
	src/daemon/heir.c \
	src/daemon/whose.c src/daemon/whose.h src/daemon/tenant.c src/daemon/tenant.h \
	src/daemon/guest.c src/daemon/guest.h src/daemon/place.c src/daemon/place.h \
	src/daemon/holder.c src/daemon/holder.h src/daemon/sockdiag.c src/daemon/sockdiag.h \
	src/daemon/portkeep.c src/daemon/portkeep.h src/daemon/reserved.c src/daemon/reserved.h \
	src/daemon/ident.c src/daemon/ident.h \
	src/daemon/kin.c src/daemon/kin.h \
	src/daemon/listen.c src/daemon/listen.h src/daemon/portguard.c src/daemon/portguard.h \
	src/daemon/pidmap.c src/daemon/pidmap.h \
	src/daemon/proc.c src/daemon/proc.h \
	src/daemon/mainpid.c src/daemon/mainpid.h \
	src/daemon/reach.c \
	src/daemon/reap.c src/daemon/reap.h \
	src/daemon/spawn.c src/daemon/spawn.h \
	src/daemon/unixsock.c src/daemon/unixsock.h \
	src/daemon/whynot.c src/daemon/whynot.h

# Whether services are ready.
src_daemon_libdaemon_a_SOURCES += \
	src/daemon/closed.c src/daemon/closed.h \
	src/daemon/knock.c src/daemon/knock.h \
	src/daemon/newfile.c src/daemon/newfile.h \
	src/daemon/peer.c src/daemon/peer.h \
	src/daemon/notify.c src/daemon/notify.h \
	src/daemon/notifysock.c src/daemon/notifysock.h \
	src/daemon/probe.c src/daemon/probe.h src/daemon/probein.h \
	src/daemon/probehost.c src/daemon/probeown.c \
	src/daemon/readyfd.c src/daemon/readyfd.h \
	src/daemon/readyline.c src/daemon/readyline.h \
	src/daemon/trial.c src/daemon/trial.h

# The control socket.
src_daemon_libdaemon_a_SOURCES += \
	src/daemon/control.c src/daemon/control.h src/daemon/ctl.h \
	src/daemon/ctljudge.c src/daemon/ctljudge.h \
	src/daemon/ctldoor.c \
	src/daemon/ctlenv.c \
	src/daemon/ctlanswer.c src/daemon/ctlchange.c \
	src/daemon/ctlevents.c \
	src/daemon/ctlgive.c \
	src/daemon/ctlrecreate.c \
	src/daemon/ctlpause.c \
	src/daemon/ctllogs.c \
	src/daemon/ctlplan.c \
	src/daemon/ctlreload.c \
	src/daemon/ctlservice.c \
	src/daemon/ctlsock.c src/daemon/ctlsock.h \
	src/daemon/ctlwait.c src/daemon/ctlwaits.h \
	src/daemon/ctlwhy.c \
	src/daemon/verbs.c

bin_PROGRAMS += reeve
reeve_SOURCES = src/daemon/main.c
reeve_LDADD = src/daemon/libdaemon.a src/host/libhost.a src/conf/libconf.a src/wire/libwire.a \
	src/core/libcore.a src/sys/libsys.a src/base/libbase.a \
	$(YAML_LIBS) $(CJSON_LIBS) $(EV_LIBS)
EXTRA_DIST += src/daemon/README.md
