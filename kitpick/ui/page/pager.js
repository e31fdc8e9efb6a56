// Long lists, a page at a time: ten thousand rows are as quick as ten.

import { count, h } from "./dom.js";

const SIZE = 20;

/* One page of `rows` inside of `list`, drawn by `draw(row, place)`. Arrow keys move along the buttons that are
   marked by data-row, page keys turn pages. */
export class Pager {
  constructor(list, draw, noun) {
    this.list = list;
    this.draw = draw;
    this.noun = noun;
    this.range = h("span", { "aria-live": "polite" });
    this.back = h("button", { type: "button", onclick: () => this.turn(-1) }, "Previous");
    this.on = h("button", { type: "button", onclick: () => this.turn(1) }, "Next");
    this.bar = h("div", { class: "pager" }, this.range, this.back, this.on);
    list.addEventListener("keydown", (event) => this.pressed(event));
  }

  show(rows) {
    this.rows = rows;
    this.start = 0;
    this.fill();
  }

  turn(pages) {
    const start = this.start + pages * SIZE;
    if (start < 0 || start >= this.rows.length) return;
    this.start = start;
    this.fill();
  }

  fill() {
    const shown = this.rows.slice(this.start, this.start + SIZE);
    this.list.replaceChildren(...shown.flatMap((row, place) => this.draw(row, this.start + place)));
    this.range.textContent = this.extent(shown.length);
    const focused = document.activeElement;
    this.back.disabled = this.start === 0;
    this.on.disabled = this.start + SIZE >= this.rows.length;
    // A button that is switched off loses the focus: the other one takes it.
    if (focused === this.back && this.back.disabled) this.on.focus();
    if (focused === this.on && this.on.disabled) this.back.focus();
    this.back.hidden = this.on.hidden = this.rows.length <= SIZE;
    this.buttons().forEach((button, place) => (button.tabIndex = place === 0 ? 0 : -1));
  }

  extent(shown) {
    const all = this.rows.length;
    if (all === 0) return `No ${this.noun}.`;
    if (shown === all) return `All ${count(all)} ${this.noun} shown.`;
    if (this.start === 0) return `First ${count(shown)} of ${count(all)} ${this.noun} shown.`;
    return `${count(this.start + 1)} to ${count(this.start + shown)} of ${count(all)} ${this.noun} shown.`;
  }

  buttons() {
    return [...this.list.querySelectorAll("[data-row]")];
  }

  pressed(event) {
    const buttons = this.buttons();
    const here = buttons.indexOf(event.target);
    if (here < 0) return;
    const last = buttons.length - 1;
    const wanted = { ArrowDown: here + 1, ArrowUp: here - 1, Home: 0, End: last }[event.key];
    if (wanted !== undefined) {
      this.focus(buttons, Math.min(last, Math.max(0, wanted)));
    } else if (event.key === "PageDown" || event.key === "PageUp") {
      this.turn(event.key === "PageDown" ? 1 : -1);
      this.focus(this.buttons(), 0);
    } else {
      return;
    }
    event.preventDefault();
  }

  focus(buttons, place) {
    buttons.forEach((button, other) => (button.tabIndex = other === place ? 0 : -1));
    if (buttons.length) buttons[place].focus();
  }
}
