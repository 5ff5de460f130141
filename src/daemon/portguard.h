/* A second socket on the port of a listener that nobody listens on yet but that must carry SO_REUSEADDR, because old
   connections would hinder the listen otherwise. With the flag on one side and on the other the kernel lets any
   stranger bind there, too, and nearly every server sets it; the guard has no such flag and refuses them. */
#ifndef DAEMON_PORTGUARD_H
#define DAEMON_PORTGUARD_H

/* For a bound TCP socket that does not listen and has the flag off. Returns the guard, or -1 when it cannot be had: then
   the port is as it would be without. Set the flag after that. */
int rv_portguard_open(int ours);
/* When the socket listens, which refuses strangers by itself, or when its flag is off again. -1 is fine. */
void rv_portguard_release(int *guard, int ours);

#endif
