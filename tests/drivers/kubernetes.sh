#!/usr/bin/env bash
# Pods of Kubernetes, against a fake API server that kubectl and the project's own client drive first.
kind=kubernetes sdk=@kubernetes/client-node key=KUBERNETES_TOKEN url=KUBERNETES_API_URL create='^/api/v1/namespaces/default/pods$'
exec_path=/exec exec_method=GET few=1 asleep=
export KUBERNETES_TOKEN=good-token
before() {
	command -v kubectl >/dev/null || { skip 'no kubectl (package kubernetes-client)'; return; }
	cat >kubeconfig <<-C
		apiVersion: v1
		kind: Config
		clusters: [{name: c, cluster: {server: "$at"}}]
		contexts: [{name: x, context: {cluster: c, user: u}}]
		current-context: x
	C
	printf '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"ctl","labels":{"of":"ctl"}},"spec":{"containers":[{"name":"box","image":"debian:12"}]}}' >pod.json
	k() { timeout 20 kubectl --kubeconfig "$t/kubeconfig" "$@" </dev/null 2>&1; }
	like "$(k create --validate=false -f pod.json)" 'pod/ctl created' 'kubectl creates a pod'
	like "$(k get pods -l of=ctl)" '^ctl ' 'finds it by its label'
	is "$(k get pod ctl -o 'jsonpath={.metadata.name}')" ctl 'gets it'
	like "$(k logs ctl)" 'the log of ctl' 'reads its log'
	like "$(k delete pod ctl --now --wait=false)" 'deleted' 'and deletes it'
	printf '{"apiVersion":"extensions.agents.x-k8s.io/v1beta1","kind":"SandboxClaim","metadata":{"name":"ctl","labels":{"of":"ctl"}},"spec":{"warmPoolRef":{"name":"pool"}}}' >claim.json
	like "$(k create --validate=false -f claim.json)" 'sandboxclaim.*/ctl created' 'kubectl creates a claim of agent-sandbox'
	like "$(k patch sandboxclaim ctl --type merge -p '{"spec":{"lifecycle":{"shutdownTime":"2030-01-01T00:00:00Z"}}}')" 'patched' 'gives it more time'
	is "$(k get sandboxclaims -l of=ctl -o 'jsonpath={.items[0].spec.lifecycle.shutdownTime}')" 2030-01-01T00:00:00Z 'finds it by its label'
	like "$(k delete sandboxclaim ctl --wait=false)" 'deleted' 'and deletes it'
}
pod() { # options of the box
	printf 'local sg = require "sandglass"\nlocal box <close> = sg.sandbox { backend = "kubernetes", %s }\nprint("said " .. box:run("echo $WHO in $PWD").out)\n' "$1" >pod.lua
	timeout 60 "$sg" run --no-tui --no-input pod.lua </dev/null >pod.out 2>&1
	grep -aoE 'said .*' pod.out || tail -1 pod.out
}
pem() { base64 -w0 <"$t/$1"; }
through() { (unset KUBERNETES_TOKEN KUBERNETES_API_URL; export KUBECONFIG=${config:-$t/kubeconfig.tls}; pod "$1"); } # as one with a kubeconfig
kubeconfigs() {
	like "$(config=$t/none through '')" 'no credentials: KUBERNETES_TOKEN is not set, and the kubeconfig can.t be used: error: current-context must exist' 'neither token nor kubeconfig: one line'
	mkdir bare && for w in sh cat rm kill timeout grep tail; do ln -s "$(command -v $w)" bare/$w; done
	like "$(PATH=$t/bare config=$t/none through '')" 'can.t be used: kubectl, which reads it, is not installed' 'no kubectl: one line'
	if ! command -v kubectl >/dev/null || ! command -v openssl >/dev/null; then
		skip 'a kubeconfig: no kubectl or no openssl'
		return
	fi
	{
		openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.crt -days 2 -subj /CN=ca
		for w in server client; do
			openssl req -newkey rsa:2048 -nodes -keyout $w.key -out $w.csr -subj /CN=$w
			printf 'subjectAltName=IP:127.0.0.1\n' >$w.ext
			openssl x509 -req -in $w.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile $w.ext -out $w.crt
		done
	} >openssl.out 2>&1
	python3 "$here/../fakes/tls.py" "$t/tls.port" server.crt server.key ca.crt "${at##*:}" </dev/null 2>/dev/null &
	tls=$!
	wait_for 30 test -s tls.port
	python3 -c 'import json; print(json.dumps({"apiVersion": "client.authentication.k8s.io/v1beta1", "kind": "ExecCredential", "status":
		{"token": "good-token", "clientCertificateData": open("client.crt").read(), "clientKeyData": open("client.key").read()}}))' >credential
	printf '#!/bin/sh\ntouch %s/asked\ncat %s/credential\n' "$t" "$t" >plugin
	chmod +x plugin
	cat >kubeconfig.tls <<-C
		apiVersion: v1
		kind: Config
		clusters: [{name: c, cluster: {server: "https://127.0.0.1:$(cat tls.port)", certificate-authority-data: $(pem ca.crt)}}]
		users:
		- {name: u, user: {client-certificate-data: $(pem client.crt), client-key-data: $(pem client.key), token: good-token}}
		- {name: old, user: {client-certificate-data: $(pem client.crt), client-key-data: $(pem client.key), token: old-token}}
		- {name: asks, user: {exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: $t/plugin, interactiveMode: Never}}}
		contexts:
		- {name: x, context: {cluster: c, user: u, namespace: team}}
		- {name: old, context: {cluster: c, user: old}}
		- {name: asks, context: {cluster: c, user: asks}}
		current-context: x
	C
	like "$(timeout 20 kubectl --kubeconfig "$t/kubeconfig.tls" get pods </dev/null 2>&1)" 'No resources found in team' 'kubectl uses a kubeconfig with certificates and a namespace'
	like "$(through 'env = { WHO = "me" }')" 'said me' 'and so does a box, without a variable set'
	like "$(fake seen)" 'POST /api/v1/namespaces/team/pods$' 'in the namespace of its context'
	like "$(through 'env = { WHO = "asked" }, options = { context = "asks" }')" 'said asked' 'another context, whose user is an exec plugin'
	ok "$([ -e asked ]; echo $?)" 'which kubectl has run'
	like "$(KUBECONFIG=$t/kubeconfig.tls pod 'env = { WHO = "named" }, options = { context = "asks", namespace = "mine" }')" 'said named' 'a context is taken whatever is set'
	like "$(through 'options = { context = "old" }')" "refuses the user of the context 'old' of the kubeconfig: Unauthorized" 'an expired token: one line'
	like "$(through 'options = { context = "nowhere" }')" "can't use the context 'nowhere' of the kubeconfig: error: .*nowhere" 'a context that is not there: one line'
	proxies() { ls "$XDG_RUNTIME_DIR"/sandglass/kubectl-* 2>/dev/null | grep -q .; }
	gone() { ! proxies; }
	wait_for 20 gone
	ok $? 'the login ends with it'
	wait_for 20 none_left
	ok $? 'and no box is left'
	(unset KUBERNETES_TOKEN KUBERNETES_API_URL; KUBECONFIG=$t/kubeconfig.tls exec "$sg" run -d one.lua -- --backend "$kind" --wait 100 </dev/null >id 2>/dev/null)
	waits() { "$sg" events "$(cat id)" 2>/dev/null | grep -q waits; }
	wait_for 60 waits
	proxies
	ok $? 'kubectl asks on a socket of ours'
	kill -9 "$("$sg" events "$(cat id)" --json | grep '"kind":"session.start"' | grep -oE '"pid":[0-9]+' | head -1 | grep -oE '[0-9]+')"
	wait_for 20 gone
	ok $? 'and ends with a supervisor that is killed'
	left() { "$sg" doctor --paths | grep -qE "^hosted +$kind .*session has ended"; }
	wait_for 20 left
	like "$(KUBECONFIG=$t/kubeconfig.tls one)" 'said fine' 'the next one, which has a token'
	wait_for 20 none_left
	ok $? 'has given back its box through its context'
	kill $tls
	wait $tls 2>/dev/null
}
own() {
	like "$(unset KUBERNETES_TOKEN; KUBERNETES_API_URL=https://127.0.0.1:1 pod '')" \
		"set KUBERNETES_TOKEN.*without KUBERNETES_API_URL the kubeconfig is used" 'no token: one line, with what to do'
	if command -v kubectl >/dev/null; then # on a port of this machine, over plain HTTP: it asks there without a key
		kubectl --kubeconfig "$t/kubeconfig" proxy --port=0 '--reject-paths=^$' >proxy.out 2>&1 </dev/null &
		proxy=$!
		wait_for 30 grep -q 'serve on' proxy.out
		like "$(unset KUBERNETES_TOKEN; KUBERNETES_API_URL=http://$(sed -n 's/.*serve on //p' proxy.out) pod 'env = { WHO = "me" }')" 'said me' 'through a foreign kubectl proxy, without a token of ours'
		kill $proxy
		wait $proxy 2>/dev/null
	fi
	kubeconfigs
	like "$(pod 'image = "nowhere/none"')" 'does not start: ImagePullBackOff: Back-off pulling image .nowhere/none' 'an image that cannot be pulled'
	like "$(pod 'options = { node = { disk = "none" }, start = 1 }')" 'does not run after 1 seconds: Unschedulable: 0/1 nodes' 'no node for it'
	like "$(pod 'limits = { gpu = 2 }, options = { start = 1 }')" 'Unschedulable: 0/1 nodes are available: 1 Insufficient nvidia.com/gpu' 'a GPU is asked of the cluster'
	like "$(pod 'net = { "example.org:443" }')" 'knows no names of hosts' 'a network that no policy can keep is refused'
	like "$(pod 'env = { WHO = "me" }, options = { claim = "pool" }')" 'said me in /workspace' 'a claim of agent-sandbox: a pod of the warm pool is the box'
	like "$(fake seen)" 'DELETE /apis/extensions.agents.x-k8s.io/v1beta1/namespaces/default/sandboxclaims/' 'which is given back by its claim'
	fault '1 POST /sandboxclaims$ lost'
	like "$(pod 'env = { WHO = "me" }, options = { claim = "pool" }')" 'said me' 'the answer to a claim is lost: it is found by its tag'
	fake calm >/dev/null
	for off in 18000 -18000; do # a claim ends by the cluster's clock
		fake "clock?$off" >/dev/null
		like "$(pod 'env = { WHO = "me" }, options = { claim = "pool", ttl = 30 }')" 'said me' "a cluster whose clock is $off s ahead of ours: a claim is not over at once"
		like "$(fake seen | grep LIVES | tail -1)" '^LIVES (29|30|31)$' 'nor lives for hours'
	done
	fake 'clock?0' >/dev/null
	like "$(pod 'options = { claim = "none" }')" 'the claim gets no pod: WarmPoolNotFound: SandboxWarmPool "none" not found' 'a pool that is not there'
	like "$(pod 'image = "debian:12", options = { claim = "pool" }')" 'leave image away, or options.claim' 'an image for a claim'
	touch "$t/port.plain"
	like "$(pod 'options = { claim = "pool" }')" 'this cluster has no sandbox claims .*leave options.claim away' 'a cluster that has no claims'
	like "$(pod 'env = { WHO = "me" }')" 'said me' 'has pods all the same'
	rm "$t/port.plain"
	wait_for 10 none_left
	ok $? 'and nothing of these is left'
	"$sg" serve e2b --json --backend kubernetes >said 2>serve.err </dev/null &
	served=$!
	wait_for 60 test -s said
	e2b() { curl -s -m 60 -w ' %{http_code}' -X "$1" -H "X-API-KEY: $(sed 's/.*_API_KEY":"\([^"]*\)".*/\1/' said)" "$(sed 's/.*"url":"\([^"]*\)".*/\1/' said)/sandboxes$2" ${3:+-d "$3"}; }
	like "$(e2b POST '' '{"autoPause":true}')" 'can.t be paused; leave out autoPause.* 400$' 'serve e2b: an automatic pause is refused if it is impossible'
	made=$(e2b POST '' '{"timeout":600}' | sed 's/.*"sandboxID":"\([^"]*\)".*/\1/')
	like "$(e2b POST "/$made/pause") $(e2b GET "/$made")" 'can.t be frozen.* 502 .*"state":"running"' 'serve e2b: a failed pause is reported, and the sandbox stays running'
	kill $served
	wait $served 2>/dev/null
	wait_for 20 none_left
	ok $? 'serve e2b: its boxes are given back'
	touch "$t/port.v4"
	like "$(one --cmd 'printf %s end | wc -c')" 'said 3' 'an older API server: version 4 of the channels'
	rm "$t/port.v4"
	orphans
}
. "$(dirname "$0")/rented.bash"
