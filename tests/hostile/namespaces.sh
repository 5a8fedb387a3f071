#!/usr/bin/env bash
# What bubblewrap is asked for, read inside a process sandbox: its own namespaces, no capabilities, read-only and hidden
# files of the kernel, its own session, and no environment of the supervisor. The host is asked the same and answers
# otherwise.
. "$(dirname "$0")/../e2e/lib.sh"
need_boxes
cd "$t" || exit 1
cat >ask.sh <<'S'
for n in ipc pid net uts cgroup user mnt; do echo "ns-$n $(readlink /proc/self/ns/$n)"; done
echo "host $(uname -n)"
echo "ids $(id -u) $(id -g)"
for p in self 1; do echo "caps-$p $(sed -n 's/^Cap...:[[:space:]]*//p' /proc/$p/status 2>/dev/null | sort -u | tr '\n' ' ')"; done
echo "filters $(sed -n 's/^Seccomp_filters:[[:space:]]*//p' /proc/self/status)"
echo "first $(sed 's/.*(\(.*\)) \(.*\)/\1 \2/' /proc/1/stat | cut -d' ' -f1,5)"
echo "score $(cat /proc/self/oom_score_adj)"
echo "devices $(cut -d: -f1 /proc/net/dev | tail -n +3 | tr -d ' \n')"
awk -F'  +' '/core file|locked|msgqueue|nice|realtime prio|pending|open files/ { print "limit " $1 ":" $2 ":" $3 }' /proc/self/limits
(echo x >/proc/self/comm) 2>/dev/null && echo 'files written'
env | sed 's/^/env /'
while read -r _ _ _ _ at how _; do echo "mount $at ${how%%,*}"; done </proc/self/mountinfo
S
cat >ask.lua <<'L'
local sg = require "sandglass"
local a = sg.args { script = "" }
local box <close> = sg.sandbox { name = "n" }
print("\n" .. box:exec(a.script).out)
L
sh ask.sh >outside
CANARY=of-the-supervisor timeout 60 "$SANDGLASS" run --no-tui --no-input ask.lua -- --script "$(cat ask.sh)" >out 2>&1 </dev/null
is $? 0 'the sandbox answers'
sed -n 's/^  | //p' out >inside
inside() { sed -n "s|^$1 ||p" inside; }
outside() { sed -n "s|^$1 ||p" outside; }
for space in ipc pid net uts cgroup user mnt; do
	[ -n "$(inside "ns-$space")" ] && [ "$(inside "ns-$space")" != "$(outside "ns-$space")" ]
	ok $? "a namespace of its own: $space"
done
is "$(inside host)" sandbox 'the name of the host is not shown'
is "$(inside ids)" '1000 1000' 'its user and group'
is "$(inside caps-self)" '0000000000000000 ' 'a command has no capability'
is "$(inside caps-1)" '0000000000000000 ' 'nor has its first process'
is "$(inside filters)" 2 'both system call filters are in force'
is "$(inside first)" 'guest 1' 'the guest is its first process, in a session of its own'
is "$(inside score)" 700 'it is the first that a lack of memory ends'
is "$(inside devices)" lo 'no network device but the loopback one'
is "$(grep -c '^env CANARY' inside) $(CANARY=x sh ask.sh | grep -c '^env CANARY')" '0 1' 'no environment of the supervisor'
is "$(inside limit | tr '\n' ' ')" 'Max core file size:0:0 Max open files:1024:1024 Max locked memory:0:0 Max pending signals:256:256 Max msgqueue size:0:0 Max nice priority:0:0 Max realtime priority:0:0 ' \
	'the limits of a command'
is "$(inside files) $(outside files)" ' written' 'a file outside of its directories is closed, although its modes allow it'
like "$(inside mount)" '(^|\n)/dev ro' 'the directory of devices is read-only'
like "$(inside mount)" '(^|\n)/proc/sys ro' "the kernel's settings are read-only"
for own in /dev/shm /dev/pts /proc /tmp /workspace; do
	grep -qx "mount $own rw" inside
	ok $? "mounted of its own: $own"
done
hidden=0
for name in kcore keys timer_list sched_debug latency_stats kmsg sysrq-trigger; do
	[ -e "/proc/$name" ] || continue
	hidden=$((hidden + 1))
	grep -qx "mount /proc/$name ro" inside
	ok $? "hidden: /proc/$name"
done
ok $((hidden < 1)) "$hidden files of the kernel are hidden"
unlike "$(outside mount)" '/proc/(keys|kmsg|timer_list) ro' 'the host shows them'
finish
