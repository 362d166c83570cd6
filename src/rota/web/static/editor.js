// The editor of a job: what is written is previewed as one types, saved when it is whole, and never lost when it is not.
import { ask } from "./controls.js";

const TYPED = 300;
const MISSING = ["This job has no schedule.", "This job has no action."];
const OFFLINE = "The server cannot be reached. What you wrote is still here.";

class JobEditor extends HTMLElement {
  connectedCallback() {
    this.form = this.querySelector("form");
    this.shown = this.querySelector("[data-preview]");
    this.version = this.dataset.version;
    this.asked = 0;
    this.zone = this.querySelector("[data-word=timezone]");
    if (!this.dataset.name && !this.zone.value) this.zone.value = Intl.DateTimeFormat().resolvedOptions().timeZone;
    this.kindChanged();
    this.begun = this.written();
    this.form.addEventListener("input", () => this.typed());
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.save();
    });
    addEventListener("beforeunload", (event) => {
      if (!this.isSaved && this.written() !== this.begun) event.preventDefault();
    });
    this.preview();
  }

  typed() {
    this.kindChanged();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.preview(), TYPED);
  }

  /** Only the fields of the chosen action are there; the others keep what stands in them. */
  kindChanged() {
    for (const part of this.querySelectorAll("[data-kind]")) part.hidden = part.dataset.kind !== this.form.elements.kind.value;
  }

  field(word) {
    return this.querySelector(`[data-word="${CSS.escape(word)}"]`);
  }

  /** What the form asks for: a text, and the words of the fields that say something, laid over it. */
  question() {
    const definition = {};
    for (const field of this.querySelectorAll("[data-word]")) {
      const value = field.type === "checkbox" ? field.checked : field.value;
      if (!value || field.closest("[hidden]") || ["name", "agent"].includes(field.dataset.word)) continue;
      const way = field.dataset.word.split(".");
      const last = way.pop();
      way.reduce((inner, step) => (inner[step] ??= {}), definition)[last] = value;
    }
    const name = this.dataset.name ?? this.field("name").value.trim();
    const agent = this.dataset.agent ?? this.field("agent").value.trim();
    return { text: this.querySelector("[data-rules]").value, definition, name: name || "job", agent: agent || null };
  }

  /** Everything that somebody could miss. */
  written() {
    return JSON.stringify(this.question());
  }

  async preview() {
    const asked = ++this.asked;
    this.shown.classList.add("stale");
    try {
      const answer = await ask("POST", "/api/v1/jobs/preview", this.question());
      const shown = await this.asBegun(answer);
      if (asked !== this.asked) return null;
      this.refuse("");
      this.show(shown);
      return answer;
    } catch (error) {
      if (asked === this.asked) this.refuse(error.status ? error.message : OFFLINE);
      return null;
    } finally {
      if (asked === this.asked) this.shown.classList.remove("stale");
    }
  }

  /** Until somebody wants to save it, nobody is told of what they have not come to yet; times are shown without it. */
  async asBegun(answer) {
    if (this.isTried) return answer;
    const problems = answer.problems.filter(({ message }) => !MISSING.includes(message));
    if (answer.problems.length !== 1 || answer.problems[0].message !== MISSING[1]) return { ...answer, problems };
    const question = this.question();
    return ask("POST", "/api/v1/jobs/preview", { ...question, definition: { ...question.definition, command: ["true"] } });
  }

  show(answer) {
    this.point(answer.problems);
    this.shown.replaceChildren();
    if (!answer.problems.length && !answer.in_words) {
      this.tell("p", "Write a schedule to see when it would run.", "empty");
      return;
    }
    if (answer.problems.length) {
      const count = answer.problems.length === 1 ? "One thing has" : `${answer.problems.length} things have`;
      this.tell("p", `${count} to change before it can run.`, "empty");
      return;
    }
    this.tell("p", answer.in_words, "words");
    for (const warning of answer.warnings) this.tell("p", warning, "note");
    if (answer.next_times.length) this.times(answer.next_times);
    else this.tell("p", "It has no times of its own.", "empty");
    this.command(answer.definition);
  }

  tell(kind, text, tone) {
    const one = Object.assign(document.createElement(kind), { textContent: text, className: tone });
    this.shown.append(one);
    return one;
  }

  /** Each time on the reader's clock, and on the job's where it shows something else. */
  times(due) {
    const list = this.tell("ol", "", "");
    list.setAttribute("aria-label", "Next times");
    for (const { at, local, note } of due) {
      const item = list.appendChild(document.createElement("li"));
      const time = item.appendChild(document.createElement("rota-time"));
      time.setAttribute("at", at);
      const there = `${local.slice(0, 10)} ${local.slice(11, 19)}`;
      const line = `${there} ${this.zone.value || "UTC"}`;
      if (!isHere(at, there)) item.appendChild(document.createElement("span")).append(line);
      if (note) item.appendChild(document.createElement("span")).append(note);
      for (const span of item.querySelectorAll("span")) span.className = "dim";
    }
  }

  /** Each problem at the field it is about; those of the text with their lines, and the rest below it. */
  point(problems) {
    for (const place of this.querySelectorAll("[data-problem]")) {
      place.replaceChildren();
      place.hidden = true;
    }
    for (const field of this.querySelectorAll("[aria-invalid]")) field.removeAttribute("aria-invalid");
    for (const problem of problems) this.pointAt(problem);
  }

  pointAt({ message, cure, path, line }) {
    const place = (line ? null : this.placeOf(path, message)) ?? this.querySelector('[data-problem=""]');
    const said = place.appendChild(document.createElement("p"));
    said.append(line ? `Line ${line}: ` : "", message, " ");
    said.appendChild(Object.assign(document.createElement("span"), { className: "cure", textContent: cure }));
    place.hidden = false;
    const field = place.dataset.problem ? this.field(place.dataset.problem) : this.querySelector("[data-rules]");
    field?.setAttribute("aria-invalid", "true");
  }

  placeOf(path, message) {
    const missing = { [MISSING[0]]: "schedule", [MISSING[1]]: this.actionField() }[message];
    const word = missing ?? (path.replace(/\[\d+\]/g, "") || (/^Invalid (\w+) /.exec(message)?.[1] ?? ""));
    const found = [word, word === "http" ? "http.url" : word.split(".")[0]].map((one) => this.querySelector(`[data-problem="${CSS.escape(one)}"]`));
    return word ? found.find((place) => place && !place.closest("[data-kind][hidden]")) : null;
  }

  actionField() {
    return { command: "command", http: "http.url" }[this.form.elements.kind.value];
  }

  command(definition) {
    const { name, agent } = this.question();
    const words = [this.dataset.command, quoted(name)];
    if (agent && !this.dataset.name) words.push("--agent", quoted(agent));
    if ("proposal" in this.dataset) words.push("--propose");
    const text = `${words.join(" ")} --from-file - <<'ROTA'\n${JSON.stringify(definition, null, 2)}\nROTA`;
    this.querySelector("[data-as-command]").dataset.copy = text;
  }

  async save() {
    clearTimeout(this.timer);
    this.isTried = true;
    const { name, agent } = this.question();
    if (!this.dataset.name && !this.field("name").value.trim()) {
      this.point([{ message: "A job needs a name.", cure: "Such as nightly, or coder/nightly.", path: "name", line: 0 }]);
      this.lead();
      return;
    }
    const button = this.querySelector("button.main");
    button.disabled = true;
    const answer = await this.preview();
    if (answer && !answer.problems.length) await this.send(answer.definition, name, agent);
    button.disabled = false;
    this.lead();
  }

  async send(definition, name, agent) {
    const zone = this.zone.value.trim() || "UTC";
    const body = this.dataset.name ? { definition } : { name, agent, definition, timezone: zone };
    try {
      const headers = this.dataset.name ? { "If-Match": `"${this.version}"` } : {};
      const saved = await ask(this.dataset.method, this.dataset.path, body, headers);
      this.isSaved = true;
      location.assign(`/jobs/${encodeURIComponent(saved.name)}`);
    } catch (error) {
      if (error.status === 412) this.changed(error.message);
      else if (error.answer?.problems?.length) this.point(error.answer.problems);
      else this.refuse(error.status ? error.message : OFFLINE);
    }
  }

  /** Lead to the first thing that is wrong. */
  lead() {
    if (this.isSaved) return;
    (this.querySelector("[data-refusal]:not([hidden])") ?? this.querySelector('[aria-invalid="true"]'))?.focus();
  }

  refuse(text) {
    const place = this.querySelector("[data-refusal]");
    place.tabIndex = -1;
    place.textContent = text;
    place.hidden = !text;
    return place;
  }

  /** Somebody was faster: nothing is lost, and whoever wrote this decides. */
  changed(message) {
    const place = this.refuse(`Somebody changed it meanwhile. Nothing of what you wrote is lost. ${message} `);
    const look = Object.assign(document.createElement("a"), { href: location.href, target: "_blank", textContent: "Look at what it is now" });
    const again = Object.assign(document.createElement("button"), { type: "button", textContent: "Save mine over it" });
    again.addEventListener("click", async () => {
      const now = await ask("GET", this.dataset.path).catch(() => null);
      if (now) this.version = now.version;
      this.save();
    });
    place.append(look, " ", again);
  }
}

/** Whether the reader's clock shows the same. */
function isHere(at, there) {
  const date = new Date(at);
  const two = (number) => String(number).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return there === `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** A word as a shell takes it. */
function quoted(word) {
  return /^[\w./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

customElements.define("job-editor", JobEditor);
