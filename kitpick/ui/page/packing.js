// How the definitions fill the token budget.

import { count, h, s, scrolling, some, table } from "./dom.js";

const WIDTH = 680;

export function packing(answer) {
  const found = answer.packing;
  if (!found) return [h("p", {}, "No budget was asked for: type one under More choices to see how the definitions fill it.")];
  const slimmed = found.definitions.filter((item) => item.slimmed).length;
  const about = `${count(found.used)} of ${count(found.budget)} tokens by ${found.counter}: ${some(found.definitions.length, "definition")}, ${count(slimmed)} of them slimmed.`;
  const rows = found.definitions.slice(0, 50).map((item, place) => row(answer, item, place));
  const heads = [["definition"], ["tokens", "number"], ["as"]];
  return [
    h("p", {}, about),
    bar(answer, found),
    scrolling("Definitions", answer, table(found.definitions.length > 50 ? `First 50 of ${count(found.definitions.length)} definitions shown` : "In the order of the answer", heads, rows)),
  ];
}

function row(answer, item, place) {
  const api = answer.candidates[item.candidate];
  const whole = h("details", {}, h("summary", {}, `${place + 1}. ${api.api}`), h("pre", {}, item.definition));
  return h("tr", {}, h("td", {}, whole), h("td", { class: "number" }, count(item.tokens)), h("td", {}, item.slimmed ? "slimmed" : "whole"));
}

function bar(answer, found) {
  const room = Math.max(found.budget, found.used, 1);
  let left = 0;
  const parts = found.definitions.map((item, place) => {
    const width = (item.tokens / room) * WIDTH;
    const title = `${answer.candidates[item.candidate].api}: ${item.tokens} tokens`;
    const part = s("rect", { class: `s${place % 8}`, x: left, y: 2, width: Math.max(0, width - 1), height: 24 }, s("title", {}, title));
    left += width;
    return part;
  });
  const label = `${found.used} of ${found.budget} tokens are filled`;
  return s("svg", { viewBox: `0 0 ${WIDTH} 28`, width: WIDTH, height: 28, role: "img", "aria-label": label }, parts,
    s("rect", { class: "room", x: 0.5, y: 1.5, width: WIDTH - 1, height: 25 }));
}
