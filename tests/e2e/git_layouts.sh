#!/usr/bin/env bash
# Every layout of a git repository: git works in a sandbox over it, the host is unchanged until a merge, and a merge
# brings the work back; as an ordinary user, and as root those that only root can make (LONG: all).
# src/sandbox/workspace/LAYOUTS.md has the results (UPDATE=1 writes it).
. "$(dirname "$0")/lib.sh"
need_boxes
sg=$SANDGLASS table=$here/../../src/sandbox/workspace/LAYOUTS.md
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && ! setpriv --reuid 6173 --regid 6173 --clear-groups test -x "$sg"; then
	mkdir "$t/prog" && cp "${sg%/*}"/sandglass* "$t/prog/" 2>/dev/null
	chmod 755 "$t/prog" "$t"/prog/*
	[ -d "${sg%/*}/../lua" ] && cp -r "${sg%/*}/../lua" "$t/lua"
	sg=$t/prog/sandglass
fi
mounts=
unmount_all() {
	for m in $mounts; do umount "$m"; done
	end_all
}
trap unmount_all EXIT

# File systems that only root can mount, for user $2 below $1/mounts.
mount_all() { # folder, uid
	local m=$1/mounts d
	mkdir -p "$m"/{tmpfs,bind,below,overlay,lower,upper,work,source} "$m/foreign"
	: >"$m/names"
	mount -t tmpfs none "$m/tmpfs" 2>/dev/null && mounts="$m/tmpfs $mounts" && echo 'tmpfs tmpfs' >>"$m/names"
	mount --bind "$m/source" "$m/bind" 2>/dev/null && mounts="$m/bind $mounts" && echo 'bind bind mount on the repository' >>"$m/names"
	mount -t overlay overlay -o "lowerdir=$m/lower,upperdir=$m/upper,workdir=$m/work" "$m/overlay" 2>/dev/null && mounts="$m/overlay $mounts" &&
		echo 'overlay overlayfs' >>"$m/names"
	echo 'below bind mount below the repository' >>"$m/names"
	[ "$2" != 0 ] || echo 'foreign another owner' >>"$m/names"
	chown -R "$2:$2" "$1"
}
mount_below() { # folder: after its repository has been made
	local m=$1/mounts/below
	mkdir -p "$m/r/vendor" "$m/vendor" && echo 'of the mount' >"$m/vendor/v.txt" && mount --bind "$m/vendor" "$m/r/vendor" && mounts="$m/r/vendor $mounts"
}
git_files() { # directory: the files in the git directories below it
	find "$1" \( -name .local -o -name .cache -o -name .config \) -prune -o -type f \( -path '*/.git/*' -o -path '*/stores/*' -o -path '*/.bare/*' -o -name .git \) -print0 |
		sort -z | xargs -0 sha1sum
}
host_has() { # folder, how: the work is there, once, below what was there
	case $2 in
	rebase | merging) grep -q '^merged$' "$1/a.txt" && grep -q '^by the agent$' "$1/a.txt" ;;
	*) [ "$(head -1 "$1/a.txt" | tr -d '\r')" = one ] && [ "$(grep -c '^by the agent' "$1/a.txt")" = 1 ] ;;
	esac
}
all_layouts() { # who, folder, command before each program, more fields of sg.sandbox, layouts (all)
	local who=$1 top=$2 as=${3:-} id i name said rest how dir outside
	cd "$top" || exit 1
	$as env GIT_CONFIG_NOSYSTEM=1 bash "$here/git_layouts/make.sh" "$top/mounts" >"$top/list" 2>"$t/out"
	ok $? "$who: the repositories are made"
	[ -z "${5:-}" ] || { grep -E "^($5)$(printf '\t')" "$top/list" >"$top/few" && cp "$top/few" "$top/list"; }
	[ ! -e "$top/mounts/names" ] || mount_below "$top"
	[ ! -e "$top/mounts/foreign/r" ] || { chown -R 6174:6174 "$top/mounts/foreign" && git config --global --replace-all safe.directory '*'; }
	{
		echo 'return {'
		while IFS=$'\t' read -r name how dir; do echo "{ '$name', '$how', '$dir' },"; done <"$top/list"
		echo '}'
	} >"$top/rows.lua"
	sed "s|name = \"b\" .. i }|name = \"b\" .. i${4:-} }|" "$here/git_layouts/inside.lua" >"$top/inside.lua"
	printf 'return require("sandglass.policy").rules { default = "allow" }\n' >"$top/any.lua"
	git_files "$top" >"$top/before" 2>&1
	$as "$sg" run --no-tui --no-input ${4:+--policy any.lua} inside.lua </dev/null >"$top/out" 2>&1
	git_files "$top" | diff "$top/before" - >"$t/out" 2>&1
	ok $? "$who: nothing in the host's git directories has changed"
	id=$(grep -aoE 'merge s-[a-z0-9]{6}' "$top/out" | head -1 | cut -d' ' -f2)
	: >"$top/result"
	$as "$sg" events "$id" --json </dev/null 2>/dev/null | grep -a '"kind":"box' >"$top/events"
	while IFS='|' read -r _ i name said rest; do
		how=$(sed -n "${i}p" "$top/list" | cut -f2)
		dir=$(printf '%b' "$(sed -n "${i}p" "$top/list" | cut -f3 | sed 's/\\\([0-9]*\)/\n\1/g' | while read -r c; do [ -z "$c" ] || printf '\\0%03o' "$c"; done)"; echo x)
		dir=${dir%x}
		dir=${dir%$'\n'}
		[ "$said" = works ] || echo "# $name: $rest" | cut -c1-2000
		outside=no
		if [ "$how" = patch ]; then
			$as "$sg" merge --patch "$top/patch" "$id/b$i" </dev/null >"$t/out" 2>&1 && grep -q '^+by the agent' "$top/patch" && outside='as a patch'
		elif $as "$sg" merge --apply "$id/b$i" </dev/null >"$t/out" 2>&1; then
			host_has "$dir" "$how" && outside=yes
		elif [ "$how" = kept ]; then
			outside='if you may write'
		fi
		[ "$outside" != no ] || sed 's/^/# merge: /' "$t/out" | head -3
		[ "$how" = none ] || $as git -C "$dir" fsck --connectivity-only >"$t/out" 2>&1 || outside='damaged'
		notice=
		if [ "$said" != works ] || { [ "$outside" != yes ] && [ "$how" != kept ]; }; then
			notice=$(grep -aoE "note\|$i\|layout\|.*" "$top/out" | cut -d'|' -f4- | sed "s/^git in '.': //" | head -1)
			grep -qF "$notice" "$top/events" || notice=
		fi
		case $name in 'read-only files') [ "$outside" = yes ] && outside='if you may write' ;; esac
		printf '%s | %s | %s | %s\n' "$name" "$said" "$outside" "$notice" >>"$top/result"
	done < <(grep -ao 'row|.*' "$top/out")
	[ -s "$top/result" ] || cat "$top/out"
	is "$(wc -l <"$top/result")" "$(wc -l <"$top/list")" "$who: every layout was tried"
	cd "$t" || exit 1
	[ -z "${4:-}" ] || return
	is "$(awk -F ' [|] ' '$2 != "works" || $3 !~ /^(yes|as a patch|if you may write)$/ || ($3 != "yes" && $4 == "" && $1 !~ /^read-only/)' "$top/result")" '' "$who: git works inside and merging outside"
}

# The table must have the results of layouts tested here. Others (no mounts, an older git) stay unchanged.
in_table() { # result
	grep -vxFf <(grep '^| ' "$table" | sed 's/^| //; s/ |$//') "$1"
}
# Layouts that stand for all, where all take long and are tried otherwise: LONG or UPDATE tries all.
few='linked worktree|worktree of a bare repository|separate git directory|submodule opened alone|subdirectory of a repository|alternates, chained|SHA-256 objects'
of_root="$few|tmpfs|bind mount.*|overlayfs|another owner|read-only files|path that is not UTF-8|credential helper.*"
[ -z "${LONG:-}${UPDATE:-}" ] || few='' of_root=''
user=
[ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && user=6173 || of_root=
mkdir "$t/root"
[ "$(id -u)" != 0 ] || mount_all "$t/root" 0
all_layouts "$(id -un)" "$t/root" '' '' "$of_root"
if [ -n "$user" ]; then
	mkdir -p "$t/user/home" "$t/urun"
	cp "$HOME/.gitconfig" "$t/user/home/"
	mount_all "$t/user" 6173
	chown -R 6173:6173 "$t/urun" && chmod 700 "$t/urun"
	all_layouts 'an ordinary user' "$t/user" "env HOME=$t/user/home XDG_RUNTIME_DIR=$t/urun setpriv --reuid 6173 --regid 6173 --clear-groups"
fi
# Backends with a copy of the workspace have the same table. Containers take minutes.
copied() { # backend, its fields
	mkdir -p "$t/$1"
	: >"$t/$1/result"
	all_layouts "$1" "$t/$1" '' "$2" "$few"
	is "$(in_table "$t/$1/result")" '' "$1: the table is true for it"
}
layouts_ssh() {
	. "$here/../drivers/suite.bash"
	sshd_start || { skip "${no_sshd:-no keys for sshd}"; return; }
	copied ssh ", backend = \"ssh\", options = { host = \"there\", config = \"$t/ssh/config\", dir = \"$t/far\" }"
	sshd_stop
}
# An image of the host's git and a shell.
git_image() { # folder
	local busybox lib a
	busybox=$(command -v busybox) && ! ldd "$busybox" >/dev/null 2>&1 || return 1
	mkdir -p "$1"/{bin,etc,tmp,workspace,home/agent,proc,sys,dev,usr}
	ln -s ../bin "$1/usr/bin"
	cp -L "$busybox" "$1/bin/busybox"
	for a in $("$busybox" --list); do [ "$a" = busybox ] || ln -s busybox "$1/bin/$a"; done
	cp -L "$(command -v git)" "$1/bin/git"
	for lib in $(ldd "$(command -v git)" | grep -oE '/[^ ]+'); do
		mkdir -p "$1${lib%/*}" && cp -L "$lib" "$1$lib"
	done
	echo 'root:x:0:0::/:/bin/sh' >"$1/etc/passwd"
}
layouts_container() {
	local pod="podman --root $t/pod/root --runroot $t/pod/run" pid
	[ "$(id -u)" = 0 ] && command -v podman >/dev/null || { skip 'no podman that root may start'; return; }
	git_image "$t/img" || { skip 'no static busybox for an image'; return; }
	unshare -m sh -c "umount /sys/fs/cgroup/unified 2>/dev/null; exec $pod system service --time=0 unix://$t/podman.sock" >"$t/podman.log" 2>&1 </dev/null &
	pid=$!
	wait_for 30 curl -s -m 60 -o /dev/null --unix-socket "$t/podman.sock" http://x/_ping
	tar -C "$t/img" -c . | curl -s -m 60 --unix-socket "$t/podman.sock" -H 'Content-Type: application/x-tar' --data-binary @- -o "$t/out" \
		'http://x/v1.41/images/create?fromSrc=-&repo=sglayouts&tag=latest'
	copied container ", backend = \"container\", image = \"sglayouts:latest\", options = { engine = \"$t/podman.sock\" }"
	kill "$pid"
	wait "$pid" 2>/dev/null
}
cat "$t/root/result" "$t/user/result" >"$t/all" 2>/dev/null
if [ -n "${UPDATE:-}" ]; then
	{
		sed '/^| layout/,$d' "$table"
		echo '| layout | git inside | merging outside | notice at opening |'
		echo '|---|---|---|---|'
		{ sed 's/.*/| & |/' "$t/all"; sed '1,/^|---/d; /^## /,$d' "$table" | grep '^| ' | while IFS= read -r row; do
			name=${row#| }
			grep -qF "| ${name%% |*} |" <(sed 's/.*/| & |/' "$t/all") || printf '%s\n' "$row"
		done; } | awk '!seen[$0]++'
		echo
		sed -n '/^## /,$p' "$table"
	} >"$t/table" && cp "$t/table" "$table"
fi
is "$(in_table "$t/all")" '' 'the table of layouts has these results'
copied host ', backend = "host"'
layouts_ssh
[ -n "$few" ] || layouts_container
finish
