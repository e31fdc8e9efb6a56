// Elements, made one way: what a catalog says becomes text and attributes, never markup.

const SVG = "http://www.w3.org/2000/svg";

export function h(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

export function s(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, String(value));
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

export function byId(id) {
  return document.getElementById(id);
}

export const count = (value) => value.toLocaleString("en");

export function some(number, noun, nouns = `${noun}s`) {
  return `${count(number)} ${number === 1 ? noun : nouns}`;
}

const EFFECTS = { read: "only reads", write: "changes something", destructive: "deletes or ends something" };

export const effect = (name) => EFFECTS[name] ?? null;

export const rounded = (value, digits = 2) => (value === null ? "–" : value.toFixed(digits));

export function clipped(text, letters) {
  return text.length > letters ? `${text.slice(0, letters - 1)}…` : text;
}

// A region that scrolls sideways has to be reached by the keyboard; two answers have two of the same kind.
export function scrolling(label, { profile }, ...children) {
  return h("div", { class: "scroll", role: "region", "aria-label": `${label}, ${profile}`, tabindex: "0" }, ...children);
}

export function table(caption, heads, rows) {
  const head = h("tr", {}, heads.map(([name, kind]) => h("th", { scope: "col", class: kind || null }, name)));
  return h("table", {}, h("caption", {}, caption), h("thead", {}, head), h("tbody", {}, rows));
}
