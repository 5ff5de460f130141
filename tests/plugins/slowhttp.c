/* Is loaded in place of http.so, takes its time, and is not the HTTP client. */
#include <unistd.h>

static void __attribute__((constructor)) take_time(void)
{
	sleep(2);
}
