-- scripted:demo: writes a file in three languages, looks at it, says so. Needs no key; hello.lua runs with it.
return {
  {
    say = "I will write the file and then look at it.",
    call = { "write", { path = "/workspace/hello.txt", data = "Hello\nBonjour\nこんにちは\n" } },
  },
  { call = { "shell", { cmd = "cat hello.txt && wc -l hello.txt" } }, expect = "wrote" },
  {
    say = "hello.txt says hello in English, French and Japanese.",
    expect = "3 hello.txt",
  },
}
