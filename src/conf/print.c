/* The effective configuration for a reader. */
#include "conf/whole.h"

void rv_conf_print(const struct rv_conf *conf, struct rv_buf *to)
{
	(void)conf;
	(void)to;
}
