#!/usr/bin/env bash
# Installs the packages that building, running and testing need (Debian, Ubuntu); with "demo" only what building and the demo
# need, with "check" neither what comes from npm nor others' programs that single tests ask. Elsewhere: says what they are.
set -eu
build="gcc make pkg-config libc6-dev libncurses-dev liblua5.4-dev libcurl4-openssl-dev libsqlite3-dev libgit2-dev libuv1-dev
libseccomp-dev libssl-dev libsodium-dev libzstd-dev zlib1g-dev libjansson-dev libutf8proc-dev libvterm-dev libarchive-dev"
run="bubblewrap"
test="git tmux sqlite3 python3 openssl xxd jq curl locales procps zstd e2fsprogs openssh-server openssh-client"
# The fake provider of tests/e2e/models.sh; without it that part of the test is left out and says so.
npm_packages() {
	local to=${B:-build}/npm
	command -v npm >/dev/null && command -v node >/dev/null || return 0
	cmp -s tests/npm/package-lock.json "$to/package-lock.json" && [ -x "$to/node_modules/.bin/llmock" ] && return 0
	mkdir -p "$to"
	cp tests/npm/package.json "$to/"
	cp tests/npm/package-lock.json "$to/lock" && mv "$to/lock" "$to/package-lock.json"
	echo "npm ci    what tests/npm/package.json names, into $to"
	(cd "$to" && timeout 300 npm ci --no-audit --no-fund --loglevel=error) </dev/null ||
		{ rm -f "$to/package-lock.json"; echo "npm could not fetch what tests/npm/package.json names; the tests that need it are left out" >&2; }
}
# Real container engines, a player, a browser and readers of man pages, as package:program. Whoever has the program from elsewhere keeps it; where
# there is no such package, or it would remove another, what needs it is left out.
others="podman:podman docker.io:dockerd busybox-static:busybox asciinema:asciinema chromium-headless-shell:chromium-headless-shell
mandoc:mandoc groff-base:groff"
if [ "${1:-}" = demo ]; then test="git"; fi # its agents commit
case ${1:-} in demo | check) others=; npm_packages() { :; } ;; esac # no test of `make check` asks for them
if ! command -v dpkg-query >/dev/null; then
	echo "sandglass needs, besides a C compiler and make: ncursesw, Lua 5.4, libcurl, OpenSSL >= 3, SQLite >= 3.40, libgit2 >= 1.5, zlib, libuv," >&2
	echo "libseccomp, libsodium, zstd, jansson, utf8proc, libvterm, libarchive (with headers; static jansson, sodium" >&2
	echo "and seccomp), bubblewrap >= 0.8 to run, and git, tmux, sqlite3, python3, jq, curl, localedef for the tests. Install them, then go on." >&2
	exit 0
fi
is_missing() { [ "$(dpkg-query -W -f '${db:Status-Abbrev}' "$1" 2>/dev/null | cut -c1-2)" != ii ]; }
missing= extra=
for p in $build $run $test; do is_missing "$p" && missing="$missing $p"; done
for p in $others; do
	PATH=$PATH:/usr/sbin:/sbin command -v "${p#*:}" >/dev/null || { is_missing "${p%:*}" && extra="$extra ${p%:*}"; }
done
[ -n "$missing$extra" ] || { npm_packages; exit 0; }
sudo=
if [ "$(id -u)" != 0 ]; then sudo=sudo; fi
install() { $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@"; }
if [ -n "$missing" ]; then
	echo "$sudo apt-get install -y --no-install-recommends$missing"
	if [ -n "$sudo" ] && ! command -v sudo >/dev/null; then
		echo "run this line as root, then again what you typed" >&2
		exit 1
	fi
	$sudo apt-get update -q
	install $missing
fi
left_out() { echo "not there, so the tests that need it are left out: $*" >&2; }
# What single tests ask is no reason to ask anybody for a password, or to end.
if [ -n "$sudo" ] && ! sudo -n true 2>/dev/null; then
	for p in $extra; do left_out "$p"; done
	extra=
fi
[ -z "$extra" ] || [ -n "$missing" ] || $sudo apt-get update -q || :
for p in $extra; do
	echo "$sudo apt-get install -y --no-install-recommends --no-remove $p"
	{ apt-cache show "$p" >/dev/null 2>&1 && install --no-remove "$p"; } || left_out "$p"
done
npm_packages
