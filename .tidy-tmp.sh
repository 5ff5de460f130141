#!/bin/bash
# The one door to work on reeve: installs what is missing, builds, runs, tests.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
top=$PWD
python=/usr/bin/python3
jobs=${JOBS:-$(nproc)}

# What the build and its tests need, and what the sample sandbox needs, by Debian's names.
build_packages=(
	build-essential autoconf automake pkg-config xz-utils git
	libev-dev libyaml-dev libcurl4-openssl-dev libcjson-dev libcmocka-dev
	clang libclang-rt-14-dev llvm clang-format clang-tidy cppcheck shellcheck mandoc
	python3 python3-pytest procps util-linux iproute2 ca-certificates codespell
)
stack_packages=(
	python3 python3-pytest python3-jupyter-server python3-ipykernel jupyter-core jupyter-server
	python3-fastapi python3-uvicorn uvicorn python3-httpx python3-websockets
	procps util-linux iproute2 ca-certificates
)
# The npm parts want this Node at least; where the machine has none, node_brought comes from the npm registry.
node_least=20.18.1
node_brought=22.23.5

usage() {
	cat <<'TEXT'
usage: ./dev VERB [ARG...]

  run               install what is missing, build, boot the sample sandbox in the foreground
  test              install, build and run every suite; the last line counts the cases

  setup [WHAT]      install what is missing: build, stack or all (all is the default)
  build             build into build/ (gcc, -O2)
  check             build and run the suites that need nothing but a compiler and libc (make check)
  stack [ARG...]    build and run the suites that need Jupyter, uvicorn and Node (ARG: a pytest argument)
  bench [ARG...]    boot the sample sandbox and the same four services by hand, and compare
  format            lay out the C files as .clang-format says
  lint              clang-format, cppcheck, clang-tidy, gcc -fanalyzer, codespell, shellcheck, mandoc, rooms
  fuzz [SECONDS]    build the fuzz targets with clang and run each for a while (60 s)
  distcheck         make a release archive and build, test, install and uninstall it
  compdb            write compile_commands.json (needs bear)
  tags              write an index of names (needs universal-ctags)
  clean             remove all build folders and fetched modules
TEXT
}

say() { printf 'dev: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

# ---- setup -----------------------------------------------------------------------------------------------------------

missing_packages() {
	local p
	for p in "$@"; do
		[ "$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null)" = installed ] || printf '%s\n' "$p"
	done
}

# Package lists are refreshed only when the install does not work with those that are there.
apt_install() {
	local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=600) log
	log=$(mktemp)
	if ! "${apt[@]}" install --no-install-recommends "$@" >"$log" 2>&1; then
		say "refreshing the package lists"
		"${apt[@]}" update >"$log" 2>&1 || { tail -n 20 "$log" >&2; rm -f "$log"; die "apt-get update failed"; }
		"${apt[@]}" install --no-install-recommends "$@" >"$log" 2>&1 ||
			{ tail -n 20 "$log" >&2; rm -f "$log"; die "apt-get install failed"; }
	fi
	rm -f "$log"
}

need_packages() {
	local -a missing
	if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
		say "this is not Debian: install the like of these yourself: $*"
		return 0
	fi
	mapfile -t missing < <(missing_packages "$@")
	[ ${#missing[@]} -gt 0 ] || return 0
	if [ "$(id -u)" -ne 0 ]; then
		say "packages are missing; install them with"
		die "    sudo apt-get install --no-install-recommends ${missing[*]}"
	fi
	say "installing ${missing[*]}"
	apt_install "${missing[@]}"
}

# node_is_new NODE: the program exists and is at least node_least.
node_is_new() {
	local v
	v=$("$1" --version 2>/dev/null) || return 1
	[ "$(printf '%s\n' "$node_least" "${v#v}" | sort -V | head -n 1)" = "$node_least" ]
}

# Prints the Node to use: the machine's own when it is new enough, else the one that setup brought.
find_node() {
	local n
	for n in "$(command -v node || true)" "$top/build/node/bin/node"; do
		if [ -n "$n" ] && node_is_new "$n"; then
			printf '%s\n' "$n"
			return 0
		fi
	done
	return 1
}

# npm's own package of Node holds the program as a file, so nothing but the npm registry is asked.
bring_node() {
	local arch where=$top/build/node pkg
	case $(uname -m) in
	x86_64) arch=x64 ;;
	aarch64) arch=arm64 ;;
	*) die "no Node $node_least or newer here, and none to fetch for $(uname -m): install it and try again" ;;
	esac
	command -v npm >/dev/null || need_packages nodejs npm
	pkg=node-linux-$arch
	say "fetching Node $node_brought"
	mkdir -p "$where/npm" "$where/bin"
	npm install --prefix "$where/npm" --no-audit --no-fund --no-save --loglevel=error --ignore-scripts \
		"$pkg@$node_brought" >/dev/null || die "cannot fetch $pkg@$node_brought with npm"
	ln -sf "$where/npm/node_modules/$pkg/bin/node" "$where/bin/node"
	node_is_new "$where/bin/node" || die "the fetched Node does not run"
}

# npm_modules DIR: exactly what the lock file there says; nothing is done when it is there already.
npm_modules() {
	local dir=$1
	cmp -s "$dir/package-lock.json" "$dir/node_modules/.reeve-lock" && return 0
	command -v npm >/dev/null || need_packages nodejs npm
	say "fetching the npm modules of ${dir#"$top/"}"
	(cd "$dir" && npm ci --no-audit --no-fund --loglevel=error --ignore-scripts >/dev/null) ||
		die "npm ci failed in $dir"
	cp "$dir/package-lock.json" "$dir/node_modules/.reeve-lock"
}

setup_build() { need_packages "${build_packages[@]}"; }

setup_stack() {
	need_packages "${stack_packages[@]}"
	find_node >/dev/null || bring_node
	npm_modules "$top/etc/sandbox"
	npm_modules "$top/tests/stack"
}

cmd_setup() {
	case ${1:-all} in
	build) setup_build ;;
	stack) setup_stack ;;
	all) setup_build; setup_stack ;;
	*) die "setup what? build, stack or all" ;;
	esac
}

# ---- build -----------------------------------------------------------------------------------------------------------

# configure_in DIR ARG...: configured once for these arguments; later changes are make's own matter.
configure_in() {
	local dir=$1 want
	shift
	want="$*"
	if [ ! -x configure ] || [ ! -e build-aux/tap-driver.sh ]; then
		autoreconf -i >/dev/null 2>&1 || autoreconf -i || die "autoreconf failed"
	fi
	mkdir -p "$dir"
	if [ ! -e "$dir/Makefile" ] || [ "$(cat "$dir/.configured" 2>/dev/null)" != "$want" ]; then
		say "configuring ${dir#"$top/"}"
		(cd "$dir" && "$top/configure" -q "$@" >configure.log 2>&1) ||
			{ tail -n 20 "$dir/configure.log" >&2; die "configure failed: $dir/configure.log"; }
		printf '%s' "$want" >"$dir/.configured"
	fi
}

make_in() {
	local dir=$1
	shift
	make -C "$dir" -j "$jobs" --no-print-directory "$@"
}

build_product() {
	configure_in "$top/build" CC=gcc 'CFLAGS=-O2 -g'
	make_in "$top/build" >"$top/build/make.log" 2>&1 ||
		{ tail -n 30 "$top/build/make.log" >&2; die "make failed: build/make.log"; }
}

cmd_build() {
	setup_build
	configure_in "$top/build" CC=gcc 'CFLAGS=-O2 -g'
	make_in "$top/build"
}

# ---- run -------------------------------------------------------------------------------------------------------------

# Where the sample sandbox keeps its socket, logs and home: below build/, or a short path when that is too long for a
# UNIX socket.
sandbox_place() {
	local d=$top/build/sandbox
	[ ${#d} -le 80 ] || d=${TMPDIR:-/tmp}/reeve-sandbox-$(id -u)
	printf '%s\n' "$d"
}

cmd_run() {
	local node place
	setup_build
	setup_stack
	build_product
	node=$(find_node) || die "no Node $node_least or newer"
	place=$(sandbox_place)
	mkdir -p "$place/run" "$place/log" "$place/home"
	cat >&2 <<TEXT

The sample sandbox of etc/sandbox/reeve.yaml; Ctrl-C takes it down again. In a second terminal:

    $top/build/reevectl -s $place/run/control.sock status

Logs are in $place/log.

TEXT
	export SANDBOX_RUN=$place/run SANDBOX_LOG=$place/log SANDBOX_HOME=$place/home SANDBOX_DIR=$top/etc/sandbox
	export SANDBOX_MODULES=$top/etc/sandbox/node_modules SANDBOX_NODE=$node
	exec "$top/build/reeve" -c "$top/etc/sandbox/reeve.yaml" --plugin-dir "$top/build/plugins" "$@"
}

# ---- tests -----------------------------------------------------------------------------------------------------------

# The machine is busy with the suites themselves: what the tests wait for at most is this many times what a quiet one needs.
export RV_SLACK=${RV_SLACK:-3}

passed=0 failed=0 skipped=0
skips=() failures=() words=()

# count RESULT NAME: one case; what did not pass is named again at the end.
count() {
	case $1 in
	PASS | XFAIL) passed=$((passed + 1)) ;;
	SKIP) skipped=$((skipped + 1)); skips+=("SKIP $2") ;;
	*) failed=$((failed + 1)); failures+=("$1 $2") ;;
	esac
}

# show LOG CMD...: what CMD prints of the log. It is said now, and its end again in the verdict, because often only the end of our
# output is kept.
show() {
	local log=$1 text
	shift
	text=$("$@" "$log" 2>&1) || true
	say "of ${log#"$top/"}:"
	printf '%s\n' "$text" >&2
	words+=("--- ${log#"$top/"}" "$(tail -n 60 <<<"$text")")
}

# step NAME LOG CMD...: one case that is a whole command.
step() {
	local name=$1 log=$2 t=$SECONDS
	shift 2
	mkdir -p "$(dirname "$log")"
	if ("$@") >"$log" 2>&1; then # apart: a step that gives up must not take the count with it
		count PASS "$name"
		say "ok: $name ($((SECONDS - t)) s)"
	else
		count FAIL "$name (log: ${log#"$top/"})"
		say "FAILED: $name ($((SECONDS - t)) s)"
		show "$log" tail -n 40
		return 1
	fi
}

# count_logs DIR LABEL: the cases that automake's driver noted in DIR; 1 when there are none. The notes (.trs) count; the logs
# beside them have the names.
count_logs() {
	local dir=$1 label=$2 trs test line n=0
	while IFS= read -r trs; do
		test=${trs#"$dir/"}
		test=${test%.trs}
		while IFS= read -r line; do
			count "${line%%:*}" "$label: $test: ${line#*: }"
			n=$((n + 1))
		done < <(results_of "$trs")
	done < <(find "$dir/tests" -name '*.trs' | sort)
	[ "$n" -gt 0 ]
}

# results_of TRS: a line RESULT: NAME for each case; the name is empty when the log cannot tell.
results_of() {
	awk -v log_file="${1%.trs}.log" '
		/^:test-result: / { result[++n] = $2 }
		END {
			while ((getline line < log_file) > 0)
				if (match(line, /^(PASS|FAIL|SKIP|XFAIL|XPASS|ERROR): tests\/[^ ]+ ?/)) {
					name[++m] = substr(line, RLENGTH + 1)
					said[m] = substr(line, 1, index(line, ":") - 1)
				}
			for (i = 1; i <= n; i++)
				print result[i] ": " (n == m && said[i] == result[i] ? name[i] : "")
		}' "$1"
}

# The part of each log below DIR that says what went wrong.
show_failures() {
	local trs
	while IFS= read -r trs; do
		show "${trs%.trs}.log" wrong_part
	done < <(grep -lE '^:test-result: (FAIL|XPASS|ERROR)' -r "$1/tests" --include='*.trs' 2>/dev/null | sort)
}

# Each case that failed with what it says under its line; the end of a log that names none.
wrong_part() {
	grep -n -B 2 -A 60 -E '^(not ok|Bail out)|ERROR: |runtime error:' "$1" | tail -n 200 || tail -n 40 "$1"
}

wrong_build() { grep -E -A 6 'error|undefined reference|\*\*\*' "$1" | tail -n 40; }

# suite LABEL DIR CONFIGURE-ARG...: one build with its make check.
suite() {
	local label=$1 dir=$2 t=$SECONDS before=$failed rc=0
	shift 2
	(configure_in "$dir" "$@") || { count FAIL "$label: configure"; return 0; }
	find "$dir" -name '*.trs' -delete
	make_in "$dir" -k all >"$dir/make.log" 2>&1 || rc=1
	if [ $rc -ne 0 ]; then
		count FAIL "$label: make (log: ${dir#"$top/"}/make.log)"
		show "$dir/make.log" wrong_build
	fi
	make_in "$dir" -k check >"$dir/check.log" 2>&1 || rc=1
	count_logs "$dir" "$label" || { count FAIL "$label: no test ran (log: ${dir#"$top/"}/check.log)"; show "$dir/check.log" tail -n 30; }
	[ $rc -eq 0 ] || [ "$failed" -gt "$before" ] || count FAIL "$label: make check (log: ${dir#"$top/"}/check.log)"
	if [ "$failed" -gt "$before" ]; then
		show_failures "$dir"
		say "FAILED: $label ($((SECONDS - t)) s)"
	else
		say "ok: $label ($((SECONDS - t)) s)"
	fi
}

suite_gcc() { suite gcc "$top/build-gcc" CC=gcc --enable-sanitize --enable-werror 'CFLAGS=-O1 -g'; }
suite_clang() { suite clang "$top/build-clang" CC=clang --enable-sanitize --enable-werror 'CFLAGS=-O1 -g'; }

# count_tap FILE LABEL: the cases of a TAP stream; 1 when it is cut short or holds none.
count_tap() {
	local line n=0 plan=-1
	while IFS= read -r line; do
		case $line in
		1..*) plan=${line#1..}; plan=${plan%% *} ;;
		'not ok '*) count FAIL "$2: ${line#not ok }"; n=$((n + 1)) ;;
		'ok '*'# SKIP'*) count SKIP "$2: ${line#ok }"; n=$((n + 1)) ;;
		'ok '*) count PASS "$2"; n=$((n + 1)) ;;
		esac
	done <"$1"
	[ "$n" -gt 0 ] && [ "$n" -eq "$plan" ]
}

# The real stack: a network and processes of its own, so that fixed ports are free and nothing outlives the run.
suite_stack() {
	local log=$top/build/stack.tap t=$SECONDS before=$failed node
	node=$(find_node) || { count FAIL "stack: no Node $node_least or newer"; return 0; }
	RV_BUILD=$top/build RV_SRC=$top RV_NODE=$node "$python" tests/stack/run.py "$@" >"$log" 2>"$top/build/stack.err" || true
	count_tap "$log" stack || { count FAIL "stack: the run was cut short (log: build/stack.err)"; show "$top/build/stack.err" tail -n 30; }
	if [ "$failed" -gt "$before" ]; then
		show "$log" wrong_part
		say "FAILED: stack ($((SECONDS - t)) s)"
	else
		say "ok: stack ($((SECONDS - t)) s)"
	fi
}

# make distcheck is one case when it is well. When it is not, it leaves its tree, and each case that failed in it has its name.
suite_distcheck() {
	local dir trs line
	step 'make distcheck' "$top/build/distcheck.log" do_distcheck && return 0
	for dir in "$top"/build/reeve-*/_build/sub; do
		show_failures "$dir"
		while IFS= read -r trs; do
			while IFS= read -r line; do
				count "${line%%:*}" "distcheck: $(basename "${trs%.trs}"): ${line#*: }"
			done < <(results_of "$trs" | grep -vE '^(PASS|XFAIL|SKIP): ')
		done < <(find "$dir/tests" -name '*.trs' 2>/dev/null | sort)
	done
}

# What was skipped, what the failures said, their names; the last line is the count, and nothing is after it.
verdict() {
	local list
	for list in skips words failures; do
		local -n lines=$list
		[ ${#lines[@]} -eq 0 ] || printf '%s\n' "${lines[@]}"
	done
	printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
	[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
}

cmd_check() {
	setup_build
	suite_gcc
	verdict
}

cmd_stack() {
	setup_build
	setup_stack
	build_product
	suite_stack "$@"
	verdict
}

cmd_test() {
	(cmd_setup all) || { count FAIL "setup: see above"; verdict; }
	mkdir -p build
	suite_gcc
	suite_clang
	if step 'build of the product' "$top/build/build.out" build_product; then
		step 'rooms: the product keeps the house rules' "$top/build/rooms.log" rooms_of_product || true
		suite_stack
	fi
	lint_quick
	lint_slow
	suite_distcheck
	verdict
}

# ---- lint ------------------------------------------------------------------------------------------------------------

c_files() { git ls-files -co --exclude-standard -- 'src/*.[ch]' 'plugins/*.[ch]' 'tests/*.[ch]' 2>/dev/null || find src plugins tests -name '*.[ch]'; }
c_sources() { c_files | grep -E '^(src|plugins)/.*\.c$'; }
c_flags=(-std=gnu11 -include build/config.h -Isrc -Isrc/include -Ibuild/plugins -DRV_PLUGIN_DIR='""' -DRV_LIB_DIR='""' -DRV_CONFIG_DIR='""')

lint_format() { c_files | xargs -r clang-format --dry-run -Werror; }

# Leaks are the sanitizers' matter: cppcheck does not know variables that clean up after themselves. A NULL that ends a list of
# arguments is the compiler's: the function has the attribute, and NULL is a pointer here.
lint_cppcheck() {
	mkdir -p build
	echo '#define cJSON_ArrayForEach(e, a) for (e = (a)->child; e; e = e->next)' >build/cppcheck.h
	c_sources | xargs -r cppcheck -q -j "$jobs" --enable=warning,performance,portability --inline-suppr --std=c11 \
		--error-exitcode=1 --suppress=missingIncludeSystem --suppress=memleak --suppress=resourceLeak --suppress=varFuncNullUB \
		-Isrc -Isrc/include -Ibuild/plugins -DRV_PLUGIN_DIR='""' -DRV_LIB_DIR='""' -DRV_CONFIG_DIR='""' \
		--include=build/config.h --include=build/cppcheck.h 2>&1
}

lint_tidy() {
	# shellcheck disable=SC2046  # several words are wanted
	c_sources | xargs -r -P "$jobs" -I '{}' clang-tidy --quiet '{}' -- "${c_flags[@]}" $(pkg-config --cflags libcjson)
}

# gcc's analyzer follows each path through a file. It loses sight of what is stored behind a pointer, and so sees leaks
# that are none; leaks are the sanitizers' matter.
lint_analyzer() {
	configure_in "$top/build-analyze" CC=gcc --enable-werror 'CFLAGS=-O2 -fanalyzer -Wno-analyzer-malloc-leak'
	make_in "$top/build-analyze" -k
}

lint_shell() { git ls-files -- dev .ci/run "*.sh" | xargs -r shellcheck; }

lint_man() {
	local -a pages
	shopt -s nullglob
	pages=(man/*.[1-9])
	shopt -u nullglob
	[ ${#pages[@]} -gt 0 ] || { echo 'no manual pages'; return 0; }
	mandoc -T lint -W warning "${pages[@]}"
}

# The tests are left out: they misspell on purpose. Words of ours that the list takes for others are named.
lint_spelling() { git ls-files -- README.md src plugins man etc/reeve tests/*.md dev | xargs -r codespell -L nd,tread,untils; }

rooms_of_product() { RV_SRC=$top RV_BUILD=$top/build CC=gcc bash tests/rooms.sh; }

lint_quick() {
	step 'lint: clang-format' "$top/build/lint-format.log" lint_format || true
	step 'lint: cppcheck' "$top/build/lint-cppcheck.log" lint_cppcheck || true
	step 'lint: shellcheck' "$top/build/lint-shell.log" lint_shell || true
	step 'lint: codespell' "$top/build/lint-spelling.log" lint_spelling || true
	step 'lint: mandoc' "$top/build/lint-man.log" lint_man || true
}

lint_slow() {
	step 'lint: clang-tidy' "$top/build/lint-tidy.log" lint_tidy || true
	step 'lint: gcc -fanalyzer' "$top/build/lint-analyzer.log" lint_analyzer || true
}

cmd_lint() {
	setup_build
	build_product
	lint_quick
	lint_slow
	step 'rooms: the product keeps the house rules' "$top/build/rooms.log" rooms_of_product || true
	verdict
}

cmd_format() {
	setup_build
	c_files | xargs -r clang-format -i
}

# ---- the rest --------------------------------------------------------------------------------------------------------

do_distcheck() {
	configure_in "$top/build" CC=gcc 'CFLAGS=-O2 -g'
	make_in "$top/build" distcheck AM_DISTCHECK_CONFIGURE_FLAGS=
}

cmd_distcheck() {
	setup_build
	do_distcheck
}

cmd_bench() {
	local node
	setup_build
	setup_stack
	build_product
	node=$(find_node) || die "no Node $node_least or newer"
	RV_BUILD=$top/build RV_SRC=$top RV_NODE=$node "$python" tests/stack/by_hand.py "$@"
}

cmd_fuzz() {
	local t seeds dir=$top/build-fuzz seconds=${1:-60} found=
	setup_build
	configure_in "$dir" CC=clang --enable-fuzz --enable-sanitize 'CFLAGS=-O1 -g'
	make_in "$dir"
	for t in "$dir"/tests/fuzz/*; do
		if [ ! -f "$t" ] || [ ! -x "$t" ]; then continue; fi
		found=1
		mkdir -p "$t.corpus"
		say "fuzzing $(basename "$t") for $seconds s"
		seeds=$top/tests/fuzz/$(basename "$t").seeds
		[ -d "$seeds" ] || seeds=
		"$t" -max_total_time="$seconds" "$t.corpus" ${seeds:+"$seeds"} || die "a finding: see above"
	done
	[ -n "$found" ] || say "there are no fuzz targets yet"
}

cmd_compdb() {
	need_packages bear
	setup_build
	configure_in "$top/build-compdb" CC=clang 'CFLAGS=-O0'
	make -C "$top/build-compdb" clean >/dev/null
	bear --output "$top/compile_commands.json" -- make -C "$top/build-compdb" -j "$jobs" all
}

cmd_tags() {
	need_packages universal-ctags
	ctags -R --options="$top/.ctags.d/reeve.ctags" src plugins tests
}

cmd_clean() {
	rm -rf build build-* etc/sandbox/node_modules tests/stack/node_modules compile_commands.json tags
}

git diff --name-only 42cf769..HEAD -- 'src/*.c' 'plugins/*.c' | xargs ls -d 2>/dev/null | xargs -r -P 1 -I '{}' clang-tidy --quiet '{}' -- "${c_flags[@]}" $(pkg-config --cflags libcjson)
echo tidy rc $?
