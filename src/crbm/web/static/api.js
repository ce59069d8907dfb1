// Requests to the page's own server.

import { authorisation } from "./token.js";

async function parse(response) {
  const body = await response.json();
  if (response.ok) return body;
  const error = new Error(body.detail ?? `The server answered ${response.status}.`);
  throw Object.assign(error, { status: response.status });
}

export const get = async (path) => parse(await fetch(path, { headers: authorisation() }));

export const post = async (path, body) =>
  parse(await fetch(path, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...authorisation() },
    body: JSON.stringify(body),
  }));

/** The URL of a route of a model. */
export const modelUrl = (model, route) => `/api/models/${encodeURIComponent(model.name)}/${route}`;

/**
 * Make an asynchronous function run one call at a time. Of the calls made during a run,
 * only the last one runs afterwards, so that dragging does not fill a queue.
 * While it runs, `busyElement` has `aria-busy`.
 */
export function latest(busyElement, work) {
  let running = false;
  let next = null;
  return async function run(...args) {
    next = args;
    if (running) return;
    running = true;
    busyElement.setAttribute("aria-busy", "true");
    try {
      while (next) {
        const current = next;
        next = null;
        await work(...current);
      }
    } finally {
      running = false;
      busyElement.setAttribute("aria-busy", "false");
    }
  };
}
