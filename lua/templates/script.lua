-- A scripted model for @NAME@.lua: a list of turns, played in order. Say what a real model might say and call what it
-- might call; `expect` is a pattern that the last result must hold, else the turn fails: that makes it a test.
return {
  { say = "I look at what is there.", call = { "shell", { cmd = "ls -a" } } },
  { say = "I write the file.", call = { "write", { path = "notes.txt", data = "hello\n" } } },
  { call = { "shell", { cmd = "cat notes.txt" } } },
  { say = "notes.txt says hello.", expect = "hello" },
}
