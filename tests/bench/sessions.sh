#!/usr/bin/env bash
# Commands over many sessions of 400 events, at NUMBER sessions and at a tenth: sessions.sh MAKE_SESSION WORK NUMBER
# [ROUNDS]. 400 of them are real, the others are links to these: the reads are the same, and making 10,000 takes
# minutes. BENCH_FIXTURES=DIR keeps the sessions there for the next run. Memory is the command's peak;
# cpu is the processor time, which a loaded machine changes least.
set -u
sg=$PWD/${B:-build}/sandglass
make=$1 work=$2 number=$3 rounds=${4:-3}
kept=${BENCH_FIXTURES:-$work}/sessions-$number
many=$kept/many few=$kept/few
if [ ! -f "$kept/complete" ]; then
	rm -rf "$kept"
	mkdir -p "$many" "$few" || exit 2
	for seed in $(seq 400); do "$make" "$many" "n$seed" 400 3 "$seed" >/dev/null || exit 2; done
	touch -d '1 minute ago' "$many"/*.glass
	python3 - "$many" "$few" "$number" <<'PY' || exit 2
import os, sys
many, few, number = sys.argv[1], sys.argv[2], int(sys.argv[3])
made = sorted(f for f in os.listdir(many) if f.endswith(".glass"))
for n in range(number):
    name = made[n] if n < len(made) else f"2025-11-21-n{n}-g{n:05d}.glass"
    if n >= len(made):
        os.link(os.path.join(many, made[n % len(made)]), os.path.join(many, name))
    if n < number // 10:
        os.link(os.path.join(many, name), os.path.join(few, name))
PY
	touch "$kept/complete"
fi
echo 'local p = require "sandglass.policy" return p.rules { default = "boxed", p.ask "push" { cmd = "git push *" } }' >"$work/past.lua"
took() { # command...: ms, ms of the processor, KB, the median; a round of more than 5 s is the last
	for _ in $(seq "$rounds"); do
		python3 - "$@" <<'PY' || exit 2
import os, resource, subprocess, sys, time
began = time.monotonic()
status = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
r = resource.getrusage(resource.RUSAGE_CHILDREN)
print(int((time.monotonic() - began) * 1000), int((r.ru_utime + r.ru_stime) * 1000), r.ru_maxrss, flush=True)
sys.exit(status > 1)
PY
	done | awk '{ print } $1 > 5000 { exit }' | sort -n |
		awk '{ v[NR] = $1; c[NR] = $2; m = $3 > m ? $3 : m } END { n = int((NR + 1) / 2); print v[n], c[n], m }'
}
row() { # what, most ms, command...
	local what=$1 most=$2 all tenth
	shift 2
	tenth=$(took "$sg" --sessions "$few" "$@")
	all=$(took "$sg" --sessions "$many" "$@")
	awk -v w="$what" -v most="$most" -v a="$all" -v b="$tenth" 'BEGIN { split(a, x, " "); split(b, y, " ")
		printf "  %-34s %7d ms  cpu %6d ms  %4d MB  reach %6d  128 MB  %s\n", w, x[1], x[2], x[3] / 1024, most, x[1] <= most && x[3] <= 131072 ? "PASS" : "FAIL"
		printf "  %-34s of a tenth %6d ms  cpu ratio %5.1f  reach 12  %s\n", w, y[1], y[2] ? x[2] / y[2] : 0, x[2] <= 12 * y[2] + 20 ? "PASS" : "FAIL" }'
}
build_catalog() { # directory
	python3 - "$sg" "$1" <<'PY'
import resource, subprocess, sys, time
began = time.monotonic()
status = subprocess.run([sys.argv[1], "--sessions", sys.argv[2], "index", "--catalog", "-q"]).returncode
r = resource.getrusage(resource.RUSAGE_CHILDREN)
print(int((time.monotonic() - began) * 1000), int((r.ru_utime + r.ru_stime) * 1000))
sys.exit(status)
PY
}
rm -rf "$many/catalog" "$few/catalog"
build_catalog "$few" >/dev/null || exit 2
built=$(build_catalog "$many") || exit 2
awk -v v="$built" -v n="$number" 'BEGIN { split(v, x, " ")
	printf "  %-34s %7d ms  cpu %6d ms  reach %d  %s\n", "the catalog of all", x[1], x[2], n * 12, x[1] <= n * 12 ? "PASS" : "FAIL" }'
row 'ls' 100 ls --all
row 'search: a rare phrase' 500 search '"turn 777 of ada"'
row 'search: a field' 500 search host:evil.example cmd:xyzzy
row 'search: words that never meet' 500 search octal isdigit
row 'report' 2000 report
row 'policy mine' 10000 policy mine
row 'blame: a file of no session' 1000 blame nowhere.c --all
row 'when: a file of no session' 1000 when lexer --all --path nowhere.c
rounds=1
row 'policy past' 5000 policy past "$work/past.lua" -q
# a hundred names: each of these files has several
find "$many" -name '*-f*.glass' | sort | head -$((400 * 100 / number)) | xargs -d '\n' touch
row 'search with stale sessions' 3000 search octal isdigit
