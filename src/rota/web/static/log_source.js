/** Where the output of a run comes from: pages of what was written, and a stream of what comes. */

/** @typedef {import("./log_lines.js").Piece} Piece */

export class Source {
  onPiece = (/** @type {Piece} */ _piece) => {};
  onEnd = (/** @type {object} */ _run) => {};
  onChange = (/** @type {boolean} */ _isConnected) => {};
  /** @type {EventSource | undefined} */
  #stream;
  #timer = 0;
  #wait = 1_000;
  #address;

  /** @param {string} run */
  constructor(run) {
    this.#address = `/api/v1/runs/${encodeURIComponent(run)}/output`;
  }

  /**
   * The last pieces before a sequence number.
   * @param {number} sequence
   * @param {number} bytes
   * @returns {Promise<Piece[]>}
   */
  async before(sequence, bytes) {
    const answer = await fetch(`${this.#address}?before=${sequence}&limit=1000&most_bytes=${bytes}`);
    const said = await answer.json();
    if (!answer.ok) throw new Error(said.detail);
    return said.items;
  }

  /**
   * Follow what comes after a sequence number, each piece once, whatever becomes of the connection.
   * @param {number} last
   */
  follow(last) {
    this.stop();
    const stream = new EventSource(`${this.#address}/stream?after=${last}`);
    stream.addEventListener("open", () => {
      this.#wait = 1_000;
      this.onChange(true);
    });
    stream.addEventListener("output", ({ data }) => {
      const piece = JSON.parse(data);
      if (piece.sequence <= last) return;
      last = piece.sequence;
      this.onPiece(piece);
    });
    stream.addEventListener("end", ({ data }) => {
      this.stop();
      this.onEnd(JSON.parse(data));
    });
    stream.addEventListener("error", () => {
      this.onChange(false);
      // Otherwise the browser itself connects again, and says what came last.
      if (stream.readyState === EventSource.CLOSED) this.#followLater(last);
    });
    this.#stream = stream;
  }

  /** @param {number} last */
  #followLater(last) {
    this.#timer = setTimeout(() => this.follow(last), this.#wait);
    this.#wait = Math.min(this.#wait * 2, 30_000);
  }

  stop() {
    clearTimeout(this.#timer);
    this.#stream?.close();
    this.#stream = undefined;
  }
}
