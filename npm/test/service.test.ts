/** The client against the real service: `KITPICK_URL` says where it answers. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { generateText, jsonSchema, stepCountIs } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import { agentTools, Kitpick, KitpickError, KitpickMcp, ToolProblem } from "../src/index.js";

const url = process.env["KITPICK_URL"] ?? "";
const mcpUrl = process.env["KITPICK_MCP_URL"] ?? "";
const WEATHER = "functions/functions/get_weather";
const kitpick = new Kitpick({ url });

test("tools are found for a text, a conversation and capabilities", async () => {
  const one = await kitpick.search("will it rain in Paris?", { k: 3 });
  assert.equal(one.hits[0]?.id, WEATHER);
  assert.deepEqual(one.hits[0]?.needs, ["city"]);
  const talk = await kitpick.search({ messages: [{ role: "user", content: "Will it rain in Paris?" }] });
  assert.equal(talk.hits[0]?.id, WEATHER);
  const steps = await kitpick.search({ capabilities: ["forecast the weather", "feed the cat"] }, { k: 1 });
  assert.deepEqual(steps.hits[0]?.steps, [1]);
  assert.deepEqual(steps.unmatched, ["feed the cat"]);
  const listed = await kitpick.search(["forecast the weather", "feed the cat"], { k: 1 });
  assert.deepEqual(listed.hits, steps.hits, "a list of capabilities needs no name");
});

test("a provider's tool search is answered with references", async () => {
  const [anthropic] = await kitpick.references("will it rain in Paris?", "anthropic", { k: 1 });
  assert.deepEqual(Object.keys(anthropic ?? {}).sort(), ["tool_name", "type"]);
  const [openai] = await kitpick.references("will it rain in Paris?", "openai", { k: 1 });
  assert.equal(openai?.type, "function");
  assert.equal((openai as { defer_loading?: boolean }).defer_loading, true);
  const [namespace] = await kitpick.references("will it rain in Paris?", "openai-namespaces", { k: 1 });
  assert.deepEqual(namespace?.type === "namespace" && namespace.tools, [openai]);
});

test("what became of tools is remembered", async () => {
  const found = await kitpick.search("will it rain in Paris?");
  assert.match(found.answer, /^answer-[0-9a-f]{24}$/);
  const outcome = { chosen: [WEATHER], notNeeded: [found.hits[1]?.id ?? ""] };
  assert.equal(await kitpick.feedback(found.answer, outcome, "ann"), 2);
});

test("what is wrong is said as the service says it", async () => {
  const unknown = kitpick.feedback(`answer-${"0".repeat(24)}`, { chosen: [WEATHER] });
  await assert.rejects(unknown, (error: KitpickError) => error.status === 404 && /no answer/.test(error.message));
  await assert.rejects(kitpick.search("weather", { k: 0 }), { name: "KitpickError", status: 422 });
  const nobody = new Kitpick({ url: "http://127.0.0.1:9", timeout: 2_000 });
  await assert.rejects(nobody.search("weather"), { name: "KitpickError", status: 0, code: "unreachable" });
  await assert.rejects(kitpick.search("weather", { signal: AbortSignal.abort() }), { name: "AbortError" });
  const hanging = (_: unknown, options?: { signal?: AbortSignal | null }): Promise<never> =>
    new Promise((_, reject) => {
      const waiting = setTimeout(() => reject(new Error("never ended")), 20_000);
      options?.signal?.addEventListener("abort", () => {
        clearTimeout(waiting);
        reject(options.signal?.reason);
      });
    });
  const slow = new Kitpick({ url, timeout: 50, fetch: hanging as unknown as typeof fetch });
  await assert.rejects(slow.search("weather", { signal: new AbortController().signal }), { code: "unreachable" });
  const user = new AbortController();
  const left = slow.search("weather", { signal: user.signal });
  user.abort();
  await assert.rejects(left, { name: "AbortError" });
});

test("an agent of the Vercel AI SDK calls what was found, and that is feedback", async () => {
  const calls: string[] = [];
  const tools = await agentTools(kitpick, "will it rain in Paris?", {
    jsonSchema,
    k: 1,
    client: "bob",
    run: (tool, args) => {
      calls.push(`${tool.id} ${JSON.stringify(args)}`);
      return { weather: "rain" };
    },
  });
  const [name] = Object.keys(tools);
  const usage = {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  };
  let turn = 0;
  const model = new MockLanguageModelV3({
    doGenerate: async () =>
      turn++ === 0
        ? {
            content: [{ type: "tool-call", toolCallId: "1", toolName: name ?? "", input: '{"city":"Paris"}' }],
            finishReason: { unified: "tool-calls", raw: undefined },
            usage,
            warnings: [],
          }
        : {
            content: [{ type: "text", text: "It will rain." }],
            finishReason: { unified: "stop", raw: undefined },
            usage,
            warnings: [],
          },
  });
  const { text } = await generateText({ model, tools, prompt: "will it rain in Paris?", stopWhen: stepCountIs(3) });
  assert.equal(text, "It will rain.");
  assert.deepEqual(calls, [`${WEATHER} {"city":"Paris"}`]);
});

test("a tool that was never offered is not called, and the model hears of it", async () => {
  const calls: string[] = [];
  const run = (tool: { id: string }): void => void calls.push(tool.id);
  const tools = await agentTools(kitpick, "will it rain in Paris?", { jsonSchema, k: 1, run });
  const usage = {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  };
  let heard = "";
  const model = new MockLanguageModelV3({
    doGenerate: async ({ prompt }) => {
      const told = prompt.find((message) => message.role === "tool");
      heard = JSON.stringify(told?.content ?? "");
      const call = { type: "tool-call", toolCallId: "1", toolName: "delete_everything", input: "{}" } as const;
      return {
        content: [told ? { type: "text", text: "Then not." } : call],
        finishReason: { unified: told ? "stop" : "tool-calls", raw: undefined },
        usage,
        warnings: [],
      };
    },
  });
  const { text } = await generateText({ model, tools, prompt: "delete everything", stopWhen: stepCountIs(3) });
  assert.equal(text, "Then not.");
  assert.match(heard, /unavailable tool 'delete_everything'/);
  assert.deepEqual(calls, []);
});

test("the MCP server is searched, defines and takes feedback", { skip: mcpUrl === "" }, async () => {
  const client = new Client({ name: "test", version: "1" });
  await client.connect(new StreamableHTTPClientTransport(new URL(mcpUrl)) as never);
  try {
    const door = new KitpickMcp(client);
    const found = await door.search(["forecast the weather"], { k: 2 });
    const named = await door.search({ capabilities: ["forecast the weather"] }, { k: 2 });
    assert.deepEqual(named.tools, found.tools, "both doors take both forms");
    assert.equal(found.tools[0]?.id, WEATHER);
    const [definition] = await door.definitions([WEATHER]);
    assert.match(String(definition?.["name"]), /get_weather/);
    for (const provider of ["anthropic", "openai"] as const) {
      const wanted = await kitpick.references("forecast the weather", provider, { k: 2 });
      assert.deepEqual(await door.references("forecast the weather", provider, { k: 2 }), wanted);
    }
    assert.equal(await door.feedback(found.answer ?? "", { chosen: [WEATHER] }), 1);
    await assert.rejects(door.definitions(["no/such/tool"]), ToolProblem);
    await assert.rejects(door.definitions([WEATHER, "no/such/tool"]), /no\/such\/tool/, "none is left out in silence");
  } finally {
    await client.close();
  }
});
