/* The file of a UNIX socket, in a folder that others may write. */
#ifndef SYS_SOCKFILE_H
#define SYS_SOCKFILE_H

#include <stdbool.h>
#include <sys/types.h>
#include <sys/un.h>

/* Binds fd there, unreachable for others until the file has this mode and owner ((uid_t)-1, (gid_t)-1: as it is).
   Whatever somebody puts in its place meanwhile, a link to a file of root's most likely, keeps its own. False: errno (EEXIST: just that
   has happened), and a file may be left, unless it is EADDRINUSE. */
bool rv_sockfile_bind(int fd, const struct sockaddr_un *at, mode_t mode, uid_t owner, gid_t group);

#endif
