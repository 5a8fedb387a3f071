import sys, requests

what, url = sys.argv[1:3]
if what == "upload":
    print(requests.post(url, data=open(sys.argv[3], "rb")).text, end="")
elif what == "stream":
    for line in requests.get(url, stream=True).iter_lines(chunk_size=1):
        print(line.decode(), flush=True)
else:
    answer = requests.get(url)
    print(answer.status_code, answer.reason, answer.text, end="")
    answer.raise_for_status()
