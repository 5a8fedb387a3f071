#!/usr/bin/env bash
# Write errors of the session file other than a full disk: a limit on the size of files (agents stop, and continue when
# it is lifted), a quota (the same), and an I/O error (it ends the session; acknowledged events are there).
. "$(dirname "$0")/../e2e/lib.sh"
sg=$SANDGLASS
accept_any
cat >"$t/count.lua" <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { name = "count" }
for i = 1, 100000 do
  local r, err = box:exec(("echo %d; cat stop 2>/dev/null"):format(i))
  if not r then print("error " .. tostring(err)) break end
end
L
begin() { # name
	line=$("$sg" run -d "$t/count.lua" --name "$1" $accept --json 2>"$t/out")
	id=$(printf '%s' "$line" | grep -oE '"session":"[^"]*' | cut -d'"' -f4)
	pid=$(printf '%s' "$line" | grep -oE '"pid":[0-9]+' | cut -d: -f2)
	like "$id" '^s-' "$1: a session begins"
	[ -n "$id" ] || finish
	wait_for 20 moving
	ok $? "$1: it works"
}
# effects that have taken place are in the record at the latest with the next event: its head moves or stands
file() { ls "$HOME"/.local/share/sandglass/sessions/*"${id#s-}"*.glass; }
head_of() { sqlite3 -readonly "$(file)" 'SELECT max(seq) FROM event' 2>/dev/null; }
moving() { a=$(head_of); sleep 0.4; b=$(head_of); [ -n "$b" ] && [ "$a" != "$b" ]; }
still() { a=$(head_of); sleep 0.8; [ -n "$a" ] && [ "$a" = "$(head_of)" ]; }
gone() { ! kill -0 "$pid" 2>/dev/null; }
whole() { # name: the file after its end
	"$sg" verify "$id" >"$t/out" 2>&1
	is $? 0 "$1: the record verifies"
	gaps=$("$sg" events "$id" --json | grep -oE '^\{"seq": ?[0-9]+' | grep -oE '[0-9]+' | awk 'NR > 1 && $1 != last + 1 { n++ } { last = $1 } END { print n + 0 }')
	is "$gaps" 0 "$1: no event is missing"
}

# --- a limit on the size of files ---
if command -v prlimit >/dev/null; then
	begin limit
	prlimit --pid "$pid" --fsize=65536: 2>"$t/out"
	is $? 0 'limit: no file may grow past 64 KiB'
	wait_for 20 still
	ok $? 'limit: it stands still'
	kill -0 "$pid" 2>/dev/null
	ok $? 'limit: the supervisor lives'
	like "$(timeout 10 "$sg" state -S "$id" 2>&1)" 'limit|space|stall' 'limit: state says why'
	still
	ok $? 'limit: no action takes effect'
	prlimit --pid "$pid" --fsize=unlimited: 2>"$t/out"
	wait_for 30 moving
	ok $? 'limit: after it is lifted the session continues'
	timeout 20 "$sg" stop -S "$id" >"$t/out" 2>&1
	wait_for 20 gone
	ok $? 'limit: it ends'
	whole limit
	like "$("$sg" events "$id")" 'limit|stall|record' 'limit: the record tells of it'
else
	skip 'prlimit is not installed'
fi

# --- what the file system answers, by a library that stands before it ---
cat >"$t/fail.c" <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static int refused(int fd)
{
	char link[64], path[4096];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, path, sizeof(path) - 1);
	if (n <= 0)
		return 0;
	path[n] = 0;
	if (!strstr(path, ".glass"))
		return 0;
	if (access(getenv("FAIL_EIO"), F_OK) == 0)
		return errno = EIO;
	return access(getenv("FAIL_QUOTA"), F_OK) == 0 ? (errno = EDQUOT) : 0;
}
#define BEFORE(name, proto, args)                                   \
	ssize_t name proto                                          \
	{                                                           \
		static ssize_t(*real) proto;                        \
		if (!real)                                          \
			real = (ssize_t(*) proto)dlsym(RTLD_NEXT, #name); \
		return refused(fd) ? -1 : real args;                \
	}
BEFORE(write, (int fd, const void *b, size_t n), (fd, b, n))
BEFORE(pwrite, (int fd, const void *b, size_t n, off_t at), (fd, b, n, at))
BEFORE(pwrite64, (int fd, const void *b, size_t n, off64_t at), (fd, b, n, at))
C
if ${CC:-gcc} -shared -fPIC -O1 -o "$t/fail.so" "$t/fail.c" -ldl 2>"$t/out"; then
	export FAIL_EIO=$t/eio FAIL_QUOTA=$t/quota
	fails() { LD_PRELOAD=$t/fail.so begin "$1"; }
	fails quota
	touch "$FAIL_QUOTA"
	wait_for 20 still
	ok $? 'quota: it stands still'
	like "$(timeout 10 "$sg" state -S "$id" 2>&1)" 'quota|space|stall' 'quota: state says why'
	still
	ok $? 'quota: no action takes effect'
	rm "$FAIL_QUOTA"
	wait_for 30 moving
	ok $? 'quota: after it is raised the session continues'
	timeout 20 "$sg" stop -S "$id" >"$t/out" 2>&1
	wait_for 20 gone
	ok $? 'quota: it ends'
	whole quota

	fails eio
	a=$(head_of)
	touch "$FAIL_EIO"
	wait_for 20 gone
	ok $? 'eio: the session ends'
	rm "$FAIL_EIO"
	[ "$(head_of)" -ge "$a" ]
	ok $? 'eio: acknowledged events are there'
	whole eio
	like "$("$sg" ls 2>&1)" 'interrupted' 'eio: it has broken off'
	timeout 60 "$sg" resume "$id" --no-input -d >"$t/out" 2>&1 </dev/null
	is $? 0 'eio: the disk is well again: it resumes'
	pid=$(cat "$XDG_RUNTIME_DIR"/sandglass/"$id".pid 2>/dev/null)
	wait_for 20 moving
	ok $? 'eio: and works'
	timeout 20 "$sg" stop -S "$id" >"$t/out" 2>&1
	ended() { ! "$sg" ls --live 2>/dev/null | grep -q eio; }
	wait_for 20 ended
	ok $? 'eio: to its end'
	whole eio
else
	skip "no library can be built: $(head -1 "$t/out")"
fi
finish
