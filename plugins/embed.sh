#!/bin/sh
# A script as a C string: embed.sh FILE >HEADER. Its comments at the line's beginning stay here.
set -eu
echo "/* Made of $(basename "$1"). */"
echo 'static const char check_script[] ='
sed -e '/^#/d' -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/	"/' -e 's/$/\\n"/' "$1"
echo '	;'
