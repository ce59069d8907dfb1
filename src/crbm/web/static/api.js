// Questions to the server that this page came from.

async function answer(response) {
  const body = await response.json();
  if (!response.ok) throw new Error(body.detail ?? `The server answered ${response.status}.`);
  return body;
}

export const get = async (path) => answer(await fetch(path));

export const post = async (path, body) =>
  answer(await fetch(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  }));

/** The address of a model's answers. */
export const about = (model, what) => `/api/models/${encodeURIComponent(model.name)}/${what}`;

/**
 * A function that runs one at a time: calls made meanwhile are dropped but for the last,
 * so a dragging hand never fills a queue and the last state is always answered.
 * Meanwhile `shown` is marked as busy.
 */
export function latest(shown, work) {
  let running = false;
  let next = null;
  return async function run(...args) {
    next = args;
    if (running) return;
    running = true;
    shown.setAttribute("aria-busy", "true");
    try {
      while (next) {
        const current = next;
        next = null;
        await work(...current);
      }
    } finally {
      running = false;
      shown.setAttribute("aria-busy", "false");
    }
  };
}
