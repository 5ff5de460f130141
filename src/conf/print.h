/* What the files that print a plan share. Private to conf. */
#ifndef CONF_PRINT_H
#define CONF_PRINT_H

#include "conf/whole.h"

/* What is written to, and what must not get there. */
struct rv_sheet {
	struct rv_buf *to;
	const struct rv_mask *mask;
};

void rv_print_label(struct rv_buf *to, const char *name);
/* What a file may say with ${...}: without secrets, and without control characters. */
void rv_print_text(const struct rv_sheet *p, const char *text);
/* The same, quoted as a shell would want it. */
void rv_print_word(const struct rv_sheet *p, const char *word);
void rv_print_argv(const struct rv_sheet *p, const char *const *argv);
/* printready.c */
void rv_print_ready(const struct rv_sheet *p, const struct rv_service *s);
void rv_print_health(const struct rv_sheet *p, const struct rv_service *s, const struct rv_node *n);

#endif
