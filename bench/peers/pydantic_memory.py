"""M: PostgresMemoryStore from pydantic-ai-harness on an asyncpg pool, with uvicorn in one process. As in the package's
tool `write_memory`, an edit must match once, and is repeated if another write has changed the file meanwhile."""

import os

import asyncpg
import uvicorn
import uvloop
from pydantic_ai_harness.memory import MemoryConflictError, PostgresMemoryStore
from pydantic_core import from_json, to_json

# The package's defaults: `max_memory_size`, and the attempts by `write_memory`.
MAX_CHARS = 65_536
MAX_ATTEMPTS = 16


async def execute(store, tenant, call):
    command, name = call["command"], call["path"]
    # The package keeps the files for a namespace, here a tenant, and for its agent `main` under this path.
    path = f"{tenant}/main{name}"
    if command == "view":
        content = (await store.read(path, max_chars=MAX_CHARS)).content
        lines = (f"{number:6}\t{line}" for number, line in enumerate(content.split("\n"), 1))
        return f"Here's the content of {name} with line numbers:\n" + "\n".join(lines)
    if command == "create":
        await store.write(path, call["file_text"], expected_version=None)
        return f"File created successfully at: {name}"
    if command == "str_replace":
        await edit(store, path, lambda content: replace(content, call["old_str"], call["new_str"]))
        return "The memory file has been edited."
    if command == "insert":
        await edit(store, path, lambda content: insert(content, call["insert_line"], call["insert_text"]))
        return f"The file {name} has been edited."
    raise ValueError(f"This peer has no {command}.")


async def edit(store, path, change):
    for _ in range(MAX_ATTEMPTS):
        file = await store.read(path, max_chars=MAX_CHARS)
        try:
            await store.write(path, change(file.content), expected_version=file.version)
            return
        except MemoryConflictError:
            continue
    raise MemoryConflictError(f"{path} changed {MAX_ATTEMPTS} times.")


def replace(content, old, new):
    if content.count(old) != 1:
        raise ValueError(f"{old!r} must match once.")
    return content.replace(old, new, 1)


def insert(content, line, text):
    lines = content.split("\n")
    lines.insert(line, text.removesuffix("\n"))
    return "\n".join(lines)


async def serve():
    pool = await asyncpg.create_pool(os.environ["DATABASE_URL"], min_size=10, max_size=10)
    store = PostgresMemoryStore(pool)

    async def handle(scope, receive, send):
        body = b""
        while True:
            event = await receive()
            body += event.get("body", b"")
            if not event.get("more_body"):
                break
        try:
            tenant = dict(scope["headers"])[b"x-tenant-id"].decode()
            result = {"content": await execute(store, tenant, from_json(body)), "is_error": False}
        except Exception as error:
            result = {"content": str(error), "is_error": True}
        response = to_json(result)
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(response))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": response})

    port = int(os.environ["PORT"])
    config = uvicorn.Config(handle, port=port, log_level="warning", access_log=False, lifespan="off")
    await uvicorn.Server(config).serve()


uvloop.run(serve())
