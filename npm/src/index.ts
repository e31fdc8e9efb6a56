/** kitpick for TypeScript: finds the right tools for an agent's request, in a catalog of thousands. */
export * from "./agent.js";
export * from "./mcp.js";
export * from "./service.js";
export type * from "./types.js";
