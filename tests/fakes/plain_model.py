"""The API that `plugin new model` is written for: POST /v1/chat, answered in server-sent events. It calls the tool "shell" once, then says
what that gave. plain_model.py FILE: its port goes into FILE."""
import json

from fake import Handler, Refused, run


class Model(Handler):
    def answer(self, method, path, data):
        if (method, path) != ("POST", "/v1/chat") or self.headers.get("Authorization") != "Bearer any-key-will-do":
            raise Refused(401, {"error": {"message": "no such key"}})
        ask = json.loads(data)
        last = ask["messages"][-1]
        send = self.stream("text/event-stream")
        if last["role"] == "tool":
            said = [{"text": "it says "}, {"text": last["text"].strip()}, {"end": {"why": "done", "tokens_in": 120, "tokens_out": 7}}]
        else:
            name = ask["tools"][0]["name"]
            said = [{"call": {"id": "c1", "name": name, "args": {"cmd": "echo from the box"}}},
                    {"end": {"why": "calls", "tokens_in": 100, "tokens_out": 5}}]
        for one in said:
            send(b"data: " + json.dumps(one).encode() + b"\n\n")
        send(None)


run(Model)
