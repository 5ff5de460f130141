"""A small code interpreter: runs cells in Jupyter's kernels for clients that speak as E2B's code-interpreter SDKs do.

    uvicorn server:app --app-dir .../interpreter --fd 3

GET /health, GET|POST /contexts, POST /contexts/{id}/restart, DELETE /contexts/{id}, POST /execute (a stream of JSON lines),
and POST /envs {"envVars": {...}}, by which whoever started us tells the sandbox's variables, and tells them anew (nobody is
asked who he is: who can reach us can run cells, and set variables there).
It knows Python only. /health answers "OK" only when the default context exists, so it proves the way to a kernel.

Settings, from the environment:

    JUPYTER_BASE_URL                        http://127.0.0.1:8888
    JUPYTER_TOKEN                           sent when it is set
    JUPYTER_READY_TIMEOUT                   10    seconds to wait for a Jupyter that does not answer yet
    CODE_INTERPRETER_WORKDIR                the current folder
    CODE_INTERPRETER_CONTEXT_CREATE_TIMEOUT 60    seconds, for each step of making a context
    CODE_INTERPRETER_SESSION_PREFIX         how the paths of our sessions in Jupyter begin: code-interpreter-
    ENVD_BASE_URL                           http://127.0.0.1:49983
    ENVD_TIMEOUT                            2     seconds to read the sandbox's variables; empty URL: do not ask

The sandbox's variables are read from envd's GET /envs once for each kernel, before its first cell, and those of POST /envs
are put over them. When envd does not answer, that is logged and the cell runs without its variables; the next cell asks
again. After another POST /envs each kernel does all this once more before its next cell: what has changed is set, and what
is not there any more is as it was before it was set. Variables given with a call hold for that call only.
"""
import asyncio
import contextlib
import json
import logging
import os
import time
import uuid

import httpx
from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse
from kernels import Kernel, KernelLost
from pydantic import BaseModel

log = logging.getLogger("uvicorn.error")

JUPYTER = os.environ.get("JUPYTER_BASE_URL") or "http://127.0.0.1:8888"
TOKEN = os.environ.get("JUPYTER_TOKEN") or ""
READY_TIMEOUT = float(os.environ.get("JUPYTER_READY_TIMEOUT") or 10)
WORKDIR = os.environ.get("CODE_INTERPRETER_WORKDIR") or os.getcwd()
CREATE_TIMEOUT = float(os.environ.get("CODE_INTERPRETER_CONTEXT_CREATE_TIMEOUT") or 60)
ENVD = os.environ.get("ENVD_BASE_URL", "http://127.0.0.1:49983")
ENVD_TIMEOUT = float(os.environ.get("ENVD_TIMEOUT") or 2)

KEEPALIVE = 5.0  # seconds of silence after which a line is sent, so that no proxy gives up
CLEANUP_TIMEOUT = 30.0  # a slow machine is the very place where cleanup is needed
# How our sessions are known in Jupyter, so that those of an interpreter that was killed can be removed: by whoever started us,
# when we have ended, and by our next life.
SESSION_PREFIX = os.environ.get("CODE_INTERPRETER_SESSION_PREFIX") or "code-interpreter-"

MIME_NAMES = {
    "text/plain": "text", "text/html": "html", "text/markdown": "markdown", "image/svg+xml": "svg", "image/png": "png",
    "image/jpeg": "jpeg", "application/pdf": "pdf", "text/latex": "latex", "application/json": "json",
    "application/javascript": "javascript",
}


# A cell of ours. What a name was before it was set first is kept in the kernel, so that it can be that again.
BRING_VARIABLES = """\
def __bring(gone, changed):
    import os
    before = os.__dict__.setdefault("_before_sandbox", {})
    for name in gone:
        value = before.pop(name, None)
        os.environ.pop(name, None) if value is None else os.environ.__setitem__(name, value)
    for name, value in changed.items():
        before.setdefault(name, os.environ.get(name))
        os.environ[name] = value
__bring(%r, %r)
del __bring
"""


class Transient(Exception):
    """Jupyter does not answer yet."""


# ---- contexts --------------------------------------------------------------------------------------------------------


class Context:
    def __init__(self, kernel_id, session_id, cwd):
        self.id = kernel_id
        self.session_id = session_id
        self.cwd = cwd
        self.language = "python"
        self.kernel = Kernel(kernel_id, JUPYTER, TOKEN, CREATE_TIMEOUT)
        self.turn = asyncio.Lock()  # one cell at a time, with what comes before and after it
        self.begin_anew()

    def begin_anew(self):
        """The kernel has lost all that we told it."""
        self.is_entered = False
        self.edition = None  # of the sandbox's variables that it has; None: it has none yet
        self.variables = {}  # those that were set in it

    def describe(self):
        return {"id": self.id, "language": self.language, "cwd": self.cwd}


class Interpreter:
    def __init__(self):
        headers = {"Authorization": "token " + TOKEN} if TOKEN else {}
        self.http = httpx.AsyncClient(base_url=JUPYTER, headers=headers, follow_redirects=False, trust_env=False,
                                      timeout=CREATE_TIMEOUT)
        self.contexts = {}
        self.default = None
        self.instance = uuid.uuid4().hex
        self.told = {}  # the sandbox's variables of the last POST /envs
        self.edition = 0  # counts those
        self.chores = set()

    def chore(self, coroutine):
        """Something that goes on beside the requests; kept, so that it is not collected half-way."""
        task = asyncio.create_task(coroutine)
        self.chores.add(task)
        task.add_done_callback(self.chores.discard)

    # -- life ---------------------------------------------------------------------------------------------------------

    async def open(self):
        await self.wait_for_jupyter()
        self.default = await self.create(WORKDIR)
        self.chore(self.remove_stale_sessions())

    async def wait_for_jupyter(self):
        """Waits for what passes by itself (nobody listens yet, 429, 5xx); anything else fails at once."""
        end = time.monotonic() + READY_TIMEOUT
        while True:
            try:
                return await self.jupyter_status()
            except Transient as e:
                if time.monotonic() > end:
                    raise RuntimeError("Jupyter is not ready after %g s: %s" % (READY_TIMEOUT, e)) from e
            await asyncio.sleep(0.05)

    async def jupyter_status(self):
        try:
            answer = await self.http.get("/api/status", timeout=2)
        except httpx.TransportError as e:
            raise Transient("%s: %s" % (type(e).__name__, e)) from e
        if answer.status_code == 429 or answer.status_code >= 500:
            raise Transient("GET /api/status: %d" % answer.status_code)
        if answer.status_code != 200:
            raise RuntimeError("GET %s/api/status: %d" % (JUPYTER, answer.status_code))

    async def close(self):
        """Sessions are left to whoever started us, to our next life, or to Jupyter's end: this can be cut short, those cannot."""
        for task in list(self.chores):
            task.cancel()
        await asyncio.gather(*(c.kernel.close() for c in self.contexts.values()))
        await self.http.aclose()

    async def remove_stale_sessions(self):
        """The kernels of an earlier interpreter that was killed."""
        try:
            for session in (await self.http.get("/api/sessions")).json():
                name = session.get("name") or ""
                if name.startswith(SESSION_PREFIX) and not name.startswith(SESSION_PREFIX + self.instance):
                    await self.delete_session(session["id"])
        except (httpx.HTTPError, ValueError, KeyError) as e:
            log.warning("cannot remove the sessions of an earlier interpreter: %s", e)

    # -- making and removing ------------------------------------------------------------------------------------------

    async def create(self, cwd):
        """A session whose path is used once, so that one whose answer never came can still be found and removed."""
        name = SESSION_PREFIX + self.instance + "-" + uuid.uuid4().hex
        body = {"path": name, "name": name, "type": "notebook", "kernel": {"name": "python3"}}
        try:
            answer = await self.http.post("/api/sessions", json=body)
        except httpx.TimeoutException as e:
            await self.forget_unanswered(name)
            raise RuntimeError("POST /api/sessions: no answer in %g s" % CREATE_TIMEOUT) from e
        if answer.status_code != 201:
            raise RuntimeError("POST /api/sessions: %d %s" % (answer.status_code, answer.text[:300]))
        session = answer.json()
        context = Context(session["kernel"]["id"], session["id"], cwd)
        try:
            await context.kernel.connect()
            await asyncio.wait_for(self.enter(context), CREATE_TIMEOUT)
        except BaseException:
            await self.undo(context)
            raise
        self.contexts[context.id] = context
        return context

    async def enter(self, context):
        """Makes the working folder the kernel's own: at first, and again after a kernel that died was replaced."""
        if context.is_entered:
            return
        await context.kernel.run("import os as _os; _os.chdir(%r); del _os" % context.cwd)
        context.is_entered = True

    async def undo(self, context):
        """Both steps are tried, whatever the first one does; the error that led here is the one that is told."""
        await context.kernel.close()
        await self.delete_session(context.session_id)

    async def forget_unanswered(self, name):
        try:
            found = [s["id"] for s in (await self.http.get("/api/sessions", timeout=5)).json() if s.get("path") == name]
            if len(found) == 1:
                await self.delete_session(found[0])
            else:
                log.warning("a session may be left in Jupyter: %s", name)
        except (httpx.HTTPError, ValueError, KeyError) as e:
            log.warning("a session may be left in Jupyter: %s (%s)", name, e)

    async def delete_session(self, session_id):
        try:
            answer = await self.http.delete("/api/sessions/" + session_id, timeout=min(CREATE_TIMEOUT, CLEANUP_TIMEOUT))
            if answer.status_code not in (204, 404):
                log.warning("DELETE /api/sessions/%s: %d", session_id, answer.status_code)
        except httpx.HTTPError as e:
            log.warning("DELETE /api/sessions/%s: %s", session_id, e)

    def find(self, context_id):
        context = self.contexts.get(context_id or self.default.id)
        if context is None:
            raise HTTPException(404, "Context %s not found" % context_id)
        return context

    async def restart(self, context):
        async with context.turn:
            answer = await self.http.post("/api/kernels/%s/restart" % context.id)
            if answer.status_code != 200:
                raise HTTPException(500, "restart of the kernel: %d" % answer.status_code)
            await context.kernel.close()
            context.kernel = Kernel(context.id, JUPYTER, TOKEN, CREATE_TIMEOUT)
            context.begin_anew()
            await context.kernel.connect()
            await asyncio.wait_for(self.enter(context), CREATE_TIMEOUT)

    async def remove(self, context):
        self.contexts.pop(context.id, None)
        await self.undo(context)

    # -- cells --------------------------------------------------------------------------------------------------------

    def tell(self, variables):
        """The kernels get them before their next cell; now, one may be in the middle of a cell."""
        self.told = variables
        self.edition += 1

    async def sandbox_variables(self, access_token):
        if not ENVD:
            return {}
        headers = {"X-Access-Token": access_token} if access_token else {}
        async with httpx.AsyncClient(follow_redirects=False, trust_env=False, timeout=ENVD_TIMEOUT) as http:
            answer = await http.get(ENVD + "/envs", headers=headers)
        if answer.status_code != 200:
            raise ValueError("status %d" % answer.status_code)
        found = answer.json()
        if not isinstance(found, dict) or not all(isinstance(v, str) for v in found.values()):
            raise ValueError("not an object of strings")
        return found

    async def bring_sandbox_variables(self, context, access_token):
        """Once for each kernel and edition; a failure is logged (names and values are not) and is tried again at the next cell."""
        edition = self.edition
        if context.edition == edition:
            return
        try:
            found = await self.sandbox_variables(access_token)
        except (httpx.HTTPError, ValueError) as e:
            log.warning("cells run without envd's variables: GET %s/envs: %s", ENVD, str(e) or type(e).__name__)
            found, edition = dict(context.variables), None
        wanted = {**found, **self.told}
        changed = {n: v for n, v in wanted.items() if context.variables.get(n) != v}
        gone = [n for n in context.variables if n not in wanted]
        if changed or gone:
            await context.kernel.run(BRING_VARIABLES % (gone, changed))
        context.variables, context.edition = wanted, edition

    async def set_variables(self, context, variables):
        await context.kernel.run(
            "import os as _os\n"
            "__before = {n: _os.environ.get(n) for n in %r}\n"
            "_os.environ.update(%r); del _os" % (list(variables), variables))

    async def restore_variables(self, context):
        await context.kernel.run(
            "import os as _os\n"
            "for __n, __v in __before.items():\n"
            "    _os.environ.pop(__n, None) if __v is None else _os.environ.__setitem__(__n, __v)\n"
            "del _os, __before, __n, __v")

    async def execute(self, context, code, variables, access_token):
        """The lines of one cell. The context's turn is held until the kernel is as it was, also when the client leaves."""
        await context.turn.acquire()
        kernel, msg_id, changed = context.kernel, None, False
        try:
            await self.enter(context)
            await self.bring_sandbox_variables(context, access_token)
            if variables:
                changed = True
                await self.set_variables(context, variables)
            msg_id = await kernel.request(code)
            async for message in kernel.messages(msg_id, KEEPALIVE):
                for line in lines_of(message):
                    yield line
            kernel.forget(msg_id)
            msg_id = None
        except KernelLost as e:
            log.warning("context %s: %s", context.id, e)
            context.begin_anew()
            kernel.forget(msg_id)
            msg_id, changed = None, False
            yield {"type": "unexpected_end_of_execution"}
        finally:
            if msg_id or changed:  # with a msg_id: the client left in the middle of the cell
                self.chore(self.settle(context, changed, msg_id))
            else:
                context.turn.release()
        yield {"type": "end_of_execution"}

    async def settle(self, context, changed, running):
        """After a cell: interrupts it when nobody waits for it any more, puts the variables back, ends the turn."""
        try:
            if running:
                await self.http.post("/api/kernels/%s/interrupt" % context.id, timeout=CLEANUP_TIMEOUT)
                # What is sent before the interrupted cell has ended would be aborted with it.
                await asyncio.wait_for(context.kernel.drain(running), CLEANUP_TIMEOUT)
            if changed:
                await asyncio.wait_for(self.restore_variables(context), CLEANUP_TIMEOUT)
        except (httpx.HTTPError, KernelLost, RuntimeError, asyncio.TimeoutError) as e:
            log.warning("context %s: cannot restore it after a cell: %s", context.id, str(e) or type(e).__name__)
        finally:
            context.kernel.forget(running)
            context.turn.release()


def lines_of(message):
    """A kernel's message as the lines that a client reads; an empty one for what it need not know."""
    if message is None:
        yield {"type": "keepalive"}
        return
    kind, content = message["msg_type"], message["content"]
    if kind == "stream":
        yield {"type": content["name"], "text": content["text"], "timestamp": time.time_ns() // 1000}
    elif kind in ("execute_result", "display_data"):
        line = {"type": "result", "is_main_result": kind == "execute_result"}
        extra = {}
        for mime, value in content["data"].items():
            if mime in MIME_NAMES:
                line[MIME_NAMES[mime]] = value
            else:
                extra[mime] = value
        if extra:
            line["extra"] = extra
        yield line
    elif kind == "error":
        yield {"type": "error", "name": content["ename"], "value": content["evalue"],
               "traceback": "\n".join(content["traceback"])}
    elif kind == "execute_input":
        yield {"type": "number_of_executions", "execution_count": content["execution_count"]}


# ---- HTTP ------------------------------------------------------------------------------------------------------------


class NewContext(BaseModel):
    cwd: str = None
    language: str = None


class Variables(BaseModel):
    envVars: dict


class Cell(BaseModel):
    code: str
    context_id: str = None
    language: str = None
    env_vars: dict = None


interpreter = None


@contextlib.asynccontextmanager
async def lifespan(_app):
    """Everything that is made here is unmade here: a second run in the same process starts clean."""
    global interpreter
    interpreter = Interpreter()
    try:
        await interpreter.open()
        yield
    finally:
        await interpreter.close()
        interpreter = None


app = FastAPI()
app.router.lifespan_context = lifespan  # FastAPI 0.92 has no argument for it, and ignores one without a word


def only_python(language):
    if language not in (None, "", "python", "python3"):
        raise HTTPException(400, "only python is spoken here, not %s" % language)


def only_strings(field, variables):
    if not all(isinstance(v, str) for v in variables.values()):
        raise HTTPException(400, "%s is to be an object of strings" % field)


@app.get("/health")
async def health():
    if interpreter is None or interpreter.default is None:
        return JSONResponse("there is no default context", status_code=503)
    return JSONResponse("OK")


@app.get("/contexts")
async def contexts():
    return [c.describe() for c in interpreter.contexts.values()]


@app.post("/contexts")
async def new_context(ask: NewContext):
    only_python(ask.language)
    cwd = ask.cwd or WORKDIR
    if not os.path.isdir(cwd):
        raise HTTPException(400, "no such folder: %s" % cwd)
    try:
        return (await interpreter.create(cwd)).describe()
    except (RuntimeError, httpx.HTTPError, KernelLost, OSError, asyncio.TimeoutError) as e:
        raise HTTPException(500, "cannot make a context: %s" % (str(e) or type(e).__name__)) from e


@app.post("/contexts/{context_id}/restart")
async def restart_context(context_id: str):
    await interpreter.restart(interpreter.find(context_id))


@app.delete("/contexts/{context_id}")
async def delete_context(context_id: str):
    context = interpreter.find(context_id)
    if context is interpreter.default:
        raise HTTPException(400, "the default context cannot be removed")
    await interpreter.remove(context)


@app.post("/envs", status_code=204)
async def tell_variables(ask: Variables):
    only_strings("envVars", ask.envVars)
    interpreter.tell(ask.envVars)
    return Response(status_code=204)


@app.post("/execute")
async def execute(cell: Cell, request: Request):
    if cell.context_id and cell.language:
        raise HTTPException(400, "context_id and language exclude each other")
    only_python(cell.language)
    variables = cell.env_vars or {}
    only_strings("env_vars", variables)
    context = interpreter.find(cell.context_id)
    events = interpreter.execute(context, cell.code, variables, request.headers.get("X-Access-Token"))

    async def lines():
        async with contextlib.aclosing(events):
            async for event in events:
                yield json.dumps(event) + "\n"

    return StreamingResponse(lines(), media_type="application/x-ndjson")
