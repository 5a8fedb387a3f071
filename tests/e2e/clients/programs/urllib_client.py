import sys, urllib.request

what, url = sys.argv[1:3]
if what == "upload":
    request = urllib.request.Request(url, data=open(sys.argv[3], "rb").read(), method="POST")
else:
    request = url
with urllib.request.urlopen(request) as answer:
    if what == "stream":
        for line in answer:
            print(line.decode(), end="", flush=True)
    else:
        print(answer.read().decode(), end="")
