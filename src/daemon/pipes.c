/* Pipes made in advance: see pipes.h. */
#include "daemon/pipes.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "sys/fd.h"

enum { STOCK = 3 }; /* stdout, stderr and a ready descriptor: one start */

/* What the next start of whichever service takes; there is one thread. */
static struct {
	int pair[STOCK][2];
	unsigned count;
} stock;

static bool make(int fd[2])
{
	int number;

	if (pipe2(fd, O_CLOEXEC))
		return false;
	fd[0] = rv_fd_lift(fd[0]);
	if (!fcntl(fd[0], F_SETFL, O_NONBLOCK))
		return true;
	number = errno;
	close(fd[0]);
	close(fd[1]);
	errno = number;
	return false;
}

bool rv_pipe_take(int fd[2])
{
	if (!stock.count)
		return make(fd);
	stock.count--;
	fd[0] = stock.pair[stock.count][0];
	fd[1] = stock.pair[stock.count][1];
	return true;
}

void rv_pipe_stock(void)
{
	while (stock.count < STOCK && make(stock.pair[stock.count]))
		stock.count++;
}

void rv_pipe_empty(void)
{
	while (stock.count) {
		stock.count--;
		close(stock.pair[stock.count][0]);
		close(stock.pair[stock.count][1]);
	}
}
