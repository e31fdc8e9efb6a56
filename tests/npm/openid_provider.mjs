// A real OpenID provider (oidc-provider) on a free port, for test_openid_provider.py.
//
// It prints its issuer. A line on standard input is an order, answered by one line: `rotate` (sign with new keys
// and show the old ones beside them), `retire` (show the old ones no more), `clock SECONDS` (the clock it believes in).
import { randomUUID, webcrypto } from "node:crypto";
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import { Provider } from "oidc-provider";

// Answers alone go to standard output; what the provider tells its operator does not.
const answered = console.log;
console.info = console.error;

const HERE = "https://tools.example.com/mcp";
const GROUPS = { ann: ["staff"], bob: ["guests"], RS256: ["staff"], ES256: ["staff"], EdDSA: ["staff"] };
const ALGORITHMS = {
  RS256: { name: "RSASSA-PKCS1-v1_5", modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]), hash: "SHA-256" },
  ES256: { name: "ECDSA", namedCurve: "P-256" },
  EdDSA: { name: "Ed25519" },
};

const trueTime = Date.now.bind(Date);
let ahead = 0;
Date.now = () => trueTime() + ahead * 1000;

async function newKeys() {
  const made = Object.values(ALGORITHMS).map((algorithm) => webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"]));
  const exported = (await Promise.all(made)).map(({ privateKey }) => webcrypto.subtle.exportKey("jwk", privateKey));
  return (await Promise.all(exported)).map(({ kty, key_ops, ext, alg, ...key }) => ({ kty, ...key, kid: randomUUID(), use: "sig" }));
}

function client(id, more) {
  return { client_id: id, client_secret: "secret", ...more };
}

/** The provider as it is after a start with these keys; the first of a kind signs. */
function started(issuer, keys) {
  const robot = { grant_types: ["client_credentials"], redirect_uris: [], response_types: [] };
  const provider = new Provider(issuer, {
    clients: [
      ...Object.keys(ALGORITHMS).map((name) => client(name, robot)),
      client("desktop", { redirect_uris: ["http://127.0.0.1:9/back"], grant_types: ["authorization_code"] }),
    ],
    jwks: { keys },
    cookies: { keys: ["not a secret"] },
    scopes: ["openid", "tools:call"],
    claims: { openid: ["sub"] },
    features: {
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_, resource, asking) => ({
          scope: "tools:call",
          audience: resource,
          accessTokenTTL: 3600,
          accessTokenFormat: "jwt",
          jwt: { sign: { alg: ALGORITHMS[asking.clientId] ? asking.clientId : "ES256" } },
        }),
        defaultResource: () => HERE,
        useGrantedResource: () => true,
      },
    },
    extraTokenClaims: (_, token) => ({ org: { tenant: "acme" }, groups: GROUPS[token.accountId ?? token.clientId] }),
    findAccount: (_, sub) => ({ accountId: sub, claims: () => ({ sub }) }),
  });
  return provider.callback();
}

let keys = await newKeys();
let answer;
const server = createServer((request, response) => answer(request, response));
server.listen(0, "127.0.0.1", () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  answer = started(issuer, keys);
  answered(issuer);
  createInterface({ input: process.stdin }).on("line", async (line) => {
    const [order, seconds] = line.split(" ");
    if (order === "rotate") keys = [...(await newKeys()), ...keys];
    if (order === "retire") keys = keys.slice(0, Object.keys(ALGORITHMS).length);
    if (order === "clock") ahead = Number(seconds);
    answer = started(issuer, keys);
    answered(order);
  }).on("close", () => process.exit());
});
