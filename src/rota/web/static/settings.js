// Settings: what the doctor finds, and new tokens, which are shown once.
import { ANSWERED, ask } from "./controls.js";

const SIGNS = { failure: ["bad", "bad"], warning: ["warn", "warn"], ok: ["good", "good"] };

class DoctorCheck extends HTMLElement {
  connectedCallback() {
    this.querySelector("[data-check]").addEventListener("click", (event) => this.check(event.currentTarget));
  }

  async check(button) {
    const place = this.querySelector("[data-findings]");
    button.disabled = true;
    place.textContent = "Looking…";
    try {
      const { findings } = await ask("GET", "/api/v1/doctor");
      place.replaceChildren(...shown(findings));
    } catch (error) {
      place.textContent = error.message;
    }
    button.disabled = false;
  }
}

/** What is wrong, the worst first; what is well can be unfolded. */
function shown(findings) {
  const of = (status) => findings.filter((one) => one.status === status);
  const wrong = [...of("failure"), ...of("warning")];
  const well = document.createElement("details");
  well.append(made("summary", `${of("ok").length} checks are well`), list(of("ok")));
  return wrong.length ? [list(wrong), well] : [made("strong", "Nothing is wrong."), well];
}

function list(findings) {
  const place = made("ul", "", "plain findings");
  for (const { check, status, message, cure } of findings) {
    const item = place.appendChild(made("li", ""));
    const [tone, sign] = SIGNS[status];
    const mark = item.appendChild(made("span", "", `state ${tone}`));
    mark.innerHTML = `<svg class="icon" aria-hidden="true"><use href="#i-${sign}"/></svg>`;
    mark.append(check.replaceAll("_", " "));
    const words = item.appendChild(made("div", ""));
    words.append(made("p", message));
    if (cure) words.append(made("p", cure, "dim"));
  }
  return place;
}

function made(kind, text, tone = "") {
  return Object.assign(document.createElement(kind), { textContent: text, className: tone });
}

/** A secret is shown until the dialog is closed, and nowhere afterwards. */
function reveal(title, secret, note) {
  const dialog = made("dialog", "");
  dialog.setAttribute("aria-label", title);
  dialog.innerHTML = '<form method="dialog"><h2></h2><p></p><pre class="code secret" tabindex="0"></pre><p class="buttons"><button type="button" class="main">Copy</button><button>Close</button></p></form>';
  dialog.querySelector("h2").textContent = title;
  dialog.querySelector("p").textContent = note;
  dialog.querySelector("pre").textContent = secret;
  dialog.querySelector(".main").addEventListener("click", async (event) => {
    await navigator.clipboard.writeText(secret).catch(() => getSelection().selectAllChildren(dialog.querySelector("pre")));
    event.target.textContent = "Copied";
  });
  document.body.append(dialog);
  dialog.addEventListener("close", () => dialog.remove());
  dialog.showModal();
}

document.addEventListener(ANSWERED, (event) => {
  const { token, path, name, role } = event.detail;
  if (token) reveal(`The token of ${name}`, token, "It is shown now and never again.");
  else if (path) reveal("Login link", location.origin + path, `It lets one browser in, once, within ten minutes, with the role ${role}.`);
  else return;
  event.preventDefault();
});

customElements.define("doctor-check", DoctorCheck);
