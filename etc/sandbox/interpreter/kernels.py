"""One Jupyter kernel, reached through the server's WebSocket."""
import asyncio
import contextlib
import json
import time
import uuid

import websockets


class KernelLost(Exception):
    """The kernel or the way to it is gone; the state of its cells with it."""


class Kernel:
    """The messages of one kernel, told apart by the request that they answer."""

    def __init__(self, kernel_id, jupyter, token="", open_timeout=60):
        """jupyter: the server's base URL, http://HOST:PORT."""
        self.id = kernel_id
        self.url = "ws" + jupyter[len("http"):] + "/api/kernels/%s/channels" % kernel_id
        self.token = token
        self.open_timeout = open_timeout
        self.session = uuid.uuid4().hex
        self.socket = None
        self.reader = None
        self.waiting = {}  # msg_id -> queue of messages; None in it: the kernel is lost

    async def connect(self):
        headers = {"Authorization": "token " + self.token} if self.token else {}
        self.socket = await websockets.connect(self.url, extra_headers=headers, open_timeout=self.open_timeout,
                                               ping_timeout=30, close_timeout=2, max_size=None)
        self.reader = asyncio.create_task(self.read())

    async def read(self):
        try:
            async for frame in self.socket:
                message = json.loads(frame)
                if message["msg_type"] == "status" and message["content"]["execution_state"] in ("restarting", "dead"):
                    self.lose()
                    continue
                queue = self.waiting.get(message["parent_header"].get("msg_id"))
                if queue:
                    queue.put_nowait(message)
        except (websockets.ConnectionClosed, OSError):
            pass
        self.socket_gone()

    def lose(self):
        for queue in self.waiting.values():
            queue.put_nowait(None)

    def socket_gone(self):
        self.socket = None
        self.lose()

    @property
    def connected(self):
        return self.socket is not None

    async def close(self):
        if self.socket is not None:
            with contextlib.suppress(Exception):
                await self.socket.close()
        if self.reader is not None:
            self.reader.cancel()

    async def request(self, code, silent=False):
        """Sends one cell; returns its id, under which `messages` finds what comes back until `forget`."""
        if self.socket is None:
            raise KernelLost("the connection to kernel %s is lost" % self.id)
        msg_id = uuid.uuid4().hex
        self.waiting[msg_id] = asyncio.Queue()
        header = {"msg_id": msg_id, "username": "", "session": self.session, "msg_type": "execute_request", "version": "5.3",
                  "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
        content = {"code": code, "silent": silent, "store_history": not silent, "user_expressions": {},
                   "stop_on_error": True, "allow_stdin": False}
        try:
            await self.socket.send(json.dumps({"header": header, "parent_header": {}, "metadata": {}, "content": content,
                                               "channel": "shell"}))
        except (websockets.ConnectionClosed, OSError, AttributeError) as e:
            self.forget(msg_id)
            raise KernelLost("the connection to kernel %s is lost" % self.id) from e
        return msg_id

    def forget(self, msg_id):
        self.waiting.pop(msg_id, None)

    async def messages(self, msg_id, silence):
        """What answers a cell, until the kernel is idle again; None after `silence` seconds without a message."""
        queue = self.waiting[msg_id]
        while True:
            try:
                message = await asyncio.wait_for(queue.get(), silence)
            except asyncio.TimeoutError:
                yield None
                continue
            if message is None:
                raise KernelLost("the kernel died or its connection was lost")
            kind, content = message["msg_type"], message["content"]
            if kind == "status":
                if content["execution_state"] == "idle":
                    return
            elif kind == "execute_reply":
                if content.get("status") in ("abort", "aborted"):
                    return
            else:
                yield message

    async def run(self, code):
        """One silent cell of our own, to its end; its error is raised."""
        msg_id = await self.request(code, silent=True)
        trouble = None
        try:
            async for message in self.messages(msg_id, None):
                if message["msg_type"] == "error":
                    trouble = RuntimeError("%s: %s" % (message["content"]["ename"], message["content"]["evalue"]))
        finally:
            self.forget(msg_id)
        if trouble:
            raise trouble

    async def drain(self, msg_id):
        """Waits until a cell has ended, whatever it still says."""
        async for _ in self.messages(msg_id, None):
            pass
