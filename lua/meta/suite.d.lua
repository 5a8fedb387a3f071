---@meta sandglass.suite

---@class sg.Scenario
---@field script string beside the suite
---@field args? string[]
---@field model? string "scripted:FILE" lies beside the suite
---@field policy? string
---@field runs? integer
---@field timeout? number|string
---@field files? table<string, string> what is in the workspace
---@field fixture? string a directory that is copied into it
---@field git? boolean default true: the workspace is a repository with one commit
---@field people? {when?: string, say: "approve"|"deny", why?: string}[] the first row whose filter matches answers
---@field expect fun(log: sg.Log, t: sg.Test)

local s = {}
---@param name string
---@return fun(o: sg.Scenario): table
function s.scenario(name) end
---@param o table[]
function s.suite(o) end
return s
