// The timeline: a lane for each job, what ran and what is to come, drawn by ourselves as SVG.
import { REFRESHED } from "./live.js";
import { clock, spell } from "./controls.js";

const SVG = "http://www.w3.org/2000/svg";
const HOUR = 3_600_000;
const ZOOMS = [["1 h", 1], ["6 h", 6], ["1 d", 24], ["3 d", 72], ["7 d", 168]];
// Of the whole width, this much lies ahead.
const AHEAD = 0.25;
const TALL = 20;
const LEAST = 3;
const TONES = {
  succeeded: "good", failed: "bad", permanent_failure: "bad", timed_out: "bad", lost: "bad",
  skipped: "warn", missed: "warn", running: "live", held: "held",
};
// What hides what when two runs share a place: the worse one is seen.
const WEIGHT = { bad: 4, live: 3, warn: 2, held: 1 };
const STEPS = [5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880].map((minutes) => minutes * 60_000);

class RunTimeline extends HTMLElement {
  connectedCallback() {
    this.dataset.keep = "";
    this.hours = Number(new URLSearchParams(location.search).get("zoom")) || 6;
    this.frame();
    this.again = () => this.load();
    document.addEventListener(REFRESHED, this.again);
    this.seen = new ResizeObserver(() => this.draw());
    this.seen.observe(this);
    this.load();
  }

  disconnectedCallback() {
    document.removeEventListener(REFRESHED, this.again);
    this.seen.disconnect();
  }

  frame() {
    const buttons = ZOOMS.map(([label, hours]) => {
      const button = make("button", { type: "button", textContent: label });
      button.addEventListener("click", () => this.zoom(hours));
      button.dataset.hours = hours;
      return button;
    });
    this.zooms = make("div", { className: "zooms" }, buttons);
    this.zooms.setAttribute("role", "group");
    this.zooms.setAttribute("aria-label", "How much time");
    this.lanes = make("div", { className: "lanes" });
    this.rest = make("p", { className: "dim" });
    this.tip = make("div", { className: "tip", hidden: true });
    this.tip.setAttribute("role", "tooltip");
    this.append(this.zooms, this.lanes, this.rest, this.tip);
    this.lanes.addEventListener("pointerover", (event) => this.point(event));
    this.lanes.addEventListener("pointerleave", () => (this.tip.hidden = true));
  }

  zoom(hours) {
    this.hours = hours;
    const pairs = new URLSearchParams(location.search);
    pairs.set("zoom", hours);
    history.replaceState(null, "", `?${pairs}`);
    this.load();
  }

  async load() {
    for (const button of this.zooms.children) button.toggleAttribute("aria-pressed", Number(button.dataset.hours) === this.hours);
    const whole = this.hours * HOUR;
    const now = Date.now();
    const begin = new Date(now - whole * (1 - AHEAD)).toISOString();
    const end = new Date(now + whole * AHEAD).toISOString();
    try {
      const response = await fetch(`/api/v1/timeline?${new URLSearchParams({ begin, end, lanes: this.getAttribute("lanes") ?? "20" })}`);
      if (!response.ok) return;
      this.data = await response.json();
      this.draw();
    } catch {
      // The mark at the top says that nobody answers; the next refresh tries again.
    }
  }

  draw() {
    if (!this.data) return;
    const { lanes, left_out: left } = this.data;
    const labels = innerWidth < 720 ? 96 : 180;
    const width = Math.max(120, this.clientWidth - labels - 12);
    const begin = Date.parse(this.data.begin);
    const scale = width / (Date.parse(this.data.end) - begin);
    const place = (at) => (Date.parse(at) - begin) * scale;
    const now = place(this.data.now);
    this.lanes.replaceChildren(
      ...lanes.map((lane) => this.lane(lane, { width, place, now })),
      axis(begin, Date.parse(this.data.end), width, scale),
    );
    this.rest.textContent = lanes.length ? (left ? `and ${left} more jobs` : "") : "Nothing ran, and nothing is planned in this time.";
  }

  lane(lane, { width, place, now }) {
    const svg = draw("svg", { width, height: TALL, class: "lane-runs" });
    svg.append(draw("line", { x1: now, x2: now, y1: 0, y2: TALL, class: "now" }));
    for (const at of lane.due) {
      const x = place(at);
      const mark = draw("circle", { cx: x, cy: TALL / 2, r: 3, class: "due" });
      mark.dataset.tip = `${lane.job} is due at ${clock(new Date(at))}`;
      svg.append(mark);
    }
    svg.append(...bars(lane, place, now));
    const label = make("a", { href: `/jobs/${encodeURIComponent(lane.job)}`, textContent: lane.job, title: lane.job });
    return make("div", { className: "lane" }, [label, svg]);
  }

  point(event) {
    const text = event.target.closest("[data-tip]")?.dataset.tip;
    this.tip.hidden = !text;
    if (!text) return;
    this.tip.textContent = text;
    const box = this.getBoundingClientRect();
    const left = Math.min(event.clientX - box.left + 12, box.width - this.tip.offsetWidth - 4);
    this.tip.style.left = `${Math.max(0, left)}px`;
    this.tip.style.top = `${event.clientY - box.top + 16}px`;
  }
}

/** Runs as bars. Where several would lie on the same place, the worst is seen. */
function bars(lane, place, now) {
  const found = new Map();
  for (const run of lane.runs) {
    const from = run.started_at ?? run.due_at ?? run.requested_at;
    const x = place(from);
    const until = run.ended_at && run.started_at ? place(run.ended_at) : run.started_at ? now : x;
    const wide = Math.max(LEAST, until - x);
    const tone = TONES[run.state] ?? "dim";
    const key = Math.round(x / LEAST);
    const other = found.get(key);
    if (!other || (WEIGHT[tone] ?? 0) > (WEIGHT[other.tone] ?? 0)) found.set(key, { run, x, wide, tone });
  }
  return [...found.values()].map(({ run, x, wide, tone }) => {
    const bar = draw("rect", { x, y: 3, width: wide, height: TALL - 6, rx: 1.5, class: tone });
    bar.dataset.tip = describe(lane.job, run);
    const link = draw("a", { href: `/runs/${run.id}`, tabindex: -1 });
    link.setAttribute("aria-label", bar.dataset.tip);
    link.append(bar);
    return link;
  });
}

function describe(job, run) {
  const at = clock(new Date(run.started_at ?? run.due_at ?? run.requested_at));
  const seconds = run.started_at && (run.ended_at ? Date.parse(run.ended_at) : Date.now()) - Date.parse(run.started_at);
  const long = run.started_at ? `, ${spell(seconds / 1000)}` : "";
  const many = run.count > 1 ? `, ${run.count} times` : "";
  return `${job}: ${run.state.replaceAll("_", " ")}${run.reason ? ` (${run.reason.replaceAll("_", " ")})` : ""}, ${at}${long}${many}`;
}

function axis(begin, end, width, scale) {
  const step = STEPS.find((one) => one * scale >= 70) ?? STEPS.at(-1);
  const svg = draw("svg", { width, height: 18, class: "axis", "aria-hidden": "true" });
  const zone = new Date(begin).getTimezoneOffset() * 60_000;
  for (let at = Math.ceil((begin - zone) / step) * step + zone; at < end; at += step) {
    const x = (at - begin) * scale;
    const label = draw("text", { x, y: 13 });
    const day = new Date(at);
    label.textContent = step >= 24 * HOUR || (day.getHours() === 0 && day.getMinutes() === 0)
      ? day.toLocaleDateString(undefined, { month: "short", day: "numeric" })
      : day.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
    svg.append(draw("line", { x1: x, x2: x, y1: 0, y2: 3 }), label);
  }
  return make("div", { className: "lane" }, [make("span", {}), svg]);
}

function make(name, fields, children = []) {
  const element = Object.assign(document.createElement(name), fields);
  element.append(...children);
  return element;
}

function draw(name, attributes) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

customElements.define("run-timeline", RunTimeline);
