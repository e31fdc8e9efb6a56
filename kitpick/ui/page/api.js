// The server, asked. Its refusals come as words; what keeps it from answering at all gets words here.

let key = "";

export class Problem extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

export function useKey(given) {
  key = given;
}

export async function ask(name, body, signal) {
  const headers = key ? { authorization: `Bearer ${key}` } : {};
  const options = { headers, signal, cache: "no-store" };
  if (body !== undefined) {
    options.method = "POST";
    options.body = JSON.stringify(body);
    headers["content-type"] = "application/json";
  }
  let response;
  try {
    response = await fetch(`api/${name}`, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem("unreachable", "the server does not answer: is `kitpick serve --ui` still running?");
  }
  if (!response.ok) return refuse(response);
  try {
    return await response.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem("internal", "the server's answer cannot be read: it was cut off, or something stands between");
  }
}

async function refuse(response) {
  // Whoever stands between has its own pages and forms of errors.
  const { code, message } = (await response.json().catch(() => null))?.error ?? {};
  if (typeof message !== "string") {
    throw new Problem("internal", `the server answered ${response.status}, and not in words: see its log`);
  }
  const wait = response.headers.get("retry-after");
  const again = response.status === 429 && wait ? `; try again in ${wait} s` : "";
  throw new Problem(code, message + again);
}
