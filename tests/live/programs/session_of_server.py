"""A server forgets to remove the session of a client that has disconnected.

serve() local server -> server.sessions['client-1'].cache[0]
"""

import asyncio
import weakref

import cyclewatch


class Tokens:
    pass


class Session:
    def __init__(self):
        self.cache = []


class Server:
    def __init__(self):
        self.sessions = {}

    async def handle(self, client):
        session = self.sessions.setdefault(client, Session())
        tokens = Tokens()
        session.cache.append(tokens)
        await asyncio.sleep(0)
        return weakref.ref(tokens)


async def serve():
    server = Server()
    references = await asyncio.gather(*(server.handle(f"client-{i}") for i in range(3)))
    print(cyclewatch.why_alive(references[1], 1)[0])


asyncio.run(serve())
