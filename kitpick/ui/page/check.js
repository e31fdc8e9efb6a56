// Looks for APIs that are hard to find, part by part, and says how far it is.

import { ask } from "./api.js";
import { count, h, some } from "./dom.js";

const SHOWN = 20;

export function checkup({ complain }) {
  const found = h("div");
  const far = h("progress", { "aria-label": "APIs that were checked", value: 0, max: 1, hidden: true });
  const said = h("p", { class: "dim", role: "status" });
  const button = h("button", { type: "button" }, "Look for APIs that are hard to find");
  let stopping = null;
  button.addEventListener("click", async () => {
    if (stopping) {
      stopping.abort();
      return;
    }
    stopping = new AbortController();
    button.textContent = "Stop";
    far.hidden = false;
    try {
      await check(stopping.signal, { found, far, said });
    } catch (problem) {
      if (problem.name !== "AbortError") complain(problem);
    }
    stopping = null;
    far.hidden = true;
    button.textContent = "Look again";
  });
  return [h("h3", {}, "Hard to find"), h("p", { class: "row" }, button, far), said, found];
}

async function check(signal, { found, far, said }) {
  const findings = [];
  let checked = 0;
  let apis = 1;
  while (checked < apis) {
    const answer = await ask("check", { first: checked }, signal);
    ({ checked, apis } = answer);
    findings.push(...answer.findings);
    far.max = apis;
    far.value = checked;
    said.textContent = `${count(checked)} of ${some(apis, "API")} checked: ${some(findings.length, "finding")}.`;
    found.replaceChildren(...kinds(findings));
  }
}

function kinds(findings) {
  const names = [...new Set(findings.map(({ kind }) => kind))];
  return names.map((name) => {
    const own = findings.filter(({ kind }) => kind === name);
    const rest = own.length - SHOWN;
    const lines = own.slice(0, SHOWN).map(({ api, other, detail }) => h("li", {}, h("b", {}, api), other ? ` (${other})` : "", `: ${detail}`));
    const more = rest > 0 ? [h("li", {}, `and ${count(rest)} more: kitpick lint shows them`)] : [];
    return h("details", { open: true }, h("summary", {}, `${name}: ${count(own.length)}`), h("ul", {}, lines, more));
  });
}
