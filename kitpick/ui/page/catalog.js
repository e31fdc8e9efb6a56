// The catalog: how large it is, requests that work on it, and everything in it, opened level by level.

import { adaptation } from "./adapt.js";
import { ask } from "./api.js";
import { checkup } from "./check.js";
import { effect, h, some } from "./dom.js";

const REST = 1000;

export function firstScreen(overview, { tryIt, complain, about }) {
  const sizes = `${overview.more ? "More than " : ""}${some(overview.apis, "API")} in ${some(overview.categories.length, "category", "categories")}. Models: ${overview.models}.${newest(overview.changed)}`;
  const requests = overview.examples.map((text) => h("li", {}, h("button", { type: "button", class: "link", onclick: () => tryIt(text) }, text)));
  const tried = requests.length ? [h("h3", {}, "Requests to try"), h("ul", { class: "plain" }, requests)] : [];
  return [h("p", {}, sizes), ...tried, h("h3", {}, "Everything in it"), overview.categories.map((line) => category(line, complain)), ...checkup({ complain }), ...(about.adapting ? adaptation({ complain, marking: about.marking }) : [])];
}

function newest(seconds) {
  return seconds ? ` Newest change: ${new Date(1000 * seconds).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" })}.` : "";
}

function category({ name, apis, tools }, complain) {
  const load = async () => (await ask("browse", { category: name })).tools.map((line) => tool(name, line, complain));
  return opened(name || "(no category)", `${some(tools, "tool")}, ${some(apis, "API")}`, load, complain);
}

function tool(place, { name, apis }, complain) {
  const load = async () => bounded((await ask("browse", { category: place, tool: name })).apis, (line) => api(line, complain));
  return opened(name, some(apis, "API"), load, complain);
}

function api(line, complain) {
  const load = async () => whole(await ask("show", { id: line.id }));
  return opened(line.api, [line.deprecated ? "deprecated." : "", line.description].join(" "), load, complain);
}

function whole(shown) {
  const facts = [effect(shown.effect), shown.restricted ? "for some callers only" : "for everybody", shown.id];
  const own = shown.requests.length ? [h("p", {}, "Also found by requests that were written for it:"), h("ul", { class: "plain" }, shown.requests.map((text) => h("li", {}, text)))] : [];
  return [h("p", { class: "dim" }, facts.filter(Boolean).join(" · ")), h("p", {}, shown.description), ...own, h("pre", {}, shown.definition || "Its source published no definition.")];
}

function bounded(lines, draw) {
  const rest = lines.length - REST;
  return [...lines.slice(0, REST).map(draw), rest > 0 ? h("p", { class: "dim" }, `${some(rest, "more API")}: ask for them in the field above.`) : null];
}

// A level of the catalog, asked for when it is opened first.
function opened(name, about, load, complain) {
  const inside = h("div");
  const level = h("details", { class: "shelf" }, h("summary", {}, h("b", {}, name), " ", h("span", { class: "dim" }, about)), inside);
  let asked = false;
  level.addEventListener("toggle", async () => {
    if (asked || !level.open) return;
    asked = true;
    try {
      inside.replaceChildren(...(await load()).filter(Boolean));
    } catch (problem) {
      asked = false;
      complain(problem);
    }
  });
  return level;
}
