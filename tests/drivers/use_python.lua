-- What a script does with a box that has Python alone: files, diff, rollback, fork, a shell, wheels.
local sg = require "sandglass"
local a = sg.args { "package", wheel = "" }
local box <close> = sg.sandbox { backend = "pyodide", package = a.package, repo = "repo", env = { MINE = "set" } }
local function py(code, o, b)
  local r, err = (b or box):exec({ "python", "-c", code }, o)
  return r and r.out .. r.err .. (r.code == 0 and "" or "=" .. (r.code or r.signal)) or tostring(err)
end
local function list(b) return py("import os; print(*sorted(n for n in os.listdir('.') if n != '.git'))", nil, b) end

print("profile " .. box.profile .. " shell " .. tostring(box.caps.shell))
print("wall " .. py [[
import asyncio, importlib, os, socket, time
print(os.getcwd(), open('a.txt').read().strip(), sorted(os.environ), os.environ['MINE'])
for name in ('js', 'pyodide_js'):
    try: importlib.import_module(name); print('has', name)
    except ImportError: pass
print(os.path.exists('/etc/passwd'), os.path.exists('/usr'))
try: time.sleep.__closure__[0].cell_contents.sleep.constructor('return process')()
except Exception as e: print('disallowed' in str(e))
try: socket.create_connection(('127.0.0.1', 1))
except OSError as e: print(e)
asyncio.run(asyncio.sleep(0.01))
print('slept')
]])
py "open('b.txt', 'w').write('two\\n'); open('odd one\\n', 'wb').write(bytes(range(256)))"
print("bytes " .. #box:read "odd one\n")
print("diff " .. box:diff():stat())
local first = box:snapshot()
py "import os; os.remove('a.txt'); os.makedirs('d/e'); os.symlink('x', 'd/e/l'); os.chmod('b.txt', 0o600)"
print("second " .. box:diff():stat())
box:rollback(first)
print("after " .. list())
local other <close> = box:fork()
print("fork " .. list(other))
print("text " .. box:exec("python - <<'E'\nprint('from here')\nE").out)
local r = box:exec "ls | wc -l"
print("none " .. r.code .. " " .. r.err)
print("batch " .. tostring(select(2, box:batch { "python -V" })))
print("late " .. py("import time; time.sleep(60)", { timeout = "300ms" }))
do
  local sh <close> = box:shell()
  sh:run "x = 40\ndef add(n):\n    return x + n"
  print("shell " .. sh:run "add(2)".out .. sh:run "1/0".code)
  print("stop " .. tostring(select(2, sh:run("while True: pass", { timeout = "300ms" }))) .. sh:run "x".out)
end
if a.wheel ~= "" then
  box:put(a.wheel, "tiny-1-py3-none-any.whl")
  print("pip " .. box:exec("pip install tiny-1-py3-none-any.whl").out .. py "import tiny; print(tiny.word)")
  print("net " .. box:exec("pip install requests").err)
end
local agent = assert(sg.agent.run { box = other, task = "look", tools = { "shell", "grep" }, model = "scripted:turns.lua" })
print("agent " .. agent.text)
