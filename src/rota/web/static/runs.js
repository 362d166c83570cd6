// The runs: what is done to many at once, and a stretch of time on the reader's clock.
import { goTo, refresh, REFRESHED } from "./live.js";
import { ANSWERED, ask, toast } from "./controls.js";

const TOLD = 20;

const counted = (count, word) => `${count.toLocaleString()} ${word}${count === 1 ? "" : "s"}`;

/** What is chosen, by its id, and the buttons for it. The list stands still as long as something is chosen. */
class BulkRuns extends HTMLElement {
  chosen = new Set();
  address = location.search;

  connectedCallback() {
    this.dataset.keep = "";
    document.addEventListener("change", this);
    document.addEventListener(REFRESHED, this);
    this.addEventListener(ANSWERED, this);
    this.draw();
  }

  disconnectedCallback() {
    document.removeEventListener("change", this);
    document.removeEventListener(REFRESHED, this);
  }

  handleEvent(event) {
    if (event.type === ANSWERED) this.done(event);
    else if (event.type === REFRESHED) this.refreshed();
    else if (event.target.matches("[data-all]")) this.choose(boxes().map(runOf), event.target.checked);
    else if (event.target.matches("[data-run]")) this.choose([runOf(event.target)], event.target.checked);
  }

  choose(ids, isChosen) {
    for (const id of ids) isChosen ? this.chosen.add(id) : this.chosen.delete(id);
    this.refused = [];
    this.draw();
  }

  /** Another question has other answers, so nothing of the old one stays chosen. */
  refreshed() {
    if (this.address === location.search) return this.mark();
    this.address = location.search;
    this.clear();
  }

  clear() {
    this.chosen.clear();
    this.draw();
    refresh();
  }

  async chooseAll() {
    try {
      const page = await ask("GET", `/api/v1/runs?${this.getAttribute("query")}&limit=${this.most}`);
      this.chosen = new Set(page.items.map((run) => run.id));
      this.draw();
    } catch (error) {
      toast(error.message, "bad");
    }
  }

  get most() {
    return Number(this.getAttribute("most"));
  }

  get total() {
    return Number(this.getAttribute("total"));
  }

  mark() {
    const all = boxes();
    for (const box of all) box.checked = this.chosen.has(runOf(box));
    const head = document.querySelector("[data-all]");
    if (!head) return;
    const count = all.filter((box) => box.checked).length;
    head.checked = count > 0 && count === all.length;
    head.indeterminate = count > 0 && count < all.length;
    document.getElementById("rows").toggleAttribute("data-keep", this.chosen.size > 0);
  }

  draw() {
    this.mark();
    this.replaceChildren(...(this.chosen.size ? [this.bar()] : []), ...(this.refused?.length ? [this.refusals()] : []));
  }

  bar() {
    const bar = made("div", { className: "bulk" });
    bar.append(made("span", { textContent: `${counted(this.chosen.size, "run")} selected` }));
    bar.firstChild.setAttribute("role", "status");
    const some = Math.min(this.total, this.most);
    if (this.chosen.size < some) bar.append(pressed(this.labelOfAll(some), () => this.chooseAll()));
    bar.append(this.action("Retry", "retry"), this.action("Cancel", "cancel", "danger"));
    bar.append(pressed("Clear selection", () => this.clear(), "quiet"));
    return bar;
  }

  labelOfAll(some) {
    const isAll = this.total <= this.most && !this.hasAttribute("cut");
    return isAll ? `Select all ${this.total.toLocaleString()} matching` : `Select the latest ${some.toLocaleString()} matching`;
  }

  action(label, verb, tone = "") {
    const runs = [...this.chosen];
    const button = made("action-button");
    const attributes = {
      method: "POST",
      path: `/api/v1/runs/${verb}`,
      body: JSON.stringify({ runs }),
      command: `rota run ${verb} ${runs.join(" ")}`,
      confirm: `${label} ${counted(runs.length, "run")}?`,
    };
    for (const [name, value] of Object.entries(attributes)) button.setAttribute(name, value);
    button.append(made("button", { type: "button", className: tone, textContent: label }));
    if (verb === "cancel") button.append(reason());
    return button;
  }

  done(event) {
    event.preventDefault();
    const { done, made: born, refused } = event.detail;
    const verb = event.target.getAttribute("path").endsWith("retry") ? "Retried" : "Cancelled";
    const said = `${verb} ${counted(done.length, "run")}${born.length ? `, ${counted(born.length, "new run")}` : ""}.`;
    toast(refused.length ? `${said} ${refused.length.toLocaleString()} refused: ${refused[0].why}` : said, toneOf(done, refused));
    this.refused = refused;
    this.clear();
  }

  refusals() {
    const box = made("div", { className: "refusal refused" });
    box.append(made("strong", { textContent: `${counted(this.refused.length, "run")} refused` }));
    const list = box.appendChild(made("ul"));
    for (const { run_id, why } of this.refused.slice(0, TOLD)) {
      const link = made("a", { href: `/runs/${encodeURIComponent(run_id)}`, textContent: run_id.slice(-8), className: "mono" });
      const line = list.appendChild(made("li"));
      line.append(link, ` ${why}`);
    }
    if (this.refused.length > TOLD) list.append(made("li", { textContent: `and ${counted(this.refused.length - TOLD, "other")}` }));
    box.append(pressed("Dismiss", () => this.choose([], true)));
    return box;
  }
}

const boxes = () => [...document.querySelectorAll("#rows [data-run]")];
const runOf = (box) => box.closest("tr").dataset.key;
const made = (name, fields = {}) => Object.assign(document.createElement(name), fields);
const toneOf = (done, refused) => (!refused.length ? "good" : done.length ? "plain" : "bad");

function pressed(label, then, tone = "") {
  const button = made("button", { type: "button", textContent: label, className: tone });
  button.addEventListener("click", then);
  return button;
}

function reason() {
  const fields = made("template");
  const label = made("label", { htmlFor: "bulk-reason", textContent: "Why (optional)" });
  fields.content.append(label, made("input", { id: "bulk-reason", name: "reason", maxLength: 2000 }));
  return fields;
}

/** From and to, as the reader's clock has it; the address has instants. */
class TimeSpan extends HTMLElement {
  static observedAttributes = ["since", "until"];

  connectedCallback() {
    this.dataset.keep = "";
    this.addEventListener("change", () => this.changed());
    this.fill();
  }

  attributeChangedCallback() {
    if (this.isConnected) this.fill();
  }

  fill() {
    for (const field of this.querySelectorAll("input")) {
      const at = this.getAttribute(field.dataset.edge);
      if (field !== document.activeElement) field.value = at ? local(new Date(at)) : "";
    }
  }

  changed() {
    const pairs = new URLSearchParams(location.search);
    pairs.delete("after");
    for (const field of this.querySelectorAll("input")) {
      const { edge } = field.dataset;
      const isSpan = edge === "since" && !field.value && !this.hasAttribute("since");
      if (field.value) pairs.set(edge, new Date(field.value).toISOString());
      else if (!isSpan) pairs.delete(edge);
    }
    goTo(pairs.size ? `${location.pathname}?${pairs}` : location.pathname);
  }
}

/** As a field for local times wants it. */
function local(at) {
  return new Date(at - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

function opened(event) {
  const button = event.target.closest("[data-facets]");
  if (!button) return;
  const isOpen = document.getElementById("facets").toggleAttribute("data-open");
  button.setAttribute("aria-expanded", String(isOpen));
}

customElements.define("bulk-runs", BulkRuns);
customElements.define("time-span", TimeSpan);
document.addEventListener("click", opened);
