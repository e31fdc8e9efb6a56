import { asked } from "./types.js";
import type { Outcome, Provider, Reference, Request, SearchAnswer, SearchOptions } from "./types.js";

/** An answer of the service that is none: what was wrong, as the service says it. */
export class KitpickError extends Error {
  override readonly name = "KitpickError";
  constructor(
    message: string,
    /** HTTP status; 0 where nothing answered. */
    readonly status: number,
    readonly code: string,
    readonly requestId: string,
    /** Seconds after which trying again makes sense. */
    readonly retryAfter?: number,
  ) {
    super(message);
  }
}

export interface KitpickOptions {
  /** Where `kitpick serve --tools` answers, as `http://127.0.0.1:8080`. */
  readonly url: string;
  /** API key, where the service asks for one. */
  readonly key?: string;
  /** For one request, in milliseconds. Default: 30,000. */
  readonly timeout?: number;
  /** In place of the global one. */
  readonly fetch?: typeof fetch;
}

/** Client of the service: finds tools, and says what became of them. */
export class Kitpick {
  readonly #url: string;
  readonly #headers: Record<string, string>;
  readonly #timeout: number;
  readonly #fetch: typeof fetch;

  constructor({ url, key, timeout = 30_000, fetch: own = fetch }: KitpickOptions) {
    this.#url = url.replace(/\/+$/, "");
    this.#headers = { "content-type": "application/json", ...(key ? { authorization: `Bearer ${key}` } : {}) };
    this.#timeout = timeout;
    this.#fetch = own;
  }

  /** The tools for a request, best first. Throws `KitpickError`. */
  async search(request: Request, options: SearchOptions = {}): Promise<SearchAnswer> {
    const { signal, ...wanted } = options;
    return this.#post<SearchAnswer>("search", { ...asked(request), ...wanted }, signal);
  }

  /**
   * What a provider's own tool search is answered with: the content of Anthropic's `tool_result`, the
   * `tools` of OpenAI's `tool_search_output`. Throws `KitpickError`.
   */
  async references(request: Request, provider: Provider, options: SearchOptions = {}): Promise<readonly Reference[]> {
    const found = await this.search(request, { ...options, references: provider });
    return found.references ?? [];
  }

  /**
   * Says what became of tools; resolves to the number of ids that were remembered. Throws `KitpickError`.
   *
   * @param answer `answer` of a search, or what was wanted, in words.
   * @param client who says so: two different ones have to agree before choices count.
   */
  async feedback(answer: string, outcome: Outcome, client = ""): Promise<number> {
    const { remembered } = await this.#post<{ remembered: number }>("feedback", { answer, ...outcome, client });
    return remembered;
  }

  async #post<Reply>(path: string, body: unknown, signal?: AbortSignal): Promise<Reply> {
    const limit = AbortSignal.timeout(this.#timeout);
    const ended = signal ? either(signal, limit) : { signal: limit, forget: () => undefined };
    try {
      const response = await this.#fetch(`${this.#url}/v1/tools/${path}`, {
        method: "POST",
        headers: this.#headers,
        body: JSON.stringify(body),
        signal: ended.signal,
      });
      if (response.ok) return (await response.json()) as Reply;
      throw await failure(response);
    } catch (error) {
      if (error instanceof KitpickError || signal?.aborted) throw error;
      throw new KitpickError(`${this.#url} does not answer: ${String(error)}`, 0, "unreachable", "");
    } finally {
      ended.forget();
    }
  }
}

/** A signal that ends with the first of two. `AbortSignal.any` came with Node 20.3; this one works from 20.0 on. */
function either(first: AbortSignal, second: AbortSignal): { signal: AbortSignal; forget: () => void } {
  const joint = new AbortController();
  const watched = [first, second].map((signal) => [signal, (): void => joint.abort(signal.reason)] as const);
  for (const [signal, end] of watched) signal.aborted ? end() : signal.addEventListener("abort", end);
  return {
    signal: joint.signal,
    forget: () => watched.forEach(([signal, end]) => signal.removeEventListener("abort", end)),
  };
}

async function failure(response: Response): Promise<KitpickError> {
  const text = await response.text();
  const after = Number(response.headers.get("retry-after") ?? NaN);
  const retry = Number.isFinite(after) ? after : undefined;
  let said: { code?: string; message?: string; request_id?: string } = {};
  try {
    said = (JSON.parse(text) as { error?: typeof said }).error ?? {};
  } catch {
    // Whoever stands between has its own pages of errors.
  }
  return new KitpickError(
    said.message ?? `status ${response.status}: ${text.slice(0, 200)}`,
    response.status,
    said.code ?? "unknown",
    said.request_id ?? "",
    ...(retry === undefined ? [] : [retry]),
  );
}
