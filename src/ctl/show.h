/* What people see: tables, sentences, log lines. Each gets the `result` of its verb. */
#ifndef CTL_SHOW_H
#define CTL_SHOW_H

#include <stdbool.h>
#include <stdio.h>

#include <cjson/cJSON.h>

#include "ctl/words.h"

/* All print to stdout, what went wrong to stderr, and return the exit status. */
int rv_show_status(const struct rv_words *w, const cJSON *result);
int rv_show_results(const struct rv_words *w, const cJSON *result);
int rv_show_check(const cJSON *result);
/* reloaded.c */
int rv_show_reload(const struct rv_words *w, const cJSON *result);
/* The members "complaints", "errors" and "warnings", as `reeve check` prints them. */
void rv_show_complaints(FILE *to, const cJSON *result);
int rv_show_plan(const cJSON *result);
int rv_show_plugins(const cJSON *result);
int rv_show_version(const cJSON *result);
/* The exit status alone, for --json. */
int rv_show_exit(const struct rv_words *w, const cJSON *result);

/* What a "text" or "base64" member stands for; nothing when there is neither. */
void rv_show_bytes(const cJSON *part, struct rv_buf *to);

/* events.c: all that have been, and one that comes. */
int rv_show_why(const cJSON *result);
void rv_show_events(const struct rv_words *w, const cJSON *result);
/* params of a notification. */
void rv_show_event(const struct rv_words *w, const cJSON *params);

/* logs.c: the tails, and then each notification. */
struct rv_pages;
struct rv_pages *rv_pages_create(const struct rv_words *w, const cJSON *result);
void rv_pages_add(struct rv_pages *p, const cJSON *params);
void rv_pages_destroy(struct rv_pages *p);

#endif
