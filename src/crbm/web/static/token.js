// The token of a server that needs one, kept for this tab only.

import { element } from "./dom.js";

const KEY = "crbm-token";

/** The headers that carry the token, if there is one. */
export function authorisation() {
  const token = sessionStorage.getItem(KEY);
  return token ? { Authorization: `Bearer ${token}` } : {};
}

/** A form that asks for the token, keeps it and calls `onToken`. */
export function tokenForm(onToken) {
  const input = element("input", { type: "password", id: "token", autocomplete: "current-password", required: true });
  const problem = element("p", { className: "problem", role: "alert" },
    sessionStorage.getItem(KEY) ? "The server does not accept this token." : "");
  const form = element("form", { className: "panel token" },
    element("label", { for: "token" }, "This server needs its token"),
    element("p", { className: "hint" }, "Whoever started the server knows it. It stays in this tab until you close it."),
    input, problem, element("button", { type: "submit", className: "plain" }, "Use this token"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    sessionStorage.setItem(KEY, input.value.trim());
    onToken();
  });
  return form;
}
