import { asked } from "./types.js";
import type { LinesAnswer, McpRequest, Narrowing, Outcome, Provider, Reference } from "./types.js";

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

/** Ids that `get_definition` takes at once. */
const MOST_IDS = 20;
/** Characters that OpenAI takes of a description. */
const MOST_DESCRIPTION = 1_024;

/** What `get_definition` answers; `problem` says which ids it does not know. */
interface Defined {
  readonly tools: readonly { readonly definition: Record<string, unknown> }[];
  readonly problem?: string;
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
  async search(request: McpRequest, options: LineOptions = {}): Promise<LinesAnswer> {
    return (await this.#call("search_tools", { ...asked(request), ...options })) as unknown as LinesAnswer;
  }

  /** Definitions in the order of their ids, as MCP writes them. Throws `ToolProblem`, also where one is unknown. */
  async definitions(ids: readonly string[]): Promise<readonly Record<string, unknown>[]> {
    const { tools, problem } = await this.#defined(ids);
    if (problem !== undefined) throw new ToolProblem(problem);
    return tools.map((tool) => tool.definition);
  }

  /**
   * What a provider's own tool search is answered with, as `Kitpick.references` gives it: of 20 tools at most, and
   * without namespaces. Throws `ToolProblem`.
   */
  async references(
    request: McpRequest,
    provider: Exclude<Provider, "openai-namespaces">,
    options: LineOptions = {},
  ): Promise<readonly Reference[]> {
    const { tools } = await this.search(request, options);
    const ids = tools.slice(0, MOST_IDS).map((tool) => tool.id);
    const found = ids.length > 0 ? (await this.#defined(ids)).tools : [];
    return found.map(({ definition }) => referring(definition, provider));
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

  async #defined(ids: readonly string[]): Promise<Defined> {
    return (await this.#call("get_definition", { ids })) as unknown as Defined;
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

/** A definition as MCP writes it, in the form of a provider's tool search. */
function referring(definition: Record<string, unknown>, provider: Provider): Reference {
  const name = String(definition["name"]);
  if (provider === "anthropic") return { type: "tool_reference", tool_name: name };
  const said = definition["description"];
  const description = typeof said === "string" ? { description: said.slice(0, MOST_DESCRIPTION) } : {};
  const parameters = definition["inputSchema"];
  return { type: "function", strict: false, name, ...description, parameters, defer_loading: true };
}
