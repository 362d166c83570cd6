/**
 * Rows: how a line looks, as text in spans and never as markup; and a list of so many of them that only those in view
 * can be there.
 */

import { PLAIN, marked, plain, runs } from "./log_lines.js";

/** @typedef {import("./log_lines.js").Finder} Finder */
/** @typedef {import("./log_lines.js").Line} Line */
/** @typedef {import("./log_lines.js").Run} Run */

/* Browsers cannot lay out boxes that are much taller; beyond it, places are scaled. */
const TALLEST = 8_000_000;
const OVERSCAN = 20;
/* A line with more colours than this is shown without. */
const MOST_RUNS = 2_000;
const CLOCK = new Intl.DateTimeFormat(undefined, { timeStyle: "medium", hourCycle: "h23" });

/**
 * @param {string} tag
 * @param {Record<string, unknown>} [fields]
 * @param {(Node | string)[]} children
 * @returns {any}
 */
export function element(tag, fields = {}, ...children) {
  const made = Object.assign(document.createElement(tag), fields);
  made.append(...children);
  return made;
}

/**
 * @param {string} text
 * @param {() => unknown} act
 * @param {string} [name] for what is no word
 * @returns {HTMLButtonElement}
 */
export function button(text, act, name = "") {
  const made = element("button", { type: "button", textContent: text, title: name });
  if (name) made.ariaLabel = name;
  made.addEventListener("click", act);
  return made;
}

/**
 * @param {Line} line
 * @param {number} most how many characters of it
 * @param {Finder | null} finder what is looked for
 * @param {boolean} hasTime
 * @returns {HTMLElement}
 */
export function drawnLine(line, most, finder, hasTime) {
  const { stream, written_at: at } = line.piece;
  const parts = runs(line, most);
  const shown = parts.map(({ text }) => text).join("");
  const made = element("div", { className: "log-row" });
  if (hasTime) made.append(element("time", { dateTime: at, title: at, textContent: CLOCK.format(new Date(at)) }));
  if (stream === "stderr") made.append(element("span", { className: "log-unseen", textContent: "stderr: " }));
  if (stream === "stderr" || stream === "rota") made.classList.add(`log-${stream}`);
  const text = element("span", { className: "log-text" });
  const isGaudy = parts.length > MOST_RUNS;
  const ranges = finder?.ranges(shown).slice(0, MOST_RUNS) ?? [];
  for (const part of marked(isGaudy ? [{ text: shown, style: PLAIN }] : parts, ranges)) text.append(painted(part));
  made.append(text);
  const { length } = shown.length < most ? shown : plain(line.text);
  const more = `Show all ${length.toLocaleString()} characters`;
  if (length > most) made.append(element("button", { type: "button", textContent: more }));
  return made;
}

/**
 * A run of text as it looks.
 * @param {Run} run
 */
function painted({ text, style, isMatch }) {
  if (style === PLAIN && !isMatch) return document.createTextNode(text);
  const span = element(isMatch ? "mark" : "span", { textContent: text });
  for (const side of ["ink", "paper"]) {
    const colour = style[side];
    if (colour.startsWith("#")) span.style.setProperty(`--ansi-${side}`, colour);
    else if (colour) span.classList.add(`ansi-${side}-${colour}`);
  }
  for (const mark of ["bold", "dim", "italic", "underline", "strike", "inverse"]) {
    if (style[mark]) span.classList.add(`ansi-${mark}`);
  }
  return span;
}

/** Draws those of many rows of one height that can be seen. */
export class Rows {
  onMove = () => {};
  count = 0;
  #box;
  #spacer;
  #rows;
  #makeRow;
  #height = 20;
  #top = 0;
  #place = 0;
  #first = 0;
  #widest = 0;
  #wasAtEnd = false;
  #timer = 0;

  /**
   * @param {HTMLElement} box what scrolls
   * @param {(row: number) => HTMLElement} makeRow
   */
  constructor(box, makeRow) {
    this.#box = box;
    this.#makeRow = makeRow;
    this.#rows = element("div", { className: "log-rows" });
    this.#spacer = element("div", { className: "log-spacer" }, this.#rows);
    box.append(this.#spacer);
    box.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    box.addEventListener("wheel", (event) => this.#wheeled(event), { passive: false });
  }

  /** How far it can be scrolled, in pixels of the rows. */
  get #reach() {
    return Math.max(0, this.count * this.#height - this.#box.clientHeight);
  }

  /** The same in pixels of the box. */
  get #travel() {
    return Math.max(0, Math.min(this.count * this.#height, TALLEST) - this.#box.clientHeight);
  }

  get isAtEnd() {
    return this.#top >= this.#reach - this.#height / 2;
  }

  /** The first row that can be seen. */
  get firstSeen() {
    return Math.floor(this.#top / this.#height);
  }

  get page() {
    return Math.max(1, Math.floor(this.#box.clientHeight / this.#height) - 1);
  }

  /** The box or the letters have another size. */
  measure() {
    const wasAtEnd = this.#wasAtEnd;
    this.#height = Number.parseFloat(getComputedStyle(this.#rows).lineHeight) || this.#height;
    this.#spacer.style.height = `${Math.min(this.count * this.#height, TALLEST)}px`;
    this.moveTo(wasAtEnd ? this.#reach : this.#top);
  }

  /**
   * There are other rows from one on, and perhaps some above all.
   * @param {number} count
   * @param {number} changed
   * @param {number} [added] above
   */
  update(count, changed, added = 0) {
    this.count = count;
    this.#spacer.style.height = `${Math.min(count * this.#height, TALLEST)}px`;
    while (this.#rows.lastChild && this.#first + this.#rows.childElementCount > changed) this.#rows.lastChild.remove();
    this.moveTo(this.#top + added * this.#height);
  }

  /** Draw everything anew. */
  redraw() {
    this.#rows.replaceChildren();
    this.#draw();
  }

  /** @param {number} top in pixels of the rows */
  moveTo(top) {
    this.#top = Math.max(0, Math.min(top, this.#reach));
    this.#box.scrollTop = this.#reach ? (this.#top / this.#reach) * this.#travel : 0;
    this.#place = this.#box.scrollTop;
    this.#draw();
  }

  /** @param {number} rows */
  moveBy(rows) {
    this.moveTo(this.#top + rows * this.#height);
    this.onMove();
  }

  /** Bring a row into view. @param {number} row */
  show(row) {
    const isSeen = row >= this.firstSeen && row <= this.firstSeen + this.page - 1;
    if (!isSeen) this.moveTo((row - this.page / 3) * this.#height);
  }

  /** @param {number} row */
  drawn(row) {
    return this.#rows.children[row - this.#first];
  }

  /** The row that something is in; NaN for nothing. @param {Element} inner */
  rowOf(inner) {
    const at = Array.prototype.indexOf.call(this.#rows.children, inner.closest(".log-row"));
    return at < 0 ? Number.NaN : this.#first + at;
  }

  /** Room for rows of so many letters, so that it does not come and go with them. @param {number} letters */
  widen(letters) {
    if (letters <= this.#widest) return;
    this.#widest = letters;
    this.#rows.style.minWidth = `${letters}ch`;
  }

  #scrolled() {
    const place = this.#box.scrollTop;
    const moved = place - this.#place;
    if (!moved) return;
    this.#place = place;
    const isExact = this.#reach > this.#travel && Math.abs(moved) < this.#box.clientHeight;
    this.#top = isExact ? this.#top + moved : (place / (this.#travel || 1)) * this.#reach;
    this.#top = Math.max(0, Math.min(this.#top, this.#reach));
    this.#draw();
    this.onMove();
    clearTimeout(this.#timer);
    if (isExact) this.#timer = setTimeout(() => this.moveTo(this.#top), 200);
  }

  /** Where places are scaled, a wheel still moves by what it says. @param {WheelEvent} event */
  #wheeled(event) {
    if (this.#reach === this.#travel || event.ctrlKey || !event.deltaY) return;
    const unit = [1, this.#height, this.#box.clientHeight][event.deltaMode];
    const before = this.#top;
    this.moveTo(before + event.deltaY * unit);
    if (this.#top === before) return;
    event.preventDefault();
    this.#box.scrollLeft += event.deltaX * unit;
    this.onMove();
  }

  #draw() {
    const first = Math.max(0, this.firstSeen - OVERSCAN);
    const end = Math.min(this.count, Math.ceil((this.#top + this.#box.clientHeight) / this.#height) + OVERSCAN);
    const rows = this.#rows;
    while (rows.firstChild && this.#first < first) {
      rows.firstChild.remove();
      this.#first += 1;
    }
    while (rows.lastChild && this.#first + rows.childElementCount > end) rows.lastChild.remove();
    if (!rows.firstChild) this.#first = first;
    const above = [];
    for (let row = first; row < this.#first; row += 1) above.push(this.#makeRow(row));
    for (let row = this.#first + rows.childElementCount; row < end; row += 1) rows.append(this.#makeRow(row));
    rows.prepend(...above);
    this.#first = first;
    rows.style.transform = `translateY(${this.#place - (this.#top - first * this.#height)}px)`;
    this.#wasAtEnd = this.isAtEnd;
  }
}
