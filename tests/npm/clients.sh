#!/usr/bin/env bash
# clients.sh DIR: the network clients of tests/e2e/clients.sh from PyPI and npm, in their own directories below DIR. Installed
# ones stay; missing packages are reported and left out.
set -u
dir=${1:?a folder}
mkdir -p "$dir"
if ! "$dir/py/bin/python" -c 'import requests, httpx, aiohttp, grpc' 2>/dev/null; then
	rm -rf "${dir:?}/py"
	/usr/bin/python3 -m venv "$dir/py" &&
		timeout 900 "$dir/py/bin/pip" install -q --disable-pip-version-check requests httpx aiohttp grpcio uv </dev/null ||
		{ rm -rf "${dir:?}/py"; echo "PyPI could not give the Python clients; their tests are left out" >&2; }
fi
[ -d "$dir/node/node_modules" ] && exit 0
command -v npm >/dev/null || { echo "npm is needed for the Node clients; their tests are left out" >&2; exit 0; }
mkdir -p "$dir/node"
echo '{"private":true}' >"$dir/node/package.json"
(cd "$dir/node" && timeout 900 npm install --no-audit --no-fund --loglevel=error undici ws pnpm@9 yarn@1 node@22) </dev/null ||
	{ rm -rf "${dir:?}/node"; echo "npm could not fetch the Node clients; their tests are left out" >&2; }
exit 0
