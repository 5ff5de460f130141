/* The plugin host: a process of its own that loads plugins and drives their hooks. */
#ifndef HOST_HOST_H
#define HOST_HOST_H

/* Becomes the host: `fd` is the channel to the daemon and `fd` + 1 the memory file that it tells in what
   plugin code it is in (wire/hostproto.h: struct rv_hp_page). Own session, default dispositions and
   mask, dies with its parent, closes every other descriptor but 1 and 2, own loop. Returns the status
   for _exit, when the channel is closed. Called in the child of the first fork of main
   (daemon/hostlink.h: rv_hostlink_fork), or at once by `reeve --plugin-host FD`. */
int rv_host_run(int fd);

#endif
