# For the tests of drivers: runs the two suites as part of a test, and starts an sshd. Sourced after e2e/lib.sh.
suite=${B:-build}/helpers/drivers/conformance
case $suite in /*) ;; *) suite=$here/../../$suite ;; esac
guest=${SANDGLASS%/*}/sandglass-guest
[ "${suite%/*}/sandglass-guest" -ef "$guest" ] || ln -sf "$(readlink -f "$guest")" "${suite%/*}/sandglass-guest"

tap() { # file of TAP, what stands before each name
	local line
	while IFS= read -r line; do
		case $line in
		'ok '*' # '*) skip "$2: ${line#*# skip }" ;;
		'ok '*) ok 0 "$2: ${line#* - }" ;;
		'not ok '*) ok 1 "$2: ${line#* - }" ;;
		'#'*) echo "$line" ;;
		esac
	done <"$1"
}
contract() { # driver, name: what driver.h asks of it, which no script sees ($DRIVER_OPTIONS)
	timeout "${LONG:+1}200" "$suite" "$1" </dev/null >"$t/contract" 2>&1
	tap "$t/contract" "$2"
	[ "$(grep -c '^ok ' "$t/contract")" -gt 30 ]
	ok $? "$2: the contract has run"
}
conform() { # kind, name, the box as JSON: the suite that every kind must pass
	timeout "${LONG:+1}200" "$SANDGLASS" plugin test "$1" --box "${3:-{\}}" ${LONG:+--long} </dev/null >"$t/suite" 2>"$t/out"
	local status=$? id
	tap "$t/suite" "$2"
	[ "$status" = 0 ] && [ "$(grep -c '^ok ' "$t/suite")" -gt 60 ]
	ok $? "$2: the suite has ended well"
	id=$(sed -n 's/^recorded as //p' "$t/out")
	unlike "$("$SANDGLASS" events "$id" --json)" '"kind":"snapshot.failed"' "$2: no snapshot failed"
	"$SANDGLASS" verify "$id" >"$t/out" 2>&1
	is $? 0 "$2: the record verifies"
	one_name "$1" "$2" "${3:-{\}}"
}
# The parts of that suite in which backends of one family differ: how a command ends, its streams, files, and versions. The
# whole suite runs for one of the family, and for the others in test-long.
conform_parts() { # kind, name, the box as JSON
	[ -z "${LONG:-}" ] || { conform "$@"; return; }
	local status
	mkdir -p "$t/parts/repo" && echo before >"$t/parts/repo/there" && chmod -R a+rX "$t/parts"
	timeout 200 "$SANDGLASS" run --no-tui --json --policy "$here/../../lua/agents/conformance_policy.lua" "$here/../../lua/agents/conformance.lua" -- \
		"$1" --box "${3:-{\}}" --dir "$t/parts" --mark parts --parts 'exits output input files trees' </dev/null >"$t/parts.json" 2>"$t/out"
	status=$?
	jq -r 'select(.kind == "note") | .body.text' "$t/parts.json" >"$t/suite"
	tap "$t/suite" "$2"
	[ "$status" = 0 ] && [ "$(grep -c '^ok ' "$t/suite")" -gt 50 ]
	ok $? "$2: the parts of the suite have ended well"
	one_name "$1" "$2" "${3:-{\}}"
}
# Sandboxes of one name, one after the other and in two sessions, share no file.
one_name() { # kind, name, the box as JSON
	mkdir -p "$t/one" && cd "$t/one" || return
	printf 'return require("sandglass.policy").rules { default = "allow" }\n' >any.lua
	cat >one.lua <<-L
		local sg = require "sandglass"
		local how = sg.json.decode [[$3]]
		how.name, how.backend = "same", "$1"
		for i = 1, 2 do
		  local box = assert(sg.sandbox(how))
		  print("saw " .. (box:read "left" or "nothing"))
		  assert(box:write("left", "work " .. i))
		  print("has " .. box:read "left")
		  box:close()
		  sg.sleep(0.1)
		end
	L
	for _ in 1 2; do timeout "${LONG:+1}200" "$SANDGLASS" run --no-tui --policy any.lua one.lua </dev/null; done >"$t/out" 2>&1
	is "$(grep -oE '(saw|has) (nothing|work [12])' "$t/out" | xargs)" \
		'saw nothing has work 1 saw nothing has work 2 saw nothing has work 1 saw nothing has work 2' "$2: sandboxes of one name share nothing"
	cd "$t" || return
}

# A real sshd on a port of its own, for the user that runs the test: $t/ssh/config is what ssh takes to get there ("there"),
# $t/far its folder for boxes. false: cannot be had, $no_sshd says why.
sshd_start() {
	local sshd port i
	sshd=$(command -v sshd || echo /usr/sbin/sshd)
	[ -x "$sshd" ] || { no_sshd='no sshd (package openssh-server)'; return 1; }
	mkdir -p "$t/ssh" "$t/far" && chmod 700 "$t/ssh"
	ssh-keygen -q -t ed25519 -N '' -f "$t/ssh/host" && ssh-keygen -q -t ed25519 -N '' -f "$t/ssh/key" &&
		ssh-keygen -q -t ed25519 -N '' -f "$t/ssh/other" || return 1
	cp "$t/ssh/key.pub" "$t/ssh/authorized"
	[ "$(id -u)" != 0 ] || mkdir -p /run/sshd
	for i in 1 2 3 4 5 6 7 8; do
		port=$((20000 + RANDOM % 12000))
		cat >"$t/ssh/sshd_config" <<-C
			Port $port
			ListenAddress 127.0.0.1
			HostKey $t/ssh/host
			AuthorizedKeysFile $t/ssh/authorized
			StrictModes no
			PasswordAuthentication no
			KbdInteractiveAuthentication no
			PermitRootLogin yes
			UsePAM no
			PidFile none
			MaxStartups 100
		C
		"$sshd" -D -e -f "$t/ssh/sshd_config" >"$t/ssh/log" 2>&1 </dev/null &
		sshd_pid=$!
		wait_for 30 grep -qE 'Server listening|error|fatal' "$t/ssh/log"
		grep -q 'Server listening' "$t/ssh/log" && break
		wait "$sshd_pid" 2>/dev/null
		sshd_pid=
	done
	[ -n "$sshd_pid" ] || { no_sshd="sshd does not start: $(tail -1 "$t/ssh/log")"; return 1; }
	echo "[127.0.0.1]:$port $(cat "$t/ssh/host.pub")" >"$t/ssh/known"
	sshd_port=$port
	cat >"$t/ssh/config" <<-C
		Host there
		HostName 127.0.0.1
		Port $port
		IdentityFile $t/ssh/key
		IdentitiesOnly yes
		UserKnownHostsFile $t/ssh/known
		GlobalKnownHostsFile /dev/null
		StrictHostKeyChecking yes
	C
}
sshd_stop() { [ -z "${sshd_pid:-}" ] || kill "$sshd_pid" 2>/dev/null; }

# What cannot be opened is one line.
refused() { # the box as JSON, what is said, name
	local out
	mkdir -p "$t/use" && cd "$t/use" || return
	printf 'local sg = require "sandglass"\nlocal b = sg.sandbox(sg.json.decode [[%s]])\n' "$1" >bad.lua
	out=$(timeout 60 "$SANDGLASS" run --no-tui bad.lua </dev/null 2>&1)
	[ $? -ne 0 ] && [ $? -ne 124 ]
	like "$(tail -1 <<<"$out")" "$2" "$3"
	cd "$t" || return
}

# A held command is tried in a second box of the same kind, off the network; then exactly that difference is made so.
# $BEFORE_TRY is called when it is held.
try_box() { # the box as JSON, driver, why it is refused ('' where it is not), what a connection says there
	local id held out p
	mkdir -p "$t/use" && cd "$t/use" || return
	[ -d repo ] || { git init -q repo && echo one >repo/a.txt && git -C repo add . && git -C repo commit -qm x; }
	printf 'return require("sandglass.policy").rules { default = "allow" }\n' >any.lua
	cat >try.lua <<-L
		local sg = require "sandglass"
		local how = sg.json.decode [[$1]]
		how.name, how.repo = "c", "repo"
		local box <close> = sg.sandbox(how)
		box:exec "echo before >b.txt"
		local r = box:exec ": held; cat b.txt; echo two >>a.txt; echo 0 >n.txt; rm b.txt; bash -c 'exec 3<>/dev/tcp/127.0.0.1/1' 2>&1; exit 3"
		print("ended " .. r.code .. " " .. r.out .. "files " .. box:exec("cat a.txt n.txt; ls").out)
	L
	id=$("$SANDGLASS" run -d --policy any.lua --hold "cmd:*held*" try.lua 2>"$t/out")
	held() { "$SANDGLASS" state -S "$id" --json 2>/dev/null | grep -oE '"action": ?[0-9]+' | head -1 | grep -oE '[0-9]+'; }
	is_held() { [ -n "$(held)" ]; }
	wait_for 60 is_held
	held=$(held)
	${BEFORE_TRY:-true}
	out=$(timeout 60 "$SANDGLASS" dry-run "$held" -S "$id" 2>&1)
	if [ -n "$3" ]; then
		like "$out" "$3" "$2: a try is refused, and why"
		"$SANDGLASS" stop --now -S "$id" >/dev/null 2>&1
		cd "$t" || return
		return
	fi
	like "$(tr '\n' ' ' <<<"$out")" 'exit 3 .*3 files \+2 -1 .*M a.txt \+1 -0 .*D b.txt .*A n.txt' "$2: a held command is tried: how it would end, what it would change"
	like "$out" 'incomplete: only the workspace' "$2: and what is not seen"
	is "$(held)" "$held" "$2: it still waits"
	p=$("$SANDGLASS" events "$id" --json | grep preview.started | grep -oE '"seq":[0-9]+' | cut -d: -f2)
	like "$("$SANDGLASS" out "$id#$p" 2>&1 | tr '\n' ' ')" "^before .*${4:-nreachable}" "$2: it found the files of the box, and no network"
	timeout 60 "$SANDGLASS" apply "$held" -S "$id" >"$t/out" 2>&1
	is $? 0 "$2: it is promoted"
	over() { ! "$SANDGLASS" state -S "$id" >/dev/null 2>&1; }
	wait_for 60 over
	like "$("$SANDGLASS" events "$id" --json | grep '"kind":"note"')" 'ended 3 before\\n.*files one\\ntwo\\n0\\na.txt\\nn.txt\\n"' \
		"$2: the box has exactly its difference"
	"$SANDGLASS" verify "$id" >"$t/out" 2>&1
	is $? 0 "$2: the record verifies"
	cd "$t" || return
}
