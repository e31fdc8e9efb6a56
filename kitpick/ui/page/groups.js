// The graph of alike APIs: a circle of nodes for every connected component.

import { h, rounded, s, scrolling, some } from "./dom.js";

const WIDTH = 600;
const NODE = 12;
const ROOM = 30;

export function groups(answer) {
  const { nodes, group, similarity } = answer.groups;
  if (!nodes.length) return [h("p", {}, "There are no candidates to compare.")];
  const members = membersOf(group);
  const all = answer.stages[answer.stages.length - 1].order.length;
  const which = nodes.length < all ? `First ${nodes.length} of ${all.toLocaleString("en")} candidates shown. ` : "";
  const about = `${which}Joined: a cosine above ${rounded(similarity)}, or (thin) one tool. ${some(members.length, "group")}.`;
  const list = h("ol", { class: "plain" }, members.filter((found) => found.length > 1).map((found) =>
    h("li", {}, found.map((node) => `${node + 1} ${answer.candidates[nodes[node]].api}`).join(", "))));
  const alone = members.filter((found) => found.length === 1).length;
  return [
    h("p", { class: "dim" }, about),
    scrolling("Graph of alike APIs, drawn", answer, picture(answer, members)),
    h("details", {}, h("summary", {}, `groups in words; ${some(alone, "API")} alone`), list),
  ];
}

function membersOf(group) {
  const members = [];
  group.forEach((component, node) => (members[component] ??= []).push(node));
  return members.sort((one, other) => other.length - one.length);
}

function picture(answer, members) {
  const places = new Map();
  let [left, top, tallest] = [0, 0, 0];
  for (const found of members) {
    const radius = found.length === 1 ? 0 : Math.max(ROOM / 2, (found.length * ROOM) / (2 * Math.PI));
    const size = 2 * radius + ROOM + 8;
    if (left + size > WIDTH && left > 0) [left, top, tallest] = [0, top + tallest, 0];
    found.forEach((node, nth) => {
      const angle = (2 * Math.PI * nth) / found.length - Math.PI / 2;
      places.set(node, [left + size / 2 + radius * Math.cos(angle), top + size / 2 + radius * Math.sin(angle)]);
    });
    left += size;
    tallest = Math.max(tallest, size);
  }
  const height = top + tallest;
  const edges = answer.groups.edges.map(([one, other, cosine, sameTool]) => {
    const [[x1, y1], [x2, y2]] = [places.get(one), places.get(other)];
    const kind = cosine > answer.groups.similarity ? "edge" : "edge tool";
    const title = `${one + 1} and ${other + 1}: cosine ${rounded(cosine)}${sameTool ? ", one tool" : ""}`;
    return s("line", { class: kind, x1, y1, x2, y2 }, s("title", {}, title));
  });
  const circles = [...places].map(([node, [cx, cy]]) => {
    const api = answer.candidates[answer.groups.nodes[node]];
    return s("g", {}, s("title", {}, `${node + 1}. ${api.api} of ${api.tool}`),
      s("circle", { class: "node", cx, cy, r: NODE }), s("text", { x: cx, y: cy + 4, "text-anchor": "middle" }, String(node + 1)));
  });
  const label = `${some(members.length, "group")} of ${some(places.size, "API")}; the list below names them`;
  return s("svg", { viewBox: `0 0 ${WIDTH} ${height}`, width: WIDTH, height, role: "img", "aria-label": label }, edges, circles);
}
