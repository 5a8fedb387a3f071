"""The API that `plugin new sandbox` is written for: POST /v1/boxes, POST /v1/boxes/ID/exec (what it prints, as it comes),
PUT /v1/boxes/ID/file, DELETE /v1/boxes/ID and GET /v1/boxes. Nobody's real one, so no SDK has driven it: it shows that the file we begin for people is whole."""
import json, os, uuid

from fake import Box, Handler, Refused, run


class Plain(Handler):
    def answer(self, method, path, data):
        if self.headers.get("Authorization") != "Bearer any-key-will-do":
            raise Refused(401, {"message": "no such key"})
        parts = path.strip("/").split("/")
        if parts[:2] != ["v1", "boxes"]:
            raise Refused(404, {"message": "no " + path})
        if len(parts) == 2 and method == "GET":
            want = json.loads(self.query.get("labels", "{}"))
            return self.say(200, [self.told(i) for i, b in list(self.boxes.items()) if want.items() <= b.tags.items()])
        if len(parts) == 2:
            return self.make(json.loads(data))
        box = self.boxes.get(parts[2])
        if not box:
            raise Refused(404, {"message": "no box " + parts[2]})
        if method == "DELETE":
            self.boxes.pop(parts[2]).end()
            return self.say(204)
        if method == "PUT":
            with open(box.host_path(self.query["path"]), "wb") as f:
                f.write(data)
            return self.say(204)
        self.execute(box, json.loads(data)["command"])

    def told(self, i):
        return {"id": i, "labels": self.boxes[i].tags}

    def make(self, ask):
        box = Box()
        box.tags, box.env = ask["labels"], ask.get("env") or {}
        i = "b-" + uuid.uuid4().hex[:12]
        self.boxes[i] = box
        self.say(201, self.told(i))

    def execute(self, box, text):
        p = box.start(["sh", "-c", text], env=box.env, merge=True)
        send = self.stream("application/octet-stream")
        while piece := os.read(p.stdout.fileno(), 65536):
            send(piece)
        p.wait()
        send(None)


run(Plain)
