/* Is a shared object, but no plugin. */
int noplugin(void);

int noplugin(void)
{
	return 0;
}
