#!/usr/bin/env bash
# Boxes of Daytona, against a fake that its own SDK drives first.
kind=daytona sdk=@daytonaio/sdk key=DAYTONA_API_KEY url=DAYTONA_API_URL tail=/api create='^/api/sandbox$' exec_path=/process/execute asleep='POST /api/sandbox/.*/stop'
export DAYTONA_API_KEY=dtn_test
built() { # the build options, as Lua
	printf 'local sg = require "sandglass"\nlocal box <close> = sg.sandbox { backend = "daytona", build = %s }\n' "$1" >built.lua
	timeout 60 "$sg" run --no-tui built.lua </dev/null 2>&1 | tail -1
}
own() {
	fault '2 DELETE ^/api/sandbox/ status:403'
	like "$(one)" 'said fine' 'giving back is refused twice'
	unlike "$(cat one.out)" 'may still cost' 'and tried again until it is not'
	wait_for 10 none_left
	ok $? 'no box is left'
	fake calm >/dev/null
	naps pause "this shell has ended: sandbox '[^']+' was paused.*open another shell" 'a container keeps no memory: its shell has ended, and the next command gets the reason'
	mkdir d && echo 'FROM debian:12' >d/Dockerfile
	like "$(built '"nowhere"')" "directory or Dockerfile not found: 'nowhere'" 'a Dockerfile that is not there: one line'
	like "$(built '{ dir = "d", args = { which = "this" } }')" 'args of a Dockerfile.*ARG which=value' 'args for it, too'
}
token='preview-[0-9a-f]{8}-'
. "$(dirname "$0")/rented.bash"
