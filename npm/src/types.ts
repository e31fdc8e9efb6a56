/** What a tool does to the world. */
export type Effect = "unknown" | "read" | "write" | "destructive";
/** Who has a tool search of its own that takes the answers of another; OpenAI's takes functions alone or in namespaces. */
export type Provider = "anthropic" | "openai" | "openai-namespaces";
export type DefinitionFormat = "openai" | "responses" | "anthropic" | "gemini" | "mcp";

/** A message of OpenAI, Anthropic or MCP sampling, as their packages write it. */
export type Message = { readonly role: string; readonly content?: unknown } & { readonly [key: string]: unknown };

/** Short capabilities, one a step ("send an e-mail with attachment"): the list alone, or by its name. */
export type Capabilities = readonly string[] | { readonly capabilities: readonly string[] };
/** What is wanted: a text, short capabilities, or the messages of a conversation. */
export type Request = string | Capabilities | { readonly messages: readonly Message[] };
/** The same for the MCP server, which reads no conversations. */
export type McpRequest = string | Capabilities;

export interface Narrowing {
  /** How many tools at most for each capability; "auto": as many as it needs. Default: 5. */
  readonly k?: number | "auto";
  readonly categories?: readonly string[];
  /** Tools as CATEGORY/TOOL. */
  readonly tools?: readonly string[];
  readonly effects?: readonly Effect[];
  readonly deprecated?: "include" | "exclude" | "only";
}

export interface SearchOptions extends Narrowing {
  /** Tokens that all definitions may take together. */
  readonly budget?: number;
  readonly profile?: string;
  /** Also whole definitions, in this format. */
  readonly definitions?: DefinitionFormat;
  /** Also what the tool search of this provider is answered with. */
  readonly references?: Provider;
  readonly signal?: AbortSignal;
}

/** A tool that was found. */
export interface FoundTool {
  readonly id: string;
  readonly name: string;
  readonly tool: string;
  readonly category: string;
  readonly description: string;
  readonly effect: Effect;
  /** Required inputs. */
  readonly needs: readonly string[];
  readonly probability: number | null;
  readonly reasons: readonly string[];
  /** Numbers, from 1, of the capabilities that it serves. */
  readonly steps: readonly number[];
}

export interface SearchAnswer {
  /** Names this answer in `feedback`; empty where it could not be kept. */
  readonly answer: string;
  readonly hits: readonly FoundTool[];
  /** Why nothing is likely to do it; `hits` are the nearest then. */
  readonly nothingFits?: string;
  /** Capabilities that nothing fits, and sentences of the others that nothing resembles. */
  readonly unmatched?: readonly string[];
  /** What could not be done, and why. */
  readonly degraded?: readonly string[];
  readonly definitions?: readonly Record<string, unknown>[];
  readonly references?: readonly Reference[];
}

export interface AnthropicReference {
  readonly type: "tool_reference";
  readonly tool_name: string;
}
export interface OpenAIReference {
  readonly type: "function";
  readonly name: string;
  readonly defer_loading: true;
  readonly [key: string]: unknown;
}
/** The functions of one tool that were found. */
export interface OpenAINamespace {
  readonly type: "namespace";
  readonly name: string;
  readonly description: string;
  readonly tools: readonly OpenAIReference[];
}
export type Reference = AnthropicReference | OpenAIReference | OpenAINamespace;

/** Ids of tools by what became of them. */
export interface Outcome {
  /** They did the job. */
  readonly chosen?: readonly string[];
  /** They were called and did not do it. */
  readonly failed?: readonly string[];
  /** They had no part in it. */
  readonly notNeeded?: readonly string[];
}

/** A line of the MCP server's answer: enough to choose by. */
export interface ToolLine {
  readonly id: string;
  readonly name: string;
  readonly line: string;
  readonly effect: Effect;
  readonly needs: readonly string[];
  readonly callable: boolean;
  /** How often such a hit is right: "right in about 8 of 10 (81%)". */
  readonly sure?: string;
  /** Numbers, from 1, of the capabilities that it serves. */
  readonly for?: readonly number[];
}

export interface LinesAnswer {
  readonly answer?: string;
  readonly tools: readonly ToolLine[];
  readonly nothing_fits?: string;
  readonly unmatched?: readonly string[];
  readonly next_offset?: number;
  /** Why there are no lines although tools were found. */
  readonly problem?: string;
  readonly degraded?: readonly string[];
}

/** A request as the service and the MCP server read it. */
export function asked(request: Request): Record<string, unknown> {
  if (typeof request === "string") return { query: request };
  return "messages" in request ? { messages: request.messages } : { capabilities: capabilitiesOf(request) };
}

function capabilitiesOf(request: Capabilities): readonly string[] {
  return "capabilities" in request ? request.capabilities : request;
}
