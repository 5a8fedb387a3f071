#!/usr/bin/env bash
# Sandboxes of Modal, against a fake that its own SDK tests first (the SDK without TLS, as at home; ours with TLS, as
# abroad).
kind=modal sdk=modal key=MODAL_TOKEN_SECRET url=MODAL_SERVER_URL create='/SandboxCreateV2$'
exec_path='/TaskExec(Start|StdioRead)$' begins=/TaskExecStart
asleep='POST .*/TaskSnapshotFilesystem' quota='refuses more \(RESOURCE_EXHAUSTED\)'
page='no gRPC; it may hold a credential' token=eyJhbGci
export MODAL_TOKEN_ID=ak-test MODAL_TOKEN_SECRET=as-test
command -v node >/dev/null || { echo '1..0 # skip no node for HTTP/2 in the fake'; exit 0; }

before() { export SSL_CERT_FILE=$t/port.pem.crt MODAL_SERVER_URL=${at/http:/https:}; }
last() { grep -aoE '"text":"said [^"]*|sandglass: .*' one.out | tail -1; }
with() { # options of the sandbox in Lua, its use (run: a command)
	cat >with.lua <<-L
		local sg = require "sandglass"
		local box <close> = sg.sandbox { name = "c", backend = "modal", $1 }
		local function run(cmd)
		  local r, err = box:exec(cmd)
		  return r and r.out .. r.err or tostring(err)
		end
		print("said " .. $2)
	L
	timeout 60 "$sg" run --no-tui with.lua --json </dev/null >one.out 2>&1
	last
}
asks() { # request in Lua, further lines of the face: what a plugin that sends it says
	cat >mine.lua <<-L
		local p = require "sandglass.plugin"
		return { kind = "sandbox", name = "mine", url = "$at", ${2:-}
		  open = function(o, host) host.fail("bad", "body " .. (host.$1.body or "")) end,
		  exec = function() end, close = function() end }
	L
	printf 'require("sandglass").sandbox { backend = "./mine.lua" }\n' >mine_run.lua
	timeout 60 "$sg" run --no-tui mine_run.lua </dev/null 2>&1 | tail -1
}
secret() { with "options = { secrets = { $1 = 'github' } }" "run 'echo \$$1'"; }

own() {
	like "$(MODAL_SERVER_URL=$at one)" 'said fine' 'without TLS, too'
	rm -f one.out
	with '' 'run "echo kept >f" .. (print "waits" or sg.sleep(1) or "") .. run "cat f"' >/dev/null &
	waits() { grep -qs '"waits"' one.out; }
	wait_for 30 waits
	fake expire >/dev/null
	wait $!
	like "$(last)" 'said kept' 'an expired credential for the sandbox is renewed'
	like "$(fake seen | tail -9)" 'SandboxGetCommandRouterAccess' 'is asked for anew'
	like "$(secret GITHUB_TOKEN)" 'said of-the-vault' "a secret of the provider's vault, by its name"
	like "$(secret OTHER)" "FAILED_PRECONDITION: Secret 'github' is missing key" 'a secret without the key: one line'
	like "$(with 'image = "missing:1"' 'run "true"')" "build the image from 'FROM missing:1': no such image: missing:1" \
		'an image that is not there: one line'
	mkdir d && printf 'FROM debian:12\nRUN fail\n' >d/Dockerfile
	like "$(with 'build = { dir = "d", args = { which = "this" } }' 'run "true"')" \
		"from 'FROM debian:12': step 2 failed, with ARG which=this" 'a Dockerfile is handed on, and what is wrong with it told'
	echo 'COPY . /x' >>d/Dockerfile
	like "$(with 'build = "d"' 'run "true"')" "no files are sent with a Dockerfile, so 'COPY . /x' has nothing to take" \
		'one that takes files: one line'
	local before=$(fake seen | wc -l)
	fault '1 POST /SandboxCreateV2$ lost'
	fake blind >/dev/null
	like "$(one)" 'said fine' 'an answer is lost, and the box not in the list: it is found by its name'
	fake calm >/dev/null
	like "$(fake seen | tail -n "+$((before + 1))")" 'SandboxGetFromNameV2' 'it was'
	fake timeless >/dev/null
	fault '1 POST /SandboxCreateV2$ lost'
	like "$(one)" 'said fine' 'a list that does not say when a box was made comes to its end'
	wait_for 10 none_left
	ok $? 'and there was one only'
	fake strict >/dev/null
	like "$(one)" 'said fine' 'output that is asked for too early is asked for again'
	fault "9 POST /TaskExecStdioRead$ status:504"
	like "$(one)" 'said fine' 'a command is silent for long: its output is asked for anew, as often as it takes'
	like "$(with 'options = { idle = "pause", idle_after = 1 }' '(run "echo slept >f") .. (sg.sleep(3) or "") .. run "cat f"')" \
		'said slept' 'asleep its files are an image'
	like "$(fake seen | tr '\n' ' ')" 'TaskSnapshotFilesystem .*SandboxTerminateV2 .*SandboxCreateV2 .*ImageDelete' \
		'that is made, taken and deleted'
	is "$(fake images)" '' 'none is left'
	wait_for 10 none_left
	ok $? 'and no box'
	fake echo >/dev/null
	like "$(one)" 'INVALID_ARGUMENT: bad auth <secret:modal.1>' 'a refusal that says the credential back'
	unlike "$(cat one.out)" 'eyJ' 'does not show it'
	fake calm >/dev/null
	like "$(asks 'http { path = "/_boxes", hide = p.list { 1 } }')" "'hide' of a request is to be a list of numbers of fields, as texts" \
		'a place of a credential that is none: one line'
	like "$(asks 'http { path = "/_boxes", hide = "1" }')" "'hide' of a request is to be a list" 'nor a list of them'
	like "$(asks 'stream({ path = "/_boxes", hide = p.list { "1" } }, print)')" "'hide' is not for an answer that is streamed" \
		'nor in a stream'
	like "$(asks 'http { path = "/_calm", hide = p.list { "1" } }')" 'body no gRPC; it may hold a credential, so it is not shown' \
		'an answer that cannot be looked through is not shown'
	like "$(asks 'http { path = "/_calm" }')" 'body ok' 'one that hides nothing is'
	like "$(asks 'http { path = "/_calm" }' 'hide = p.list { 1 },')" "the plugin './mine.lua': 'hide' is to be a list of texts" \
		'names of credentials that are none: one line'
	unlike "$("$sg" events "$("$sg" ls --json | head -1 | grep -oE 's-[a-z0-9]+' | head -1)" --json)" 'eyJ|as-test' \
		'no credential is in the record'
}
. "$(dirname "$0")/rented.bash"
