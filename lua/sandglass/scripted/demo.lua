-- scripted:demo: needs no key. A task that speaks of tests gets the turns of scripted:fix, the manual those of docs;
-- any other a file that says hello in three languages.
local hello = {
  {
    say = "I will write the file and then look at it.",
    call = { "write", { path = "/workspace/hello.txt", data = "Hello\nBonjour\nこんにちは\n" } },
  },
  { call = { "shell", { cmd = "cat hello.txt && wc -l hello.txt" } }, expect = "wrote" },
  { say = "hello.txt says hello in English, French and Japanese.", expect = "3 hello.txt" },
}

return function(task)
  task = task:lower()
  if task:find "hello" then return hello end
  if task:find "test" or task:find "fix" then return require "sandglass.scripted.fix" end
  if task:find "manual" then return require "sandglass.scripted.docs" end
  return hello
end
