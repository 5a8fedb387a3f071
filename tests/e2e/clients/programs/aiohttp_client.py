import asyncio, ssl, sys, aiohttp

what, url = sys.argv[1:3]


async def main():
    # aiohttp reads the proxy variables only if it is asked to
    async with aiohttp.ClientSession(trust_env=True) as session:
        if what == "upload":
            async with session.post(url, data=open(sys.argv[3], "rb")) as answer:
                print(await answer.text(), end="")
        elif what == "stream":
            async with session.get(url) as answer:
                async for line in answer.content:
                    print(line.decode(), end="", flush=True)
        elif what == "ws":
            async with session.ws_connect(url) as ws:
                await ws.send_str("hi")
                print((await ws.receive()).data)
        else:
            async with session.get(url) as answer:
                print(answer.status, answer.reason, await answer.text(), end="")
                answer.raise_for_status()


asyncio.run(main())
