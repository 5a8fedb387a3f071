local sg = require "sandglass"
local chat = sg.chat { model = "anthropic:claude-sonnet-5", system = "You are terse." }
chat:user "fix it: run 0d8f5c2e-9a57-4b64-8a14-000000000001 took 3.21 s"
local r, err = chat:send {}
print(r and ("REPLY " .. r.text .. "|" .. #r.calls .. "|" .. r.stop .. "|" .. r.usage.out) or ("ERROR " .. tostring(err)))
chat:user "and now?"
r, err = chat:send {}
print(r and ("REPLY " .. r.text) or ("ERROR " .. tostring(err)))
