"""many.py HOST PORT COUNT AT_ONCE: sends COUNT requests through the proxy, AT_ONCE of them at a time; prints how many answered."""
import asyncio, sys

host, port, count, at_once = sys.argv[1], *map(int, sys.argv[2:5])


async def one(limit):
    async with limit:
        reader, writer = await asyncio.open_connection("127.0.0.1", 3128)
        writer.write(b"GET http://%s:%d/hello HTTP/1.1\r\nHost: %s:%d\r\nConnection: close\r\n\r\n" % (host.encode(), port, host.encode(), port))
        good = b"hello" in await reader.read(-1)
        writer.close()
        return good


async def main():
    limit = asyncio.Semaphore(at_once)
    answered = sum(await asyncio.gather(*(one(limit) for _ in range(count))))
    print("hello: all of %d" % count if answered == count else "only %d of %d" % (answered, count))


asyncio.run(main())
