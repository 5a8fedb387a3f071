# For sabotage.sh: bash machine.bash DIR CONFIG OWN [FILTER]: sshd on a machine that a test can destroy. It has its own
# processes, mounts, and devices; its root is a copy on write of ours. DIR: an empty directory; OWN: the directory with
# the keys, copied into its /tmp; FILTER: a program to start sshd with. Call below unshare --mount --pid --fork.
set -e
m=$1 config=$2 own=$3 filter=${4:-}
mount --make-rprivate /
mount -t tmpfs -o size=700m,nr_inodes=60000 x "$m"
mkdir "$m/up" "$m/work" "$m/root"
mount -t overlay -o "lowerdir=/,upperdir=$m/up,workdir=$m/work" x "$m/root"
r=$m/root
mount -t proc x "$r/proc"
mount -t tmpfs x "$r/run" && mkdir "$r/run/sshd"
mount -t tmpfs -o size=200m,nr_inodes=20000,mode=1777 x "$r/tmp"
mkdir -p "$r$own" && cp -a "$own/ssh" "$r$own/" && mkdir "$r$own/far"
mount -t tmpfs -o mode=755 x "$r/dev"
mknod -m 666 "$r/dev/null" c 1 3 && mknod -m 666 "$r/dev/zero" c 1 5 && mknod -m 666 "$r/dev/full" c 1 7
mknod -m 666 "$r/dev/random" c 1 8 && mknod -m 666 "$r/dev/urandom" c 1 9 && mknod -m 666 "$r/dev/tty" c 5 0
mkdir "$r/dev/pts" "$r/dev/shm" && ln -s pts/ptmx "$r/dev/ptmx" && ln -s /proc/self/fd "$r/dev/fd"
mount -t devpts -o newinstance,ptmxmode=666 x "$r/dev/pts"
cd "$r"
# shellcheck disable=SC2086
exec $filter chroot . "$(command -v sshd || echo /usr/sbin/sshd)" -D -e -f "$config"
