/** What the package promises to a compiler; compiling this file is the test. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { expectTypeOf } from "expect-type";
import { Kitpick, KitpickMcp } from "../src/index.js";
import type { LinesAnswer, McpRequest, OpenAIReference, Reference, Request, SearchAnswer } from "../src/index.js";

test("both doors take the same requests, but for conversations", () => {
  expectTypeOf<string>().toExtend<McpRequest>();
  expectTypeOf<readonly string[]>().toExtend<McpRequest>();
  expectTypeOf<{ capabilities: string[] }>().toExtend<McpRequest>();
  expectTypeOf<McpRequest>().toExtend<Request>();
  expectTypeOf<{ messages: { role: string; content: string }[] }>().toExtend<Request>();
  expectTypeOf<{ messages: { role: string; content: string }[] }>().not.toExtend<McpRequest>();
  expectTypeOf<{ query: string }>().not.toExtend<Request>();
  expectTypeOf<Kitpick["search"]>().parameter(0).toEqualTypeOf<Request>();
  expectTypeOf<KitpickMcp["search"]>().parameter(0).toEqualTypeOf<McpRequest>();
  assert.ok(true, "compiled");
});

test("answers are what they are documented as", () => {
  expectTypeOf<Kitpick["search"]>().returns.resolves.toEqualTypeOf<SearchAnswer>();
  expectTypeOf<KitpickMcp["search"]>().returns.resolves.toEqualTypeOf<LinesAnswer>();
  expectTypeOf<Kitpick["references"]>().returns.resolves.toEqualTypeOf<readonly Reference[]>();
  expectTypeOf<OpenAIReference>().toExtend<Reference>();
  expectTypeOf<SearchAnswer["hits"][number]["probability"]>().toEqualTypeOf<number | null>();
  expectTypeOf<KitpickMcp["feedback"]>().returns.resolves.toBeNumber();
  assert.ok(true, "compiled");
});
