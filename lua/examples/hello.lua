-- hello.lua: one sandbox, one command, one agent.   sandglass run hello.lua
local sg = require "sandglass"
local box <close> = sg.sandbox {}                 -- default backend, empty /workspace, no network
print(assert(box:run "echo hello from $(uname -s)").out)
local r = assert(sg.agent.run {
  task  = "Write /workspace/hello.txt that says hello in three languages.",
  box   = box,
  model = sg.args.model or "scripted:demo",       -- no key needed; or "anthropic:...", "ollama:..."
})
print(r.text, box:read "hello.txt")
