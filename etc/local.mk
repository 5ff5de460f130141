EXTRA_DIST += etc/Dockerfile etc/sandbox/reeve.yaml etc/sandbox/envd-standin etc/sandbox/interpreter/server.py \
	etc/sandbox/interpreter/kernels.py \
	etc/sandbox/package.json etc/sandbox/package-lock.json
