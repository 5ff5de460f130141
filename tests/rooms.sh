#!/bin/bash
# The house rules: who may include whom, what may be called from where, and that each file has one home. TAP.
# Each rule is shown to be able to fail: it is run again on a copy in which it is broken.
# RV_SRC: the source tree. RV_BUILD: a build of it; what needs an unsanitised one says so and is skipped in others.
[ -n "$BASH_VERSION" ] || exec bash "$0" "$@"
set -u
src=${RV_SRC:-$(cd "$(dirname "$0")/.." && pwd)}
build=${RV_BUILD:-$src/build}
export LC_ALL=C

case_no=0
# result OK NAME: one TAP line.
result() {
	case_no=$((case_no + 1))
	if [ "$1" = 0 ]; then echo "ok $case_no - $2"; else echo "not ok $case_no - $2"; fi
}
skip() {
	case_no=$((case_no + 1))
	echo "ok $case_no - $1 # SKIP $2"
}

# ---- rules: each prints its findings, none when it is kept -----------------------------------------------------------

# Which of our own headers a room may include (patterns on ROOM/FILE).
own_headers() {
	case $1 in
	src/base/*) echo 'base/*' ;;
	src/sys/*) echo 'base/* sys/*' ;;
	src/core/*) echo 'base/lists.h core/*' ;;
	src/conf/*) echo 'base/* conf/* core/plan.h core/lists.h' ;;
	src/wire/*) echo 'base/* wire/*' ;;
	src/host/*) echo 'base/* sys/* wire/* host/* reeve/plugin.h' ;;
	src/daemon/main.c) echo 'base/* sys/* core/* conf/* wire/* daemon/* host/host.h' ;;
	src/daemon/*) echo 'base/* sys/* core/* conf/* wire/* daemon/*' ;;
	src/ctl/*) echo 'base/* sys/* wire/* ctl/*' ;;
	*) echo '' ;;
	esac
}

# fits WORD PATTERN...
fits() {
	local word=$1 p
	shift
	for p in "$@"; do
		# shellcheck disable=SC2254  # a pattern is what is wanted
		case $word in $p) return 0 ;; esac
	done
	return 1
}

sources_of() { (cd "$1" && find "$2" -name '*.[ch]' | sort); }

includes_of() { sed -n -E 's/^[ \t]*#[ \t]*include[ \t]*([<"][^>"]*[>"]).*/\1/p' "$1"; }

rule_own_headers() {
	local root=$1 f inc name
	local -a may
	while IFS= read -r f; do
		read -r -a may <<<"$(own_headers "$f")"
		while IFS= read -r inc; do
			case $inc in '"'*) ;; *) continue ;; esac
			name=${inc//\"/}
			fits "$name" "${may[@]}" || echo "$f includes $inc"
		done < <(includes_of "$root/$f")
	done < <(sources_of "$root" src)
}

# Which headers that are not libc's a file may include.
foreign_headers() {
	case $1 in
	src/conf/*) echo 'yaml.h' ;;
	src/wire/hostproto*) echo '' ;;
	src/wire/*) echo 'cjson/cJSON.h cJSON.h' ;;
	src/host/http.c) echo 'curl/curl.h ev.h reeve/plugin.h' ;;
	src/host/*) echo 'ev.h dlfcn.h reeve/plugin.h' ;;
	src/daemon/*) echo 'ev.h' ;;
	src/ctl/*) echo 'cjson/cJSON.h cJSON.h editline/readline.h histedit.h' ;;
	src/include/*) echo '' ;;
	plugins/*) echo 'reeve/plugin.h cjson/cJSON.h cJSON.h' ;;
	*) echo '' ;;
	esac
}

rule_foreign_headers() {
	local root=$1 f inc name
	local -a may
	while IFS= read -r f; do
		read -r -a may <<<"$(foreign_headers "$f")"
		while IFS= read -r inc; do
			case $inc in '<'*) ;; *) continue ;; esac
			name=${inc#<}
			name=${name%>}
			case $name in
			yaml.h | ev.h | ev++.h | dlfcn.h | curl/* | *cJSON.h | reeve/* | editline/* | histedit.h)
				fits "$name" ${may[@]+"${may[@]}"} || echo "$f includes $inc"
				;;
			esac
		done < <(includes_of "$root/$f")
	done < <(sources_of "$root" src; sources_of "$root" plugins)
}

# Which headers of the system, beyond those of the language, a room of values may include. The others act: they may include all.
system_headers() {
	case $1 in
	src/base/*) echo 'arpa/inet.h sanitizer/* signal.h strings.h' ;;
	src/conf/*) echo 'arpa/inet.h dirent.h fcntl.h signal.h strings.h sys/resource.h sys/stat.h sys/types.h sys/un.h unistd.h yaml.h' ;;
	src/wire/*) echo 'cjson/cJSON.h cJSON.h strings.h sys/types.h time.h' ;;
	esac
}

rule_system_headers() {
	local root=$1 f inc
	local -a may
	while IFS= read -r f; do
		read -r -a may <<<"$(system_headers "$f")"
		while IFS= read -r inc; do
			case $inc in
			'"'* | '<assert.h>' | '<ctype.h>' | '<errno.h>' | '<inttypes.h>' | '<limits.h>' | '<std'*'.h>' | '<string.h>') ;;
			*) fits "${inc:1:-1}" "${may[@]}" || echo "$f includes $inc" ;;
			esac
		done < <(includes_of "$root/$f")
	done < <(sources_of "$root" src/base; sources_of "$root" src/conf; sources_of "$root" src/wire)
}

# The core works on values: no I/O, no clock, no memory of its own.
rule_core_is_pure() {
	local root=$1 f inc
	while IFS= read -r f; do
		while IFS= read -r inc; do
			case $inc in
			'"'* | '<assert.h>' | '<limits.h>' | '<stdbool.h>' | '<stddef.h>' | '<stdint.h>' | '<string.h>') ;;
			*) echo "$f includes $inc" ;;
			esac
		done < <(includes_of "$root/$f")
	done < <(sources_of "$root" src/core)
}

rule_public_header_stands_alone() {
	local root=$1 inc
	while IFS= read -r inc; do
		case $inc in
		'<stdint.h>' | '<stddef.h>' | '<stdbool.h>') ;;
		*) echo "src/include/reeve/plugin.h includes $inc" ;;
		esac
	done < <(includes_of "$root/src/include/reeve/plugin.h")
}

rule_plugins_see_one_header() {
	local root=$1 f inc
	while IFS= read -r f; do
		while IFS= read -r inc; do
			case $inc in
			"\"$(basename "$f" .c)-check.h\"") ;; # made of the script beside it
			'"'*/*) echo "$f includes $inc" ;;
			'"'*) [ -e "$root/plugins/${inc//\"/}" ] || echo "$f includes $inc" ;; # what plugins share
			esac
		done < <(includes_of "$root/$f")
		grep -q '^#include <reeve/plugin.h>' "$root/$f" || echo "$f does not include <reeve/plugin.h>"
	done < <(sources_of "$root" plugins | grep '\.c$')
}

# The build puts config.h before each file: nobody asks for features by hand, or the same call means two things.
rule_features_come_from_config() {
	local root=$1
	(cd "$root" && grep -rnE --include='*.[ch]' \
		'^[ \t]*#[ \t]*(define[ \t]+_(GNU|DEFAULT|BSD|XOPEN|POSIX_C)_SOURCE|define[ \t]+_FILE_OFFSET_BITS|include[ \t]+[<"]config\.h)' src plugins)
}

rule_each_file_has_one_home() {
	local root=$1 f n
	while IFS= read -r f; do
		n=$(cd "$root" && grep -l -E "(^|[[:space:]=])${f//./\\.}([[:space:]]|\$)" src/*/local.mk plugins/local.mk | wc -l)
		[ "$n" = 1 ] || echo "$f is in $n local.mk files"
	done < <(sources_of "$root" src; sources_of "$root" plugins)
}

rule_each_room_says_who_it_is() {
	local root=$1 dir f word lines
	for dir in base sys core conf wire host daemon ctl; do
		f=src/$dir/README.md
		[ -e "$root/$f" ] || { echo "$f is missing"; continue; }
		lines=$(wc -l <"$root/$f")
		if [ "$lines" -lt 10 ] || [ "$lines" -gt 30 ]; then echo "$f has $lines lines, not 10 to 30"; fi
		for word in 'I am' 'I may look into' 'I never' 'Read first'; do
			grep -q "$word" "$root/$f" || echo "$f does not say '$word'"
		done
	done
}

# Every function that another file can see is ours by its name.
rule_public_names() {
	local lib
	for lib in "$1"/src/*/lib*.a; do
		nm -g --defined-only "$lib" 2>/dev/null | awk -v lib="${lib#"$1/"}" \
			'NF == 3 && $2 ~ /[TDBRVWC]/ && $3 !~ /^(rv_|__asan_|__odr_asan|__ubsan_|_ZTI)/ { print lib " defines " $3 }'
	done
}

# What the mind may call: memory functions, assert, the compiler's own guards.
rule_core_calls_nothing() {
	nm -u "$1/src/core/libcore.a" 2>/dev/null | awk 'NF == 2 { print $2 }' | sort -u |
		grep -v -E '^(rv_(core|plan|state|hook|why|[a-z]+)_?[a-z0-9_]*|mem(cpy|set|move|cmp)|__mem(cpy|set|move)_chk|__assert_fail|__stack_chk_fail|_GLOBAL_OFFSET_TABLE_|str(len|cmp|ncmp))$' |
		sed 's/^/libcore.a calls /'
	# A name of ours must be found in the core itself or in base.
	{ nm -g --defined-only "$1/src/core/libcore.a" "$1/src/base/libbase.a" 2>/dev/null | awk 'NF == 3 { print "d", $3 }'
		nm -u "$1/src/core/libcore.a" 2>/dev/null | awk 'NF == 2 && $2 ~ /^rv_/ { print "u", $2 }'; } |
		awk '$1 == "d" { d[$2] = 1 } $1 == "u" { u[$2] = 1 } END { for (n in u) if (!(n in d)) print "libcore.a calls " n ", which is not in core or base" }'
}

# Rooms of values neither open nor wait nor ask what time it is. conf reads files, and nothing else.
rule_values_do_not_act() {
	local room acts='socket|socketpair|bind|listen|accept4?|connect|send(to|msg)?|recv(from|msg)?|p?poll|select|epoll_.*|v?fork|clone|exec[vl].*|kill|waitpid'
	acts="$acts|clock_gettime|gettimeofday|time|nanosleep|usleep|sleep|syscall"
	for room in conf base wire; do
		[ $room = conf ] || acts="$acts|openat?|fopen|fdopen|read|write|close|unlink|stat|lstat|opendir"
		nm -u "$1/src/$room/lib$room.a" 2>/dev/null | awk -v room=$room -v acts="^($acts)\$" \
			'NF == 2 && $2 ~ acts { print "lib" room ".a calls " $2 }' | sort -u
	done
}

# The object files of the product whose sources are still there.
objects_of() {
	local o name
	while IFS= read -r o; do
		name=${o##*/}
		name=${name##*-}
		[ ! -e "$src/$(dirname "${o#"$1/"}")/${name%.o}.c" ] || printf '%s\n' "$o"
	done < <(find "$1/src" "$1/plugins" -name '*.o' 2>/dev/null)
}

# What is public is so because another file of the product needs it; what only tests need is theirs. Of these nm cannot tell:
# http.so's table is found by dlsym, rv_mark_all is for the simulator's core that sweeps, rv_schema_list for the manual's test.
rule_what_is_public_is_used() {
	objects_of "$1" | xargs -r nm -A -g 2>/dev/null | awk '
		{ split($0, part, ":"); type = $(NF - 1); name = $NF }
		name !~ /^rv_/ || name ~ /^(rv_http_v1|rv_mark_all|rv_schema_list)$/ { next }
		type == "U" { used[name] = 1 }
		type ~ /^[TDBRVW]$/ { home[name] = part[1] }
		END { for (name in home) if (!(name in used)) print "nobody but " home[name] " needs " name }'
}

rule_daemon_exports_nothing() { nm -D --defined-only "$1/reeve" 2>/dev/null | awk '$NF ~ /^rv_/ { print "reeve exports " $NF }'; }

# The simulator compiles the core three times. A function that rename.h forgets is silently one and the same in all of them.
rule_three_cores_share_nothing() {
	local lib
	for lib in "$1"/tests/sim/libfaulty.a "$1"/tests/sim/libsweep.a "$1"/src/core/libcore.a; do
		nm -g --defined-only "$lib" 2>/dev/null | awk 'NF == 3 && $3 ~ /^rv_/ { print $3 }' | sort -u
	done | sort | uniq -d | sed 's/^/rename.h forgets /'
}

# needs FILE LIBRARIES: which of these (a pattern) the file asks the loader for.
needs() { readelf -d "$1" 2>/dev/null | grep -E "NEEDED.*lib($2)" | sed "s|^.*\[|${1##*/} needs |; s|\].*||"; }

# libcurl costs its mapper 4 ms and 8 MiB: it is http.so's alone, which a host maps at its first request.
rule_only_http_needs_libcurl() {
	local f
	for f in "$1"/reeve "$1"/reevectl "$1"/plugins/*.so; do
		[ ! -e "$f" ] || needs "$f" 'curl|ssl|crypto'
	done
	if [ -e "$1/http.so" ] && [ -z "$(needs "$1/http.so" curl)" ]; then echo 'http.so does not need libcurl'; fi
}

rule_ctl_links_what_it_may() { needs "$1/reevectl" 'ev|yaml|curl'; }

rule_plugins_call_nothing_of_ours() {
	local so
	for so in "$1"/plugins/*.so; do
		[ -e "$so" ] || continue
		nm -D -u "$so" | awk -v so="${so#"$1/"}" '$NF ~ /^rv_/ { print so " calls " $NF }'
		nm -D --defined-only "$so" | awk -v so="${so#"$1/"}" \
			'$2 ~ /[TDBRVW]/ && $3 != "reeve_plugin_v1" && $3 !~ /^(_init|_fini|__asan|__odr_asan|__ubsan|__bss_start|_edata|_end|_IO_stdin_used|__sanitizer|__start_|__stop_)/ { print so " exports " $3 }'
	done
}

# ---- running them ----------------------------------------------------------------------------------------------------

tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

# holds RULE ROOT NAME: the rule finds nothing.
holds() {
	local found
	found=$("$1" "$2")
	[ -z "$found" ]
	result $? "$3"
	[ -z "$found" ] || printf '%s\n' "$found" | sed 's/^/# /'
}

# can_fail RULE NAME WORD: on the copy, in which it was broken just now, the rule names the planted fault.
can_fail() {
	"$1" "$tmp/tree" | grep -q -F -- "$3"
	result $? "$2: a planted fault is found"
}

fresh_copy() {
	rm -rf "$tmp/tree"
	mkdir -p "$tmp/tree"
	cp -R "$src/src" "$src/plugins" "$tmp/tree/"
	chmod -R u+w "$tmp/tree"
}

# plant FILE LINE: the line becomes the first one of the file in the copy.
plant() {
	local f=$tmp/tree/$1
	fresh_copy
	{ printf '%s\n' "$2"; cat "$f" 2>/dev/null; } >"$tmp/planted"
	cp "$tmp/planted" "$f"
}

source_rules() {
	holds rule_own_headers "$src" 'a room includes only what it may look into'
	plant src/core/core.h '#include "daemon/say.h"'
	can_fail rule_own_headers 'rooms' 'src/core/core.h includes "daemon/say.h"'
	plant src/base/err.c '#include "err.h"'
	can_fail rule_own_headers 'a header without its room' 'src/base/err.c includes "err.h"'
	plant src/daemon/say.c '#include "host/host.h"'
	can_fail rule_own_headers 'only main.c sees the host' 'src/daemon/say.c includes "host/host.h"'

	holds rule_foreign_headers "$src" 'a foreign library is seen only by the room that wraps it'
	plant src/daemon/say.c '#include <curl/curl.h>'
	can_fail rule_foreign_headers 'libcurl' 'src/daemon/say.c includes <curl/curl.h>'

	holds rule_system_headers "$src" 'rooms of values include no header that acts'
	plant src/base/names.c '#include <sys/socket.h>'
	can_fail rule_system_headers 'headers of the system' 'src/base/names.c includes <sys/socket.h>'

	holds rule_core_is_pure "$src" 'the core includes neither I/O nor clock nor malloc'
	plant src/core/core.h '#include <stdlib.h>'
	can_fail rule_core_is_pure 'the core' 'src/core/core.h includes <stdlib.h>'

	holds rule_public_header_stands_alone "$src" 'the public header includes only fixed-size types'
	plant src/include/reeve/plugin.h '#include <ev.h>'
	can_fail rule_public_header_stands_alone 'the public header' 'includes <ev.h>'

	holds rule_plugins_see_one_header "$src" 'a plugin sees one header of ours'
	plant plugins/exec.c '#include "base/err.h"'
	can_fail rule_plugins_see_one_header 'plugins' 'plugins/exec.c includes "base/err.h"'

	holds rule_features_come_from_config "$src" 'no source asks for features of libc itself'
	plant src/base/err.c '#define _GNU_SOURCE'
	can_fail rule_features_come_from_config 'features' 'src/base/err.c:1:#define _GNU_SOURCE'

	holds rule_each_file_has_one_home "$src" 'each source file is in exactly one local.mk'
	plant src/base/nowhere.c '/* nobody builds this */'
	can_fail rule_each_file_has_one_home 'a file that nobody builds' 'src/base/nowhere.c is in 0 local.mk files'

	holds rule_each_room_says_who_it_is "$src" 'each room says who it is in 10 to 30 lines'
	fresh_copy
	echo 'nothing here' >"$tmp/tree/src/sys/README.md"
	can_fail rule_each_room_says_who_it_is 'READMEs' "src/sys/README.md does not say 'I never'"
}

# plant_object ARCHIVE C-TEXT: one more object in the copy of an archive.
plant_object() {
	mkdir -p "$tmp/tree/$(dirname "$1")"
	printf '%s\n' "$2" >"$tmp/planted.c"
	cp "$build/$1" "$tmp/tree/$1"
	# shellcheck disable=SC2086  # CC may hold flags
	${CC:-cc} -c -o "$tmp/planted.o" "$tmp/planted.c" && ar r "$tmp/tree/$1" "$tmp/planted.o" 2>/dev/null
}

# plant_link FILE LIBRARY: a program in the copy that is linked to it.
plant_link() {
	echo 'int main(void) { return 0; }' >"$tmp/p.c"
	# shellcheck disable=SC2086
	${CC:-cc} -o "$tmp/tree/$1" "$tmp/p.c" -Wl,--no-as-needed "-l$2"
}

build_rules() {
	local name=$1
	holds rule_public_names "$build" 'every public name of an archive begins with rv_'
	rm -rf "$tmp/tree"
	plant_object src/base/libbase.a 'int helper(void); int helper(void) { return 1; }'
	can_fail rule_public_names 'public names' 'src/base/libbase.a defines helper'

	holds rule_values_do_not_act "$build" 'rooms of values open nothing, wait for nothing and ask no clock'
	rm -rf "$tmp/tree"
	plant_object src/wire/libwire.a 'long time(long *); long rv_wire_x(void); long rv_wire_x(void) { return time(0); }'
	can_fail rule_values_do_not_act 'a clock' 'libwire.a calls time'

	holds rule_what_is_public_is_used "$build" 'what is public is needed by another file of the product'
	mkdir -p "$tmp/tree/src/base"
	cp "$tmp/planted.o" "$tmp/tree/src/base/err.o"
	can_fail rule_what_is_public_is_used 'a function that nobody calls' 'src/base/err.o needs rv_wire_x'

	holds rule_daemon_exports_nothing "$build" 'the daemon exports no symbols'
	holds rule_only_http_needs_libcurl "$build" 'only http.so is linked to libcurl'
	holds rule_ctl_links_what_it_may "$build" 'reevectl is linked neither to libev nor to libyaml nor to libcurl'
	printf 'extern int rv_secret(void); int main(void) { return rv_secret(); } int rv_secret(void) { return 0; }\n' >"$tmp/p.c"
	# shellcheck disable=SC2086
	${CC:-cc} -rdynamic -o "$tmp/tree/reeve" "$tmp/p.c"
	can_fail rule_daemon_exports_nothing 'exports' 'reeve exports rv_secret'
	plant_link reeve curl
	can_fail rule_only_http_needs_libcurl 'libcurl' 'reeve needs libcurl'
	plant_link http.so ev
	can_fail rule_only_http_needs_libcurl 'http.so' 'http.so does not need libcurl'
	plant_link reevectl yaml
	can_fail rule_ctl_links_what_it_may 'reevectl' 'reevectl needs libyaml'

	holds rule_plugins_call_nothing_of_ours "$build" 'a plugin calls nothing of ours and exports its table only'
	mkdir -p "$tmp/tree/plugins"
	printf 'extern int rv_secret(void); int other(void); int other(void) { return rv_secret(); }\n' >"$tmp/p.c"
	# shellcheck disable=SC2086
	${CC:-cc} -shared -fPIC -o "$tmp/tree/plugins/bad.so" "$tmp/p.c"
	can_fail rule_plugins_call_nothing_of_ours 'plugins' 'plugins/bad.so calls rv_secret'

	name='the three cores of the simulator share no function'
	if [ -e "$build/tests/sim/libsweep.a" ] && [ -e "$build/tests/sim/libfaulty.a" ]; then
		holds rule_three_cores_share_nothing "$build" "$name"
		rm -rf "$tmp/tree"
		plant_object tests/sim/libsweep.a 'int rv_same(void); int rv_same(void) { return 1; }'
		plant_object src/core/libcore.a 'int rv_same(void); int rv_same(void) { return 1; }'
		can_fail rule_three_cores_share_nothing "$name" 'rename.h forgets rv_same'
	else
		skip "$name" 'the simulator is not built here'
		skip "$name: a planted fault is found" 'the simulator is not built here'
	fi

	name='the core calls memory functions and its own only'
	if nm -u "$build/src/core/libcore.a" 2>/dev/null | grep -q -E '__(asan|ubsan)'; then
		skip "$name" 'needs a build without sanitizers'
		skip "$name: a planted fault is found" 'needs a build without sanitizers'
		return
	fi
	holds rule_core_calls_nothing "$build" "$name"
	rm -rf "$tmp/tree"
	plant_object src/core/libcore.a 'void *malloc(unsigned long); void *rv_core_x(void); void *rv_core_x(void) { return malloc(3); }'
	can_fail rule_core_calls_nothing "$name" 'libcore.a calls malloc'
}

source_rules
if [ -e "$build/src/core/libcore.a" ] && [ -e "$build/reeve" ] && command -v nm >/dev/null; then
	build_rules ''
else
	skip 'rules about symbols' "there is no build in $build"
fi
echo "1..$case_no"
