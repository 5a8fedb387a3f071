#!/usr/bin/env bash
# agents.sh DIR: the agents of plugins/agents/ from npm and PyPI, each in its own directory below DIR, in the tested
# versions. Installed ones stay; missing packages are reported and left out.
set -u
dir=${1:?a folder}
command -v npm >/dev/null || { echo "npm is needed for the agents" >&2; exit 1; }
get() { # folder, package
	[ -d "$dir/$1/node_modules" ] && return
	mkdir -p "$dir/$1"
	echo '{"private":true}' >"$dir/$1/package.json"
	(cd "$dir/$1" && timeout 900 npm install --no-audit --no-fund --loglevel=error "$2") </dev/null ||
		{ rm -rf "${dir:?}/$1"; echo "npm could not fetch $2; its tests are left out" >&2; }
}
get node22 node@22
get claude @anthropic-ai/claude-code
get codex @openai/codex
get opencode opencode-ai
get gemini @google/gemini-cli
[ -d "$dir/node22" ] && PATH=$(cd "$dir/node22" && pwd)/node_modules/node/bin:$PATH
get pi @earendil-works/pi-coding-agent@0.87.1
get claude-acp @agentclientprotocol/claude-agent-acp
get codex-acp @agentclientprotocol/codex-acp
get pi-acp pi-acp
get sandbox-agent @sandbox-agent/cli
get acp-sdk @agentclientprotocol/sdk
if [ ! -d "$dir/deepagents" ]; then
	mkdir -p "$dir" && python3 -m venv "$dir/deepagents" &&
		timeout 900 "$dir/deepagents/bin/pip" install -q deepagents==0.7.32 deepagents-acp==0.0.13 langchain-anthropic </dev/null ||
		{ rm -rf "${dir:?}/deepagents"; echo "PyPI could not give deepagents; its tests are left out" >&2; }
fi
exit 0
