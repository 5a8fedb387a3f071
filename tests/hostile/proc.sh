#!/usr/bin/env bash
# A box against what is around it: /proc of its PID 1, ptrace, set-uid files, a fork bomb, memory, and a program that only the
# host has.
. "$(dirname "$0")/../e2e/lib.sh"
sg=$SANDGLASS
boxes || { skip 'no box can be opened here'; finish; }
cat >"$t/proc.lua" <<'L'
local sg = require "sandglass"
local box <close> = sg.sandbox { name = "proc", limits = { mem = "256M", pids = 40 } }
local function show(name, cmd, o)
  local r, err = box:exec(cmd, o)
  print(name .. "=" .. (r and (r.out .. r.err):gsub("%s+", " "):sub(1, 300) .. " exit " .. tostring(r.code or r.signal) or tostring(err)))
  return r
end
show("mem", "head -c 1 /proc/1/mem")
show("memw", "echo x > /proc/1/mem")
show("environ", "cat /proc/1/environ | wc -c")
show("fd", "ls -l /proc/1/fd")
show("maps", "cat /proc/1/maps | wc -l")
show("cmdline", "tr '\\0' ' ' < /proc/1/cmdline")
show("root", "ls /proc/1/root/ /proc/1/cwd/")
show("ptrace", [[cat > p.c <<'C'
#define _GNU_SOURCE
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
int main(void) {
  char b[8]; struct iovec l = { b, 8 }, r = { (void *)0x400000, 8 };
  printf("attach %ld ", ptrace(PTRACE_ATTACH, 1, 0, 0));
  printf("seize %ld ", ptrace(PTRACE_SEIZE, 1, 0, 0));
  printf("vm %ld %s\n", (long)process_vm_readv(1, &l, 1, &r, 1, 0), strerror(errno));
}
C
cc -o p p.c && ./p]])
show("kill", "kill -9 1; kill -STOP 1; echo alive")
show("setuid", "cp /bin/id i && chmod 6755 i && ./i -u; for f in /usr/bin/su /usr/bin/passwd /usr/bin/mount; do [ -u $f ] && echo privileged; done; su -c 'id -u' </dev/null; grep NoNewPrivs /proc/self/status")
show("caps", "grep -h Cap /proc/self/status | tr -d '\\n'")
show("others", "ps -e 2>/dev/null | wc -l; ls -d /proc/[0-9]* | wc -l")
show("bomb", "b() { b | b & }; (b) 2>/dev/null; sleep 2; echo over", { timeout = 20 })
local after -- what the bomb left takes the limit's processes in turns: one of the box's own comes in between, and ends it
for _ = 1, 600 do
  after = box:exec "kill -9 -1; echo still here"
  if after and after.ok then break end
  sg.sleep(0.1)
end
print("after=" .. tostring(after and after.out:gsub("%s+", " ") .. "exit " .. tostring(after.code)))
show("memory", "python3 -c 'x = bytearray(1 << 30); print(len(x))' 2>&1 | tail -1; echo next")
show("well", "echo fine")
local r = box:exec "only-on-the-host --help"
print("hint=" .. tostring(r and r.hint) .. " exit " .. tostring(r and r.code))
L
mkdir "$t/bin"
printf '#!/bin/sh\necho host\n' >"$t/bin/only-on-the-host"
chmod 755 "$t/bin/only-on-the-host"
began=$SECONDS
PATH=$t/bin:$PATH timeout 120 "$sg" run "$t/proc.lua" --name proc >"$t/out" 2>&1 </dev/null
is $? 0 'the box outlives all of it'
note() { sed -n "s/.*note: $1=//p" "$t/out" | tr -s ' '; }
like "$(note mem)" '(denied|not permitted|Input/output error|No such file).*exit [1-9]' '/proc/1/mem cannot be read'
like "$(note memw)" '(denied|not permitted|cannot create|nonexistent).*exit [1-9]' 'nor written'
like "$(note environ)" '^(.*(denied|not permitted|No such).*|0 exit 0)' '/proc/1/environ has nothing'
like "$(note fd)" '(denied|not permitted|No such)|^total 0 exit' '/proc/1/fd is closed'
like "$(note maps)" '(denied|not permitted|No such)|^0 exit' '/proc/1/maps is closed'
unlike "$(note cmdline)" "$t|$HOME|/work|build/" 'its command line tells nothing about the host'
like "$(note ptrace)" 'attach -1 seize -1 vm -1' 'PID 1 cannot be traced'
like "$(note kill)" 'alive exit 0' 'PID 1 cannot be killed or stopped'
unlike "$(note setuid)" '(^| )0 ' 'no set-uid file makes root'
like "$(note setuid)" 'NoNewPrivs: 1' 'no new privileges'
like "$(note caps)" 'CapPrm: 0000000000000000' 'no capabilities'
like "$(note others)" '^[0-9] [0-9] ' 'it sees its own processes only'
like "$(note bomb)" 'over|time|limit|fork' 'a fork bomb stays within its limit'
like "$(note after)" 'still here exit 0' 'and the box can be used afterwards'
like "$(note memory)" '^(MemoryError )?next( Killed)? exit' 'memory is limited'
unlike "$(note memory)" '1073741824' 'nor to the requested value'
like "$(note well)" 'fine exit 0' 'and the box lives on'
like "$(note hint)" "--root $t .*exit 127" 'a program that only the host has: the option is named'
"$sg" verify proc >"$t/v" 2>&1
is $? 0 'the record verifies'
finish
