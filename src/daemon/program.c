/* A program, looked at as the kernel would: see program.h. */
#include "daemon/program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "sys/fd.h"

static bool refuse(struct rv_program *p, const char *text)
{
	snprintf(p->why, sizeof(p->why), "%s", text);
	return false;
}

/* line: what stands behind #! */
static bool judge_interpreter(struct rv_program *p, char *line)
{
	struct rv_buf seen = {.max = 300};
	bool good, dos;

	line += strspn(line, " \t");
	line[strcspn(line, " \t\n")] = 0;
	dos = strchr(line, '\r');
	good = *line != '/' || !access(line, F_OK);
	rv_text_visible(&seen, line, strlen(line));
	if (!good)
		snprintf(p->why, sizeof(p->why), "its interpreter %s does not exist%s",
			rv_buf_text(&seen), dos ? " (the file has DOS line ends)" : "");
	rv_buf_fini(&seen);
	return good;
}

/* As the kernel looks at the first bytes. What cannot be read may still be executed. */
static bool judge_content(struct rv_program *p, int dir)
{
	rv_auto_fd fd = openat(dir, p->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char head[257] = "";
	ssize_t n = fd < 0 ? -1 : read(fd, head, sizeof(head) - 1);

	if (n < 0 || (n >= 4 && !memcmp(head, "\177ELF", 4)))
		return true;
	if (n >= 2 && !memcmp(head, "#!", 2))
		return judge_interpreter(p, head + 2);
	return refuse(p, "not a program: neither a known binary format nor a #! line");
}

static bool judge(struct rv_program *p, int dir)
{
	struct stat st;

	if (fstatat(dir, p->path, &st, 0))
		return refuse(p, strerror(errno));
	if (S_ISDIR(st.st_mode))
		return refuse(p, "it is a folder");
	if (!S_ISREG(st.st_mode))
		return refuse(p, "not a regular file");
	if (faccessat(dir, p->path, X_OK, AT_EACCESS)) {
		snprintf(p->why, sizeof(p->why), "%s (mode %04o)", strerror(errno),
			(unsigned)st.st_mode & 07777);
		return false;
	}
	return judge_content(p, dir);
}

/* The first in the folders of PATH that may be executed, as the start will take it. */
static bool seek(struct rv_program *p, int dir, const char *name, const char *search)
{
	const char *s = search, *end;
	struct stat st;

	for (;; s = end + 1) {
		end = strchrnul(s, ':');
		if ((size_t)snprintf(p->path, sizeof(p->path), "%.*s%s%s", (int)(end - s), s,
			    end > s ? "/" : "", name) < sizeof(p->path) &&
			!fstatat(dir, p->path, &st, 0) && S_ISREG(st.st_mode) &&
			!faccessat(dir, p->path, X_OK, AT_EACCESS))
			return judge_content(p, dir);
		if (!*end)
			break;
	}
	*p->path = 0;
	return refuse(p, "not found in the folders of PATH");
}

bool rv_program_look(struct rv_program *p, int dir, const char *name, const char *search)
{
	*p = (struct rv_program){0};
	if (!strchr(name, '/'))
		return seek(p, dir, name, search);
	if ((size_t)snprintf(p->path, sizeof(p->path), "%s", name) >= sizeof(p->path))
		return refuse(p, strerror(ENAMETOOLONG));
	return judge(p, dir);
}
