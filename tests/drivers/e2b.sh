#!/usr/bin/env bash
# Boxes of E2B, against a fake that its own SDK drives first.
kind=e2b sdk=e2b key=E2B_API_KEY url=E2B_API_URL url2=E2B_SANDBOX_URL create='^/v2/sandboxes$' exec_path=/process.Process/Start
asleep='POST /sandboxes/.*/pause'
export E2B_API_KEY=e2b_00
token='traffic-i'
own() { # a session ends while what others left is still asked for, or waited for to be asked anew
	for late in wait:2 status:429; do
		fault "9 GET ^/v2/sandboxes$ $late"
		timeout 60 python3 "$here/../drivers/fell.py" "$sg" run --no-tui one.lua -- --backend e2b </dev/null >out 2>&1
		is "$(grep -oE 'said fine|fell: .*' out)" 'said fine' "a session ends before the list of boxes is there ($late): nothing falls"
		fake calm >/dev/null
	done
	# its clock is an hour ahead: said, and it works all the same
	sed "s/\"-c\", text/\"-c\", [[date() { command date -d '+1 hour' \"\$@\"; }\n]] .. text/; s/name = \"e2b\"/name = \"skew\"/" "$here/../../plugins/sandboxes/e2b.lua" >skew.lua
	timeout 60 "$sg" run --no-tui one.lua -- --backend "$t/skew.lua" </dev/null >out 2>&1
	like "$(cat out)" "the clock of sandbox 'c' is 3[56][0-9][0-9] s ahead of the host's" 'a clock that is an hour ahead is reported'
	like "$(cat out)" 'said fine' 'and the box works'
	# answers of the fake begin with white space: the plugin sees names of credentials all the same
	sed "s/^  return r.json$/  host.say('sees ' .. r.json.envdAccessToken)\n&/; s/name = \"e2b\"/name = \"curious\"/" "$here/../../plugins/sandboxes/e2b.lua" >curious.lua
	timeout 60 "$sg" run --no-tui one.lua -- --backend "$t/curious.lua" </dev/null >out 2>&1
	like "$(cat out)" 'sees \{hidden:' 'a credential in an answer is hidden from the plugin'
	# a sandbox without terminals reports this
	sed 's/"-c", text/"-c", (text:gsub("\/dev\/p[pts\/]*mx", "\/nowhere"))/; s/name = "e2b"/name = "mute"/' \
		"$here/../../plugins/sandboxes/e2b.lua" >mute.lua
	cat >mute_use.lua <<-'L'
		local box <close> = require("sandglass").sandbox { name = "c", backend = "./mute.lua" }
		print("pty " .. tostring(box.caps.pty))
		local sh, err = box:shell()
		print("shell: " .. tostring(err))
		print("said " .. box:exec("echo fine").out)
	L
	timeout 60 "$sg" run --no-tui mute_use.lua </dev/null >out 2>&1
	like "$(cat out)" 'pty false' 'a box in which nothing can open a terminal lacks them'
	like "$(cat out)" "sandbox 'c' \(mute\) has no terminals.*/dev/ptmx" 'with the reason'
	like "$(cat out)" 'said fine' 'commands run in it all the same'
	# what a command in a shell that stays has changed is found at its end, not later
	git init -q repo && echo one >repo/a.txt && git -C repo add . && git -C repo commit -qm x
	printf 'return require("sandglass.policy").rules { default = "allow" }\n' >allow.lua
	timeout 100 "$sg" run --no-tui --policy allow.lua "$here/../drivers/far_shell.lua" -- '{"backend": "e2b"}' --rounds 6 </dev/null >out 2>&1
	like "$(cat out)" 'job 8 0' 'a job in a shell that stays, and a look afterwards'
	like "$(cat out)" 'same 13' 'its commands: nothing that one of them wrote is found later'
	# a large file is sent in several requests
	head -c 9M /dev/urandom >nine
	printf 'local box <close> = require("sandglass").sandbox { backend = "e2b" }\nassert(box:put("nine", "nine"))\nprint("sum " .. box:run("sha256sum <nine").out)\n' >nine.lua
	posts() { fake seen | grep -c 'POST /files'; }
	local posts=$(posts)
	timeout 60 "$sg" run --no-tui --policy allow.lua nine.lua </dev/null >out 2>&1
	like "$(cat out)" "sum $(sha256sum <nine)" 'a file of 9 MB goes there'
	is "$(($(posts) - posts))" 10 'in nine pieces, after our program'
	naps pause 'in /tmp with kept' 'with a kept memory the shell continues'
	naps close "this shell has ended: sandbox '[^']+' was paused.*open another shell" 'without, it has ended, and the next command gets the reason'
}
. "$(dirname "$0")/rented.bash"
