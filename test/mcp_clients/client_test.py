"""The MCP server as the official Python SDK sees it. Both of its generations take this file, each in an environment of its own.

Runs in the folder that script/mcp_clients makes: shop/ is the project; reader.command, hasty.command and owner.command hold
what `mix jido.mcp.config` prints for a server without grants, for one that waits a second for an answer, and for one that may do
everything.
"""

import asyncio
import importlib.metadata
import json
import logging
import shlex
import shutil
import time
import unittest
from contextlib import asynccontextmanager
from pathlib import Path

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import ElicitResult

HERE = Path(__file__).parent
SHOP = Path("shop").resolve()
CALLS = json.loads((HERE / "calls.json").read_text())
# Of the library's tools.
NAMES = json.loads(Path("names.json").read_text())
# The shop's own, which is there once the project runs.
OWN = "low_stock"
READING = ("fetch_elixir_docs", "find_callers", "get_source_location", "grep_search")
HINTS = {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}
DENIED = (
    "Permission denied: bash_execute needs the tier execute, this session has read_only. A person can grant the tier or "
    "consent to this tool. The person at the client was asked, and "
)
SDK = importlib.metadata.version("mcp")


def wire(model):
    """A model with the names that the protocol has, which are the same in both generations."""
    return model.model_dump(by_alias=True, mode="json", exclude_none=True)


def text(result):
    return result["content"][0]["text"]


def processes(*words):
    """Ids of the processes whose command line holds all words."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if all(word in command for word in words):
            found.append(int(folder.name))
    return found


def inside(folder):
    """Ids of the processes whose current folder is this one or below it."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").readlink().is_relative_to(folder):
                found.append(int(process.name))
        except OSError:
            continue
    return found


async def eventually(what, seconds=60):
    """Waits for the state of the system, which sends no message."""
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, "it did not come true in time"
        await asyncio.sleep(0.02)


class Connection:
    """What the tests use of a client."""

    def __init__(self, client, stray, told):
        self.client = client
        # What the SDK could not make anything of.
        self.stray = stray
        # The methods of the server's notifications.
        self.told = told

    async def tools(self):
        return wire(await self.client.list_tools())["tools"]

    async def call(self, name, arguments, progress=None):
        return wire(await self.client.call_tool(name, arguments, progress_callback=progress))

    async def started(self, progress=None):
        """Waits until calls reach the project."""
        arguments = {"module": "Shop.Inventory"}
        while "still starting" in text(result := await self.call("fetch_elixir_docs", arguments, progress)):
            pass
        assert not result.get("isError"), text(result)


class Checks:
    """The tests; each class below is a way to connect."""

    async def asyncTearDown(self):
        # By the end of input alone: the SDKs close it, and use force only after that did not help.
        await eventually(lambda: not inside(SHOP) and not processes("--project", str(SHOP)), 5)

    @asynccontextmanager
    async def connected(self, name, ask=None):
        command, *arguments = shlex.split(Path(f"{name}.command").read_text())
        stray, told = [], []

        async def take(message):
            if isinstance(message, Exception):
                stray.append(message)
            else:
                told.append(getattr(getattr(message, "root", message), "method", None))

        with open("stderr", "a") as stderr:
            transport = stdio_client(StdioServerParameters(command=command, args=arguments), errlog=stderr)
            async with self.connect(transport, take, ask) as client:
                yield Connection(client, stray, told)
        self.assertEqual(stray, [])

    async def test_lists_the_tools_while_a_new_copy_compiles(self):
        shutil.rmtree(SHOP / "_build/dev", ignore_errors=True)
        begin = time.monotonic()
        async with self.connected("reader") as server:
            tools = await server.tools()
            self.assertLess(time.monotonic() - begin, 5)
            messages = []

            async def progress(_done, _total, message):
                messages.append(message)

            await server.started(progress)
            self.assertTrue(any("ompiling" in message for message in messages), messages)

            self.assertEqual(sorted(tool["name"] for tool in tools), sorted(NAMES))
            # What the project adds stands behind what was there from the beginning.
            self.assertEqual((await server.tools())[: len(tools)], tools)
            for tool in tools:
                self.assertLessEqual(HINTS, tool["annotations"].keys())
                self.assertTrue(tool["title"] and tool["description"])
                self.assertEqual(tool["inputSchema"]["type"], "object")

    async def test_hears_of_the_tools_of_the_project_and_calls_them(self):
        async with self.connected("owner") as server:
            await self.changed(server)
            tools = await server.tools()
            self.assertEqual(tools[-1]["name"], OWN)
            self.assertEqual(tools[-1]["inputSchema"]["properties"]["at_most"]["default"], 20)
            result = await server.call(OWN, {"at_most": 12})
            self.assertFalse(result.get("isError"), text(result))
            self.assertEqual(result["structuredContent"]["items"], [{"item": "cups", "left": 12}])
            result = await server.call(OWN, {"at_most": -1})
            self.assertIn("at_most", text(result))

    async def changed(self, server):
        """Waits until the client was told that the list of tools has changed."""
        await eventually(lambda: "notifications/tools/list_changed" in server.told, 120)

    async def test_is_read_only_unless_granted_more(self):
        async with self.connected("reader") as server:
            await server.started()
            for call in CALLS:
                result = await server.call(call["name"], call["arguments"])
                if call["name"] in READING:
                    self.assertFalse(result.get("isError"), text(result))
                elif call["name"] == "bash_output":
                    # Reading is allowed; there is nothing to read.
                    self.assertIn("Shell not found", text(result))
                else:
                    self.assertTrue(result["isError"], text(result))
                    wanted = ["--consent " + call["name"], *call.get("fails", [])]
                    self.assertTrue(any(words in text(result) for words in wanted), text(result))

    async def test_takes_calls_of_every_tool_and_tells_what_was_wrong(self):
        async with self.connected("owner") as server:
            await server.started()
            shell = None
            for call in CALLS:
                arguments = {
                    name: shell if value == "$shell_id" else value for name, value in call["arguments"].items()
                }
                result = await server.call(call["name"], arguments)
                if "fails" in call:
                    # Consent to it is asked for each session, whatever its tier, where it can be had at all.
                    self.assertTrue(result["isError"])
                    self.assertTrue(any(words in text(result) for words in call["fails"]), text(result))
                    continue
                self.assertFalse(result.get("isError"), text(result))
                data = result["structuredContent"]
                with self.assertRaises(ValueError):
                    json.loads(text(result))
                self.assertEqual(data, {**data, **call["has"]})
                self.assertIn(call.get("says", ""), text(result))
                shell = data.get("shell_id", shell)

            result = await server.call("grep_search", {"patern": "x"})
            self.assertTrue(result["isError"])
            self.assertIn("Missing required parameter: pattern", text(result))
            result = await server.call("bash_execute", {"command": "sh -c ls"})
            self.assertTrue(result["isError"])
            with self.assertRaises(Exception) as raised:
                await server.call("reload_module", {})
            self.assertEqual(raised.exception.error.code, -32602)

    async def test_goes_on_beside_a_long_call_and_ends_it_when_it_is_cancelled(self):
        async with self.connected("owner") as server:
            await server.started()
            seen = []

            async def progress(done, _total, message):
                seen.append((done, message))

            arguments = {"path": "test/slow_test.exs", "timeout": 600_000}
            wanted = progress if self.cancels else None
            long = asyncio.create_task(server.call("run_exunit", arguments, wanted))
            await eventually(lambda: processes("sleep", "6001"), 120)

            if self.pings:
                await asyncio.wait_for(server.client.send_ping(), 5)
            searches = [server.call("grep_search", {"pattern": word}) for word in ("tea", "cups", "spoons")]
            for result in await asyncio.gather(*searches):
                self.assertFalse(result.get("isError"), text(result))
            self.assertFalse(long.done())

            if self.cancels:
                await eventually(lambda: len(seen) >= 2)
                times = [done for done, _message in seen]
                self.assertEqual(times, sorted(set(times)))
                self.assertTrue(all(" s" in message for _done, message in seen), seen)

            long.cancel()
            await asyncio.gather(long, return_exceptions=True)
            if self.cancels:
                await eventually(lambda: not processes("sleep", "6001"), 10)
                # The session is none the worse for it.
                await server.started()
        self.assertEqual(processes("sleep", "6001"), [])

    async def test_asks_the_person_at_the_client(self):
        asked, answers = [], []

        async def ask(_context, params):
            asked.append(params.message)
            action, answer = answers.pop(0)
            return ElicitResult(action=action, content=answer and {"answer": answer})

        async with self.connected("reader", ask) as server:
            await server.started()

            async def call(command, *answer):
                answers.append(answer)
                result = await server.call("bash_execute", {"command": command})
                return bool(result.get("isError")), text(result)

            self.assertEqual(await call("ls lib | sort", "accept", "once"), (False, "shop\n"))
            self.assertIn("ls lib | sort", asked[0])
            self.assertEqual(await call("ls lib", "cancel", None), (True, DENIED + "did not answer."))
            self.assertEqual(await call("ls lib", "accept", "whatever"), (True, DENIED + "did not answer."))
            self.assertEqual(await call("ls lib", "decline", None), (True, DENIED + "said no."))
            self.assertEqual(len(asked), 4)
            # The same call again asks nobody, a call that is refused anyway asks nobody either.
            self.assertIn("already said no to this call", (await call("ls lib", "accept", "once"))[1])
            self.assertIn("sudo", (await call("sudo ls", "accept", "once"))[1])
            self.assertEqual(len(asked), 4)
            answers.clear()
            self.assertEqual(await call("ls -d lib", "accept", "for this session"), (False, "lib\n"))
            self.assertEqual(await call("ls lib", "cancel", None), (False, "shop\n"))
            self.assertEqual(len(asked), 5)

    async def test_takes_an_answer_that_comes_too_late_for_a_no(self):
        async def ask(_context, _params):
            # The server waits for one second.
            await asyncio.sleep(1.5)
            return ElicitResult(action="accept", content={"answer": "once"})

        async with self.connected("hasty", ask) as server:
            await server.started()
            result = await server.call("bash_execute", {"command": "ls lib"})
            self.assertEqual(text(result), DENIED + "did not answer.")
            # The session is none the worse for it.
            await server.started()

    async def test_may_leave_while_it_is_asked(self):
        asked = asyncio.Event()

        async def ask(_context, _params):
            asked.set()
            await asyncio.Event().wait()

        async with self.connected("reader", ask) as server:
            await server.started()
            call = asyncio.create_task(server.call("bash_execute", {"command": "ls lib"}))
            await asyncio.wait_for(asked.wait(), 60)
            call.cancel()
            await asyncio.wait([call])

    async def test_keeps_connections_apart(self):
        async with self.connected("owner") as one, self.connected("owner") as other:
            await one.started()
            await other.started()
            begun = await one.call("bash_background", {"command": "ls"})
            shell = {"shell_id": begun["structuredContent"]["shell_id"]}
            self.assertIn("Shell not found", text(await other.call("kill_shell", shell)))
            self.assertFalse((await one.call("kill_shell", shell)).get("isError"))


if SDK.startswith("1."):

    class Generation1(Checks, unittest.IsolatedAsyncioTestCase):
        pings = True
        # This generation drops the answer only, and lets the server work on: the call ends with the connection. Progress that
        # comes while it closes breaks it, so none is asked for.
        cancels = False

        @asynccontextmanager
        async def connect(self, transport, take, ask):
            async with transport as (reader, writer), ClientSession(
                reader, writer, message_handler=take, elicitation_callback=ask
            ) as client:
                answer = wire(await client.initialize())
                self.assertEqual(answer["protocolVersion"], "2025-11-25")
                self.assertEqual(answer["serverInfo"]["name"], "jido_code_tools")
                self.assertEqual(list(answer["capabilities"]), ["tools"])
                self.assertIn("Elixir", answer["instructions"])
                yield client

else:
    from mcp.client.client import Client

    class Generation2:
        cancels = True

        @asynccontextmanager
        async def connect(self, transport, take, ask):
            async with Client(
                transport, mode=self.mode, message_handler=take, elicitation_callback=ask
            ) as client:
                self.assertEqual(client.protocol_version, self.version)
                self.assertEqual(client.server_info.name, "jido_code_tools")
                self.assertEqual(list(wire(client.server_capabilities)), ["tools"])
                self.assertIn("Elixir", client.instructions)
                yield client

    class Initialized(Generation2, Checks, unittest.IsolatedAsyncioTestCase):
        mode, version, pings = "legacy", "2025-11-25", True

    class Discovered(Generation2, Checks, unittest.IsolatedAsyncioTestCase):
        # The newer era has no ping.
        mode, version, pings = "auto", "2026-07-28", False

        async def changed(self, server):
            """Clients of the newer era hear of nothing that they don't listen for."""
            async with server.client.listen(tools_list_changed=True) as stream:
                await asyncio.wait_for(anext(stream), 120)


if __name__ == "__main__":
    # It is in debug mode here, and tells each step that took a while.
    logging.getLogger("asyncio").setLevel(logging.ERROR)
    unittest.main(verbosity=2, warnings="ignore")
