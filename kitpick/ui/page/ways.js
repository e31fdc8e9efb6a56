// The way of every candidate through the stages: a picture of the first, a line on each stage, a table of all.

import { clipped, count, h, rounded, s, scrolling, some } from "./dom.js";
import { Pager } from "./pager.js";

const DRAWN = 12;
const DEEPEST = 20;
const WIDTH = 76;
const LABEL = 165;
const STEP = 20;

export function ways(answer) {
  const ranks = answer.stages.map((stage) => ranksOf(stage, answer.candidates.length));
  return [picture(answer, ranks), ...answer.stages.map((stage, place) => stageDetails(answer, stage, place))];
}

// Rank from 1 of every candidate behind a stage, 0 where the list does not hold it.
function ranksOf(stage, candidates) {
  const ranks = new Int32Array(candidates);
  stage.order.forEach((candidate, place) => (ranks[candidate] = place + 1));
  return ranks;
}

function picture(answer, ranks) {
  const last = answer.stages.length - 1;
  const final = answer.stages[last].order.slice(0, DRAWN);
  const chosen = [...new Set(answer.stages.map((stage) => stage.order.slice(0, DRAWN)).reverse().flat())].slice(0, 2 * DRAWN);
  const deepest = Math.min(DEEPEST, Math.max(1, ...chosen.flatMap((candidate) => ranks.map((list) => list[candidate]))));
  const height = 40 + STEP * (deepest + 1);
  const x = (place) => 40 + place * WIDTH;
  const y = (rank) => 20 + STEP * Math.min(rank, deepest + 1);
  const heads = answer.stages.map((stage, place) => [
    s("line", { class: "grid", x1: x(place), x2: x(place), y1: 26, y2: height - 4 }),
    s("text", { x: x(place), y: 16, "text-anchor": "middle" }, stage.stage),
  ]).flat();
  const lines = chosen.flatMap((candidate, nth) => {
    const present = ranks.map((list, place) => [place, list[candidate]]).filter(([, rank]) => rank > 0);
    const name = `${answer.candidates[candidate].api} of ${answer.candidates[candidate].tool}`;
    const points = present.map(([place, rank]) => `${x(place)},${y(rank)}`).join(" ");
    const drawn = [s("polyline", { class: `l${nth % 8}`, points }, s("title", {}, name))];
    const [place, rank] = present[present.length - 1];
    if (place < last) drawn.push(cross(x(place), y(rank), nth));
    return drawn;
  });
  const names = final.map((candidate, place) =>
    s("text", { x: x(last) + 8, y: y(place + 1) + 4 }, `${place + 1}. ${clipped(answer.candidates[candidate].api, 18)}`));
  const beyond = s("text", { class: "dimmed", x: 2, y: y(deepest + 1) + 4 }, `>${deepest}`);
  const width = x(last) + LABEL;
  const label = `Ranks of ${some(chosen.length, "candidate")} behind each of ${some(last + 1, "stage")}; the table below has all of them`;
  return h("figure", {}, scrolling("Ranks, drawn", answer, s("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label }, heads, beyond, lines, names)),
    h("figcaption", {}, "Rank behind each stage, the best on top. A cross: cut there."));
}

function cross(x, y, nth) {
  const [left, right, top, bottom] = [x + 5, x + 13, y - 4, y + 4];
  return s("path", { class: `cross l${nth % 8}`, d: `M${left} ${top}L${right} ${bottom}M${left} ${bottom}L${right} ${top}` });
}

function stageDetails(answer, stage, place) {
  const before = place === 0 ? 0 : answer.stages[place - 1].order.length;
  const flow = `${count(before)} in, ${count(stage.entered.length)} new, ${count(stage.cut.length)} cut, ${count(stage.order.length)} out`;
  const numbers = Object.entries(stage.details).map(([name, value]) => `${name} ${Number(value.toPrecision(3))}`).join(", ");
  const filled = h("div");
  const details = h("details", {},
    h("summary", {}, h("b", {}, stage.stage), ` ${flow} · ${rounded(stage.milliseconds, 1)} ms`, stage.skipped ? ` · did not run: ${stage.skipped}` : ""),
    filled);
  details.addEventListener("toggle", () => {
    if (!details.open || filled.childNodes.length) return;
    filled.append(...[stage.note, numbers].filter(Boolean).map((text) => h("p", {}, text)));
    filled.append(...listed(answer, stage, stage.entered, "new APIs"), ...listed(answer, stage, stage.cut, "APIs that were cut"));
  });
  return details;
}

function listed(answer, stage, members, noun) {
  if (!members.length) return [];
  const list = h("ul", { class: "plain" });
  const places = new Map(stage.order.map((candidate, place) => [candidate, place + 1]));
  const pager = new Pager(list, (candidate) => {
    const api = answer.candidates[candidate];
    const rank = places.has(candidate) ? `rank ${places.get(candidate)}: ` : "";
    return h("li", {}, `${rank}${api.api} of ${api.tool} `, h("span", { class: "dim" }, stage.reasons[candidate] || ""));
  }, noun);
  pager.show(members);
  return [pager.bar, list];
}

export function everyone(answer) {
  const ranks = answer.stages.map((stage) => ranksOf(stage, answer.candidates.length));
  const body = h("tbody");
  const heads = ["API", ...answer.stages.map((stage) => stage.stage)];
  const head = h("tr", {}, heads.map((name, place) => h("th", { scope: "col", class: place ? "number" : null }, name)));
  const pager = new Pager(body, (candidate) => row(answer, ranks, candidate), "candidates");
  const all = order(answer, ranks);
  const names = all.map((candidate) => answer.candidates[candidate].id.toLowerCase());
  const find = h("input", { type: "search", oninput: () => {
    const wanted = find.value.trim().toLowerCase();
    pager.show(all.filter((candidate, place) => names[place].includes(wanted)));
  } });
  pager.show(all);
  const hint = "Rank behind each stage. Arrow keys go from API to API, Enter tells what each stage said of it.";
  return [
    h("label", { class: "pager" }, "Only ids with ", find),
    pager.bar,
    scrolling("Ranks of all candidates", answer, h("table", {}, h("caption", {}, hint), h("thead", {}, head), body)),
  ];
}

// The last list first, then who was cut last.
function order(answer, ranks) {
  const seen = new Set();
  for (let place = ranks.length - 1; place >= 0; place -= 1) {
    for (const candidate of answer.stages[place].order) seen.add(candidate);
  }
  return [...seen];
}

function row(answer, ranks, candidate) {
  const api = answer.candidates[candidate];
  const cells = answer.stages.map((stage, place) => {
    if (ranks[place][candidate]) return h("td", { class: "number" }, count(ranks[place][candidate]));
    const here = place > 0 && ranks[place - 1][candidate] > 0;
    return h("td", { class: here ? "number cut" : "number" }, here ? "cut" : "–");
  });
  const button = h("button", { type: "button", class: "link", "data-row": true, "aria-expanded": "false", title: api.id }, api.api);
  const line = h("tr", {}, h("th", { scope: "row" }, button, " ", h("span", { class: "dim" }, api.tool)), cells);
  let opened = null;
  button.addEventListener("click", () => {
    if (opened) {
      opened.remove();
      opened = null;
    } else {
      opened = h("tr", {}, h("td", { colspan: answer.stages.length + 1 }, said(answer, candidate)));
      line.after(opened);
    }
    button.setAttribute("aria-expanded", String(opened !== null));
  });
  return line;
}

function said(answer, candidate) {
  const lines = answer.stages.filter((stage) => stage.reasons[candidate]).map((stage) =>
    h("li", {}, h("b", {}, stage.stage), `: ${stage.reasons[candidate]}`));
  return h("ul", { class: "plain" }, h("li", { class: "dim" }, answer.candidates[candidate].id), lines);
}
