import type { Kitpick } from "./service.js";
import type { FoundTool, SearchOptions } from "./types.js";

/** Calls an API with the arguments that a model gave. */
export type Run = (tool: FoundTool, args: Record<string, unknown>) => unknown;

/** What `tool` of the Vercel AI SDK makes, as far as it is needed here. */
export interface AgentTool<Schema> {
  readonly description: string;
  readonly inputSchema: Schema;
  readonly execute: (args: Record<string, unknown>) => Promise<unknown>;
}

export interface AgentToolsOptions<Schema> extends SearchOptions {
  /** `jsonSchema` of the package `ai`: handed in, so that this package needs no other. */
  readonly jsonSchema: (schema: never) => Schema;
  readonly run: Run;
  /** Who uses the tools, for feedback. */
  readonly client?: string;
}

/**
 * The tools for a request as the Vercel AI SDK takes them: `generateText({ tools: await agentTools(…) })`.
 * A call that succeeds counts as chosen, one that throws as failed.
 */
export async function agentTools<Schema>(
  kitpick: Kitpick,
  request: Parameters<Kitpick["search"]>[0],
  { jsonSchema, run, client = "", ...options }: AgentToolsOptions<Schema>,
): Promise<Record<string, AgentTool<Schema>>> {
  const found = await kitpick.search(request, { ...options, definitions: "openai" });
  const tools: Record<string, AgentTool<Schema>> = {};
  const tell = (outcome: { chosen?: string[]; failed?: string[] }): Promise<unknown> =>
    found.answer ? kitpick.feedback(found.answer, outcome, client).catch(() => 0) : Promise.resolve(0);
  found.hits.forEach((hit, place) => {
    const { function: made } = found.definitions?.[place] as {
      function: { name: string; description?: string; parameters: unknown };
    };
    tools[made.name] = {
      description: made.description ?? "",
      inputSchema: jsonSchema(made.parameters as never),
      execute: async (args) => {
        try {
          const result = await run(hit, args);
          await tell({ chosen: [hit.id] });
          return result;
        } catch (error) {
          await tell({ failed: [hit.id] });
          throw error;
        }
      },
    };
  });
  return tools;
}
