# The servers of clients.sh on loopback, with a certificate for $name: $http, $https, $ssh, $grpc are their ports. Sourced.
servers_certificate() {
	openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.crt -days 2 -subj '/CN=sandglass test CA' 2>/dev/null
	openssl req -newkey rsa:2048 -nodes -keyout server.key -out server.csr -subj "/CN=$name" 2>/dev/null
	printf 'subjectAltName=DNS:%s\n' "$name" >san
	openssl x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -out server.crt -days 2 -extfile san 2>/dev/null
}
servers_files() { # repositories and packages
	mkdir -p git www/files
	git init -q --bare git/r.git && git -C git/r.git config http.receivepack true
	git init -q seed && echo 'hello from git' >seed/hello.txt && git -C seed add . && git -C seed commit -qm x
	git -C seed push -q "$t/git/r.git" main
	python3 "$here/clients/packages.py" www
}
servers_ssh() {
	command -v /usr/sbin/sshd >/dev/null && [ "$(id -u)" = 0 ] && mkdir -p /run/sshd && mkdir sshd || return 0
	ssh-keygen -q -t ed25519 -N '' -f sshd/host && ssh-keygen -q -t ed25519 -N '' -f sshd/key
	cp sshd/key.pub sshd/authorized
	ssh=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	/usr/sbin/sshd -D -e -f /dev/null -p "$ssh" -h "$t/sshd/host" -o ListenAddress=127.0.0.1 -o StrictModes=no -o PidFile=none \
		-o AuthorizedKeysFile="$t/sshd/authorized" -o PermitRootLogin=yes 2>sshd/log &
	sshd=$!
}
servers_grpc() {
	[ -x "$clients/py/bin/python" ] || return 0
	"$clients/py/bin/python" "$here/clients/grpc_server.py" "$t/grpc.port" server.crt server.key &
	grpcd=$!
	wait_for 30 test -s grpc.port && grpc=$(cat grpc.port)
}
servers_start() {
	servers_certificate
	servers_files
	python3 "$here/clients/server.py" "$t" "$name" server.crt server.key 2>server.err &
	server=$!
	servers_ssh
	servers_grpc
	wait_for 30 test -s ports
	read -r http https <ports
}
servers_stop() { kill "$server" ${sshd:-} ${grpcd:-} 2>/dev/null; }
