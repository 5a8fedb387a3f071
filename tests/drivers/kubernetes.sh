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
}
pod() { # options of the box
	printf 'local sg = require "sandglass"\nlocal box <close> = sg.sandbox { backend = "kubernetes", %s }\nprint("said " .. box:run("echo $WHO").out)\n' "$1" >pod.lua
	timeout 60 "$sg" run --no-tui --no-input pod.lua </dev/null 2>&1 | tail -1
}
own() {
	like "$(pod 'image = "nowhere/none"')" 'does not start: ImagePullBackOff: Back-off pulling image .nowhere/none' 'an image that cannot be pulled'
	like "$(pod 'options = { node = { disk = "none" }, start = 1 }')" 'does not run after 1 seconds: Unschedulable: 0/1 nodes' 'no node for it'
	like "$(pod 'net = { "example.org:443" }')" 'knows no names of hosts' 'a network that no policy can keep is refused'
	wait_for 10 none_left
	ok $? 'and nothing of these is left'
	touch "$t/port.v4"
	like "$(one --cmd 'printf %s end | wc -c')" 'said 3' 'an older API server: version 4 of the channels'
	rm "$t/port.v4"
	orphans
}
. "$(dirname "$0")/rented.bash"
