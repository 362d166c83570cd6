// Controls: buttons that ask the API, times on the reader's clock, filters that work as one types, keys that lead.
import { goTo, leave, refresh } from "./live.js";

/** A button was answered. Whoever shows the answer itself prevents what happens otherwise. */
export const ANSWERED = "rota:answered";

const TYPED = 200;
const TOLD = 6000;
const SHOWN = 200;

export function listen() {
  customElements.define("rota-time", RotaTime);
  customElements.define("action-button", ActionButton);
  document.addEventListener("click", clicked);
  document.addEventListener("input", typed);
  document.addEventListener("submit", submitted);
  document.addEventListener("keydown", pressed);
  showPlace();
}

/** Where the menu is wider than the screen, the part with this page in it is seen. */
function showPlace() {
  const here = document.querySelector("nav [aria-current]");
  const menu = here?.parentElement;
  if (menu) menu.scrollLeft = here.offsetLeft - menu.offsetLeft - (menu.clientWidth - here.clientWidth) / 2;
}

// Times

const DAY = 86_400;
const UNITS = [[DAY, "d"], [3600, "h"], [60, "m"], [1, "s"]];
const shown = new Set();
setInterval(() => document.hidden || shown.forEach((one) => one.draw()), 1000);

/** "3m 20s": the two largest units. */
export function spell(seconds) {
  let rest = Math.max(0, Math.round(seconds));
  const parts = [];
  for (const [size, unit] of UNITS) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count || (unit === "s" && !parts.length)) parts.push(count + unit);
    if (parts.length === 2) break;
  }
  return parts.join(" ");
}

export function clock(at, now = new Date()) {
  const isNear = Math.abs(at - now) < 20 * 3600 * 1000 || at.toDateString() === now.toDateString();
  const day = isNear ? {} : { year: at.getFullYear() === now.getFullYear() ? undefined : "numeric", month: "short", day: "numeric" };
  const seconds = isNear ? "2-digit" : undefined;
  return at.toLocaleString(undefined, { ...day, hour: "2-digit", minute: "2-digit", second: seconds, hourCycle: "h23" });
}

export function relative(at, now = new Date()) {
  const seconds = (at - now) / 1000;
  if (Math.abs(seconds) < 1) return "now";
  const text = spell(Math.abs(seconds) < 60 ? Math.abs(seconds) : Math.round(Math.abs(seconds) / 60) * 60);
  return seconds > 0 ? `in ${text}` : `${text} ago`;
}

class RotaTime extends HTMLElement {
  static observedAttributes = ["at", "show"];

  connectedCallback() {
    this.dataset.keep = "";
    shown.add(this);
    this.draw();
  }

  disconnectedCallback() {
    shown.delete(this);
  }

  attributeChangedCallback() {
    if (this.isConnected) this.draw();
  }

  draw() {
    const at = new Date(this.getAttribute("at"));
    const show = this.getAttribute("show");
    const text = show === "elapsed" ? spell((Date.now() - at) / 1000)
      : show === "relative" ? relative(at)
      : show === "clock" ? clock(at)
      : `${clock(at)} (${relative(at)})`;
    if (this.textContent !== text) this.textContent = text;
    const utc = `${at.toISOString().replace("T", " ").replace(/\.\d+Z$/, "")} UTC`;
    if (this.title !== utc) this.title = utc;
  }
}

// Asking the API

/** Send a request; what is refused becomes an error that says what to do. */
export async function ask(method, path, body, headers = {}) {
  const response = await fetch(path, {
    method,
    headers: { "Content-Type": "application/json", ...headers },
    body: method === "GET" || method === "DELETE" ? undefined : JSON.stringify(body ?? {}),
  });
  const answer = (response.headers.get("Content-Type") ?? "").includes("json") ? await response.json() : {};
  if (!response.ok) throw Object.assign(new Error(answer.detail ?? response.statusText), { answer, status: response.status });
  return answer;
}

/** Say something in a corner for a while. */
export function toast(text, tone = "good") {
  const place = document.querySelector("[data-toasts]");
  const one = document.createElement("p");
  one.className = `toast ${tone}`;
  one.textContent = text;
  place.append(one);
  setTimeout(() => one.remove(), TOLD);
}

class ActionButton extends HTMLElement {
  connectedCallback() {
    if (this.querySelector(".copy")) return;
    const copy = document.createElement("button");
    copy.type = "button";
    copy.className = "copy quiet";
    copy.title = this.command.length > SHOWN ? `${this.command.slice(0, SHOWN)}…` : this.command;
    copy.setAttribute("aria-label", `Copy as command: ${copy.title}`);
    copy.innerHTML = '<svg class="icon" aria-hidden="true"><use href="#i-copy"/></svg>';
    copy.addEventListener("click", () => copied(this.command));
    this.append(copy);
    this.dataset.keep = "";
    this.querySelector("button").addEventListener("click", () => this.press());
  }

  get command() {
    return this.getAttribute("command");
  }

  async press() {
    const fields = this.querySelector("template");
    const question = this.getAttribute("confirm");
    const given = fields || question ? await asked(this, question, fields) : {};
    if (given === null) return;
    const button = this.querySelector("button");
    button.disabled = true;
    leave(this.hasAttribute("then"));
    try {
      const body = { ...JSON.parse(this.getAttribute("body") ?? "{}"), ...given };
      const answer = await ask(this.getAttribute("method"), this.getAttribute("path"), body);
      this.finished(answer);
    } catch (error) {
      leave(false);
      toast(error.message, "bad");
    } finally {
      button.disabled = false;
    }
  }

  finished(answer) {
    if (!this.dispatchEvent(new CustomEvent(ANSWERED, { bubbles: true, cancelable: true, detail: answer }))) return refresh();
    const then = this.getAttribute("then");
    if (then) location.assign(then.replace("{run_id}", encodeURIComponent(answer.run_id ?? "")));
    else {
      toast(this.getAttribute("done") ?? "Done.");
      refresh();
    }
  }
}

/** A dialog with a question and fields; their values, or null if nothing is to happen. */
function asked(button, question, fields) {
  const dialog = document.createElement("dialog");
  const label = button.querySelector("button").textContent;
  dialog.innerHTML = '<form method="dialog"><h2></h2><div class="fields"></div><p class="buttons"><button value="yes" class="main"></button><button value="" type="button">Back</button></p></form>';
  dialog.querySelector("h2").textContent = question ?? label;
  dialog.setAttribute("aria-label", question ?? label);
  dialog.querySelector("[value=yes]").textContent = label;
  if (fields) dialog.querySelector(".fields").append(fields.content.cloneNode(true));
  document.body.append(dialog);
  dialog.querySelector("[type=button]").addEventListener("click", () => dialog.close(""));
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      resolve(dialog.returnValue === "yes" ? valuesOf(dialog.querySelector("form")) : null);
      dialog.remove();
    });
  });
}

/** What is filled in, by name. Local times become instants, numbers numbers; what is empty is left out. */
export function valuesOf(form) {
  const values = {};
  for (const field of form.elements) {
    if (!field.name || !field.value.trim()) continue;
    if (field.type === "datetime-local") values[field.name] = new Date(field.value).toISOString();
    else values[field.name] = field.type === "number" ? Number(field.value) : field.value;
  }
  return values;
}

async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    toast(`Copied: ${text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text}`);
  } catch {
    toast(text, "plain");
  }
}

// Clicks, typing and keys

function clicked(event) {
  if (event.target.closest("[data-theme-switch]")) switchTheme();
  if (event.target.closest("[data-help]")) help();
  const text = event.target.closest("[data-copy]")?.dataset.copy;
  if (text) copied(text);
}

function switchTheme() {
  const root = document.documentElement;
  const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
  document.cookie = `rota_theme=${root.dataset.theme}; path=/; max-age=31536000; samesite=strict`;
}

let typing = 0;

/** A form that filters follows its fields as they change. */
function typed(event) {
  const form = event.target.closest("form[data-filter]");
  if (!form) return;
  clearTimeout(typing);
  typing = setTimeout(() => goTo(addressOf(form)), event.target.type === "search" ? TYPED : 0);
}

function submitted(event) {
  const form = event.target.closest("form[data-filter]");
  if (!form) return;
  event.preventDefault();
  clearTimeout(typing);
  goTo(addressOf(form));
}

function addressOf(form) {
  const pairs = new URLSearchParams(location.search);
  pairs.delete("after");
  for (const field of form.elements) if (field.name) pairs.delete(field.name);
  for (const [name, value] of new FormData(form)) if (value) pairs.append(name, value);
  return pairs.size ? `${location.pathname}?${pairs}` : location.pathname;
}

const KEYS = [
  ["/", "filter this page, or search the log"],
  ["g o", "overview"], ["g j", "jobs"], ["g r", "runs"], ["g a", "agents"], ["g w", "workers"], ["g u", "audit"], ["g s", "settings"],
  ["j / k", "next and previous row"], ["Enter", "open the row"], ["?", "this help"], ["Esc", "close, or leave the filter"],
];
let prefix = "";

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, textarea, select, [contenteditable], dialog")) {
    if (event.key === "Escape" && event.target.matches("input")) event.target.blur();
    return;
  }
  const key = prefix + event.key;
  prefix = event.key === "g" ? "g " : "";
  if (key === "/") {
    event.preventDefault();
    document.querySelector(":is(form[data-filter], run-log) input[type=search]")?.focus();
  } else if (key === "?") help();
  else if (key.startsWith("g ")) document.querySelector(`nav a[data-key="${CSS.escape(event.key)}"]`)?.click();
  else if (key === "j" || key === "k") step(key === "j" ? 1 : -1);
}

/** Move the focus along the rows of the page. */
function step(by) {
  const rows = [...document.querySelectorAll("tr[data-key] a[data-row]")];
  const at = rows.indexOf(document.activeElement);
  rows[at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + by))]?.focus();
}

function help() {
  const dialog = document.createElement("dialog");
  dialog.setAttribute("aria-label", "Keyboard shortcuts");
  dialog.innerHTML = '<form method="dialog"><h2>Keyboard shortcuts</h2><dl class="keys"></dl><p class="buttons"><button class="main">Close</button></p></form>';
  const list = dialog.querySelector("dl");
  for (const [keys, meaning] of KEYS) {
    const term = list.appendChild(document.createElement("dt"));
    term.append(Object.assign(document.createElement("kbd"), { textContent: keys }));
    list.appendChild(document.createElement("dd")).textContent = meaning;
  }
  document.body.append(dialog);
  dialog.addEventListener("close", () => dialog.remove());
  dialog.showModal();
}
