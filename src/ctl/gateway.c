/* mcp-gateway: what the E2B SDKs run in a sandbox that is created with `mcp`, and how reeve answers them.
 *
 *   GATEWAY_ACCESS_TOKEN=... mcp-gateway --config '{"exa":{"apiKey":"..."}}'
 *
 * It starts the one service whose plugin is mcp-gateway with that configuration and token, and returns 0 when the gateway
 * is ready. Otherwise its stderr is the gateway's, and why it was not; the SDK shows that to its user. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "ctl/call.h"
#include "ctl/field.h"
#include "ctl/words.h"
#include "sys/clock.h"
#include "sys/fd.h"
#include "wire/json.h"
#include "wire/rpc.h"

#define PRESET_SOCKET	  "/run/reeve/control.sock"
#define PRESET_TOKEN_FILE "/etc/mcp-gateway/.token"
#define PLUGIN		  "mcp-gateway"
#define PATIENCE	  (10 * RV_SEC) /* for a reeve that has no socket yet */

struct wish {
	const char *config, *token; /* token NULL: the service's own */
};

static int complain(const char *format, ...) RV_PRINTF(1, 2);
static int complain(const char *format, ...)
{
	va_list ap;

	fputs("mcp-gateway: ", stderr);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
	return CTL_FAILED;
}

static const char *variable(const char *name, const char *preset)
{
	const char *v = getenv(name);

	return v && *v ? v : preset;
}

/* ---- the words ---- */

static void help(void)
{
	puts("usage: mcp-gateway --config JSON\n"
	     "start the sandbox's MCP gateway with these servers, and wait until it is ready\n\n"
	     "GATEWAY_ACCESS_TOKEN  the bearer token that it shall want\n"
	     "REEVE_SOCKET          the control socket of reeve, else " PRESET_SOCKET "\n"
	     "MCP_GATEWAY_TOKEN_FILE  where the token is kept for root, else " PRESET_TOKEN_FILE
	     "\n\nSee reevectl(1).");
}

/* The exit status when there is nothing more to do, else -1. */
static int read_words(int argc, char **argv, struct wish *w)
{
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
			help();
			return CTL_OK;
		}
		if (!strcmp(argv[i], "--version")) {
			puts("mcp-gateway of reeve " PACKAGE_VERSION);
			return CTL_OK;
		}
		if (!strcmp(argv[i], "pull")) {
			complain("nothing can be pulled: the servers of this sandbox are those "
				 "that its "
				 "image brings");
			return CTL_FAILED;
		}
		if (!strncmp(argv[i], "--config=", 9)) {
			w->config = argv[i] + 9;
		} else if (!strcmp(argv[i], "--config") && i + 1 < argc) {
			w->config = argv[++i];
		} else {
			complain("unknown or unfinished word %s: --config JSON is expected",
				argv[i]);
			return CTL_USAGE;
		}
	}
	if (!w->config)
		complain("--config JSON is missing");
	return w->config ? -1 : CTL_USAGE;
}

/* ---- answers ---- */

/* One request, one answer; the caller's to delete. NULL: *status, and it is complained about. */
static cJSON *ask(struct rv_call *call, const struct rv_buf *request, rv_time bound, int *status)
{
	enum rv_got got = RV_GOT_END;
	const char *line;
	struct rv_fault f;
	cJSON *answer;

	*status = request->full ? rv_fault_set(&f, CTL_FAILED, "failed", "out of memory")
				: rv_call_send(call, request, &f);
	if (!*status) {
		got = rv_call_line(call, bound == RV_NEVER ? bound : rv_now() + bound, &line);
		if (got != RV_GOT_LINE)
			*status = rv_call_unanswered(call, got, &f);
	}
	if (*status) {
		complain("%s", f.text);
		return NULL;
	}
	answer = cJSON_Parse(line);
	if (rv_field(answer, "result"))
		return answer;
	complain("%s", rv_field_text(rv_field(answer, "error"), "message"));
	cJSON_Delete(answer);
	*status = CTL_FAILED;
	return NULL;
}

/* What the gateway said at last, as it is. */
static void print_stderr(const cJSON *part)
{
	const cJSON *base64 = rv_field(part, "base64");
	struct rv_buf bytes = {0}, text = {0};

	if (cJSON_IsString(base64))
		rv_json_base64_read(&bytes, base64->valuestring);
	else
		rv_buf_str(&bytes, rv_field_text(part, "text"));
	rv_text_visible(&text, rv_buf_text(&bytes), bytes.len);
	fwrite(rv_buf_text(&text), 1, text.len, stderr);
	if (text.len && text.data[text.len - 1] != '\n')
		fputc('\n', stderr);
	rv_buf_fini(&bytes);
	rv_buf_fini(&text);
}

static int judge(const cJSON *result)
{
	const cJSON *s = cJSON_GetArrayItem(rv_field(result, "services"), 0);

	if (cJSON_IsTrue(rv_field(s, "ok")))
		return CTL_OK;
	print_stderr(rv_field(s, "stderr"));
	return complain("%s is %s: %s", rv_field_text(s, "name"), rv_field_text(s, "state"),
		rv_field_text(s, "why"));
}

/* ---- which service ---- */

/* If that is what the service runs, it would ask for itself for ever. */
static bool is_ourselves(const cJSON *service)
{
	const cJSON *pid = rv_field(service, "pid");

	return cJSON_IsNumber(pid) && (pid->valueint == getpid() || pid->valueint == getppid());
}

/* The name; NULL: complained about. */
static const char *choose(const cJSON *status)
{
	const cJSON *s, *found = NULL, *named = NULL;
	int count = 0;

	cJSON_ArrayForEach(s, rv_field(rv_field(status, "result"), "services"))
	{
		if (strcmp(rv_field_text(s, "plugin"), PLUGIN) != 0)
			continue;
		found = s;
		count++;
		if (!strcmp(rv_field_text(s, "name"), PLUGIN))
			named = s;
	}
	if (count > 1)
		found = named;
	if (found && is_ourselves(found))
		complain("this is the command that asks reeve to start %s, and %s runs it: its "
			 "`command` "
			 "must name the gateway itself, by its path",
			rv_field_text(found, "name"), rv_field_text(found, "name"));
	else if (found)
		return rv_field_text(found, "name");
	else if (count)
		complain("%d services have the plugin " PLUGIN ", and none has that name", count);
	else
		complain("no service of this sandbox has the plugin " PLUGIN);
	return NULL;
}

static void put_request(struct rv_buf *to, const char *service, const struct wish *w)
{
	RV_JSON_LIT(
		to, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"restart\",\"params\":{\"names\":[");
	rv_json_str(to, service);
	RV_JSON_LIT(to, "],\"options\":{\"config\":");
	rv_json_str(to, w->config);
	if (w->token) {
		RV_JSON_LIT(to, ",\"token\":");
		rv_json_str(to, w->token);
	}
	RV_JSON_LIT(to, "}}}\n");
}

static int start(struct rv_call *call, const struct wish *w)
{
	struct rv_buf request = {0};
	int status = CTL_FAILED;
	cJSON *list, *answer = NULL;
	const char *name;

	rv_buf_str(&request, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"status\"}\n");
	list = ask(call, &request, RV_CALL_BOUND, &status);
	if (!list) {
		rv_buf_fini(&request);
		return status;
	}
	status = CTL_FAILED;
	name = choose(list);
	rv_buf_clear(&request);
	if (name)
		put_request(&request, name, w);
	if (request.len > RV_RPC_LINE_MAX)
		complain("the configuration is too large: as a request it has %zu bytes of at most "
			 "%d",
			request.len, RV_RPC_LINE_MAX);
	else if (name)
		answer = ask(
			call, &request, RV_NEVER, &status); /* the service has its own bounds */
	if (answer)
		status = judge(rv_field(answer, "result"));
	cJSON_Delete(answer);
	cJSON_Delete(list);
	rv_buf_fini(&request);
	return status;
}

/* ---- the token, for who connects later ---- */

/* Replaces the file as a whole, so that nobody reads half of it. */
static bool write_token(const char *path, const char *token)
{
	char fresh[4096], dir[4096];
	char *slash;
	rv_auto_fd fd = -1;
	size_t n = strlen(token);

	if ((size_t)snprintf(dir, sizeof(dir), "%s", path) >= sizeof(dir) - 16) {
		errno = ENAMETOOLONG;
		return false;
	}
	slash = strrchr(dir, '/');
	if (slash && slash != dir) {
		*slash = 0;
		if (mkdir(dir, 0755) && errno != EEXIST)
			return false;
	}
	snprintf(fresh, sizeof(fresh), "%.4000s.XXXXXX", path);
	fd = mkstemp(fresh); /* its mode is 0600 */
	if (fd < 0)
		return false;
	if (write(fd, token, n) == (ssize_t)n && !rename(fresh, path))
		return true;
	unlink(fresh);
	return false;
}

int main(int argc, char **argv)
{
	struct wish w = {.token = variable("GATEWAY_ACCESS_TOKEN", NULL)};
	const char *token_file = variable("MCP_GATEWAY_TOKEN_FILE", PRESET_TOKEN_FILE);
	struct rv_call call;
	struct rv_fault f;
	int status = read_words(argc, argv, &w);

	if (status >= 0)
		return status;
	status = rv_call_open(
		&call, variable("REEVE_SOCKET", PRESET_SOCKET), rv_now() + PATIENCE, true, &f);
	if (status)
		complain("%s", f.text);
	else
		status = start(&call, &w);
	rv_call_close(&call);
	/* The gateway is ready all the same: only those who connect to this sandbox later miss it. */
	if (!status && w.token && !write_token(token_file, w.token))
		complain("cannot keep the token in %s: %s", token_file, strerror(errno));
	return status;
}
