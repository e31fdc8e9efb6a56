import type { LinesAnswer, Narrowing, Outcome } from "./types.js";

/** What is needed of an MCP client: that of `@modelcontextprotocol/sdk` has it once it is connected. */
export interface McpCaller {
  callTool(call: { name: string; arguments?: Record<string, unknown> }): Promise<unknown>;
}

export interface LineOptions extends Narrowing {
  /** Tokens that the list may take. Default: 2,000. */
  readonly budget?: number;
  /** `next_offset` of an answer. */
  readonly offset?: number;
}

/** An error that the MCP server told. */
export class ToolProblem extends Error {
  override readonly name = "ToolProblem";
}

/** kitpick's MCP server (`kitpick mcp`), through any connected client. */
export class KitpickMcp {
  readonly #client: McpCaller;

  constructor(client: McpCaller) {
    this.#client = client;
  }

  /** One line for each tool: for a text, or for short capabilities, one a step. Throws `ToolProblem`. */
  async search(request: string | readonly string[], options: LineOptions = {}): Promise<LinesAnswer> {
    const asked = typeof request === "string" ? { query: request } : { capabilities: request };
    return (await this.#call("search_tools", { ...asked, ...options })) as unknown as LinesAnswer;
  }

  /** Definitions by id, as MCP writes them. Throws `ToolProblem`. */
  async definitions(ids: readonly string[]): Promise<readonly Record<string, unknown>[]> {
    const { tools } = (await this.#call("get_definition", { ids })) as {
      tools: { definition: Record<string, unknown> }[];
    };
    return tools.map((tool) => tool.definition);
  }

  /** Calls a tool that was found; the result is that of the server behind it, errors included. */
  async call(id: string, args: Record<string, unknown> = {}): Promise<unknown> {
    return this.#client.callTool({ name: "call_tool", arguments: { id, arguments: args } });
  }

  /** Says what became of tools; resolves to the number of ids that were remembered. Throws `ToolProblem`. */
  async feedback(answer: string, { chosen, failed, notNeeded }: Outcome): Promise<number> {
    const said = { answer, chosen: chosen ?? [], failed: failed ?? [], not_needed: notNeeded ?? [] };
    const { remembered } = (await this.#call("feedback", said)) as { remembered: number };
    return remembered;
  }

  async #call(name: string, args: Record<string, unknown>): Promise<Record<string, unknown>> {
    const result = (await this.#client.callTool({ name, arguments: args })) as {
      isError?: boolean;
      structuredContent?: Record<string, unknown>;
      content?: { text?: string }[];
    };
    const text = result.content?.[0]?.text ?? "";
    if (result.isError) throw new ToolProblem(text);
    return result.structuredContent ?? (JSON.parse(text) as Record<string, unknown>);
  }
}
