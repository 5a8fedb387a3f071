#!/usr/bin/env python3
"""A deep agent outside, its sandbox backend a box: deep.py PLUGIN SANDGLASS REPO POLICY"""
import sys

sys.path.insert(0, sys.argv[1])
from deepagents import create_deep_agent
from sandglass_backend import SandglassBackend

with SandglassBackend(repo=sys.argv[3], program=sys.argv[2], args=["--policy", sys.argv[4]]) as box:
    answer = create_deep_agent(model="anthropic:m-1", backend=box).invoke({"messages": [("user", "do the thing")]})["messages"][-1]
    print("END", answer.content if isinstance(answer.content, str) else answer.content[0]["text"])
    print("NOTES", *box.download_files(["/workspace/notes.txt"])[0].content.decode().split())
    print("MISSING", box.download_files(["/workspace/none"])[0].error)
