// The answer: what was found, why it stands where it does, and whether it is right.

import { ask } from "./api.js";
import { effect, h, rounded } from "./dom.js";
import { Pager } from "./pager.js";

export function hits(answer, context) {
  const list = h("ol", { class: "hits" });
  const pager = new Pager(list, (hit) => drawn(hit, answer, context), "hits");
  pager.show(answer.hits);
  return [readAs(answer), pager.bar, list, ...(context.operator && !context.marking ? [unmarked()] : [])];
}

function readAs(answer) {
  return answer.reads_as ? h("p", { class: "dim" }, `The request reads as ${answer.reads_as}.`) : null;
}

function unmarked() {
  return h("p", { class: "dim" }, "Marks are not taken: start the server with --marks FILE.");
}

function drawn(hit, answer, context) {
  const api = answer.candidates[hit.candidate];
  const summary = [sureness(hit.probability), effect(hit.effect)].filter((fact) => fact !== null).join(" · ");
  const numbers = hit.probability === null ? "" : `, probability ${rounded(hit.probability)}`;
  const name = h("b", {}, `${hit.rank}. ${api.api}`);
  const old = hit.deprecated ? h("span", { class: "dim" }, "deprecated") : null;
  const marks = context.marking ? buttons(api, answer, context) : null;
  return h("li", {},
    h("div", { class: "head" }, name, h("span", { class: "dim" }, api.tool), old,
      h("span", { class: "verdict" }, h("span", { class: "dim" }, summary), marks)),
    h("p", {}, hit.description),
    h("p", { class: "dim" }, hit.why),
    h("details", {}, h("summary", {}, "why it stands here"),
      h("ul", { class: "plain" }, [...hit.reasons, `score ${rounded(hit.score, 3)}${numbers}`].map((reason) => h("li", {}, reason)))));
}

// A probability as people read one.
function sureness(probability) {
  if (probability === null) return null;
  const tenths = Math.round(10 * probability);
  const behind = `(${Math.round(100 * probability)}%)`;
  if (tenths === 0) return `hardly ever right ${behind}`;
  return tenths === 10 ? `right nearly always ${behind}` : `right in about ${tenths} of 10 ${behind}`;
}

function buttons(api, answer, context) {
  const pair = ["right", "wrong"].map((verdict) => h("button", {
    type: "button",
    class: verdict,
    "aria-label": `${api.api} of ${api.tool} is ${verdict}`,
    "aria-pressed": String(answer.marks[api.id] === verdict),
    onclick: () => mark(verdict),
  }, verdict === "right" ? "Right" : "Wrong"));

  async function mark(pressed) {
    const verdict = answer.marks[api.id] === pressed ? "none" : pressed;
    try {
      const marked = await ask("mark", { query: answer.query, id: api.id, verdict });
      answer.marks[api.id] = verdict;
      for (const button of pair) button.setAttribute("aria-pressed", String(button.className === verdict));
      const said = verdict === "none" ? "is not marked any more" : `is marked as ${verdict}`;
      context.say(`${api.api} ${said}; requests with marks: ${marked.requests}.`);
    } catch (problem) {
      context.complain(problem);
    }
  }

  return h("span", { class: "pair" }, pair);
}
