// Adapts the service's profile to the catalog, for operators: begins it, says how far it is, and stops it.

import { ask } from "./api.js";
import { h } from "./dom.js";

const PAUSE = 1000;
const WORDS = {
  none: () => "",
  running: ({ said }) => `Under way${said.length ? `: ${said[0]}` : "."}`,
  done: () => "Done. The profile is in the file of --adapted: name that file in --profile and start the server again.",
  failed: ({ said }) => `It failed. ${said.join(" ")}`,
  stopped: () => "Stopped. Nothing was written.",
};

export function adaptation({ complain, marking }) {
  const said = h("p", { class: "dim", role: "status" });
  const told = h("div");
  const begins = [["descriptions", "Adapt to what is in it"], ...(marking ? [["marks", "Adapt to my marks"]] : [])].map(([by, name]) =>
    h("button", { type: "button", onclick: () => act("adapt", { by }) }, name));
  const stop = h("button", { type: "button", hidden: true, onclick: () => act("stop-adapting", {}) }, "Stop adapting");
  let waiting = null;

  function show(now) {
    const running = now.state === "running";
    for (const button of begins) button.disabled = running;
    stop.hidden = !running;
    said.textContent = WORDS[now.state](now);
    told.replaceChildren(...(now.state === "done" ? [h("pre", {}, now.said.join("\n"))] : []));
    clearTimeout(waiting);
    if (running) waiting = setTimeout(() => act("adapting"), PAUSE);
  }

  async function act(name, body) {
    try {
      show(await ask(name, body));
    } catch (problem) {
      complain(problem);
    }
  }

  act("adapting");
  return [h("h3", {}, "Adapt the profile"), h("p", { class: "row" }, begins, stop), said, told];
}
