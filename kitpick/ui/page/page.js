// The page: takes a request, asks the server, shows its answer.

import { Problem, ask, useKey } from "./api.js";
import { firstScreen } from "./catalog.js";
import { comparison } from "./compare.js";
import { byId, count, h, rounded, some } from "./dom.js";
import { hits } from "./hits.js";
import { packing } from "./packing.js";
import { plan } from "./plan.js";
import { everyone, ways } from "./ways.js";

const context = { marking: false, operator: false, say, complain };
let underWay = null;
let machinery = false;

function say(text) {
  byId("status").textContent = text;
  byId("problem").replaceChildren();
}

function complain(problem) {
  say("");
  byId("problem").textContent = `It did not work: ${problem.message.replace(/(?<![.?!])$/, ".")}`;
  byId("problem").scrollIntoView({ block: "nearest" });
  if (problem.code === "unauthorized") {
    byId("key-form").hidden = false;
    byId("key").focus();
  }
}

async function begin() {
  try {
    const about = await ask("about");
    context.marking = about.marking;
    context.operator = about.operator;
    const line = ({ name }) => h("option", { value: name, selected: name === about.profile }, name);
    byId("profile").replaceChildren(...about.profiles.map(line));
    byId("other").replaceChildren(h("option", { value: "" }, "no other"), ...about.profiles.map(({ name }) => h("option", { value: name }, name)));
    byId("problem").replaceChildren();
    const had = byId("key-form").contains(document.activeElement);
    byId("key-form").hidden = true;
    if (had || document.activeElement === document.body) byId("request").focus();
    fromAddress();
    await showCatalog(about);
  } catch (problem) {
    complain(problem);
  }
}

async function showCatalog(about) {
  const overview = await ask("overview");
  byId("catalog-name").textContent = overview.name;
  byId("catalog-inside").replaceChildren(...firstScreen(overview, { tryIt, complain, about }).flat());
  byId("catalog").hidden = false;
}

function tryIt(request) {
  byId("request").value = request;
  byId("request").focus();
  explain();
}

// What follows # is the request: an answer can be linked to, and the server never sees that part in an address.
function fromAddress() {
  const given = new URLSearchParams(location.hash.slice(1));
  if (!given.get("request")) return;
  for (const name of ["request", "profile", "other", "k", "budget"]) {
    if (given.has(name)) byId(name).value = given.get(name);
  }
  explain();
}

function asked() {
  const number = (name) => (byId(name).value.trim() === "" ? null : Number(byId(name).value));
  const call = { query: byId("request").value, k: number("k") ?? 10, budget: number("budget") };
  return { ...call, profile: byId("profile").value || null };
}

async function explain() {
  underWay?.abort();
  underWay = new AbortController();
  const { signal } = underWay;
  const call = asked();
  if ([call.k, call.budget].some((number) => number !== null && !Number.isInteger(number))) {
    complain(new Problem("invalid", "hits and token budget are whole numbers"));
    return;
  }
  const other = byId("other").value;
  const given = { request: call.query, profile: call.profile ?? "", other, k: call.k, budget: call.budget ?? "" };
  history.replaceState(null, "", `#${new URLSearchParams(given)}`);
  say("Asking…");
  try {
    const answers = [await ask("explain", call, signal)];
    if (other) answers.push(await ask("explain", { ...call, profile: other }, signal));
    for (const answer of answers) answer.query = call.query.trim();
    show(answers);
  } catch (problem) {
    if (problem.name === "AbortError") return;
    byId("results").replaceChildren();
    complain(problem);
  }
}

function show(answers) {
  byId("catalog").open = false;
  const compared = answers.length === 2 ? [comparison(...answers)] : [];
  byId("results").replaceChildren(...compared, h("div", { class: "sides" }, answers.map((answer) => side(answer, compared.length > 0))));
  const [first] = answers;
  const found = `${some(first.hits.length, "hit")} of ${some(first.candidates.length, "candidate")}`;
  const time = answers.map(({ spent }) => `${rounded(spent.total, 0)} ms, ${rounded(spent.models, 0)} ms of it in the models`).join("; ");
  say(`${found}. Answered in ${time}.`);
}

// The name of the profile matters to whoever compares two; everybody else finds it behind the answer.
function side(answer, comparing) {
  const name = `side-${answer.profile}-${answer.request_id}`;
  const found = hits(answer, context);
  return h("section", { "aria-labelledby": name }, h("h2", { id: name }, comparing ? answer.profile : "Answer"), notices(answer),
    comparing ? part("Answer", found) : found, part("Plan", plan(answer)), howFound(answer));
}

// Everything behind the answer; it stays open, or closed, from one answer to the next.
function howFound(answer) {
  const kind = answer.kind ? `Probability that several tools are wanted: ${rounded(answer.kind.probability_multi)}. ` : "";
  const doubt = answer.abstained ? ` Nothing fits: ${answer.abstained}.` : "";
  const details = h("details", { class: "machinery", open: machinery }, h("summary", {}, "How it was found"),
    h("p", { class: "dim" }, `Profile ${answer.profile}. ${kind}${count(answer.candidates.length)} candidates came into sight.${doubt}`),
    h("div", { class: "columns" },
      h("div", {}, part("Way through the stages", ways(answer))),
      h("div", {}, part("Token budget", packing(answer)))),
    part("All candidates", everyone(answer)));
  details.addEventListener("toggle", () => { machinery = details.open; });
  return details;
}

function part(title, content) {
  return h("section", {}, h("h3", {}, title), content);
}

function notices(answer) {
  const found = answer.degraded.map(({ stage, reason }) => `Answered with less than usual (${stage}): ${reason}`);
  if (answer.abstained) found.unshift("Nothing here is likely to do that. The nearest:");
  return found.map((text) => h("p", { class: "notice" }, text));
}

byId("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  explain();
});
byId("request").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    explain();
  }
});
byId("key-form").addEventListener("submit", (event) => {
  event.preventDefault();
  useKey(byId("key").value.trim());
  begin();
});
begin();
