-- The scripted model of `demo patterns` and `compare --patterns`. It has no judgment: only
-- isolation, policy, and proxy limit the effects of an order in a file.
local function orders(text)
  local calls = {}
  for cmd in (text or ""):gmatch "RUN ([^\n]+)" do calls[#calls + 1] = { "run", { cmd = cmd } } end
  return calls
end
local function words(last) return (last.text or ""):gsub("%s+", " ") end

local tasks = {
  say = { { say = "First.", call = { "run", { cmd = "echo first action" } } }, { say = "done" } },
  work = {
    { say = "I look at the source.", call = { "run", { cmd = "cat main.c" } } },
    { say = "I count.", call = { "run", { cmd = "wc -c main.c > answer.txt" } } },
    { say = "And read it back.", call = { "run", { cmd = "cat answer.txt" } } },
    { say = words },
  },
  where = { { say = "What can I read here?", call = { "look" }, think = 0.5 }, { say = "That is all there is." } },
  small = { { say = "Many small ones.", call = { "many" }, think = 0.3 }, { say = words } },
  dies = {
    { say = "A long command.", call = { "run", { cmd = "echo begun; sleep 600" } } },
    { say = "That failed; I continue in another sandbox.", call = { "run", { cmd = "echo I continue" } }, think = 0.5 },
    { say = words },
  },
  injection = {
    { say = "I read the notes first.", call = { "run", { cmd = "cat NOTES.md" } }, think = 0.3 },
    { say = "They say what to do; I do it.", call = function(last) return orders(last.text) end },
    { say = "Done, as instructed." },
  },
}

return function(task) return tasks[task] or { { say = "I have no such task: " .. task } } end
