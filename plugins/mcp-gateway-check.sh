# shellcheck shell=sh
# What `reeve check` runs for an MCP gateway: is there what its command names? Prints a line "reeve: TEXT" for each finding
# and ends with 3 when a start would fail.
#
# Arguments: the program of the server behind the gateway ("": none); files that must be there.
server=$1
bad=0
shift
if [ -n "$server" ] && ! command -v "$server" >/dev/null 2>&1; then
	echo "reeve: cannot execute $server, the MCP server behind -- in its command"
	bad=3
fi
for file; do
	if [ ! -r "$file" ]; then
		echo "reeve: cannot read $file, which its command names"
		bad=3
	fi
done
exit "$bad"
