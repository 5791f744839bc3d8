"use strict";
// The page of topics: messages, how a definition reads them, and a query tried on them.

const messages = new Map(); // topic -> its newest messages, with what becomes of each once a definition was checked
const KEPT = ["definition", "query", "infer-name", "infer-registry"]; // fields that outlive a reload
const SHOWN = 8; // names in a cell

// ---------------------------------------------------------------- requests

// Runs one request of a form: its button waits, and the answer, or the error, goes into `place`. `act` gives the text,
// or [text, class].
async function run(button, place, act) {
  button.disabled = true;
  place.className = "answer dim";
  place.textContent = "working…";
  try {
    const [text, kind] = [await act(), "good"].flat();
    place.textContent = text;
    place.className = `answer ${kind}`;
  } catch (error) {
    if (error.status === 401) byId("token-form").hidden = false;
    place.textContent = error.message;
    place.className = "answer bad";
  }
  button.disabled = false;
}

// ---------------------------------------------------------------- streams and topics

const lasting = (ms) => (ms === null ? "–" : ms % 1000 ? `${ms} ms` : `${ms / 1000} s`);

function names(all) {
  return all.length > SHOWN ? `${all.slice(0, SHOWN).join(", ")} and ${all.length - SHOWN} more` : all.join(", ") || "–";
}

// `known`: the names of the topics that streams can be made of.
function showStreams(streams, known) {
  byId("streams").tBodies[0].replaceChildren(...streams.map((one) => {
    const missing = one.definition ? one.topics.filter((topic) => !known.has(topic)) : [];
    const origin = cell(one.from ? `stream ${one.from}` : names(one.topics));
    if (missing.length) origin.append(element("span", { className: "down", textContent: ` missing: ${missing.join(", ")}` }));
    const edit = element("td", { className: "n" });
    if (one.definition) {
      const label = `Edit the definition of ${one.name}`;
      edit.append(element("button", { type: "button", textContent: "Edit", title: label, ariaLabel: label, onclick: () => edited(one.definition.text) }));
    }
    return element("tr", {}, cell(one.name), origin, cell(one.key ?? "–"), cell(lasting(one.disorder), "n"), cell(lasting(one.idle), "n"), cell(lasting(one.silence ?? null), "n"), edit);
  }));
}

function showTopics(topics) {
  const chosen = new Set(chosenTopics());
  const choices = topics.map((one) => element("label", { className: "choice" },
    element("input", { type: "checkbox", value: one.topic, checked: chosen.has(one.topic) }), ` ${one.topic} `,
    element("span", { className: "dim", textContent: `${counted(one.partitions, "partition")}` })));
  if (!choices.length) choices.push(element("p", { className: "empty", textContent: "none yet" }));
  document.querySelector("#topics .choices").replaceChildren(...choices);
  filterTopics();
  const looked = byId("looked").value;
  byId("looked").replaceChildren(...topics.map((one) => element("option", { value: one.topic, textContent: one.topic, selected: one.topic === looked })));
}

// A topic that is chosen stays in sight.
function filterTopics() {
  for (const one of document.querySelectorAll("#topics .choice")) {
    const box = one.querySelector("input");
    one.hidden = !box.checked && !box.value.includes(byId("filter").value);
  }
}

byId("filter").addEventListener("input", filterTopics);

const chosenTopics = () => [...document.querySelectorAll("#topics input:checked")].map((one) => one.value);

function edited(text) {
  const editor = byId("definition");
  editor.value = text;
  keep();
  editor.focus();
  editor.setSelectionRange(0, 0);
  editor.scrollTop = 0;
}

byId("infer-form").addEventListener("submit", (event) => {
  event.preventDefault();
  run(event.submitter ?? event.target.querySelector("button"), byId("infer-answer"), async () => {
    const topics = chosenTopics();
    if (!topics.length) throw new Error("choose one topic or more");
    const registry = byId("infer-registry").value.trim();
    const found = await ask("/api/definitions/infer", "POST", { topics, name: byId("infer-name").value, ...(registry && { registry }) });
    edited(found.definition);
    const read = Object.values(found.messages).reduce((sum, one) => sum + one, 0);
    if (topics.includes(byId("looked").value) || !messages.size) byId("looked").value = topics[0];
    const line = `by ${counted(read, "message")}: read it below, change what you know better, and check it`;
    return found.told.length ? [[...found.told, line].join("\n"), "wait"] : line;
  });
});

// ---------------------------------------------------------------- messages

byId("look").addEventListener("click", () => run(byId("look"), byId("look-answer"), async () => {
  const topic = byId("looked").value;
  if (!topic) throw new Error("there is no topic");
  messages.set(topic, (await ask(`/api/topics/${encodeURIComponent(topic)}/messages?count=20`)).messages);
  return showMessages();
}));

byId("looked").addEventListener("change", () => {
  if (messages.has(byId("looked").value)) byId("look-answer").textContent = showMessages();
  else byId("look").click();
});

// Draws the messages of the topic that is looked at; returns how many there are, in words.
function showMessages() {
  const found = messages.get(byId("looked").value) ?? [];
  const rows = found.map(messageRow);
  if (!rows.length) rows.push(element("p", { className: "empty", textContent: "no message has been found" }));
  byId("messages").replaceChildren(...rows);
  return `the newest messages: ${found.length}`;
}

function messageRow(one) {
  const place = `${one.topic}/${one.partition}/${one.offset}`;
  const row = element("details", {},
    element("summary", {}, element("span", { className: "when", textContent: one.time === null ? "no time" : moment(one.time) }),
      element("b", { textContent: place, title: place }), element("code", { textContent: one.value ?? "no value (a tombstone)" }), ...badges(one)));
  row.addEventListener("toggle", () => { if (row.open && row.children.length === 1) row.append(...messageParts(one)); });
  return row;
}

function badges(one) {
  if (!one.read) return [];
  const refused = one.read.filter((each) => each.reason);
  const events = one.read.filter((each) => each.event);
  const lost = events.some((each) => each.misfits.length);
  const text = refused.length ? refused[0].reason : events.length ? events[0].event.type : "left out";
  const more = one.read.length > 1 ? ` and ${one.read.length - 1} more` : "";
  return [element("span", { className: `badge ${refused.length ? "failed" : lost ? "waiting" : events.length ? "active" : ""}`, textContent: text + more })];
}

function messageParts(one) {
  const facts = [["key", one.key ?? "none"], ...Object.entries(one.headers).map(([name, value]) => [`header ${name}`, value])];
  const value = one.value === null ? "no value (a tombstone)" : one.encoding === "utf-8" ? indented(one.value) : one.value;
  const cut = one.value !== null && one.bytes > 16384 ? `the first 16,384 of ${counted(one.bytes, "byte")}` : counted(one.bytes, "byte");
  facts.push(["value", one.encoding === "utf-8" ? cut : `${cut}, no text: shown as base64`]);
  const parts = [element("dl", { className: "facts" }, ...facts.flatMap(([name, text]) => [element("dt", { textContent: name }), element("dd", { textContent: text })])),
    element("pre", { className: "shown", textContent: value })];
  if (one.read) parts.push(...readParts(one.read));
  return parts;
}

// What becomes of a message, element by element.
function readParts(read) {
  if (!read.length) return [element("p", { className: "dim", textContent: "The definition leaves this message out." })];
  return read.map((each) => {
    const head = read.length > 1 ? `element ${each.number}: ` : "";
    if (each.reason) return element("pre", { className: "answer bad", textContent: `${head}refused (${each.reason}): ${each.detail}` });
    const { type, ts, ...attributes } = each.event;
    const lines = Object.entries(attributes).map(([name, value]) => `  ${name}: ${written(value, 0)}`);
    const lost = each.misfits.map((name) => `  ${name}: a value is left out: it is not what its rule says, or beside another field of that name`);
    return element("pre", { className: "answer", textContent: [`${head}read as ${type}, ts ${ts} (${utc(ts)})`, ...lines, ...lost].join("\n") });
  });
}

const moment = (ms) => `${new Date(ms).toLocaleDateString()} ${clock(ms)}`;

function utc(ms) {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? "no date" : date.toISOString();
}

// JSON with line breaks. Numbers and texts stay as they are written: no digit of a long id is lost.
function indented(text) {
  let depth = 0;
  const line = () => `\n${" ".repeat(2 * depth)}`;
  return text.replace(/"(?:[^"\\]|\\.)*"|[[{]\s*[\]}]|[[{]|[\]}]|,|:|\s+|[^\s"[\]{},:]+/g, (part) => {
    if (/^\s+$/.test(part)) return "";
    if (part === "{" || part === "[") { depth += 1; return part + line(); }
    if (part === "}" || part === "]") { depth = Math.max(0, depth - 1); return line() + part; }
    if (part === ",") return part + line();
    return part === ":" ? ": " : part;
  });
}

// ---------------------------------------------------------------- definition

byId("check").addEventListener("click", () => run(byId("check"), byId("definition-answer"), async () => {
  byId("readings").hidden = true;
  const found = await ask("/api/definitions/check", "POST", { definition: byId("definition").value });
  showReadings(found.sources);
  const told = [...found.sources.flatMap((one) => one.told), ...found.told];
  return told.length ? [told.join("\n"), "wait"] : "every message is read";
}));

function showReadings(sources) {
  byId("readings").hidden = false;
  byId("readings").querySelector("tbody").replaceChildren(...sources.map((one) => {
    const refused = Object.values(one.refused).reduce((sum, each) => sum + each.count, 0);
    const types = Object.entries(one.types).map(([name, count]) => `${name} ${count.toLocaleString()}`);
    return element("tr", {}, cell(one.source), cell(one.messages.toLocaleString(), "n"), cell(one.events.toLocaleString(), "n"), cell(one.filtered.toLocaleString(), "n"),
      cell(refused.toLocaleString(), refused ? "n down" : "n"), cell(names(types)), cell(names(Object.keys(one.attributes))));
  }));
  messages.clear();
  for (const one of sources) messages.set(one.source, one.newest);
  if (!messages.has(byId("looked").value) && sources.length) byId("looked").value = sources[0].source;
  byId("look-answer").textContent = showMessages();
}

byId("apply-form").addEventListener("submit", (event) => {
  event.preventDefault();
  run(event.submitter ?? event.target.querySelector(".main"), byId("definition-answer"), async () => {
    const definition = byId("definition").value;
    const planned = await ask("/api/definitions", "POST", { definition, dry_run: true });
    if (planned.changed && planned.definition.version > 1 && !confirm(`${planned.changes.join("\n")}\n\nApply it?`)) return "nothing is changed";
    const found = await ask("/api/definitions", "POST", { definition });
    await refresh();
    return found.changes.join("\n");
  });
});

// ---------------------------------------------------------------- trying a query

byId("try-form").addEventListener("submit", (event) => {
  event.preventDefault();
  run(event.submitter ?? event.target.querySelector(".main"), byId("query-answer"), async () => {
    byId("tried").hidden = true;
    const found = await ask("/api/definitions/try", "POST", { definition: byId("definition").value, query: byId("query").value });
    showTried(found);
    return [trialLines(found).join("\n"), found.whole && !found.warnings.length && !Object.keys(found.refused).length ? "good" : "wait"];
  });
});

function trialLines(found) {
  const shown = found.count > found.results.length ? `, of which the first ${found.results.length} are shown` : "";
  const since = found.since === null ? "all messages that there are" : `messages since ${moment(found.since)}`;
  const lines = [`${counted(found.count, "result")}${shown}; from ${counted(found.events, "event")} of ${counted(found.messages, "message")} (${since})`];
  if (!found.whole) lines.push("the time was over before all messages were matched: there may be more results");
  for (const [reason, count] of Object.entries(found.refused)) lines.push(`${count} refused (${reason})`);
  return [...lines, ...found.reports, ...found.warnings];
}

function showTried(found) {
  byId("tried").hidden = false;
  URL.revokeObjectURL(byId("plan").src);
  Object.assign(byId("plan"), { src: drawing(found.svg), alt: found.explain });
  byId("explain").textContent = found.explain;
  const rows = found.results.map((one) => element("details", {},
    element("summary", {}, element("span", { className: "when", textContent: one.start === undefined ? "" : clock(one.start) }), element("b", { textContent: one.query }),
      element("code", { textContent: brief(one) })),
    element("button", { type: "button", textContent: "Why?", onclick: () => tellWhy(keyOf(one)) }), element("pre", { textContent: written(one) })));
  if (!rows.length) rows.push(element("p", { className: "empty", textContent: "no result among these messages" }));
  byId("results").replaceChildren(...rows);
}

const keyOf = (result) => Object.entries(result.key || result.group || {}).map(([name, value]) => `${name}=${value}`).join(",") || "*";

function tellWhy(asked) {
  byId("why-ask").value = asked;
  byId("why-form").scrollIntoView({ behavior: "smooth", block: "nearest" });
  run(byId("why-form").querySelector("button"), byId("why-answer"), async () => {
    const trace = await ask("/api/definitions/why", "POST", { definition: byId("definition").value, query: byId("query").value, ask: asked });
    return [trace.text, ""];
  });
}

byId("why-form").addEventListener("submit", (event) => {
  event.preventDefault();
  tellWhy(byId("why-ask").value);
});

byId("add-query").addEventListener("click", () => run(byId("add-query"), byId("query-answer"), async () => {
  const found = await ask("/api/queries", "POST", { text: byId("query").value, from: byId("add-from").value });
  return `added: ${found.name}; the live page shows its state`;
}));

// ---------------------------------------------------------------- the whole page

function keep() {
  for (const id of KEPT) sessionStorage.setItem(`saffron-${id}`, byId(id).value);
}

for (const id of KEPT) {
  byId(id).value = sessionStorage.getItem(`saffron-${id}`) ?? "";
  byId(id).addEventListener("input", keep);
}

async function refresh() {
  const verdict = byId("verdict");
  try {
    const [streams, topics] = await Promise.all([ask("/api/streams"), ask("/api/topics")]);
    showStreams(streams.streams, new Set(topics.topics.map((one) => one.topic)));
    showTopics(topics.topics);
    verdict.className = "";
    verdict.textContent = `streams: ${streams.streams.length}, topics: ${topics.topics.length}`;
  } catch (error) {
    if (error.status === 401) byId("token-form").hidden = false;
    verdict.className = "bad";
    verdict.textContent = failure(error);
  }
}

takeToken(refresh);
refresh();
