#!/usr/bin/env python3
"""A link that is far away: far_relay.py PORT MS passes bytes on to 127.0.0.1:PORT and back, each MS milliseconds late in each
direction, in order. Prints its port and, after it, how long a byte there and back really takes (us, median of 20)."""
import asyncio, statistics, sys, time

late = float(sys.argv[2]) / 1000


async def pass_on(reader, writer):
    loop, queue = asyncio.get_running_loop(), asyncio.Queue(1000)

    async def send():
        while True:
            due, piece = await queue.get()
            await asyncio.sleep(max(0, due - loop.time()))
            if not piece:
                writer.close()
                return
            writer.write(piece)
            await writer.drain()

    sender = asyncio.ensure_future(send())
    try:
        while piece := await reader.read(65536):
            await queue.put((loop.time() + late, piece))
    except OSError:
        pass
    await queue.put((loop.time() + late, b""))
    try:
        await sender
    except OSError:
        pass


async def relay(port):
    async def come(reader, writer):
        r, w = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(pass_on(reader, w), pass_on(r, writer), return_exceptions=True)
    server = await asyncio.start_server(come, "127.0.0.1", 0)
    return server.sockets[0].getsockname()[1]


async def main():
    async def echo(reader, writer):
        while piece := await reader.read(100):
            writer.write(piece)
    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection("127.0.0.1", await relay(server.sockets[0].getsockname()[1]))
    took = []
    for _ in range(20):
        at = time.perf_counter()
        writer.write(b"x")
        await reader.read(1)
        took.append(time.perf_counter() - at)
    print(await relay(int(sys.argv[1])), int(statistics.median(took) * 1e6), flush=True)
    await asyncio.Event().wait()


asyncio.run(main())
