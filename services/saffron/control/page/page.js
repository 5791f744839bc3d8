"use strict";
// The live page: asks the API once a second and draws.

const SVG = "http://www.w3.org/2000/svg";
const plans = new Map(); // query name -> {version, url} of the drawing of its plan
const ENDED = ["rejected", "failed", "ended"];

function shape(tag, attributes, text) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

// ---------------------------------------------------------------- numbers

function lasting(ms) {
  return ms < 1e4 ? `${Math.round(ms)} ms` : `${(ms / 1e3).toFixed(1)} s`;
}

// ---------------------------------------------------------------- charts

const BOX = { width: 520, height: 150, left: 42, bottom: 16 };

function niceTop(value) {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1)));
  return [1, 1.5, 2, 3, 5, 7.5, 10].find((step) => step * power >= value) * power;
}

function drawChart(svg, times, curves, bound) {
  const values = curves.flatMap((curve) => curve.values.filter((value) => value !== null));
  const top = niceTop(Math.max(...values, (bound ?? 0) * 1.15, 1));
  const x = (place) => BOX.left + ((BOX.width - BOX.left) * place) / (times.length - 1);
  const y = (value) => 6 + (BOX.height - BOX.bottom - 6) * (1 - value / top);
  const parts = [];
  for (const share of [0, 0.5, 1]) {
    parts.push(shape("line", { x1: BOX.left, x2: BOX.width, y1: y(top * share), y2: y(top * share), class: "grid" }));
    parts.push(shape("text", { x: BOX.left - 6, y: y(top * share) + 4, "text-anchor": "end" }, short(top * share)));
  }
  parts.push(shape("text", { x: BOX.left, y: BOX.height - 1 }, clock(times[0])));
  parts.push(shape("text", { x: BOX.width, y: BOX.height - 1, "text-anchor": "end" }, clock(times[times.length - 1])));
  if (bound) parts.push(shape("line", { x1: BOX.left, x2: BOX.width, y1: y(bound), y2: y(bound), class: "bound" }));
  for (const curve of curves) parts.push(...drawCurve(curve, x, y));
  if (!values.length) {
    parts.push(shape("text", { x: (BOX.left + BOX.width) / 2, y: BOX.height / 2, "text-anchor": "middle" }, "nothing measured yet"));
  }
  svg.setAttribute("viewBox", `0 0 ${BOX.width} ${BOX.height}`);
  svg.replaceChildren(...parts);
}

// A second without a value is a gap, not a zero; a value between two gaps is a dot.
function drawCurve(curve, x, y) {
  const runs = [[]];
  curve.values.forEach((value, place) => {
    if (value === null) runs.push([]);
    else runs[runs.length - 1].push(`${x(place).toFixed(1)},${y(value).toFixed(1)}`);
  });
  return runs.filter((run) => run.length).map((run) => {
    if (run.length > 1) return shape("polyline", { points: run.join(" "), class: `curve line-${curve.name}` });
    const [cx, cy] = run[0].split(",");
    return shape("circle", { cx, cy, r: 1.8, class: `dot line-${curve.name}` });
  });
}

// ---------------------------------------------------------------- sections

const isShedding = (overload) => Boolean(overload) && ["shed", "outage"].includes(overload.why);

function shares(byQuery) {
  const some = Object.entries(byQuery).filter(([, share]) => share > 0);
  return some.map(([query, share]) => `${query} ${(100 * share).toFixed(2)} %`).join(", ");
}

function overloadLine(overload) {
  if (!overload) return "overload: no shedder has reported";
  const doing = [];
  if (overload.share > 0) doing.push(`dropping events to save ${(100 * overload.share).toFixed(1)} % of the work`);
  if (overload.keep !== null) doing.push(`keeping ${short(overload.keep)} partial matches`);
  const why = { pass: "passing", "catch-up": "catching up, nothing is dropped", outage: "dropping what an outage left" }[overload.why];
  const loss = shares(overload.missed) || "none";
  const wrong = shares(overload.false);
  return `overload: ${doing.join(", ") || why || "passing"}; estimated loss since the start: ${loss}`
    + (wrong ? `; false, of those found: ${wrong}` : "");
}

function showLive(live) {
  const latency = live.latency_ms;
  byId("now-events").textContent = short(live.events_per_second);
  byId("now-results").textContent = short(live.results_per_second);
  byId("now-p50").textContent = short(latency && latency.p50);
  byId("now-p99").textContent = short(latency && latency.p99);
  byId("bound").textContent = short(live.bound_ms);
  byId("now-partial").textContent = short(live.partial_matches);
  byId("tile-p99").classList.toggle("over", Boolean(latency && latency.p99 > live.bound_ms));
  const times = live.series.map((point) => point.at);
  const of = (name) => live.series.map((point) => point.latency_ms && point.latency_ms[name]);
  drawChart(byId("chart-latency"), times, [{ name: "p50", values: of("p50") }, { name: "p99", values: of("p99") }], live.bound_ms);
  drawChart(byId("chart-events"), times, [{ name: "p99", values: live.series.map((point) => point.events_per_second) }]);
  showServices(live.services);
  byId("overload").textContent = overloadLine(live.overload);
  byId("overload").className = isShedding(live.overload) ? "shedding" : "";
  byId("problems").replaceChildren(...live.problems.map((one) => element("li", { textContent: `${one.topic}, key ${one.key}: ${one.detail}` })));
  const silent = live.services.filter((one) => !one.alive).map((one) => one.service);
  if (silent.length) verdict("bad", `silent: ${silent.join(", ")}`);
  else if (!live.services.length) verdict("wait", "no service has reported yet");
  else if (latency && latency.p99 > live.bound_ms) verdict("bad", `late: p99 is ${lasting(latency.p99)}, the bound is ${lasting(live.bound_ms)}`);
  else if (isShedding(live.overload)) verdict("wait", "more comes than can be done in time: load is being shed");
  else verdict("good", latency ? "answers are on time" : "all services report");
}

function showServices(services) {
  const rows = services.map((one) => element("tr", {},
    cell(one.service),
    cell(one.alive ? "up" : `silent for ${Math.round(one.silent_ms / 1000)} s`, one.alive ? "up" : "down"),
    ...[one.partitions || null, one.events_per_second, one.lag, one.latency_ms && one.latency_ms.p99].map((value) => cell(short(value), "n"))));
  if (!rows.length) rows.push(element("tr", {}, element("td", { colSpan: 6, className: "dim", textContent: "none has reported yet" })));
  byId("services").tBodies[0].replaceChildren(...rows);
}

function showModels(models) {
  byId("learned").hidden = !models.length;
  byId("models").tBodies[0].replaceChildren(...models.map((one) => element("tr", {},
    cell(one.query ?? one.stream), cell(one.kind), cell(one.version.join(".")), cell(short(one.observations), "n"), cell(clock(one.published_at)))));
}

function verdict(kind, text) {
  byId("verdict").className = kind;
  if (byId("verdict").textContent !== text) byId("verdict").textContent = text;
}

function showQueries(queries) {
  const box = byId("queries");
  const known = new Map([...box.querySelectorAll(".query")].map((card) => [card.dataset.name, card]));
  const cards = queries.map((query) => {
    const card = known.get(query.name) || newCard(query.name);
    fillCard(card, query);
    return card;
  });
  if (!cards.length) cards.push(element("p", { className: "query empty", textContent: "none yet: add one below, or with `saffron query add FILE`" }));
  fillSelect(byId("why-query"), queries.map((query) => [query.name, query.name]));
  if (cards.some((card, place) => box.children[place] !== card) || box.children.length !== cards.length) box.replaceChildren(...cards);
  for (const query of queries.filter((one) => one.state !== "rejected")) loadPlan(query);
}

function newCard(name) {
  const act = (label, method, path) => element("button", { textContent: label, className: path.slice(1) || "remove", onclick: () => change(name, method, path) });
  const card = element("article", { className: "query" },
    element("header", {}, element("h3", { textContent: name }), element("span", { className: "badge" }), element("span", { className: "dim where" }),
      element("span", { className: "push" }), act("Pause", "POST", "/pause"), act("Resume", "POST", "/resume"), act("Remove", "DELETE", "")),
    element("pre", { className: "why" }),
    element("div", { className: "parts" }, element("pre", { className: "text" }), element("div", { className: "plan" })));
  card.dataset.name = name;
  return card;
}

function fillCard(card, query) {
  const badge = card.querySelector(".badge");
  badge.textContent = query.state;
  badge.className = `badge ${query.state}`;
  const positions = query.services.filter((one) => one.service === "windowing" && one.position !== null);
  const from = positions.length === 1 ? `, from event ${positions[0].position} on` : "";
  const partial = query.partial_matches === null ? "" : `, ${short(query.partial_matches)} partial matches`;
  card.querySelector(".where").textContent = `version ${query.version}${from}${partial}`;
  card.querySelector(".why").textContent = query.reason || "";
  card.querySelector(".why").hidden = !query.reason;
  card.querySelector(".text").textContent = query.text;
  card.querySelector(".pause").hidden = query.op === "pause" || ENDED.includes(query.state);
  card.querySelector(".resume").hidden = query.op !== "pause" || ENDED.includes(query.state);
  if (query.state === "rejected") card.querySelector(".plan").replaceChildren();
}

// A new version of the query gets a new drawing. One that could not be asked for is asked for again.
async function loadPlan(query) {
  const drawn = plans.get(query.name);
  if (drawn && drawn.version === query.version) return;
  plans.set(query.name, { version: query.version });
  try {
    const { plan } = await ask(`/api/queries/${encodeURIComponent(query.name)}`);
    if (plan) drawPlan(query, plan);
    if (drawn && drawn.url) URL.revokeObjectURL(drawn.url);
  } catch {
    plans.set(query.name, drawn || {});
  }
}

function drawPlan(query, plan) {
  const url = drawing(plan.svg);
  plans.set(query.name, { version: query.version, url });
  const card = [...document.querySelectorAll(".query")].find((one) => one.dataset.name === query.name);
  card.querySelector(".plan").replaceChildren(element("img", { src: url, alt: plan.explain }));
}

async function change(name, method, path) {
  if (method === "DELETE" && !confirm(`Remove the query ${name}? Its partial matches are dropped.`)) return;
  try {
    const done = await ask(`/api/queries/${encodeURIComponent(name)}${path}`, method);
    if (method === "DELETE" && done.warnings.length) alert(done.warnings.join("\n"));
  } catch (error) {
    alert(error.message);
  }
  await refreshQueries();
}

function showResults({ results, denied }) {
  byId("denied").hidden = !denied.length;
  byId("denied").textContent = `not shown, since the control service may not read it (DESCRIBE, READ): ${denied.join(", ")}`;
  const box = byId("results");
  const open = new Set([...box.querySelectorAll("details[open]")].map((one) => one.dataset.id));
  const rows = results.map((one) => {
    const row = element("details", { open: open.has(one.id) },
      element("summary", {}, element("span", { className: "when", textContent: one.detected_at === undefined ? "" : clock(one.detected_at) }), element("b", { textContent: one.query }),
        element("code", { textContent: brief(one) })));
    row.dataset.id = one.id;
    if (one.id) row.append(element("button", { textContent: "Why?", onclick: () => tellWhy(one.query, one.id) }));
    row.append(element("pre", { textContent: written(one) }));
    return row;
  });
  if (!rows.length) rows.push(element("p", { className: "empty", textContent: "none yet" }));
  box.replaceChildren(...rows);
}

// Options only change when they have to: an open list would close.
function fillSelect(select, options) {
  const wanted = JSON.stringify(options);
  if (select.dataset.options === wanted) return;
  const chosen = select.value;
  select.dataset.options = wanted;
  select.replaceChildren(...options.map(([value, text]) => element("option", { value, textContent: text, selected: value === chosen })));
}

// ---------------------------------------------------------------- why

async function tellWhy(query, asked) {
  byId("why-query").value = query;
  byId("why-ask").value = asked;
  byId("why-form").scrollIntoView({ behavior: "smooth", block: "nearest" });
  const answer = byId("why-answer");
  answer.hidden = false;
  answer.className = "";
  answer.textContent = "looking…";
  try {
    const trace = await ask(`/api/queries/${encodeURIComponent(query)}/why?ask=${encodeURIComponent(asked)}`);
    answer.textContent = `${trace.text}\n\ncomputed from the newest ${counted(trace.looked_at.events, "event")} of partition ${trace.partition}`;
  } catch (error) {
    answer.className = "bad";
    answer.textContent = error.message;
  }
}

byId("why-form").addEventListener("submit", (event) => {
  event.preventDefault();
  tellWhy(byId("why-query").value, byId("why-ask").value);
});

// ---------------------------------------------------------------- dead letters

function showLetters(found) {
  const box = byId("letters");
  const known = new Map([...box.querySelectorAll("details")].map((row) => [row.dataset.id, row]));
  const total = Object.values(found.reasons).reduce((sum, one) => sum + one, 0);
  const reasons = Object.entries(found.reasons).sort();
  fillSelect(byId("letter-reason"), [["", `all (${total})`], ...reasons.map(([reason, count]) => [reason, `${reason} (${count})`])]);
  byId("letter-count").textContent = found.whole ? "" : `among the newest ${found.looked_at}`;
  const rows = found.letters.map((one) => fillLetter(known.get(one.id) || newLetter(one), one));
  if (!rows.length) rows.push(element("p", { className: "empty", textContent: "none" }));
  if (rows.some((row, place) => box.children[place] !== row) || box.children.length !== rows.length) box.replaceChildren(...rows);
}

function newLetter(one) {
  const row = element("details", { className: "letter" },
    element("summary", {}, element("span", { className: "when", textContent: clock(one.at) }), element("b", { textContent: one.reason }),
      element("code", { textContent: `${one.detail}  ${one.preview}` }), element("span", { className: "badge sent" })),
    element("div", { className: "inside" }));
  row.dataset.id = one.id;
  row.addEventListener("toggle", () => { if (row.open && !row.dataset.read) readLetter(row, one); });
  return row;
}

function fillLetter(row, one) {
  const last = one.sent[one.sent.length - 1];
  const badge = row.querySelector(".badge");
  badge.hidden = !last;
  badge.textContent = last && last.done ? "sent again" : "perhaps sent again";
  return row;
}

const letterPath = (one) => `/api/dead-letters/${one.id}`;

async function readLetter(row, one) {
  const inside = row.querySelector(".inside");
  try {
    const whole = await ask(letterPath(one));
    row.dataset.read = "yes";
    inside.replaceChildren(...letterParts(whole));
  } catch (error) {
    inside.textContent = error.message;
  }
}

function letterParts(whole) {
  if (whole.result) return resultParts(whole);
  const bytes = element("pre", { textContent: whole.hex, hidden: true, className: "hex" });
  const text = element("textarea", { value: whole.encoding === "utf-8" ? whole.value ?? "" : "", rows: 4, spellcheck: false, ariaLabel: "The message, to be corrected" });
  const answer = element("pre", { className: "answer", role: "status" });
  const send = (dry) => sendAgain(whole, text.value, dry, answer);
  const key = whole.original ? `key ${whole.key ?? "none"}` : "no longer in its topic";
  return [
    element("p", { className: "dim", textContent: `${whole.id}, stream ${whole.stream ?? "none"}, ${counted(whole.bytes, "byte")}, ${key}` }),
    element("pre", { className: "shown", textContent: whole.shown }), bytes, text, answer,
    element("div", { className: "row" },
      element("button", { textContent: "Bytes", onclick: () => { bytes.hidden = !bytes.hidden; } }),
      element("span", { className: "push" }),
      element("button", { textContent: "Try", className: "try", title: "Say what would be sent, and send nothing", onclick: () => send(true) }),
      element("button", { textContent: "Send again", className: "main send", onclick: () => send(false) })),
  ];
}

// A result that was too large has no bytes to look at, and cannot be sent again.
function resultParts(whole) {
  const about = `${whole.id}, stream ${whole.stream ?? "none"}, ${counted(whole.bytes, "byte")}, query ${whole.result.query}: a result, which cannot be sent again`;
  return [element("p", { className: "dim", textContent: about }), element("pre", { className: "shown", textContent: whole.shown })];
}

async function sendAgain(whole, text, dry, answer, again = false) {
  const corrected = text !== (whole.encoding === "utf-8" ? whole.value ?? "" : "");
  try {
    const sent = await ask(`${letterPath(whole)}/send-again`, "POST", { ...(corrected && { value: text }), again, dry_run: dry });
    answer.className = "answer good";
    const key = sent.key === null ? "no key" : `key ${sent.key}`;
    answer.textContent = [`${sent.sent ? "sent" : "would be sent"} to ${sent.topic}/${sent.partition}, ${key}`, ...sent.notes].join("\n");
    if (sent.sent) await refreshLetters();
  } catch (error) {
    if (error.kind === "sent" && !again && confirm(`${error.message}\n\nSend it once more?`)) return sendAgain(whole, text, dry, answer, true);
    answer.className = "answer bad";
    answer.textContent = error.message;
  }
}

byId("letter-reason").addEventListener("change", () => refreshLetters());

// ---------------------------------------------------------------- adding

async function submitQuery(path, done) {
  const answer = byId("add-answer");
  try {
    const body = { text: byId("add-text").value };
    if (path === "/api/queries") body.from = byId("add-from").value;
    const found = await ask(path, "POST", body);
    answer.className = "good";
    answer.textContent = done(found);
  } catch (error) {
    answer.className = "bad";
    answer.textContent = error.message;
  }
}

byId("add-check").addEventListener("click", () => submitQuery("/api/check", (found) => found.explain));
byId("add-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  await submitQuery("/api/queries", (found) => `added: ${found.name}`);
  await refreshQueries();
});
takeToken(() => {});

// ---------------------------------------------------------------- once a second

async function refreshQueries() {
  showQueries((await ask("/api/queries")).queries);
}

async function refreshLetters() {
  const reason = byId("letter-reason").value;
  showLetters(await ask(`/api/dead-letters?count=20${reason && `&reason=${encodeURIComponent(reason)}`}`));
}

// What costs the service more, or changes seldom.
async function refreshRest() {
  await Promise.all([refreshLetters(), ask("/api/models").then((found) => showModels(found.models))]);
}

async function refresh(turn) {
  try {
    const now = [ask("/api/live").then(showLive), refreshQueries(), ask("/api/results?count=20").then(showResults)];
    await Promise.all(turn % 5 ? now : [...now, refreshRest()]);
  } catch (error) {
    if (error.status === 401) byId("token-form").hidden = false;
    verdict("bad", failure(error));
  }
}

async function loop(turn = 0) {
  if (!document.hidden) await refresh(turn);
  setTimeout(loop, 1000, turn + 1);
}

loop();
