// Two answers to one request: which APIs stand elsewhere.

import { count, h, scrolling } from "./dom.js";
import { Pager } from "./pager.js";

export function comparison(one, other) {
  const rows = differences(one, other);
  const body = h("tbody");
  const pager = new Pager(body, (row) => h("tr", {}, h("th", { scope: "row" }, row.api.api, " ", h("span", { class: "dim" }, row.api.tool)),
    [row.one, row.other].map((rank) => h("td", { class: "number" }, rank ? count(rank) : "–")), h("td", {}, row.change)), "APIs");
  pager.show(rows);
  const moved = rows.filter((row) => row.one !== row.other).length;
  const heads = ["API", one.profile, other.profile, ""].map((name, place) => h("th", { scope: "col", class: place === 1 || place === 2 ? "number" : null }, name || "change"));
  const about = moved ? `${count(moved)} of ${count(rows.length)} APIs stand elsewhere or are in one answer only.` : "Both answers are the same.";
  return h("section", {}, h("h2", {}, `${one.profile} against ${other.profile}`), h("p", {}, about), pager.bar,
    scrolling("Ranks in both answers", one, h("table", {}, h("caption", {}, "Rank in each answer"), h("thead", {}, h("tr", {}, heads)), body)));
}

function differences(one, other) {
  const rows = new Map();
  for (const [side, answer] of [["one", one], ["other", other]]) {
    for (const hit of answer.hits) {
      const api = answer.candidates[hit.candidate];
      if (!rows.has(api.id)) rows.set(api.id, { api, one: 0, other: 0 });
      rows.get(api.id)[side] = hit.rank;
    }
  }
  return [...rows.values()].map((row) => ({ ...row, change: change(row) }));
}

function change({ one, other }) {
  if (!other) return "left out";
  if (!one) return "new";
  if (one === other) return "same";
  return one > other ? `up ${count(one - other)}` : `down ${count(other - one)}`;
}
