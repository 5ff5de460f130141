/* Where the variables come from that a sandbox is created with. */
#ifndef DAEMON_ENVSOURCE_H
#define DAEMON_ENVSOURCE_H

#include "conf/conf.h"
#include "wire/variables.h"

#define RV_ENVSOURCE_VARIABLE "REEVE_CREATE_ENVIRONMENT"

/* path: of --environment, "-" for stdin; NULL: what the variable above has, if it is set and not empty. Complaints go to c, and
   then there are no variables. */
void rv_envsource_read(const char *path, struct rv_variables *to, struct rv_complaints *c);
/* Complains when there are variables, and nobody to take them; boot: of those that a boot starts. */
void rv_envsource_check(const struct rv_conf *conf, bool boot, struct rv_complaints *c);

#endif
