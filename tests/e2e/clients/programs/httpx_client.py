import sys, httpx

what, url = sys.argv[1:3]
if what == "upload":
    print(httpx.post(url, content=open(sys.argv[3], "rb").read(), timeout=60).text, end="")
elif what == "stream":
    with httpx.stream("GET", url) as answer:
        for line in answer.iter_lines():
            print(line, flush=True)
else:
    answer = httpx.get(url)
    print(answer.status_code, answer.text, end="")
    answer.raise_for_status()
