#!/usr/bin/env bash
# The vm driver with QEMU and Debian's kernel, emulated: the suites, the wall, a machine that dies.
. "$(dirname "$0")/../e2e/lib.sh"
. "$(dirname "$0")/suite.bash"
[ -x /usr/bin/qemu-system-x86_64 ] || { skip 'no QEMU (package qemu-system-x86)'; finish; }
at=${suite%/helpers/*}/vm
[ -z "${LONG:-}" ] || { "$here/../kernel.sh" "$at"; ok $? 'the kernel is there'; }
kernel=$(ls "$at"/boot/vmlinuz-* 2>/dev/null | head -1)
[ -n "$kernel" ] || { skip 'no kernel for a machine (make test-long fetches it, or: tests/kernel.sh build/vm)'; finish; }
at=$(cd "$at" && pwd)
kernel=$at/boot/${kernel##*/}
with="\"kernel\": \"$kernel\", \"modules\": \"$at/lib/modules/${kernel#*vmlinuz-}\", \"accel\": \"tcg\""
chmod a+rx "$t"
machine="{\"backend\": \"vm\", $with}"
DRIVER_OPTIONS="{$with}" contract vm vm
conform vm vm "$machine"
[ -z "${LONG:-}" ] || try_box "$machine" vm '' refused

mkdir -p "$t/use" && cd "$t/use" || exit 1
printf 'return require("sandglass.policy").rules { default = "allow" }\n' >any.lua
cat >wall.lua <<L
	local sg = require "sandglass"
	local how = sg.json.decode [[$machine]]
	how.limits = { mem = "400MB", cpus = 2, disk = "600MB" }
	local box <close> = sg.sandbox(how)
	local function say(name, command) local r = box:exec(command) print(name .. ": " .. r.out:gsub("%s+", " ") .. "; " .. r.code) end
	say("left", "sleep 20 & echo x >left")
	say("kernel", "uname -r")
	say("net", "ls /sys/class/net")
	say("cpus", "nproc")
	say("memory", "awk '/MemTotal/ { print (\$2 > 250000 && \$2 < 410000) }' /proc/meminfo")
	say("disk", "df -k / | awk 'END { print (\$2 < 620000) }'")
	say("etc", "cat /etc/shadow; ls /home /root /workspace")
	say("usr", "mount -o remount,rw /usr; touch /usr/bin/planted; mkdir /m; mount -t 9p -o trans=virtio,version=9p2000.L usr /m && touch /m/bin/planted; ls /m/..")
	say("escape", "ls /usr/../../../../..$t; ln -s / /tmp/l; ls /tmp/l$t")
	local fat = box:exec "tail /dev/zero; exit 3"
	print(("oom %d %s"):format(fat.code, fat.oom))
	local r, e = box:exec "echo the machine speaks >/dev/kmsg; echo c >/proc/sysrq-trigger; sleep 60"
	print("panic " .. (r and "ran" or e.code))
	r, e = box:exec "true"
	print("after " .. (r and "ran" or e.code))
L
timeout 200 "$SANDGLASS" run --no-tui --policy any.lua wall.lua </dev/null >"$t/out" 2>&1
id=$(grep -oE 's-[a-z0-9]+' "$t/out" | head -1)
out=$("$SANDGLASS" events "$id" --json)
notes=$(grep '"kind":"note"' <<<"$out")
like "$notes" "kernel: ${kernel#*vmlinuz-} ; 0" 'commands run on the kernel of the machine'
like "$out" '"kind":"snapshot.taken".*"alive":1,' 'one process is alive that a command has left'
unlike "$out" '"alive":[0-9]{2}' "threads of the machine's kernel are no processes of the box"
like "$notes" 'net: lo ; 0' 'which has no network device'
like "$notes" 'cpus: 2 ' 'two processors as asked for'
like "$notes" 'memory: 1 ' 'and the memory'
like "$notes" 'disk: 1 ' 'and the disk'
unlike "$notes" 'etc: [^"]*root:' 'no password file of this machine is in it'
like "$notes" 'etc: [^"]*agent' 'but a home of its own'
[ ! -e /usr/bin/planted ]
ok $? 'root in the machine cannot write to our /usr'
unlike "$notes" 'usr: [^"]*(boot|root)' 'nor look out of it'
unlike "$notes" 'escape: [^"]*wall.lua' 'nothing else of this machine is in its reach'
like "$notes" 'oom 3 1' 'what its memory does not suffice for is counted'
like "$out" '"kind":"box.said".*[Pp]anic' 'its console output is recorded'
like "$notes" 'panic [a-z_]+' 'a command in a machine that panics has an error'
unlike "$notes" 'panic ran' 'and no result'
unlike "$notes" 'after ran' 'nor have those after it'
"$SANDGLASS" verify "$id" >/dev/null 2>&1
ok $? 'the record verifies'

# a root of its own
root=$t/root,with,commas
mkdir -p "$root"/{bin,etc,lib64} && echo 'root:x:0:0::/:/bin/sh' >"$root/etc/passwd" && echo mine >"$root/etc/whose"
for p in sh cat ls; do cp "$(command -v $p)" "$root/bin/"; done
for l in $(ldd /bin/sh /bin/cat /bin/ls | grep -oE '/[^ ]+\.so[^ ]*' | sort -u); do mkdir -p "$root${l%/*}" && cp -L "$l" "$root$l"; done
chmod -R a+rX "$root"
cat >image.lua <<L
	local sg = require "sandglass"
	local how = sg.json.decode [[$machine]]
	how.image = { dir = "$root" }
	local box <close> = sg.sandbox(how)
	print("image " .. box:exec("cat /etc/whose; ls /; echo theirs >/etc/whose; cat /etc/whose").out:gsub("%s+", " "))
L
timeout 200 "$SANDGLASS" run --no-tui --policy any.lua image.lua </dev/null >"$t/out" 2>&1
id=$(grep -oE 's-[a-z0-9]+' "$t/out" | head -1)
like "$("$SANDGLASS" events "$id" --json)" 'image mine [^"]*workspace theirs' 'a folder is the root of a machine'
is "$(cat "$root/etc/whose")" mine 'which does not change it'

cd "$t" || exit 1
refused '{"backend": "vm", "accel": "xen"}' 'accel: expected "kvm" or "tcg", got "xen"' 'another emulator'
refused '{"backend": "vm", "kernel": "/nowhere/vmlinuz"}' "read the kernel '/nowhere/vmlinuz'" 'a kernel that is not there'
refused "{\"backend\": \"vm\", \"kernel\": \"$kernel\", \"modules\": \"/nowhere\"}" "read the kernel's modules '/nowhere'" 'no modules'
refused "{\"backend\": \"vm\", $with, \"image\": \"debian:12\"}" 'expected a directory with a root file system' 'an image by name'
refused "{\"backend\": \"vm\", $with, \"image\": {\"dir\": \"/nowhere\"}}" "use the image '/nowhere'" 'no such folder'
refused "{\"backend\": \"vm\", $with, \"image\": {\"dir\": \"/\"}}" 'would show your own files' 'all of this machine'
refused "{\"backend\": \"vm\", $with, \"image\": {\"dir\": \"$HOME/..\"}}" 'would show your own files' 'what holds your home'
refused "{\"backend\": \"vm\", \"kernal\": \"x\"}" "option 'kernal'" 'a wrong option'
cp /etc/hostname "$t/no-kernel" 2>/dev/null || echo no >"$t/no-kernel"
refused "{\"backend\": \"vm\", \"kernel\": \"$t/no-kernel\", \"modules\": \"$at/lib/modules/${kernel#*vmlinuz-}\", \"accel\": \"tcg\"}" \
	'the machine does not come up: .*kernel' 'what is no kernel'
finish
