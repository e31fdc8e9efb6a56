// NNN coefficients as the penalty falls.

import { clipped, h, rounded, s, scrolling, table } from "./dom.js";

const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [600, 280, 46, 24, 12, 40];

export function path(answer) {
  const found = answer.path;
  if (!found) return [h("p", {}, `No path: ${answer.no_path}.`)];
  if (!found.lines.length) return [h("p", {}, "No candidate joins before the path ends: none resembles the request.")];
  const proof = found.exact ? "proved optimal" : "not proved to the last digit";
  const about = `${found.candidates} candidates by their vectors alone, λ2 ${rounded(found.l2)}, ${proof}. Dashed: λ1 ${rounded(found.l1)} of the profile.`;
  const end = found.penalties.length - 1;
  const rows = found.lines.map((line, nth) => {
    const api = answer.candidates[line.candidate];
    const joins = found.penalties[Math.max(0, line.coefficients.findIndex((value) => value > 0) - 1)];
    return h("tr", {}, h("th", { scope: "row" }, key(nth), ` ${api.api} `, h("span", { class: "dim" }, api.tool)),
      [joins, at(found, line, found.l1), line.coefficients[end]].map((value) => h("td", { class: "number" }, rounded(value, 3))));
  });
  const heads = [["API, by when it joins"], ["joins at λ1", "number"], [`weight at ${rounded(found.l1)}`, "number"], ["weight at the end", "number"]];
  return [
    h("p", { class: "dim" }, about),
    scrolling("Coefficients along the penalty, drawn", answer, picture(found)),
    scrolling("Coefficients", answer, table("The first to join", heads, rows)),
  ];
}

// Between two points of the path a coefficient is a straight line.
function at(found, line, penalty) {
  const after = found.penalties.findIndex((value) => value <= penalty);
  if (after < 0) return line.coefficients[line.coefficients.length - 1];
  if (after === 0) return line.coefficients[0];
  const [upper, lower] = [found.penalties[after - 1], found.penalties[after]];
  const share = upper === lower ? 1 : (upper - penalty) / (upper - lower);
  return (1 - share) * line.coefficients[after - 1] + share * line.coefficients[after];
}

function key(nth) {
  return s("svg", { class: "key", viewBox: "0 0 28 10", "aria-hidden": "true" }, s("line", { class: `l${nth % 8}`, x1: 0, x2: 28, y1: 5, y2: 5, "stroke-width": 3 }));
}

function picture(found) {
  const [first, last] = [found.penalties[0], found.penalties[found.penalties.length - 1]];
  const most = Math.max(...found.lines.flatMap((line) => line.coefficients), 1e-9);
  const x = (penalty) => LEFT + ((first - penalty) / (first - last || 1)) * (WIDTH - LEFT - RIGHT);
  const y = (weight) => HEIGHT - BOTTOM - (weight / most) * (HEIGHT - BOTTOM - TOP);
  const lines = found.lines.map((line, nth) => s("polyline", {
    class: `l${nth % 8}`,
    points: line.coefficients.map((weight, place) => `${x(found.penalties[place]).toFixed(1)},${y(weight).toFixed(1)}`).join(" "),
  }));
  const ticks = [0, 0.25, 0.5, 0.75, 1].flatMap((share) => {
    const penalty = first + share * (last - first);
    const weight = share * most;
    return [
      s("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: y(weight), y2: y(weight) }),
      s("text", { class: "dimmed", x: LEFT - 6, y: y(weight) + 4, "text-anchor": "end" }, rounded(weight)),
      s("text", { class: "dimmed", x: x(penalty), y: HEIGHT - BOTTOM + 16, "text-anchor": "middle" }, rounded(penalty)),
    ];
  });
  const within = found.l1 <= first && found.l1 >= last;
  const here = within ? [s("line", { class: "here", x1: x(found.l1), x2: x(found.l1), y1: TOP, y2: HEIGHT - BOTTOM })] : [];
  const axis = s("text", { class: "dimmed", x: WIDTH / 2, y: HEIGHT - 6, "text-anchor": "middle" }, "λ1, falling");
  const label = "Coefficients of the first APIs to join as the penalty falls; the table below has the numbers";
  return s("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, width: WIDTH, height: HEIGHT, role: "img", "aria-label": label }, ticks, here, lines, axis);
}
