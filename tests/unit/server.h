/* A tiny HTTP server for tests: a child that answers by path, one connection at a time. */
#ifndef TESTS_UNIT_SERVER_H
#define TESTS_UNIT_SERVER_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct server {
	pid_t pid;
	int port;
};

static void server_say(int fd, const char *text)
{
	if (write(fd, text, strlen(text)) < 0)
		return;
}

static void server_answer(int fd, const char *request, int port)
{
	char path[200] = "", text[400];

	sscanf(request, "%*s %199s", path);
	if (strcmp(path, "/204") == 0)
		server_say(fd, "HTTP/1.1 204 No Content\r\nX-Mark: yes\r\n\r\n");
	else if (strncmp(path, "/status/", 8) == 0) {
		snprintf(text, sizeof(text), "HTTP/1.1 %d Whatever\r\nContent-Length: 2\r\n\r\nno",
			atoi(path + 8));
		server_say(fd, text);
	} else if (strcmp(path, "/302") == 0) {
		snprintf(text, sizeof(text),
			"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:%d/204\r\n"
			"Content-Length: 0\r\n\r\n",
			port);
		server_say(fd, text);
	} else if (strcmp(path, "/interim") == 0)
		server_say(fd,
			"HTTP/1.1 103 Early Hints\r\nX-Early: 1\r\n\r\n"
			"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlate");
	else if (strcmp(path, "/cut") == 0)
		server_say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
	else if (strcmp(path, "/endless") == 0) {
		server_say(fd, "HTTP/1.1 200 OK\r\n\r\n");
		while (write(fd, "0123456789abcdef", 16) == 16)
			;
	} else if (strcmp(path, "/nothttp") == 0)
		server_say(fd, "220 mail.example.org ESMTP\r\n");
	else if (strcmp(path, "/hang") == 0)
		pause();
	else if (strcmp(path, "/echo") == 0) {
		snprintf(text, sizeof(text), "HTTP/1.1 200 OK\r\n\r\n%.300s", request);
		server_say(fd, text);
	} else if (strcmp(path, "/silent") != 0)
		server_say(fd, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
}

/* Headers, and as much body as Content-Length says. */
static void server_read(int fd, char *request, size_t size)
{
	size_t len = 0;
	ssize_t n;

	while (len + 1 < size && (n = read(fd, request + len, size - 1 - len)) > 0) {
		char *end, *length;

		len += (size_t)n;
		request[len] = 0;
		end = strstr(request, "\r\n\r\n");
		length = strstr(request, "Content-Length: ");
		if (end && (!length || strlen(end + 4) >= (size_t)atoi(length + 16)))
			return;
	}
}

/* One process a connection, so that one that hangs stops nobody; all in one group, to end with it. */
static void server_run(int fd, int port)
{
	signal(SIGCHLD, SIG_IGN);
	for (;;) {
		char request[4096] = "";
		int c = accept(fd, NULL, NULL);

		if (c >= 0 && fork() == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			server_read(c, request, sizeof(request));
			server_answer(c, request, port);
			_exit(0);
		}
		close(c);
	}
}

static struct server server_start(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct server s = {0};
	socklen_t n = sizeof(a);

	if (fd < 0 || bind(fd, (struct sockaddr *)&a, n) || listen(fd, 50) ||
		getsockname(fd, (struct sockaddr *)&a, &n))
		abort();
	s.port = ntohs(a.sin_port);
	s.pid = fork();
	if (s.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that aborts leaves nobody behind */
		setpgid(0, 0);
		server_run(fd, s.port);
	}
	setpgid(s.pid, s.pid);
	close(fd);
	return s;
}

static void server_stop(struct server *s)
{
	if (s->pid <= 0)
		return; /* its start has failed: our own group is not to be killed for that */
	kill(-s->pid, SIGKILL);
	waitpid(s->pid, NULL, 0);
}

#endif
