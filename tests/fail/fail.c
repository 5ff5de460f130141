/* Linked into a reeve of its own with --wrap: the allocation RV_FAIL_AT (from 0) of the daemon fails, and
 * with RV_FAIL_ALL each one after it for RV_FAIL_ALL allocations. Libraries are not touched: what libev
 * does without memory is not ours to test. At the end RV_FAIL_REPORT gets how many there were. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
	long count, from, to;
	pid_t owner; /* a forked host is another story */
	FILE *report;
} plot = {.from = -1};

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
char *__real_strdup(const char *s);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
char *__wrap_strdup(const char *s);

/* The services must not see these. */
static void __attribute__((constructor)) begin(void)
{
	const char *at = getenv("RV_FAIL_AT"), *all = getenv("RV_FAIL_ALL");
	const char *report = getenv("RV_FAIL_REPORT");

	plot.owner = getpid();
	if (at) {
		plot.from = strtol(at, NULL, 10);
		plot.to = plot.from + (all ? strtol(all, NULL, 10) : 1);
	}
	if (report)
		plot.report = fopen(report, "we");
	unsetenv("RV_FAIL_AT");
	unsetenv("RV_FAIL_ALL");
	unsetenv("RV_FAIL_REPORT");
}

static void __attribute__((destructor)) end(void)
{
	if (!plot.report || getpid() != plot.owner)
		return;
	fprintf(plot.report, "%ld\n", plot.count);
	fclose(plot.report);
}

static bool fails(void)
{
	long n;

	if (getpid() != plot.owner)
		return false;
	n = plot.count++;
	if (n < plot.from || n >= plot.to)
		return false;
	errno = ENOMEM;
	return true;
}

void *__wrap_malloc(size_t n)
{
	return fails() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
	return fails() ? NULL : __real_realloc(p, n);
}

char *__wrap_strdup(const char *s)
{
	return fails() ? NULL : __real_strdup(s);
}
