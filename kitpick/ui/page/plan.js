// In which order the hits can be called, and what flows from one into another.

import { clipped, h, s, scrolling } from "./dom.js";

const ROW = 28;
const LEFT = 120;
const WIDTH = 680;

export function plan(answer) {
  if (answer.plan.length === 0) return [h("p", {}, "No hit needs what another one gives.")];
  const taking = answer.plan.map((call) => call.takes.length > 0);
  const calls = answer.plan.slice(0, taking.lastIndexOf(true) + 1);
  const steps = calls.map((call) => h("li", {}, `${named(answer, call.candidate)}${taken(answer, call)}`));
  return [scrolling("Plan", answer, drawing(answer, calls)), h("ol", { class: "plan" }, steps)];
}

function named(answer, candidate) {
  return answer.candidates[candidate].api;
}

function taken(answer, call) {
  if (call.takes.length === 0) return "";
  return ` takes ${call.takes.map((flow) => `${flow.input} from ${named(answer, flow.giver)}`).join(", ")}`;
}

function drawing(answer, calls) {
  const row = new Map(calls.map((call, place) => [call.candidate, place]));
  const middle = (candidate) => row.get(candidate) * ROW + ROW / 2;
  const flows = calls.flatMap((call) => call.takes.map((flow) => ({ ...flow, taker: call.candidate })));
  const arcs = flows.map((flow) => {
    const [from, to] = [middle(flow.giver), middle(flow.taker)];
    const out = LEFT - 12 - Math.min(LEFT - 24, 16 * (row.get(flow.taker) - row.get(flow.giver)));
    const shape = `M ${LEFT - 4} ${from} C ${out} ${from}, ${out} ${to}, ${LEFT - 4} ${to}`;
    return s("path", { class: "line s0", fill: "none", d: shape }, s("title", {}, `${flow.input}: ${named(answer, flow.giver)} to ${named(answer, flow.taker)}`));
  });
  const names = calls.map((call, place) => s("text", { x: LEFT + 6, y: place * ROW + ROW / 2 + 4 }, clipped(`${place + 1}. ${named(answer, call.candidate)}`, 70)));
  const ends = flows.map((flow) => s("circle", { class: "s0", cx: LEFT - 4, cy: middle(flow.taker), r: 4 }));
  const height = calls.length * ROW;
  const label = `${calls.length} calls in order, ${flows.length} of their inputs filled by earlier ones`;
  return s("svg", { viewBox: `0 0 ${WIDTH} ${height}`, width: WIDTH, height, role: "img", "aria-label": label }, arcs, ends, names);
}
