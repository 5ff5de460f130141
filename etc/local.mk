EXTRA_DIST += etc/sandbox/envd-standin
