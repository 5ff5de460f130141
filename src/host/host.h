/* The plugin host: a process of its own that loads plugins and drives their hooks. */
#ifndef HOST_HOST_H
#define HOST_HOST_H

/* Becomes the host: `fd` is the channel to the daemon, `floor` the lowest descriptor that may be closed
   is found by itself. Own session, default dispositions and mask, dies with its parent, closes every
   other descriptor but 1 and 2, own loop. Returns the status for _exit. Called in the child of the first
   fork of main, or at once by `reeve --plugin-host FD`. */
int rv_host_run(int fd);

#endif
