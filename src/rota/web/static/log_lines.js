/**
 * What a log says: pieces of output become lines, and escape sequences become styles or nothing at all.
 * Nothing here knows of a page.
 */

/** @typedef {{sequence: number, stream: string, written_at: string, text: string}} Piece */

/**
 * How text looks: `ink` and `paper` are "" for what the page has, "0" to "15" for the palette, or "#rrggbb".
 * @typedef {{ink: string, paper: string, bold: boolean, dim: boolean, italic: boolean, underline: boolean,
 *   strike: boolean, inverse: boolean}} Style
 */

/**
 * A line as it was written, with its escape sequences; the style it begins with, and the piece it begins in.
 * @typedef {{text: string, style: Style, piece: Piece}} Line
 */

/** @typedef {{text: string, style: Style, isMatch?: boolean}} Run */

const MARKS = { bold: false, dim: false, italic: false, underline: false, strike: false, inverse: false };
/** @type {Style} */
export const PLAIN = Object.freeze({ ink: "", paper: "", ...MARKS });

/* No terminal takes more parameters than fit in here. */
const LONGEST = 200;
const STYLING = /(?:\x1b\[|\x9b)([\d;:]*)m/g;
/* Strings such as titles, links and clipboards only when they end, so that nothing can hide the rest of a line; then
   CSI, other escapes, control characters, and marks that turn the direction of text. */
const ESCAPE = new RegExp(
  [
    "(?:\\x1b[\\]PX^_]|[\\x90\\x98\\x9d-\\x9f])[^\\x07\\x1b\\x80-\\x9f]*(?:\\x07|\\x1b\\\\|\\x9c)",
    "(?:\\x1b\\[|\\x9b)[0-?]*[ -/]*[@-~]?",
    "\\x1b[ -/]*[0-~]?",
    "[\\x00-\\x08\\x0a-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069]",
  ].join("|"),
  "g",
);
const CONTROL = /[\x00-\x08\x0a-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;

/** The lines of a log, from pieces that come in order. */
export class LogLines {
  /** @type {Piece[]} */
  pieces = [];
  /** @type {Line[]} */
  lines = [];
  /** How many characters the pieces have. */
  size = 0;
  #style = PLAIN;
  #isOpen = false;
  #isReturned = false;

  /**
   * Add what follows.
   * @param {Piece[]} pieces
   * @returns {number} the first line that is new or other than before
   */
  append(pieces) {
    const changed = this.lines.length - (this.#isOpen ? 1 : 0);
    for (const piece of pieces) {
      const last = this.pieces.at(-1);
      if (last) this.#join(last, piece);
      this.pieces.push(piece);
      this.size += piece.text.length;
      this.#write(piece);
    }
    return changed;
  }

  /**
   * A piece of another stream begins a line of its own, and so does what follows a gap.
   * @param {Piece} last
   * @param {Piece} piece
   */
  #join(last, piece) {
    // One number is kept free for the piece that says at last how much was cut.
    const cut = piece.sequence - last.sequence - (last.stream === "rota" ? 1 : 2);
    if (this.#isOpen && (cut > 0 || piece.stream !== last.stream)) this.#close();
    if (cut <= 0) return;
    const text = `… ${cut.toLocaleString("en")} ${cut === 1 ? "piece was" : "pieces were"} cut …`;
    this.lines.push({ text, style: PLAIN, piece: { ...piece, stream: "rota" } });
  }

  /** @param {Piece} piece */
  #write(piece) {
    const { text } = piece;
    // What says how much was cut begins with the break for a line that was not at its end; here that has ended already.
    let begin = piece.stream === "rota" && text.startsWith("\n") && !this.#isOpen ? 1 : 0;
    for (let end = text.indexOf("\n", begin); end >= 0; end = text.indexOf("\n", begin)) {
      this.#extend(text.slice(begin, end), piece);
      this.#close();
      begin = end + 1;
    }
    if (begin < text.length) this.#extend(text.slice(begin), piece);
  }

  /**
   * @param {string} part
   * @param {Piece} piece
   */
  #extend(part, piece) {
    if (!this.#isOpen) this.lines.push({ text: "", style: this.#style, piece });
    this.#isOpen = true;
    const line = this.lines[this.lines.length - 1];
    if (this.#isReturned || part.includes("\r")) this.#overwrite(line, part);
    else line.text += part;
  }

  /**
   * After a carriage return a line is written anew; one with nothing behind it waits for what comes.
   * @param {Line} line
   * @param {string} part
   */
  #overwrite(line, part) {
    const written = this.#isReturned ? `\r${part}` : part;
    let end = written.length;
    while (end > 0 && written[end - 1] === "\r") end -= 1;
    this.#isReturned = end < written.length;
    const begin = end ? written.lastIndexOf("\r", end - 1) : -1;
    if (begin < 0) {
      line.text += written.slice(0, end);
      return;
    }
    line.style = styleAfter(line.style, line.text + written.slice(0, begin));
    line.text = written.slice(begin + 1, end);
  }

  #close() {
    const line = this.lines[this.lines.length - 1];
    this.#style = styleAfter(line.style, line.text);
    this.#isOpen = this.#isReturned = false;
  }
}

/**
 * The text alone.
 * @param {string} text
 */
export function plain(text) {
  return CONTROL.test(text) ? text.replace(ESCAPE, "") : text;
}

/**
 * The text of a line in runs of one style each, up to a number of characters.
 * @param {Line} line
 * @param {number} most
 * @returns {Run[]}
 */
export function runs(line, most) {
  if (!CONTROL.test(line.text)) return [{ text: line.text.slice(0, most), style: line.style }];
  /** @type {Run[]} */
  const found = [];
  let { style } = line;
  let [begin, left] = [0, most];
  for (const match of line.text.matchAll(ESCAPE)) {
    left -= add(found, line.text.slice(begin, match.index).slice(0, left), style);
    if (left <= 0) return found;
    begin = match.index + match[0].length;
    style = styleAfter(style, match[0]);
  }
  add(found, line.text.slice(begin).slice(0, left), style);
  return found;
}

/**
 * @param {Run[]} found
 * @param {string} text
 * @param {Style} style
 */
function add(found, text, style) {
  const last = found.at(-1);
  if (last && last.style === style) last.text += text;
  else if (text) found.push({ text, style });
  return text.length;
}

/**
 * Runs cut at the ends of what was found in their text.
 * @param {Run[]} whole
 * @param {[number, number][]} ranges in order
 * @returns {Run[]}
 */
export function marked(whole, ranges) {
  /** @type {Run[]} */
  const found = [];
  const edges = ranges.flat();
  let place = 0;
  let next = 0;
  for (const { text, style } of whole) {
    const end = place + text.length;
    for (let begin = place; begin < end; ) {
      while (next < edges.length && edges[next] <= begin) next += 1;
      const stop = Math.min(end, edges[next] ?? end);
      found.push({ text: text.slice(begin - place, stop - place), style, isMatch: next % 2 === 1 });
      begin = stop;
    }
    place = end;
  }
  return found;
}

/**
 * @param {Style} style
 * @param {string} text
 * @returns {Style}
 */
export function styleAfter(style, text) {
  if (!text.includes("\x1b") && !text.includes("\x9b")) return style;
  for (const [, parameters] of text.matchAll(STYLING)) style = restyled(style, parameters);
  return style;
}

/**
 * @param {Style} style
 * @param {string} parameters such as "1;38;5;208"
 * @returns {Style}
 */
function restyled(style, parameters) {
  let next = { ...style };
  const groups = parameters.slice(0, LONGEST).split(";").map((group) => group.split(":").map(Number));
  while (groups.length) {
    const [code, ...rest] = groups.shift() ?? [];
    // The last is the colour of underlines, which here is that of their text.
    const colour = [38, 48, 58].includes(code) ? mixed(rest.length ? rest : taken(groups)) : "";
    if (code === 38) next.ink = colour;
    else if (code === 48) next.paper = colour;
    else if (code === 0) next = { ...PLAIN };
    else Object.assign(next, SIMPLE[rest[0] === 0 ? code + 20 : code]);
  }
  return next;
}

/**
 * The numbers of a colour that follow as parameters of their own.
 * @param {number[][]} groups those that are left
 */
function taken(groups) {
  return groups.splice(0, groups[0]?.[0] === 2 ? 4 : 2).map(([one]) => one);
}

/** What each code of one number changes. @type {Record<number, Partial<Style>>} */
const SIMPLE = {
  1: { bold: true },
  2: { dim: true },
  3: { italic: true },
  4: { underline: true },
  7: { inverse: true },
  9: { strike: true },
  21: { underline: true },
  22: { bold: false, dim: false },
  23: { italic: false },
  24: { underline: false },
  27: { inverse: false },
  29: { strike: false },
  39: { ink: "" },
  49: { paper: "" },
};
for (let colour = 0; colour < 8; colour += 1) {
  SIMPLE[30 + colour] = { ink: String(colour) };
  SIMPLE[40 + colour] = { paper: String(colour) };
  SIMPLE[90 + colour] = { ink: String(colour + 8) };
  SIMPLE[100 + colour] = { paper: String(colour + 8) };
}

/**
 * A colour of the 256, or one of red, green and blue; "" for what is neither.
 * @param {number[]} numbers which of the two, and its numbers
 */
function mixed([mode, ...values]) {
  if (mode === 2 && values.length >= 3) return hex(values.slice(-3));
  const [value] = values;
  if (mode !== 5 || !(value <= 255)) return "";
  if (value < 16) return String(value);
  if (value >= 232) return hex([0, 0, 0].fill(8 + (value - 232) * 10));
  const levels = [Math.floor((value - 16) / 36), Math.floor((value - 16) / 6) % 6, (value - 16) % 6];
  return hex(levels.map((level) => (level ? 55 + level * 40 : 0)));
}

/** @param {number[]} values */
function hex(values) {
  return `#${values.map((value) => Math.min(value, 255).toString(16).padStart(2, "0")).join("")}`;
}

/** Finds the lines that hold some text, whether its letters are large or small. */
export class Finder {
  /** @type {number[]} */
  found = [];
  #seen = 0;
  #pattern;

  /** @param {string} query */
  constructor(query) {
    this.query = query;
    this.#pattern = new RegExp(query.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"), "gi");
  }

  /**
   * Look at some more lines.
   * @param {Line[]} lines
   * @param {number} most
   * @returns {boolean} whether there are more
   */
  look(lines, most) {
    const end = Math.min(lines.length, this.#seen + most);
    for (; this.#seen < end; this.#seen += 1) {
      if (plain(lines[this.#seen].text).search(this.#pattern) >= 0) this.found.push(this.#seen);
    }
    return end < lines.length;
  }

  /**
   * Lines from this one on are others now.
   * @param {number} line
   */
  forget(line) {
    this.#seen = Math.min(this.#seen, line);
    while (this.found.length && this.found[this.found.length - 1] >= line) this.found.pop();
  }

  /**
   * The first match at a line or after it, as its place among all; their number if there is none.
   * @param {number} line
   */
  placeOf(line) {
    let [low, high] = [0, this.found.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.found[middle] < line) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /**
   * Where the text is found.
   * @param {string} text
   * @returns {[number, number][]}
   */
  ranges(text) {
    return Array.from(text.matchAll(this.#pattern), (match) => [match.index, match.index + match[0].length]);
  }
}
