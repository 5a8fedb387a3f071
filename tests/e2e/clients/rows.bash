# The rows of the client table, written to "rows": client, column (with ! for a known limit), seconds, command. A command
# that ends with 77 has no program. Sourced by clients.sh.
absent() { row "$1" http "echo '$2'; exit 77"; }
row() { printf '%s\t%s\t%s\t%s\n' "$1" "$2" "${4:-60}" "$3" >>rows; }
slow=${LONG:+150} many=${LONG:+5000}
slow=${slow:-3} many=${many:-300}
gap='python3 -u gap.py'
rows_base() {
	row curl http 'curl -sS $HTTP/hello'
	row curl https 'curl -sS $HTTPS/hello'
	row curl upload 'curl -sS --data-binary @up.bin $HTTPS/up'
	row curl stream "curl -sSN \$HTTPS/stream | $gap"
	row curl slow 'curl -sS $HTTPS/slow='"$slow" $((slow + 60))
	row 'Python asyncio' connections "/usr/bin/python3 programs/many.py \$NAME \${HTTP##*:} $many $((many / 10))" $((many / 10 + 60))
	row curl refusal 'curl -sSf $NOT/'
	local w='wget -nv --ca-certificate=ca.crt --tries=1'
	row wget http "$w -O- \$HTTP/hello"
	row wget https "$w -O- \$HTTPS/hello"
	row wget upload "$w -O- --post-file=up.bin \$HTTPS/up"
	row wget stream "$w -O- \$HTTPS/stream | $gap"
	row wget refusal "$w -O- \$NOT/"
	row git http 'git clone -q $HTTP/git/r.git g1 && cat g1/hello.txt'
	row git https 'git clone -q $HTTPS/git/r.git g2 && cat g2/hello.txt'
	row git upload 'cd g2 && cp ../up.bin . && git add up.bin && git -c user.name=x -c user.email=x@x commit -qm x && git push -q origin HEAD:up && git ls-remote origin up | grep -q up && echo 13000000 bytes came'
	row git refusal 'git clone -q $NOT/x.git g3'
	local u='/usr/bin/python3 programs/urllib_client.py'
	row 'Python urllib' http "$u get \$HTTP/hello"
	row 'Python urllib' https "$u get \$HTTPS/hello"
	row 'Python urllib' upload "$u upload \$HTTPS/up up.bin"
	row 'Python urllib' stream "$u stream \$HTTPS/stream | $gap"
	row 'Python urllib' refusal "$u get \$NOT/"
	row openssl https 'printf "GET /hello HTTP/1.1\r\nHost: $NAME\r\nConnection: close\r\n\r\n" | openssl s_client -quiet -ign_eof -CAfile ca.crt -proxy 127.0.0.1:3128 -servername $NAME -connect $NAME:${HTTPS##*:} 2>&1'
	row openssl refusal 'openssl s_client -proxy 127.0.0.1:3128 -connect refused.example.org:443 </dev/null'
	if [ -n "${ssh:-}" ]; then
		row 'git over ssh' ssh 'printf %s "$KEY" | base64 -d >/tmp/key && chmod 600 /tmp/key && GIT_SSH_COMMAND="$GIT_SSH_COMMAND -i /tmp/key -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null" git clone -q ssh://root@$NAME:$SSH_PORT$ROOT/git/r.git gs && cat gs/hello.txt'
		row 'git over ssh' refusal 'GIT_SSH_COMMAND="$GIT_SSH_COMMAND -o StrictHostKeyChecking=no" git clone -q ssh://root@refused.example.org/x gs2'
	else
		absent 'git over ssh' 'no sshd, or not root'
	fi
}
python_rows() { # name, module
	local p="\$PY programs/$2_client.py"
	row "Python $2" http "$p get \$HTTP/hello"
	row "Python $2" https "$p get \$HTTPS/hello"
	row "Python $2" upload "$p upload \$HTTPS/up up.bin"
	row "Python $2" stream "$p stream \$HTTPS/stream | $gap"
	row "Python $2" refusal "$p get \$NOT/"
}
node_rows() { # name, client, node
	local p="$3 programs/node_client.mjs $2"
	row "$1" http "$p get \$HTTP/hello"
	row "$1" https "$p get \$HTTPS/hello"
	row "$1" upload "$p upload \$HTTPS/up up.bin"
	row "$1" stream "$p stream \$HTTPS/stream | $gap"
	row "$1" refusal "$p get \$NOT/"
}
rows_python() {
	for m in requests httpx aiohttp; do python_rows $m $m; done
	row 'Python aiohttp' websocket '$PY programs/aiohttp_client.py ws $HTTPS/ws'
	row 'gRPC (Python)' https '$PY programs/grpc_client.py get $GRPC'
	row 'gRPC (Python)' upload '$PY programs/grpc_client.py upload $GRPC up.bin'
	row 'gRPC (Python)' stream "\$PY programs/grpc_client.py stream \$GRPC | $gap"
	row 'gRPC (Python)' refusal '$PY programs/grpc_client.py get refused.example.org:443'
	row pip http '$PY -m pip -q download --no-cache-dir --no-deps -d d1 --trusted-host $NAME -i $HTTP/simple/ hourglass && ls d1 | grep -q whl && echo hello'
	row pip https '$PY -m pip -q download --no-cache-dir --no-deps -d d2 -i $HTTPS/simple/ hourglass && ls d2 | grep -q whl && echo hello'
	row pip refusal '$PY -m pip download --no-cache-dir --no-deps --retries 1 -d d3 -i $NOT/simple/ hourglass'
	row uv http '$CLIENTS/py/bin/uv -q pip install --no-cache --target d4 --python /usr/bin/python3 -i $HTTP/simple/ hourglass && ls d4 && echo hello'
	row uv https '$CLIENTS/py/bin/uv -q pip install --no-cache --target d5 --python /usr/bin/python3 -i $HTTPS/simple/ hourglass && ls d5 && echo hello'
	row uv refusal 'UV_HTTP_RETRIES=0 $CLIENTS/py/bin/uv pip install --no-cache --target d6 --python /usr/bin/python3 -i $NOT/simple/ hourglass'
}
rows_node() {
	local n="\$CLIENTS/node/node_modules/node/bin/node" c
	mods='ln -sfn $CLIENTS/node/node_modules programs/node_modules;'
	for c in fetch http undici; do node_rows "Node $c" $c "$mods $n"; done
	for c in fetch undici; do row "Node $c" websocket "$mods $n programs/node_client.mjs $c ws wss://\$NAME:\${HTTPS##*:}/ws"; done
	row 'Node ws' 'websocket!' "$mods $n programs/node_client.mjs ws ws wss://\$NAME:\${HTTPS##*:}/ws"
	local m='mkdir -p $D && cd $D && echo "{\"private\":true}" >package.json &&'
	row npm http "D=n1; $m npm install --no-audit --no-fund --registry \$HTTP/npm/ hourglass && ls node_modules/hourglass && echo hello"
	row npm https "D=n2; $m npm install --no-audit --no-fund --registry \$HTTPS/npm/ hourglass && ls node_modules/hourglass && echo hello"
	row npm refusal "D=n3; $m npm install --no-audit --no-fund --fetch-retries 0 --registry \$NOT/npm/ hourglass"
	local p="PATH=\$CLIENTS/node/node_modules/.bin:\$PATH"
	row pnpm http "D=n4; $m $p pnpm add --registry \$HTTP/npm/ hourglass && ls node_modules/hourglass && echo hello"
	row pnpm https "D=n5; $m $p pnpm add --registry \$HTTPS/npm/ hourglass && ls node_modules/hourglass && echo hello"
	row pnpm refusal "D=n6; $m $p pnpm add --fetch-retries 0 --registry \$NOT/npm/ hourglass"
	row yarn http "D=n7; $m $p yarn add --registry \$HTTP/npm/ hourglass && ls node_modules/hourglass && echo hello"
	row yarn https "D=n8; $m $p yarn add --registry \$HTTPS/npm/ hourglass && ls node_modules/hourglass && echo hello"
	row yarn refusal "D=n9; $m $p yarn add --network-timeout 9000 --registry \$NOT/npm/ hourglass"
}
language_rows() { # name, program
	row "$1" http "$2 get \$HTTP/hello"
	row "$1" https "$2 get \$HTTPS/hello"
	row "$1" upload "$2 upload \$HTTPS/up up.bin"
	row "$1" stream "$2 stream \$HTTPS/stream | $gap"
	row "$1" refusal "$2 get \$NOT/"
}
rows_compiled() { # built on the host: compilers are slow, and mostly below a home directory
	if command -v go >/dev/null && CGO_ENABLED=0 go build -o programs.go "$here/clients/programs/client.go" 2>out; then
		language_rows 'Go net/http' ./programs.go
	else
		absent 'Go net/http' 'no go, or it does not build here'
	fi
	if command -v javac >/dev/null && javac -d classes "$here/clients/programs/Client.java" 2>out; then
		keytool -importcert -noprompt -alias x -file ca.crt -keystore trust.p12 -storepass changeit >/dev/null 2>&1
		language_rows 'Java URL' 'java -cp classes Client url'
		language_rows 'Java HttpClient' 'java -cp classes Client httpclient'
	else
		absent 'Java URL' 'no javac'
	fi
}
rows_system() {
	local a='mkdir -p a/lists/partial a/cache/archives/partial && apt-get -q -o Debug::NoLocking=1 -o Dir::Etc::sourcelist=$PWD/a.list -o Dir::Etc::sourceparts=/dev/null -o Dir::State::lists=$PWD/a/lists -o Dir::Cache=$PWD/a/cache -o APT::Sandbox::User=$(id -un) -o Acquire::https::CAInfo=/workspace/ca.crt -o Acquire::Retries=0'
	row apt http "echo \"deb [trusted=yes] \$HTTP/apt ./\" >a.list; $a update && $a download hourglass && ls hourglass*.deb && echo hello"
	row apt https "rm -f *.deb; echo \"deb [trusted=yes] \$HTTPS/apt ./\" >a.list; $a update && $a download hourglass && ls hourglass*.deb && echo hello"
	row apt refusal "echo \"deb [trusted=yes] \$NOT/apt ./\" >a.list; $a -o APT::Update::Error-Mode=any update"
	row 'docker pull' refusal 'command -v docker >/dev/null || { echo no docker; exit 77; }; docker pull refused.example.org/x'
}
: >rows
rows_base
if [ -n "${CLIENTS_ALL:-}" ]; then
	[ -x "$clients/py/bin/python" ] && rows_python || absent 'Python clients' "not in $clients: tests/npm/clients.sh"
	[ -d "$clients/node/node_modules" ] && rows_node || absent 'Node clients' "not in $clients: tests/npm/clients.sh"
	rows_compiled
	rows_system
fi
[ -z "${ONLY:-}" ] || { grep -E "$ONLY" rows >rows.new; mv rows.new rows; }
