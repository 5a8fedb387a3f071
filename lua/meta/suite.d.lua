---@meta sandglass.suite

---@class sg.Scenario
---@field script string in the suite's directory
---@field args? string[]
---@field model? string "scripted:FILE", with FILE in the suite's directory
---@field policy? string
---@field runs? integer
---@field timeout? number|string
---@field files? table<string, string> files of the workspace, with their content
---@field fixture? string a directory to copy into the workspace
---@field git? boolean makes the workspace a repository with one commit (default: true)
---@field people? {when?: string, say: "approve"|"deny", why?: string}[] answers to approvals; the first row whose filter matches decides
---@field expect fun(log: sg.Log, t: sg.Test)

local s = {}
---@param name string
---@return fun(o: sg.Scenario): table
function s.scenario(name) end
---@param o table[]
function s.suite(o) end
return s
