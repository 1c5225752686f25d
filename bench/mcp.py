"""What the MCP server costs, with a copy of examples/shop as its project. Run by hand; needs Python 3 alone.

    python3 bench/mcp.py start -- COMMAND...       from the launcher's start to its answers, three times
    python3 bench/mcp.py calls N -- COMMAND...     memory of launcher and VMs before and after N calls, and their rate
    python3 bench/mcp.py tools N -- COMMAND...     each tool's time, warm: median and 99th percentile of up to N calls
    python3 bench/mcp.py together N -- COMMAND...  two servers started at once without `_build`, N times: how many failed
    python3 bench/mcp.py beside N -- COMMAND...    one server, whose `mix_task compile` runs while its project starts

COMMAND is what `mix jido.mcp.config --format command --tier privileged` prints; `start` without the project's `_build` shows
what it costs to compile, `together` and `beside` remove it each time. For `calls` and `tools` the limits have to be raised: `--config FILE`,
with `config :jido_code_tools, tool_rate_limits: Map.new(~w(read_only execute privileged)a, &{&1, {100_000, 1_000}})` in the file; `tools`
wants `--consent trace_calls` as well.
"""

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

CALLS = [
    ("fetch_elixir_docs", {"module": "Shop.Inventory", "function": "take"}),
    ("get_process_state", {"process": "Shop.Inventory"}),
]


# Of each tool a call that finds something.
WARM = [
    *CALLS,
    ("inspect_supervisor", {"supervisor": "Shop.Supervisor"}),
    ("ets_inspect", {"operation": "info", "table": "shop_stock"}),
    ("list_processes", {}),
    ("system_overview", {}),
    ("get_logs", {}),
    ("get_source_location", {"reference": "Shop.Inventory.take"}),
    ("find_callers", {"reference": "Shop.Inventory"}),
    ("grep_search", {"pattern": "Inventory"}),
    ("bash_execute", {"command": "ls lib"}),
    ("trace_calls", {"reference": "Shop.Inventory.take", "timeout": 100}),
    ("mix_task", {"task": "compile"}),
    ("run_exunit", {}),
]
# What one tool may take altogether.
MOST_SECONDS = 15


class Server:
    def __init__(self, command):
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self.ids = 0

    def send(self, method, params):
        self.ids += 1
        message = {"jsonrpc": "2.0", "id": self.ids, "method": method, "params": params}
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        return self.ids

    def answer(self):
        """The next answer; what the server tells of its own accord, as that its tools changed, is passed over."""
        while "id" not in (message := json.loads(self.process.stdout.readline())):
            pass
        return message

    def request(self, method, params):
        self.send(method, params)
        return self.answer()

    def initialize(self):
        client = {"name": "bench", "version": "1"}
        self.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client})
        self.process.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')

    def call(self, name, arguments):
        return self.request("tools/call", {"name": name, "arguments": arguments})["result"]

    def memory(self):
        found = {"launcher": resident(self.process.pid)}
        for pid in below(self.process.pid):
            words = Path(f"/proc/{pid}/cmdline").read_bytes()
            if b"beam.smp" in words:
                found["tools' VM" if b"ToolsVM" in words else "project's VM"] = resident(pid)
        return found

    def leave(self):
        self.process.stdin.close()
        self.process.wait()


def below(pid):
    """Ids of the processes below one."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text().split():
            found += [int(child), *below(int(child))]
    return found


def resident(pid):
    """Resident memory in MB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return round(int(line.split()[1]) / 1024, 1)


def start(command):
    for _turn in range(3):
        server = Server(command)
        server.initialize()
        initialized = time.monotonic() - server.started
        server.call("grep_search", {"pattern": "Inventory"})
        searched = time.monotonic() - server.started
        while "still starting" in server.call(*CALLS[0])["content"][0]["text"]:
            pass
        documented = time.monotonic() - server.started
        while "still starting" in server.call(*CALLS[1])["content"][0]["text"]:
            pass
        looked = time.monotonic() - server.started
        memory = server.memory()
        server.leave()
        print(
            f"initialize {initialized * 1000:.0f} ms, first search {searched:.2f} s, documentation {documented:.2f} s, "
            f"look at a process {looked:.2f} s, {memory} MB"
        )


LOOK = ("list_processes", {})
COMPILE = ("mix_task", {"task": "compile"})


def starts(turns, command, asked):
    """`asked` is what each server is asked for at once, before anything of the project is compiled."""
    build = Path(command[command.index("--project") + 1]) / "_build"
    failures = []
    for _turn in range(turns):
        shutil.rmtree(build, ignore_errors=True)
        servers = [Server(command) for _ in asked]
        for server in servers:
            server.initialize()
        for server, tools in zip(servers, asked):
            for name, arguments in tools:
                server.send("tools/call", {"name": name, "arguments": arguments})
        for server, tools in zip(servers, asked):
            failures += [text for text in map(failure, [server.answer() for _ in tools]) if text]
        for server in servers:
            failures += filter(None, [looked(server)])
            server.leave()
    print(f"{turns} times {len(asked)} at once: {len(failures)} failures")
    for text in failures:
        print(f"  {text}")


def failure(answer):
    """What went wrong; a project that still starts is no failure."""
    result = answer["result"]
    text = result["content"][0]["text"]
    failed = result.get("isError") or "** (" in text or "exit status 1" in text
    return text if failed and "still starting" not in text else None


def looked(server):
    while True:
        answer = server.request("tools/call", {"name": LOOK[0], "arguments": LOOK[1]})
        if "still starting" not in answer["result"]["content"][0]["text"]:
            return failure(answer)


def calls(total, command):
    server = Server(command)
    server.initialize()
    while "still starting" in server.call(*CALLS[0])["content"][0]["text"]:
        pass
    for tool in CALLS:
        result = server.call(*tool)
        assert not result.get("isError"), result
    print(f"before: {server.memory()} MB")
    for part in range(10):
        begin = time.monotonic()
        errors = pipeline(server, total // 10)
        rate = total // 10 / (time.monotonic() - begin)
        print(f"{(part + 1) * (total // 10)} calls: {rate:.0f}/s, {errors} errors, {server.memory()} MB", flush=True)
    server.leave()


def tools(turns, command):
    server = Server(command)
    server.initialize()
    for tool in CALLS:
        while "still starting" in server.call(*tool)["content"][0]["text"]:
            pass
    left = {tool["name"] for tool in server.request("tools/list", {})["result"]["tools"]}
    print("tool: median ms, 99th percentile ms, calls")
    for name, arguments in WARM:
        measure(turns, [name], lambda name=name, arguments=arguments: [timed(server, name, arguments)[0]])
        left.discard(name)
    for names, call in [
        (["bash_background", "bash_output", "kill_shell"], lambda: shell(server)),
        (["restart_project"], lambda: [timed(server, "restart_project", {})[0]]),
    ]:
        measure(turns, names, call)
        left.difference_update(names)
    # The project's own, and those that have no call here yet.
    print(f"not measured: {', '.join(sorted(left)) or 'none'}")
    server.leave()


def timed(server, name, arguments):
    """Milliseconds of a call that must not fail, and its text."""
    begin = time.monotonic()
    result = server.call(name, arguments)
    took = (time.monotonic() - begin) * 1000
    text = result["content"][0]["text"]
    if result.get("isError"):
        raise ValueError(text.strip().splitlines()[0][:100])
    return took, text


def shell(server):
    """A background shell's beginning, a look at it and its end."""
    begun, text = timed(server, "bash_background", {"command": "sleep 60"})
    named = {"shell_id": text.split("shell_id: ")[1].split()[0]}
    looked, _text = timed(server, "bash_output", {**named, "block": False})
    killed, _text = timed(server, "kill_shell", named)
    return [begun, looked, killed]


def measure(turns, names, call):
    """`call` gives the time of each of these tools. Its first turn warms it up."""
    rounds = []
    begin = time.monotonic()
    try:
        call()
        while len(rounds) < turns and time.monotonic() - begin < MOST_SECONDS:
            rounds.append(call())
    except ValueError as refused:
        print(f"{', '.join(names)}: refused: {refused}", flush=True)
        return
    if not rounds:
        print(f"{', '.join(names)}: one turn took {time.monotonic() - begin:.0f} s", flush=True)
    for name, times in zip(names, map(sorted, zip(*rounds))):
        middle, late = (times[int(part * (len(times) - 1))] for part in (0.5, 0.99))
        print(f"{name}: {middle:.1f}, {late:.1f}, {len(times)}", flush=True)


def pipeline(server, total, width=8):
    """Keeps some calls under way at once."""
    errors = 0
    for number in range(total + width):
        if number < total:
            name, arguments = CALLS[number % len(CALLS)]
            server.send("tools/call", {"name": name, "arguments": arguments})
        if number >= width:
            result = server.answer().get("result")
            errors += result is None or bool(result.get("isError"))
    return errors


def main():
    words, command = sys.argv[1 : sys.argv.index("--")], sys.argv[sys.argv.index("--") + 1 :]
    if words == ["start"]:
        start(command)
    elif words[0] == "tools":
        tools(int(words[1]), command)
    elif words[0] == "together":
        starts(int(words[1]), command, [[LOOK], [LOOK]])
    elif words[0] == "beside":
        starts(int(words[1]), command, [[LOOK, COMPILE]])
    else:
        calls(int(words[1]), command)


main()
