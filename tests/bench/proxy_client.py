#!/usr/bin/env python3
"""A client of a model's API, in a box or outside: proxy_client.py URL KEY WHAT N

first N      microseconds from a request to the first byte of its answer's body, the middle of N; and the 95th of a hundred
stream PATH  microseconds and bytes of one stream
many N PATH  N streams at once: microseconds until the last has ended, how many came whole
calls N      N requests one after another
"""
import http.client, sys, threading, time
from urllib.parse import urlsplit

url, key, what = urlsplit(sys.argv[1]), sys.argv[2], sys.argv[3]
BODY = b'{"model":"m","stream":true,"max_tokens":9,"messages":[{"role":"user","content":"go %d"}]}'
END = b"message_stop"


def ask(path, number=0):
    c = http.client.HTTPConnection(url.hostname, url.port, timeout=300)
    c.connect()
    at = time.perf_counter()
    c.request("POST", url.path + path, BODY % number, {"x-api-key": key, "content-type": "application/json"})
    r = c.getresponse()
    first = r.read(1)
    took = time.perf_counter() - at
    rest, size = b"", len(first)
    while True:
        piece = r.read1(1 << 16)
        if not piece:
            break
        size += len(piece)
        rest = (rest + piece)[-400:]
    c.close()
    if r.status != 200 or END not in rest:
        sys.exit("a stream is not whole: HTTP %d, %d bytes" % (r.status, size))
    return took, size


us = lambda s: int(s * 1e6)
if what == "first":
    n = int(sys.argv[4])
    took = sorted(ask("/5/v1/messages", i)[0] for i in range(n))
    print(us(took[n // 2]), us(took[n * 95 // 100]))
elif what == "stream":
    ask("/5/v1/messages")
    at = time.perf_counter()
    size = ask("/%s/v1/messages" % sys.argv[4])[1]
    print(us(time.perf_counter() - at), size)
elif what == "many":
    n, whole = int(sys.argv[4]), []
    def one(i):
        ask("/%s/v1/messages" % sys.argv[5], i)
        whole.append(i)
    threads = [threading.Thread(target=one, args=(i,)) for i in range(n)]
    at = time.perf_counter()
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    print(us(time.perf_counter() - at), len(whole))
else:
    for i in range(int(sys.argv[4])):
        ask("/5/v1/messages", i)
    print("done")
