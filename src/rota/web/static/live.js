// Live: when something happens that concerns this page, it is fetched again, and what differs is put in its place.
// However much happens, a page is fetched at most once a second, and not at all while nobody sees it.

const SOON = 150;
const LEAST = 1000;
const CALM = 10_000;
// A page that takes long to make is asked for less often.
const SHARE = 5;

/** Page modules that draw for themselves listen for this. */
export const REFRESHED = "rota:refreshed";

let stream = null;
let timer = 0;
let fetching = null;
let asked = 0;
let next = 0;
let isLeaving = false;

export function start() {
  document.addEventListener("visibilitychange", () => (document.hidden ? rest() : wake()));
  // Whatever has happened since the page was made is told first.
  if (!document.hidden) follow(document.body.dataset.since);
  setInterval(() => document.hidden || refresh(), CALM);
}

function wake() {
  follow();
  refresh();
}

function rest() {
  stream?.close();
  stream = null;
}

function follow(since) {
  if (stream || !document.body.dataset.listen) return;
  stream = new EventSource(`/api/v1/events/stream${since ? `?after=${since}` : ""}`);
  stream.addEventListener("event", (message) => concerns(JSON.parse(message.data)) && refresh());
  stream.addEventListener("open", () => {
    if (isOffline()) refresh();
    tell("");
  });
  stream.addEventListener("error", () => {
    tell("Offline, reconnecting…");
    // The browser gives up when a server answers with an error; we do not.
    if (stream?.readyState === EventSource.CLOSED) {
      stream = null;
      setTimeout(() => document.hidden || follow(), 2000);
    }
  });
}

const mark = () => document.querySelector("[data-offline]");
const isOffline = () => mark()?.textContent !== "";

/** Whether nobody but the page itself has to say that the server is there. */
const isFollowed = () => !document.body.dataset.listen || stream?.readyState === EventSource.OPEN;

function tell(text) {
  if (mark()) mark().textContent = text;
}

/** Whether the page shows anything of what happened. */
function concerns(event) {
  const { listen, job, run } = document.body.dataset;
  if (job && event.job !== job) return false;
  if (run && event.run_id !== run && !event.event.startsWith("run.")) return false;
  return listen === "all" || listen.split(" ").includes(event.event.split(".")[0]);
}

/** Fetch the page again, soon; many calls become one. */
export function refresh() {
  asked += 1;
  if (timer || fetching) return;
  timer = setTimeout(fetchPage, Math.max(SOON, next - performance.now()));
}

async function fetchPage() {
  timer = 0;
  // What was asked for before may no longer be wanted.
  if (document.hidden || isLeaving) return;
  const meant = asked;
  const begun = performance.now();
  try {
    fetching = fetch(location.href, { headers: { Accept: "text/html" } });
    const response = await fetching;
    if (isOther(response)) location.reload();
    else if (response.ok) await show(await response.text());
    if (response.status >= 500) tell("Not up to date, trying again…");
    else if (isFollowed()) tell("");
    if (!stream && document.body.dataset.listen && !document.hidden) follow();
  } catch {
    tell("Offline, reconnecting…");
  } finally {
    fetching = null;
    next = performance.now() + Math.max(LEAST, SHARE * (performance.now() - begun));
    if (asked !== meant) refresh();
  }
}

/** Whether nothing of what is shown is there any more: somebody was logged out, it was removed, or it came to be. */
function isOther({ status, ok }) {
  if (document.getElementById("problem")) return ok || status === 401;
  return status === 401 || (status === 404 && document.querySelector("[data-live]") !== null);
}

/** Whether somebody is about to go elsewhere, so that the page need not follow what becomes of it. */
export function leave(isSo) {
  isLeaving = isSo;
}

/** Go to another address of the same page without leaving it. */
export function goTo(address) {
  history.replaceState(null, "", address);
  next = 0;
  if (timer) clearTimeout(timer);
  timer = 0;
  refresh();
}

async function show(text) {
  const fresh = new DOMParser().parseFromString(text, "text/html");
  for (const region of document.querySelectorAll("[data-live][id]")) {
    const other = fresh.getElementById(region.id);
    if (other) morph(region, other);
  }
  document.title = fresh.title;
  document.dispatchEvent(new CustomEvent(REFRESHED));
}

/** Make one element like another, touching nothing that is the same: focus, scroll and open details stay. */
export function morph(old, fresh) {
  if (old.isEqualNode(fresh)) return;
  attributes(old, fresh);
  if (!old.hasAttribute("data-keep")) return children(old, fresh);
  // What a control has made of itself stays, but not what it will ask.
  const [asked, asks] = [old, fresh].map((one) => one.querySelector(":scope > template"));
  if (asked && asks) asked.replaceWith(document.importNode(asks, true));
}

function attributes(old, fresh) {
  for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  if (old.hasAttribute("data-keep")) return;
  for (const { name } of [...old.attributes]) {
    const isTheirs = name === "open" && old.localName === "details";
    if (!isTheirs && !fresh.hasAttribute(name)) old.removeAttribute(name);
  }
}

const keyOf = (node) => (node.nodeType === Node.ELEMENT_NODE ? node.id || node.dataset?.key || null : null);

function children(old, fresh) {
  const known = new Map([...old.childNodes].filter(keyOf).map((node) => [keyOf(node), node]));
  let place = old.firstChild;
  for (const wanted of [...fresh.childNodes]) {
    const found = keyOf(wanted) ? known.get(keyOf(wanted)) : similar(place, wanted);
    if (!found) {
      old.insertBefore(document.importNode(wanted, true), place);
      continue;
    }
    if (found === place) place = place.nextSibling;
    else old.insertBefore(found, place);
    if (wanted.nodeType === Node.ELEMENT_NODE) morph(found, wanted);
    else if (found.nodeValue !== wanted.nodeValue) found.nodeValue = wanted.nodeValue;
  }
  while (place) {
    const gone = place;
    place = place.nextSibling;
    gone.remove();
  }
}

/** The element at a place, if it may become the other: of the same kind, and nobody else's by its key. */
function similar(place, wanted) {
  return place && !keyOf(place) && place.nodeName === wanted.nodeName ? place : null;
}
