-- deepagents (PyPI deepagents, deepagents-acp): a library, so the program is a few lines of ours. Its shell and files are the box's.
local terminal = require "sandglass.inside.terminal"
local SERVER = [[
import asyncio, os
from acp import run_agent
from deepagents import create_deep_agent
from deepagents.backends import LocalShellBackend
from deepagents_acp.server import AgentServerACP
from langgraph.checkpoint.memory import MemorySaver

saver = MemorySaver()
asks = {"execute": True, "write_file": True, "edit_file": True} if os.environ.get("ASKS") else None

def build(context):
    return create_deep_agent(model=os.environ["MODEL"], checkpointer=saver, interrupt_on=asks,
                             backend=LocalShellBackend(root_dir=context.cwd, virtual_mode=False, inherit_env=True))

asyncio.run(run_agent(AgentServerACP(agent=build)))
]]
-- Its command line: one task, one JSON object a line.
local ONCE = [[
import json, os, sys
from deepagents import create_deep_agent
from deepagents.backends import LocalShellBackend

agent = create_deep_agent(model=os.environ["MODEL"], backend=LocalShellBackend(root_dir="/workspace", virtual_mode=False, inherit_env=True))
answer = agent.invoke({"messages": [("user", sys.argv[1])]})["messages"][-1]
print(json.dumps({"text": answer.content if isinstance(answer.content, str) else "".join(b.get("text", "") for b in answer.content)}))
]]

return {
  name = "deepagents", about = "deepagents (PyPI deepagents, deepagents-acp, langchain-anthropic)", program = "python3",
  versions = "deepagents 0.7.32, deepagents-acp 0.0.13", install = "pip install deepagents deepagents-acp langchain-anthropic",
  speak = "anthropic", provider = "anthropic", model = "sonnet",
  argv = function(x) return { x.program, x.home .. "/once.py", x.task } end,
  best = "acp", control = { acp = { argv = function(x) return { x.program, x.home .. "/server.py" } end } },
  -- The library has no interface of its own; this program of its makers does.
  terminal = {
    program = "deepagents-code", install = "pip install deepagents-code",
    argv = function(x) return terminal.words(x, "-M", "anthropic:" .. x.model) end,
    env = function() return { DEEPAGENTS_CODE_OFFLINE = "1", DEEPAGENTS_CODE_ONBOARDING = "0", DEEPAGENTS_CODE_NO_UPDATE_CHECK = "1" } end,
    files = function() return {} end,
  },
  env = function(x)
    return {
      ANTHROPIC_BASE_URL = x.url, ANTHROPIC_API_URL = x.url, ANTHROPIC_API_KEY = x.key, MODEL = "anthropic:" .. x.model, ASKS = "1",
      LANGSMITH_TRACING = "false", PYTHONDONTWRITEBYTECODE = "1",
    }
  end,
  files = function() return { ["server.py"] = SERVER, ["once.py"] = ONCE } end,
  line = function(ev) return ev.text, ev.text end,
}
