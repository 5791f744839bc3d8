"use strict";
// The description of the API for people: /openapi.json, drawn.

const METHODS = ["get", "post", "put", "patch", "delete"];

const last = (ref) => ref.split("/").pop();

// A schema in one line, as one would write it down: {text, name?, from?: now | earliest}.
function brief(api, schema, depth = 0) {
  if (!schema) return "";
  if (schema.$ref) return depth < 2 ? brief(api, api.components.schemas[last(schema.$ref)], depth) : last(schema.$ref);
  if (schema.enum) return schema.enum.join(" | ");
  if (schema.oneOf) return schema.oneOf.map((one) => brief(api, one, depth)).join(" or ");
  if (schema.type === "array") return `[${brief(api, schema.items, depth + 1)}, …]`;
  const all = { ...Object.assign({}, ...(schema.allOf ?? []).map((one) => resolved(api, one, "schemas").properties)), ...schema.properties };
  const names = Object.entries(all);
  if (!names.length) return [schema.type ?? "any"].flat().join(" or ");
  if (depth > 1) return "{…}";
  const required = new Set(schema.required);
  return `{${names.map(([name, one]) => `${name}${required.has(name) || schema.allOf ? "" : "?"}${one.enum ? ": " + one.enum.join(" | ") : ""}`).join(", ")}}`;
}

function resolved(api, one, kind) {
  return one.$ref ? api.components[kind][last(one.$ref)] : one;
}

function drawOperation(api, method, path, shared, operation) {
  const rows = [...(shared ?? []), ...(operation.parameters ?? [])].map((one) => resolved(api, one, "parameters")).map((one) =>
    [one.in === "path" ? `{${one.name}}` : `?${one.name}=`, [one.description, brief(api, one.schema)].filter(Boolean).join(" ")]);
  const body = operation.requestBody;
  if (body) rows.push(["body", brief(api, body.content["application/json"].schema)]);
  for (const [status, response] of Object.entries(operation.responses)) {
    const one = resolved(api, response, "responses");
    const json = one.content && one.content["application/json"];
    rows.push([status, status.startsWith("2") && json ? `${one.description} ${brief(api, json.schema)}` : one.description]);
  }
  return element("details", { className: "operation" },
    element("summary", {}, element("span", { className: "method", textContent: method.toUpperCase() }), element("code", { textContent: path }), ` ${operation.summary}`),
    element("p", { textContent: operation.description ?? "" }),
    element("dl", {}, ...rows.flatMap(([name, text]) => [element("dt", { textContent: name }), element("dd", { textContent: text })])));
}

async function draw() {
  const api = await (await fetch("/openapi.json")).json();
  document.getElementById("title").textContent = api.info.title;
  document.getElementById("description").textContent = api.info.description;
  const sections = api.tags.flatMap((tag) => [
    element("h2", { textContent: tag.name }), element("p", { className: "dim", textContent: tag.description }),
    ...Object.entries(api.paths).flatMap(([path, item]) => METHODS.filter((method) => item[method] && item[method].tags[0] === tag.name)
      .map((method) => drawOperation(api, method, path, item.parameters, item[method])))]);
  document.getElementById("operations").replaceChildren(...sections);
}

draw();
