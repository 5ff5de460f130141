/* Options of one start, as the command line gives them: KEY=VALUE, KEY=@FILE, KEY=@- (stdin), KEY=@@... for a value
 * that begins with @. */
#ifndef CTL_GIVEN_H
#define CTL_GIVEN_H

#include <stdbool.h>

#include "base/buf.h"
#include "ctl/fault.h"

struct rv_given;

/* Adds one; *g may be NULL before the first. A VALUE is wiped from `word`, which is shown by ps. A newline at the end of a
   file is no part of it. False: *f says why. */
bool rv_given_add(struct rv_given **g, char *word, struct rv_fault *f);
/* {"KEY":"VALUE",...} */
void rv_given_put(const struct rv_given *g, struct rv_buf *to);
/* NULL is fine. */
void rv_given_destroy(struct rv_given *g);

#endif
