// The API page: every route of /openapi.json, with a request to send.

import { get, modelUrl } from "./api.js";
import { element } from "./dom.js";
import { describeType, exampleBody, fieldsOf, resolver } from "./schema.js";
import { authorisation, tokenForm } from "./token.js";

const MOST_SHOWN = 20_000;
const status = document.querySelector("#status");
const view = document.querySelector("#view");

/** Show every route, grouped by tag, and ask for the token if the server needs one. */
async function show() {
  const schema = await get("/openapi.json");
  const resolve = resolver(schema);
  const { models, needsToken } = await findModels();
  const groups = new Map();
  const routes = routesOf(schema);
  for (const route of routes) {
    const panel = routePanel({ ...route, resolve, models });
    groups.set(route.tag, [...(groups.get(route.tag) ?? []), panel]);
  }
  const sections = [...groups].map(([tag, panels]) => [element("h2", {}, tag), ...panels]);
  view.replaceChildren(...(needsToken ? [tokenForm(begin)] : []), ...sections.reverse().flat(),
    element("h2", {}, "Errors"), errorPanel(routes));
}

function routesOf(schema) {
  return Object.entries(schema.paths).flatMap(([path, methods]) => Object.entries(methods)
    .filter(([method]) => method !== "head")
    .map(([method, operation]) => ({ path, method, operation, tag: operation.tags?.[0] ?? "other" })));
}

async function findModels() {
  try {
    return { models: await get("/api/models"), needsToken: false };
  } catch (error) {
    if (error.status !== 401) throw error;
    return { models: [], needsToken: true };
  }
}

function routePanel(route) {
  const { path, method, operation, resolve } = route;
  const body = resolve(operation.requestBody?.content?.["application/json"]?.schema);
  const answer = resolve(operation.responses["200"].content?.["application/json"]?.schema);
  const summary = element("summary", {}, element("span", { className: "method" }, method.toUpperCase()),
    element("code", {}, path), element("span", { className: "hint" }, operation.description ?? operation.summary));
  const isBinary = operation.requestBody && !body;
  const start = isBinary ? [element("p", {}, operation.requestBody.description)] : tryIt(route, body);
  const parts = element("div", { className: "stack" }, ...start);
  if (body) parts.append(element("h3", {}, "Request"), fieldTable(body, resolve));
  if (answer) parts.append(element("h3", {}, "Answer"), fieldTable(answer, resolve));
  return element("details", { className: "panel", id: `${method}-${operation.operationId}` }, summary, parts);
}

function table(headings, rows) {
  const cells = (tag, values) => element("tr", {}, ...values.map((value) => element(tag, {}, value)));
  return element("table", {}, element("thead", {}, cells("th", headings)),
    element("tbody", {}, ...rows.map((row) => cells("td", row))));
}

function fieldTable(schema, resolve) {
  const fields = fieldsOf(schema, resolve);
  if (!fields.length) return element("p", { className: "hint" }, describeType(schema, resolve));
  return table(["Field", "Type", ""], fields.map(({ name, type, required, text }) =>
    [element("code", {}, name), element("code", {}, type), markup(required ? text : `${text} Optional.`.trim())]));
}

/** Every status that is not 200, with what it says for the routes that have most to say. */
function errorPanel(routes) {
  const answers = Object.assign({}, ...routes.map(({ operation }) => operation.responses));
  const errors = Object.entries(answers).filter(([code]) => code !== "200");
  const rows = errors.map(([code, { description }]) => [code, markup(description)]);
  return element("section", { className: "panel" },
    element("p", { className: "hint" }, markup("Errors are JSON with one line in `detail`.")), table(["Status", "When"], rows));
}

/** Text whose parts in backticks are code. */
const markup = (text) => element("span", {}, ...text.split("`").map((part, index) =>
  (index % 2 ? element("code", {}, part) : part)));

/** A form that sends a request and shows the answer and the same request for curl. */
function tryIt({ path, method, resolve, models }, body) {
  const named = path.includes("{name}");
  const picker = element("select", { "aria-label": "Model" },
    ...models.map((model) => element("option", { value: model.name }, model.name)));
  const text = element("textarea", { rows: 5, spellcheck: false, "aria-label": "Body" });
  const output = element("pre", { hidden: true, tabIndex: 0, "aria-label": "Answer" });
  const command = element("pre", { "aria-label": "The same with curl" });
  const target = () => (named ? path.replace("{name}", encodeURIComponent(picker.value || "NAME")) : path);
  const refresh = () => { command.textContent = curl(method, target(), body && text.value); };
  const choose = async () => {
    if (body) text.value = await bodyFor(models.find((model) => model.name === picker.value), body, resolve);
    refresh();
  };
  const send = element("button", { type: "button", className: "plain" }, "Send");
  send.addEventListener("click", () => sendRequest(method, target(), body && text.value, output));
  picker.addEventListener("change", choose);
  text.addEventListener("input", refresh);
  choose().catch((error) => { output.textContent = error.message; });
  return [element("div", { className: "row send" }, ...(named ? [picker] : []), send),
    ...(body ? [text] : []), command, output];
}

async function bodyFor(model, body, resolve) {
  const examples = model?.n_examples ? (await get(modelUrl(model, "examples"))).inputs : [];
  return JSON.stringify(exampleBody(body, resolve, examples[0] ?? (model?.columns ? {} : new Array(model?.n_inputs ?? 3).fill(0))));
}

async function sendRequest(method, path, body, output) {
  output.hidden = false;
  output.textContent = "...";
  const headers = { ...authorisation(), ...(body ? { "Content-Type": "application/json" } : {}) };
  try {
    const start = performance.now();
    const response = await fetch(path, { method: method.toUpperCase(), headers, ...(body ? { body } : {}) });
    const text = await response.text();
    const time = `${(performance.now() - start).toFixed(0)} ms`;
    output.textContent = `${response.status} ${response.statusText}, ${time}\n${pretty(text)}`;
  } catch (error) {
    output.textContent = error.message;
  }
}

function pretty(text) {
  let shown = text;
  try {
    shown = JSON.stringify(JSON.parse(text), null, 1).replace(/\[[^[\]{}"]*\]/g, (list) => list.replace(/\s+/g, " "));
  } catch { /* not JSON: metrics */ }
  return shown.length > MOST_SHOWN ? `${shown.slice(0, MOST_SHOWN)}\n... ${shown.length - MOST_SHOWN} more characters` : shown;
}

function curl(method, path, body) {
  const parts = [`curl ${location.origin}${path}`];
  if (method !== "get") parts[0] = `curl -X ${method.toUpperCase()} ${location.origin}${path}`;
  if (authorisation().Authorization) parts.push('-H "Authorization: Bearer $CRBM_TOKEN"');
  if (body) parts.push("-H 'Content-Type: application/json'", `-d '${body.replaceAll("'", "'\\''")}'`);
  return parts.join(" \\\n  ");
}

function begin() {
  show().then(() => { status.textContent = ""; }, (error) => { status.textContent = error.message; });
}

begin();
