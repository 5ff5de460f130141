#!/bin/sh
# The example of reeve-plugin(3) compiles without a warning, loads, and does what the page says.
set -u
build=${RV_BUILD:-.} src=${RV_SRC:-.}
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT

n=0
result() { # status, sentence
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then echo "ok $n - $2"; else
		echo "not ok $n - $2"
		sed 's/^/# /' "$dir/out" 2>/dev/null
	fi
}

echo 1..3
mkdir "$dir/plugins"
sed -n '/^\.\\" example begin/,/^\.\\" example end/p' "$src/man/reeve-plugin.3" |
	sed -e '/^\./d' -e 's/\\e/\\/g' >"$dir/hello.c"
# shellcheck disable=SC2086 # CC may have words
${CC:-cc} -std=c11 -Wall -Wextra -Wpedantic -Werror -shared -fPIC -I"$src/src/include" \
	-o "$dir/plugins/hello.so" "$dir/hello.c" >"$dir/out" 2>&1
result $? "the example of the manual compiles without a warning"

sed -n '/^\.\\" yaml begin/,/^\.\\" yaml end/{/^\./!p}' "$src/man/reeve-plugin.3" >"$dir/hello.yaml"
"$build/reeve" plan --plugin-dir "$dir/plugins" -c "$dir/hello.yaml" >"$dir/out" 2>&1
grep -q '8099' "$dir/out" && grep -q '/usr/bin/hello' "$dir/out"
result $? "its recipe is in the plan"

sed -i 's/port: 8099/prot: 8099/' "$dir/hello.yaml"
"$build/reeve" plan --plugin-dir "$dir/plugins" -c "$dir/hello.yaml" >"$dir/out" 2>&1
[ $? -eq 78 ] && grep -q 'did you mean .port' "$dir/out"
result $? "its table of options finds a mistake"
