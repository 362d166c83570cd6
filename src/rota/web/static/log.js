/**
 * `<run-log run="run_…" live>`: the log of a run. It begins with the end of it, follows it while the run is live, and
 * fetches the rest when somebody wants to see it.
 */

import { Finder, LogLines, plain } from "./log_lines.js";
import { Rows, button, drawnLine, element } from "./log_rows.js";
import { Source } from "./log_source.js";

/** @typedef {import("./log_lines.js").Piece} Piece */

const END = 2 ** 53;
const FIRST_BYTES = 65_536;
const PAGE_BYTES = 1_048_576;
/* Of a longer line only the beginning is shown. */
const LINE_SHOWN = 2_000;
const NEAR_THE_TOP = 100;
/* A run keeps less than half of this; what a long one has given up need not stay here either. */
const MOST_KEPT = 32_000_000;
const LOOKED_AT_ONCE = 50_000;
/* How long anything may go on before others get their turn, in milliseconds. */
const SLICE = 12;

/** Let others have their turn. */
const breath = () => new Promise((resolve) => setTimeout(resolve));

/** @param {number} count @param {string} noun */
const counted = (count, noun) => `${count.toLocaleString()} ${noun}${count === 1 ? "" : "s"}`;

class RunLog extends HTMLElement {
  #log = new LogLines();
  #source = new Source("");
  /** @type {Finder | null} */
  #finder = null;
  /** What has come and is not shown yet. @type {Piece[]} */
  #fresh = [];
  /** @type {Promise<void> | null} */
  #loading = null;
  /* Lines are named by their distance from the first one that was shown, which does not change. */
  #above = 0;
  #chosen = Number.NaN;
  #uncut = new Set();
  #match = -1;
  #pageBytes = FIRST_BYTES;
  #isBegun = false;
  #isWhole = false;
  #isFollowing = true;
  #hasTimes = false;
  #frame = 0;
  #retry = 0;
  #pause = 0;
  #sizes = new ResizeObserver(() => this.#rows.measure());

  #box = element("div", { className: "log-box", tabIndex: 0, role: "log", ariaLive: "off" });
  #rows = new Rows(this.#box, (row) => this.#row(row));
  #input = element("input", { type: "search", placeholder: "Search", ariaLabel: "Search the log", spellcheck: false });
  #found = element("span", { className: "log-found" });
  #count = element("span", { className: "log-count" });
  #status = element("span", { className: "log-status", role: "status" });
  #progress = element("progress", { max: 1, value: 0, hidden: true, ariaLabel: "Loading the log" });
  #follow = button("Follow", () => this.#setFollowing(!this.#isFollowing));
  #times = button("Times", () => this.#toggleTimes());
  #all = button("Whole log", () => this.#load(true));
  #copy = element("button", { type: "button", className: "log-copy", tabIndex: -1, textContent: "Copy" });

  connectedCallback() {
    if (!this.contains(this.#box)) this.#build();
    document.addEventListener("visibilitychange", this.#turn);
    this.#sizes.observe(this.#box);
    this.#turn();
  }

  disconnectedCallback() {
    document.removeEventListener("visibilitychange", this.#turn);
    this.#sizes.disconnect();
    clearTimeout(this.#retry);
    this.#source.stop();
  }

  get #isLive() {
    return this.hasAttribute("live");
  }

  #build() {
    const run = this.getAttribute("run") ?? "";
    this.#source = new Source(run);
    this.#source.onPiece = (piece) => {
      this.#fresh.push(piece);
      this.#frame ||= requestAnimationFrame(() => this.#flush());
    };
    this.#source.onEnd = (ended) => this.#end(ended);
    this.#source.onChange = (isThere) => this.#say(isThere ? "" : "The connection is lost. Connecting again…");
    this.#box.ariaLabel = `Output of ${run}`;
    const back = button("↑", () => this.#go(this.#match - 1), "Previous match");
    const on = button("↓", () => this.#next(), "Next match");
    const find = element("span", { className: "log-search", role: "search" }, this.#input, back, on, this.#found);
    const bar = element("div", { className: "log-bar" }, find, this.#follow, this.#times, this.#all);
    bar.append(button("Download", () => this.#download()), this.#progress, this.#status, this.#count);
    this.append(bar, this.#box);
    this.#listen();
    this.#setFollowing(this.#isLive);
  }

  #listen() {
    this.#rows.onMove = () => {
      if (this.#isLive) this.#setFollowing(this.#rows.isAtEnd);
      if (this.#rows.firstSeen < NEAR_THE_TOP) this.#load(false);
    };
    this.#input.addEventListener("input", () => {
      clearTimeout(this.#pause);
      this.#pause = setTimeout(() => this.#search(), 250);
    });
    this.#input.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => this.#keyInSearch(event));
    this.#box.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => this.#key(event));
    this.#box.addEventListener("click", (/** @type {any} */ { target }) => this.#click(target));
    this.#box.addEventListener("pointerover", (/** @type {any} */ { target }) => {
      const row = target.closest(".log-row");
      if (row && row !== this.#copy.parentElement) row.append(this.#copy);
    });
  }

  /** Begins, follows, or rests while nobody can see it. */
  #turn = async () => {
    clearTimeout(this.#retry);
    if (document.hidden) this.#source.stop();
    else if (this.#isBegun) this.#followOn();
    else await this.#begin();
  };

  async #begin() {
    this.#isBegun = true;
    try {
      const pieces = await this.#source.before(END, FIRST_BYTES);
      this.#log.append(pieces);
      this.#setWhole(!pieces.length || pieces[0].sequence === 1);
      this.#rows.update(this.#log.lines.length, 0);
      this.#rows.moveTo(Infinity);
      this.#say("");
      this.#followOn();
    } catch (error) {
      this.#isBegun = false;
      this.#say(`${error.message} Trying again…`);
      this.#retry = setTimeout(this.#turn, 2_000);
    }
  }

  #followOn() {
    this.#flush();
    if (!this.#isLive || !this.isConnected || document.hidden) return;
    this.#source.follow(this.#log.pieces.at(-1)?.sequence ?? 0);
  }

  #flush() {
    this.#frame = 0;
    const changed = this.#log.append(this.#fresh.splice(0));
    this.#rows.update(this.#log.lines.length, changed);
    if (this.#log.size > MOST_KEPT) this.#shed();
    if (this.#isFollowing) this.#rows.moveTo(Infinity);
    this.#finder?.forget(changed);
    if (this.#finder) this.#look(this.#finder);
    this.#tell();
  }

  /** Let go of the older half. */
  #shed() {
    const pieces = this.#log.pieces;
    let count = 0;
    for (let size = this.#log.size; size > MOST_KEPT / 2; count += 1) size -= pieces[count].text.length;
    const lighter = new LogLines();
    lighter.append(pieces.slice(count));
    this.#replace(lighter, false);
  }

  /** @param {LogLines} log the same to its end, but with more or less above @param {boolean} isWhole */
  #replace(log, isWhole) {
    const added = log.lines.length - this.#log.lines.length;
    this.#log = log;
    this.#above += added;
    this.#setWhole(isWhole);
    this.#match = -1;
    this.#finder?.forget(0);
    if (this.#finder) this.#look(this.#finder);
    this.#rows.update(log.lines.length, 0, added);
    this.#tell();
  }

  /** Fetch what comes before, some of it or all. @param {boolean} isAll */
  async #load(isAll) {
    while (!this.#isWhole && this.#log.pieces.length) {
      this.#loading ??= this.#loadOlder(isAll).finally(() => {
        this.#loading = null;
      });
      try {
        await this.#loading;
      } catch (error) {
        return this.#say(`The log cannot be loaded: ${error.message}`);
      }
      if (!isAll) return;
    }
  }

  /** @param {boolean} isAll */
  async #loadOlder(isAll) {
    const last = this.#log.pieces[0].sequence;
    /** @type {Piece[][]} */
    const pages = [];
    let first = last;
    this.#progress.hidden = false;
    this.#pageBytes = isAll ? PAGE_BYTES : Math.min(this.#pageBytes * 2, PAGE_BYTES);
    try {
      do {
        this.#progress.value = 1 - first / last;
        pages.unshift(await this.#source.before(first, this.#pageBytes));
        first = pages[0][0]?.sequence ?? 1;
      } while (isAll && first > 1);
      await this.#prepend(pages.flat(), first === 1);
    } finally {
      this.#progress.hidden = true;
    }
  }

  /** @param {Piece[]} pieces @param {boolean} isWhole */
  async #prepend(pieces, isWhole) {
    const [log, own] = [new LogLines(), this.#log.pieces];
    let since = performance.now();
    for (const some of [pieces, own]) {
      // More may be added to what is here in the meantime.
      for (let at = 0; at < some.length; at += 1) {
        log.append([some[at]]);
        if (performance.now() - since < SLICE) continue;
        await breath();
        since = performance.now();
      }
    }
    if (own === this.#log.pieces) this.#replace(log, isWhole);
  }

  async #search() {
    clearTimeout(this.#pause);
    const query = this.#input.value;
    if (query === (this.#finder?.query ?? "")) return;
    const finder = query ? new Finder(query) : null;
    this.#finder = finder;
    this.#match = -1;
    this.#found.textContent = "";
    this.#rows.redraw();
    if (!finder) return;
    await this.#load(true);
    await this.#look(finder);
    if (finder === this.#finder) this.#go(finder.placeOf(this.#rows.firstSeen));
  }

  /** @param {Finder} finder */
  async #look(finder) {
    while (finder === this.#finder && finder.look(this.#log.lines, LOOKED_AT_ONCE)) await breath();
    if (finder === this.#finder) this.#tell();
  }

  #next() {
    if (this.#input.value === (this.#finder?.query ?? "")) this.#go(this.#match + 1);
    else this.#search();
  }

  /** Go to a line that was found. @param {number} place among all of them */
  #go(place) {
    const count = this.#finder?.found.length ?? 0;
    if (!this.#finder || !count) return this.#tell();
    this.#match = ((place % count) + count) % count;
    const row = this.#finder.found[this.#match];
    const [range] = this.#finder.ranges(plain(this.#log.lines[row].text));
    if (range && range[1] > LINE_SHOWN) this.#uncut.add(row - this.#above);
    this.#chosen = row - this.#above;
    this.#rows.show(row);
    this.#rows.redraw();
    this.#rows.drawn(row)?.querySelector("mark")?.scrollIntoView({ block: "nearest", inline: "nearest" });
    if (this.#isLive) this.#setFollowing(this.#rows.isAtEnd);
    this.#tell();
  }

  /** @param {KeyboardEvent} event */
  #keyInSearch(event) {
    if (event.key === "Enter") event.shiftKey ? this.#go(this.#match - 1) : this.#next();
    else if (event.key === "Escape") this.#box.focus();
    else return;
    event.preventDefault();
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const act = event.ctrlKey || event.altKey || event.metaKey ? undefined : this.#keys[event.key];
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  }

  /** @type {Record<string, () => unknown>} */
  #keys = {
    ArrowUp: () => this.#rows.moveBy(-1),
    ArrowDown: () => this.#rows.moveBy(1),
    PageUp: () => this.#rows.moveBy(-this.#rows.page),
    PageDown: () => this.#rows.moveBy(this.#rows.page),
    Home: () => this.#load(true).then(() => this.#rows.moveBy(-Infinity)),
    End: () => this.#rows.moveBy(Infinity),
    n: () => this.#next(),
    N: () => this.#go(this.#match - 1),
    c: () => this.#copyLine(Number.isNaN(this.#chosen) ? this.#rows.firstSeen : this.#chosen + this.#above),
  };

  /** @param {HTMLElement} target */
  #click(target) {
    const row = this.#rows.rowOf(target);
    if (Number.isNaN(row)) return;
    if (target === this.#copy) this.#copyLine(row);
    else if (target.matches("button")) {
      this.#uncut.add(row - this.#above);
      this.#rows.redraw();
      this.#box.focus();
    } else if (getSelection()?.isCollapsed) {
      this.#rows.drawn(this.#chosen + this.#above)?.classList.remove("log-chosen");
      this.#rows.drawn(row)?.classList.add("log-chosen");
      this.#chosen = row - this.#above;
    }
  }

  /** @param {number} row */
  async #copyLine(row) {
    try {
      await navigator.clipboard.writeText(plain(this.#log.lines[row].text));
      this.#say("The line is copied.");
    } catch {
      this.#say("This browser copies only from pages on localhost or HTTPS.");
    }
  }

  async #download() {
    await this.#load(true);
    const texts = this.#log.pieces.map(({ text }) => text);
    const href = URL.createObjectURL(new Blob(texts, { type: "text/plain;charset=utf-8" }));
    element("a", { href, download: `${this.getAttribute("run")}.log` }).click();
    setTimeout(() => URL.revokeObjectURL(href), 60_000);
  }

  /** @param {{state: string}} run */
  #end(run) {
    this.removeAttribute("live");
    this.#flush();
    this.#setFollowing(false);
    this.#say(`The run has ended: ${run.state}.`);
    this.dispatchEvent(new CustomEvent("run-end", { bubbles: true, detail: run }));
  }

  /** @param {boolean} isFollowing */
  #setFollowing(isFollowing) {
    this.#isFollowing = isFollowing;
    this.#follow.ariaPressed = String(isFollowing);
    this.#follow.hidden = !this.#isLive;
    if (isFollowing && !this.#rows.isAtEnd) this.#rows.moveTo(Infinity);
  }

  #toggleTimes() {
    this.#hasTimes = !this.#hasTimes;
    this.#times.ariaPressed = String(this.#hasTimes);
    this.#rows.redraw();
  }

  /** @param {boolean} isWhole */
  #setWhole(isWhole) {
    this.#isWhole = isWhole;
    this.#all.hidden = isWhole;
    this.#tell();
  }

  /** @param {string} text */
  #say(text) {
    this.#status.textContent = text;
  }

  #tell() {
    const { length } = this.#log.lines;
    const lines = length ? counted(length, "line") : this.#isLive ? "No output yet" : "No output";
    this.#count.textContent = this.#isWhole ? lines : `The last ${lines}`;
    if (!this.#finder) return;
    const found = counted(this.#finder.found.length, "line");
    this.#found.textContent = this.#match < 0 ? found : `${(this.#match + 1).toLocaleString()} of ${found}`;
  }

  /** @param {number} row */
  #row(row) {
    const id = row - this.#above;
    const made = drawnLine(this.#log.lines[row], this.#uncut.has(id) ? Infinity : LINE_SHOWN, this.#finder, this.#hasTimes);
    made.classList.toggle("log-chosen", id === this.#chosen);
    this.#rows.widen(made.textContent.length);
    return made;
  }
}

customElements.define("run-log", RunLog);
