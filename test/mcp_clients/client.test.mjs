// The MCP server as the official TypeScript SDKs and the Inspector's command line see it.
//
// Runs in the folder that script/mcp_clients makes: shop/ is the project; reader.json, hasty.json and owner.json are
// what `mix jido.mcp.config` prints for a server without grants, for one that waits a second for an answer, and for one that may do
// everything.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { openSync, readFileSync, readdirSync, readlinkSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, test } from "node:test";
import { promisify } from "node:util";

import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as Stdio1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { Client as Client2 } from "@modelcontextprotocol/client";
import { StdioClientTransport as Stdio2 } from "@modelcontextprotocol/client/stdio";

const shop = resolve("shop");
const calls = JSON.parse(readFileSync(new URL("calls.json", import.meta.url)));
const named = (tools) => tools.map(({ name }) => name).sort();
// Of the library's tools.
const names = JSON.parse(readFileSync("names.json")).sort();
// The shop's own, which is there once the project runs.
const own = "low_stock";
const library = (tools) => tools.filter(({ name }) => name !== own);
const stderr = openSync("stderr", "a");
const era = (mode) => ({ versionNegotiation: { mode } });

const clients = {
  "the first SDK": { Client: Client1, Stdio: Stdio1, elicit: ElicitRequestSchema, options: {}, version: undefined, pings: true, schema: [undefined] },
  "the second SDK, initialized": { Client: Client2, Stdio: Stdio2, elicit: "elicitation/create", options: {}, version: "2025-11-25", pings: true, schema: [] },
  "the second SDK, discovered": { Client: Client2, Stdio: Stdio2, elicit: "elicitation/create", options: era("auto"), version: "2026-07-28", pings: false, schema: [] },
};

for (const [title, { Client, Stdio, elicit, options, version, pings, schema }] of Object.entries(clients)) {
  // Connects, runs the steps, and sees that the connection leaves nothing behind.
  const connected = async (name, steps, ask, more = {}) => {
    const { command, args } = JSON.parse(readFileSync(`${name}.json`)).mcpServers[name];
    const asking = { ...options, ...more, ...(ask ? { capabilities: { elicitation: {} } } : {}) };
    const client = new Client({ name: "test", version: "1" }, asking);
    if (ask) client.setRequestHandler(elicit, ask);
    const stray = [];
    client.onerror = (error) => stray.push(error);
    await client.connect(new Stdio({ command, args, stderr }));
    const call = (name, args, options) => client.callTool({ name, arguments: args }, ...schema, options);
    try {
      while (text(await call("fetch_elixir_docs", { module: "Shop.Inventory" })).includes("still starting"));
      await steps({ client, call });
    } finally {
      await client.close();
    }
    assert.deepEqual(stray, []);
    await eventually(() => inside(shop).length === 0, 5);
  };

  describe(title, { timeout: 600_000 }, () => {
    test("is told what the server offers, and may only read unless it was granted more", () =>
      connected("reader", async ({ client, call }) => {
        assert.equal(client.getServerVersion().name, "jido_code_tools");
        assert.deepEqual(Object.keys(client.getServerCapabilities()), ["tools"]);
        assert.match(client.getInstructions(), /Elixir/);
        if (version) assert.equal(client.getNegotiatedProtocolVersion(), version);
        const { tools } = await client.listTools();
        assert.deepEqual(named(library(tools)), names);
        for (const { inputSchema, annotations } of tools) {
          assert.equal(inputSchema.type, "object");
          const hints = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"];
          for (const hint of hints) assert.equal(typeof annotations[hint], "boolean");
        }

        const denied = await call("bash_execute", { command: "ls" });
        assert.equal(denied.isError, true);
        assert.match(text(denied), /--tier execute/);
        assert.ok(!(await call("grep_search", { pattern: "tea" })).isError);
      }));

    test("hears of the tools of the project's own, and calls them", async () => {
      const lists = [];
      const tools = { onChanged: (error, tools) => lists.push(named(tools ?? [String(error)])) };
      await connected("owner", async ({ call }) => {
        await eventually(() => lists.length > 0);
        assert.ok(lists.at(-1).includes(own), lists.at(-1));
        const scarce = await call(own, { at_most: 12 });
        assert.deepEqual(scarce.structuredContent.items, [{ item: "cups", left: 12 }]);
        assert.match(text(await call(own, { at_most: -1 })), /at_most/);
      }, undefined, { listChanged: { tools } });
    });

    test("calls every tool, and is told what was wrong", () =>
      connected("owner", async ({ call }) => {
        let shell;
        for (const { name, arguments: given, has, fails, says = "" } of calls) {
          const args = "shell_id" in given ? { ...given, shell_id: shell } : given;
          const result = await call(name, args, { timeout: 300_000 });
          if (fails) {
            // Consent to it is asked for each session, whatever its tier, where it can be had at all.
            assert.ok(result.isError && fails.some((words) => text(result).includes(words)), text(result));
            continue;
          }
          assert.ok(!result.isError, text(result));
          assert.throws(() => JSON.parse(text(result)));
          assert.deepEqual(result.structuredContent, { ...result.structuredContent, ...has });
          assert.ok(text(result).includes(says), text(result));
          shell = result.structuredContent.shell_id ?? shell;
        }
        const wrong = await call("grep_search", { patern: "x" });
        assert.equal(wrong.isError, true);
        assert.match(text(wrong), /Missing required parameter: pattern/);
        await assert.rejects(call("reload_module", {}), { code: -32602 });
      }));

    test("asks the person at the client", async () => {
      const asked = [];
      const answers = [];
      const ask = async ({ params }) => {
        asked.push(params.message);
        return answers.shift();
      };
      const accept = (answer) => ({ action: "accept", content: { answer } });
      await connected("reader", async ({ call }) => {
        const run = async (command, answer) => {
          answers.push(answer);
          const result = await call("bash_execute", { command });
          return [result.isError ?? false, text(result)];
        };
        assert.deepEqual(await run("ls lib | sort", accept("once")), [false, "shop\n"]);
        assert.match(asked[0], /ls lib \| sort/);
        assert.match((await run("ls lib", { action: "cancel" }))[1], /did not answer/);
        assert.match((await run("ls lib", { action: "decline" }))[1], /said no\.$/);
        assert.equal(asked.length, 3);
        assert.match((await run("ls lib", accept("once")))[1], /already said no to this call/);
        assert.equal(asked.length, 3);
        answers.length = 0;
        assert.deepEqual(await run("ls -d lib", accept("for this session")), [false, "lib\n"]);
        assert.deepEqual(await run("ls lib", { action: "cancel" }), [false, "shop\n"]);
        assert.equal(asked.length, 4);
      }, ask);
    });

    test("takes an answer that comes too late for a no", async () => {
      // The server waits for one second.
      let answer;
      const ask = () => (answer = sleep(1_500, { action: "accept", content: { answer: "once" } }));
      await connected("hasty", async ({ call }) => {
        assert.match(text(await call("bash_execute", { command: "ls lib" })), /asked, and did not answer\.$/);
        await answer;
        assert.ok(!(await call("grep_search", { pattern: "tea" })).isError);
      }, ask);
    });

    test("may leave while it is asked", async () => {
      let tell;
      const asked = new Promise((resolve) => (tell = resolve));
      const ask = () => {
        tell();
        return new Promise(() => {});
      };
      await connected("reader", async ({ call }) => {
        // Whether a client's own promise ends with its connection is the SDK's affair.
        call("bash_execute", { command: "ls lib" }).catch(() => {});
        await asked;
      }, ask);
    });

    test("goes on beside a long call, and ends it by cancelling", () =>
      connected("owner", async ({ client, call }) => {
        const controller = new AbortController();
        const progress = [];
        const long = call("run_exunit", { path: "test/slow_test.exs", timeout: 600_000 }, {
          signal: controller.signal,
          timeout: 600_000,
          onprogress: (step) => progress.push(step.progress),
        });
        await eventually(() => sleeping().length > 0, 120);
        if (pings) await client.ping({ timeout: 5_000 });
        const searches = ["tea", "cups", "spoons"].map((pattern) => call("grep_search", { pattern }));
        for (const result of await Promise.all(searches)) assert.ok(!result.isError, text(result));
        await eventually(() => progress.length >= 2);
        assert.deepEqual(progress, [...new Set(progress)].sort((a, b) => a - b));

        controller.abort();
        await assert.rejects(long);
        await eventually(() => sleeping().length === 0, 10);
        assert.ok(!(await call("grep_search", { pattern: "tea" })).isError);
      }));
  });
}

describe("the Inspector", { timeout: 600_000 }, () => {
  for (const era of ["legacy", "auto", "modern"]) {
    test(`finds the schemas fit for every client (${era})`, async () => {
      const { code, stdout, stderr } = await inspect("reader", era, "--method", "tools/list", "--strict", "--format", "json");
      assert.equal(code, 0, stderr);
      assert.deepEqual(named(library(JSON.parse(stdout).result.tools)), names);
      assert.doesNotMatch(stderr, /portability|schema/i);
    });

    test(`calls tools (${era})`, async () => {
      const tool = (server, name, args) =>
        inspect(server, era, "--method", "tools/call", "--tool-name", name, "--tool-args-json", JSON.stringify(args), "--format", "json");
      const stock = await tool("owner", "ets_inspect", { operation: "lookup", table: "shop_stock", key: '"tea"' });
      assert.equal(stock.code, 0, stock.stderr);
      assert.match(stock.stdout, /shop_stock/);
      const denied = await tool("reader", "ets_inspect", { operation: "list" });
      assert.notEqual(denied.code, 0);
      assert.match(denied.stdout, /--consent ets_inspect/);
      const unknown = await tool("reader", "reload_module", {});
      assert.notEqual(unknown.code, 0);
      assert.match(unknown.stderr, /tool_not_found/);
    });
  }
});

async function inspect(server, era, ...options) {
  const program = join(import.meta.dirname, "node_modules/.bin/mcp-inspector");
  const args = ["--cli", "--config", `${server}.json`, "--server", server, "--protocol-era", era, ...options];
  try {
    return { code: 0, ...(await promisify(execFile)(program, args)) };
  } catch ({ code, stdout, stderr }) {
    return { code, stdout, stderr };
  }
}

function text(result) {
  return result.content[0].text;
}

// Ids of the processes for which the check of their folder under /proc holds.
function processes(check) {
  return readdirSync("/proc").filter((name) => {
    try {
      return /^\d+$/.test(name) && check(`/proc/${name}`);
    } catch {
      return false;
    }
  });
}

function inside(folder) {
  return processes((process) => `${readlinkSync(`${process}/cwd`)}/`.startsWith(`${folder}/`));
}

function sleeping() {
  return processes((process) => readFileSync(`${process}/cmdline`, "utf8") === "sleep\0" + "6001\0");
}

// Waits for the state of the system, which sends no message.
async function eventually(what, seconds = 60) {
  for (const deadline = Date.now() + seconds * 1000; !what(); await sleep(20))
    assert.ok(Date.now() < deadline, "it did not come true in time");
}
