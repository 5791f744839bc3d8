"use strict";
// Shared by the pages: elements, requests, numbers. Texts only ever go in as text, never as HTML.

let token = sessionStorage.getItem("saffron-token") || "";

const byId = (id) => document.getElementById(id);

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

const cell = (text, className = "") => element("td", { textContent: text, className });

class ApiError extends Error {
  constructor(status, error) {
    super(error.text || error.message);
    this.status = status;
    this.kind = error.kind;
  }
}

class Unanswered extends Error {
  constructor() {
    super("the control service does not answer; detection goes on without it");
  }
}

async function ask(path, method = "GET", body = undefined) {
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let answer, found, text;
  try {
    answer = await fetch(path, { method, headers, body: body && JSON.stringify(body) });
    text = await answer.text();
  } catch {
    throw new Unanswered();
  }
  try {
    found = exact(text);
  } catch (error) {
    throw error instanceof SyntaxError ? new Unanswered() : error; // what is no JSON is of another service, as a proxy
  }
  if (!answer.ok) throw new ApiError(answer.status, found.error);
  return found;
}

// What an error says. One that is of no request is a fault of the page itself.
function failure(error) {
  if (error instanceof ApiError || error instanceof Unanswered) return error.message;
  console.error(error);
  return `this page has a fault: ${error.message}`;
}

// ---------------------------------------------------------------- numbers

// An integer that no number of this language has: its digits.
class Digits {
  constructor(text) { this.text = text; }
  toString() { return this.text; }
}

// Characters of a string are taken many at a time: each step of a group keeps a place on the stack.
const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const MARK = "\u0000digits "; // before digits that stand in a text for a moment; JSON writes it as MARKED
const MARKED = /"\\u0000digits (-?\d+)"/g;

// The values of a JSON text; an integer beyond 2^53 keeps its digits.
function exact(text) {
  const isLong = (token) => /^-?\d{16,}$/.test(token) && !Number.isSafeInteger(Number(token));
  const marked = text.replace(TOKENS, (token) => (isLong(token) ? JSON.stringify(MARK + token) : token));
  return JSON.parse(marked, (name, value) => (typeof value === "string" && value.startsWith(MARK) ? new Digits(value.slice(MARK.length)) : value));
}

// JSON with line breaks, every integer with all its digits.
function written(value, indent = 1) {
  const marked = JSON.stringify(value, (name, one) => (one instanceof Digits ? MARK + one.text : one), indent);
  return marked.replace(MARKED, "$1");
}

function short(value, digits = 0) {
  if (value === null || value === undefined) return "–";
  if (value >= 1e6) return (value / 1e6).toFixed(2) + " M";
  if (value >= 1e4) return (value / 1e3).toFixed(1) + " k";
  return value.toFixed(value < 10 ? Math.max(digits, value % 1 ? 1 : 0) : 0);
}

// A number of things: `1 event`, `2 events`.
const counted = (number, one) => `${number.toLocaleString()} ${one}${number === 1 ? "" : "s"}`;

function clock(ms) {
  return new Date(ms).toLocaleTimeString(undefined, { hour12: false });
}

// What a result says, in one line.
function brief(result) {
  const said = Object.entries({ ...(result.key || result.group), ...result.return });
  if (said.length) return said.map(([name, value]) => `${name} ${typeof value === "number" && value % 1 ? value.toFixed(3) : value}`).join("  ");
  const events = Object.entries(result.events || {}).filter(([, bound]) => bound !== null);
  return events.map(([name, bound]) => (Array.isArray(bound) ? `${name}: ${counted(bound.length, "event")}` : `${name}: ${bound.type} ${bound.seq}`)).join("  ");
}

// As an image, so that nothing in it can run.
const drawing = (svg) => URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));

// The form that asks for the token; `done` is called with a new one.
function takeToken(done) {
  byId("token-form").addEventListener("submit", (event) => {
    event.preventDefault();
    token = byId("token").value;
    sessionStorage.setItem("saffron-token", token);
    byId("token-form").hidden = true;
    done();
  });
}
