"use strict";
// Looks answers up; decides nothing. A cell's number is found by position: block of the release and backend, sheet of the
// KV-cache dtype, strip of the SM, class of each other value on its axis.
const DATA = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const MARK = { supported: "yes", degraded: "degraded", later: "fails", unsupported: "no", unknown: "?", other: "other" };
const ALL = "all";
const newest = DATA.releases[DATA.releases.length - 1].v;
const DEFAULTS = { t: "attention", layer: DATA.linear ? DATA.linear.schemes[0].id : "", sm: ALL, v: newest, fi: "pinned", kv: "auto", kind: "standard", head: "128", sink: "0", b: "", at: "", f: "" };
let state = { ...DEFAULTS };
let lost = []; // what the link asks for and this page does not have

const indexOf = (list, id) => list.findIndex((item) => item.id === id);
const release = () => DATA.releases.find((r) => r.v === state.v);
const kindNumber = () => indexOf(DATA.kinds, state.kind);
const shapes = () => DATA.kinds[kindNumber()].shapes;
const isLinear = () => state.t === "linear";
const fiNumber = (s, r) => (s.fi === "pinned" ? r.fi : DATA.fi.indexOf(s.fi));

function make(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name === "text") node.textContent = value;
    else if (value !== undefined && value !== null) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

function lookup(s, backend, sm) {
  const r = DATA.releases.find((one) => one.v === s.v);
  const block = r.blocks[backend];
  if (block === null) return null;
  const sheetNumber = DATA.blocks[block][indexOf(DATA.kv, s.kv)];
  if (sheetNumber === null || !r.kv.includes(indexOf(DATA.kv, s.kv))) return null;
  const strip = DATA.strips[DATA.sheets[sheetNumber][sm]];
  const kind = DATA.kinds[DATA.backends[backend].kind];
  const at = [indexOf(kind.shapes, s.head), Number(s.sink), fiNumber(s, r)];
  let place = 0;
  for (let axis = 0; axis < 3; axis++) place = place * strip[3][axis] + strip[axis][at[axis]];
  const [verdict, accepts, route, failsAt, reasons, missing, untested] = DATA.cells[strip[4][place]];
  return {
    verdict: DATA.verdicts[verdict], accepts, route: route === null ? null : DATA.routes[route], failsAt,
    reasons: reasons.map((n) => DATA.reasons[n]), missing, untested,
  };
}
const shown = (cell) => (cell.verdict === "unsupported" && cell.accepts === 1 ? "later" : cell.verdict);

function rank(backend, sm) {
  const table = DATA.tables[release().order[kindNumber()]];
  const at = [sm, indexOf(DATA.kv, state.kv), indexOf(shapes(), state.head)];
  let place = 0;
  for (let axis = 0; axis < 3; axis++) place = place * table[1][axis] + table[0][axis][at[axis]];
  return DATA.orders[table[2][place]].indexOf(backend);
}

// ------------------------------------------------------------------------------------------------ controls

function fill(select, options, value) {
  select.replaceChildren(...options.map(([id, title]) => make("option", { value: id, text: title })));
  select.value = value;
}
function fillControls() {
  const r = release();
  fill($("sm"), [[ALL, "every SM"], ...DATA.sms.map((sm) => [sm.id, `${sm.id}: ${sm.gpus.slice(0, 3).join(", ")}${sm.gpus.length > 3 ? ", ..." : ""}`])], state.sm);
  fill($("v"), [...DATA.releases].reverse().map((one) => [one.v, one.v]), state.v);
  fill($("fi"), [["pinned", `${DATA.fi[r.fi]} (pinned)`], ...[...DATA.fi].reverse().map((v) => [v, v])], state.fi);
  fill($("kv"), DATA.kv.map((kv, n) => [kv.id, r.kv.includes(n) ? kv.id : `${kv.id} (not in ${state.v})`]), state.kv);
  fill($("kind"), DATA.kinds.map((kind) => [kind.id, kind.title]), state.kind);
  fill($("head"), shapes().map((shape) => [shape.id, shape.title]), state.head);
  $("sink").checked = state.sink === "1";
  $("filter").value = state.f;
  $("t").value = state.t;
  $("t").parentElement.hidden = !DATA.linear;
  if (DATA.linear) fill($("layer"), DATA.linear.schemes.map((scheme) => [scheme.id, scheme.title]), state.layer);
  for (const id of ["kv", "kind", "head", "sink"]) $(id).parentElement.hidden = isLinear();
  $("layer").parentElement.hidden = !isLinear();
  $("filter").previousElementSibling.textContent = isLinear() ? "Kernel" : "Backend";
}

// --------------------------------------------------------------------------------------------------- table

function rows() {
  const kind = kindNumber();
  const sms = state.sm === ALL ? DATA.sms.map((_, n) => n) : [indexOf(DATA.sms, state.sm)];
  const wanted = state.f.trim().toLowerCase();
  const present = DATA.backends.map((b, n) => n).filter((n) => DATA.backends[n].kind === kind && release().blocks[n] !== null);
  const found = present.filter((n) => DATA.backends[n].id.toLowerCase().includes(wanted));
  const tried = (n) => (state.sm === ALL ? Math.max(-1, ...sms.map((sm) => rank(n, sm))) : rank(n, sms[0]));
  const key = (n) => (tried(n) < 0 ? 1000 + n : tried(n));
  return { sms, present, found: found.sort((a, b) => key(a) - key(b)), tried };
}

function draw() {
  if (isLinear()) drawLinear();
  else drawAttention();
  $("asked").textContent = asked();
  if (lost.length) $("status").prepend(`The link asks for ${lost.join(", ")}, which this page does not have; shown without. `);
  const buttons = cells();
  const current = buttons.find((b) => b.getAttribute("aria-expanded") === "true") || buttons[0];
  if (current) current.tabIndex = 0;
  detail();
}
// What the form says, for paper, where it is left out.
function asked() {
  const chosen = [...$("controls").querySelectorAll("label")].filter((label) => !label.hidden && label.querySelector("select"));
  const said = chosen.map((label) => `${label.firstChild.textContent.trim()} ${label.querySelector("select").selectedOptions[0].textContent}`);
  if (!isLinear()) said.push(state.sink === "1" ? "with attention sinks" : "without attention sinks");
  if (state.f) said.push(`only names with "${state.f}"`);
  return `${said.join("; ")}.`;
}
function drawAttention() {
  const { sms, present, found, tried } = rows();
  const one = state.sm !== ALL;
  const kvKnown = release().kv.includes(indexOf(DATA.kv, state.kv));
  const head = make("tr", {}, make("th", { scope: "col", text: "Backend" }));
  if (one) head.append(make("th", { scope: "col", text: "Tried" }));
  for (const sm of sms) head.append(make("th", { scope: "col", text: DATA.sms[sm].id, title: DATA.sms[sm].gpus.join(", ") }));
  if (one) head.append(make("th", { scope: "col", text: "Route" }), make("th", { scope: "col", text: "Why" }));
  $("answers").tHead.replaceChildren(head);
  const counts = {};
  const body = kvKnown ? found.map((backend) => {
    const entry = DATA.backends[backend];
    const line = make("tr", {}, make("th", { scope: "row", text: entry.id, title: entry.title }));
    if (one) line.append(make("td", { text: tried(backend) < 0 ? "only if forced" : String(tried(backend) + 1) }));
    let last = null;
    for (const sm of sms) {
      last = lookup(state, backend, sm);
      const mark = shown(last);
      counts[mark] = (counts[mark] || 0) + 1;
      const open = state.b === entry.id && state.at === DATA.sms[sm].id;
      const button = make("button", {
        type: "button", class: mark, text: MARK[mark], tabindex: "-1", "aria-expanded": String(open), "aria-controls": "detail",
        "aria-label": `${entry.id}, SM ${DATA.sms[sm].id}: ${MARK[mark] === "?" ? "not known" : MARK[mark]}`,
        "data-b": entry.id, "data-sm": DATA.sms[sm].id, "data-verdict": last.verdict,
      });
      line.append(make("td", { class: "cell" }, button));
    }
    if (one) {
      line.append(make("td", { text: last.route ? last.route.title : "-" }));
      line.append(make("td", { text: last.reasons.map((r) => r.code).join(", ") || last.untested || last.missing.join(", ") || "-" }));
    }
    return line;
  }) : [];
  $("answers").tBodies[0].replaceChildren(...body);
  const said = Object.keys(MARK).filter((m) => counts[m]).map((m) => `${counts[m]} ${MARK[m] === "?" ? "not known" : MARK[m]}`);
  const without = present.length - found.length;
  $("status").textContent = kvKnown
    ? `${found.length} backends${without ? ` (${without} filtered out)` : ""}: ${said.join(", ") || "no cell"}.`
    : `${DATA.engine} ${state.v} does not accept --kv-cache-dtype ${state.kv}.`;
}
const cells = () => [...document.querySelectorAll("#answers td.cell button")];

// -------------------------------------------------------------------------------------------------- detail

function facts(s, backend, sm) {
  const r = DATA.releases.find((one) => one.v === s.v);
  const kind = DATA.kinds[DATA.backends[backend].kind];
  return {
    engine_version: s.v, flashinfer_version: DATA.fi[fiNumber(s, r)], sm, backend: DATA.backends[backend].id, kv_cache_dtype: s.kv,
    has_sink: s.sink === "1", ...kind.fields, ...kind.shapes.find((shape) => shape.id === s.head).fields,
  };
}
function command(values) {
  const parts = ["compatcheck", "check"];
  for (const [name, value] of Object.entries(values)) {
    const option = name.replaceAll("_", "-");
    if (value === true) parts.push(`--${option}`);
    else if (value === false) parts.push(`--no-${option}`);
    else parts.push(`--${option}`, Array.isArray(value) ? value.join(",") : String(value));
  }
  return parts.join(" ");
}
function filled(words, values) {
  return words.replace(/\{([a-z_.]+)\}/g, (whole, name) => {
    if (name === "sm.major") return values.sm.split(".")[0];
    if (name === "sm.minor") return values.sm.split(".")[1];
    return name in values ? String(values[name]) : whole;
  });
}
function alternatives(backend, sm) {
  const found = [];
  const smNumber = indexOf(DATA.sms, sm);
  const look = (change, text, b) => {
    const cell = lookup({ ...state, ...change }, b, smNumber);
    if (cell && cell.verdict === "supported" && found.length < 12) found.push({ text, hash: { ...change, b: DATA.backends[b].id, at: sm } });
  };
  DATA.backends.forEach((b, n) => { if (n !== backend && b.kind === DATA.backends[backend].kind) look({}, `backend ${b.id}`, n); });
  release().kv.forEach((n) => { if (DATA.kv[n].id !== state.kv) look({ kv: DATA.kv[n].id }, `--kv-cache-dtype ${DATA.kv[n].id}`, backend); });
  [...DATA.fi].reverse().forEach((v) => { if (v !== state.fi) look({ fi: v }, `FlashInfer ${v}`, backend); });
  [...DATA.releases].reverse().forEach((r) => { if (r.v !== state.v) look({ v: r.v, fi: "pinned" }, `${DATA.engine} ${r.v} with the FlashInfer that it pins`, backend); });
  return found;
}
const link = (ref) => (/^https?:\/\//.test(ref) ? make("a", { href: ref, rel: "noreferrer", text: ref }) : make("code", { text: ref }));
function pairs(list) {
  const node = make("dl");
  for (const [name, value] of list) {
    if (value === undefined || value === null || value === "") continue;
    node.append(make("dt", { text: name }), make("dd", {}, ...(Array.isArray(value) ? value : [value])));
  }
  return node;
}
function reason(one, values) {
  const node = make("div", { class: "reason" });
  node.append(make("h3", {}, make("a", { href: `rules/${one.code}.md`, text: one.code }), document.createTextNode(` (${one.effect})`)));
  const title = filled(one.name, values);
  const words = one.words ? filled(one.words, values) : null;
  if (title !== words) node.append(make("p", { text: title }));
  if (words) node.append(make("pre", { text: words }));
  const found = (one.found || []).map((name) => `${name}=${values[name]}`).join(", ");
  const sources = (one.sources || []).flatMap((ref, n) => (n ? [document.createTextNode(", "), link(ref)] : [link(ref)]));
  node.append(pairs([
    ["Who", `${one.refuser}${one.kernel ? `, ${one.kernel}` : ""}`], ["Bites at", one.bites], ["Exception", one.exception], ["Required", one.required], ["Found", found],
    ["Why", one.why], ["Fix", one.fix], ["Recheck", one.recheck], ["Known by", one.confirmed || "reading"], ["History", (one.history || []).join("; ")],
    ["Sources", sources.length ? sources : null], ["Stated at", one.line],
  ]));
  return node;
}
// Runs on the SM that is asked about; those on others prove less, and it is said that they are others.
function evidence(proof, sm) {
  const here = proof.filter((line) => line.includes(`(SM ${sm})`));
  if (here.length) return here.join("; ");
  return proof.length ? `none on SM ${sm}: known by reading. Elsewhere: ${proof.join("; ")}` : "none from a live run: known by reading";
}
function tools() {
  const close = make("button", { type: "button", text: "Close", class: "close" });
  close.addEventListener("click", () => closeDetail());
  const copy = make("button", { type: "button", text: "Copy link" });
  copy.addEventListener("click", () => navigator.clipboard && navigator.clipboard.writeText(location.href));
  const space = () => document.createTextNode(" ");
  return make("p", { class: "tools" }, make("a", { href: `#${hash()}`, text: "Permalink" }), space(), copy, space(), close);
}
function detail() {
  const panel = $("detail");
  if (isLinear()) return detailLinear(panel);
  const backend = DATA.backends.findIndex((b) => b.id === state.b);
  const sm = indexOf(DATA.sms, state.at);
  const cell = backend < 0 || sm < 0 || DATA.backends[backend].kind !== kindNumber() ? null : lookup(state, backend, sm);
  panel.hidden = !cell;
  if (!cell) return panel.replaceChildren();
  const values = facts(state, backend, state.at);
  const route = cell.route;
  const kernels = route ? [["writes", route.kv_write], ["prefill", route.prefill], ["decode", route.decode]].filter((k) => k[1]) : [];
  const proof = [...new Set(kernels.map((k) => k[1]))].flatMap((id) => ((DATA.kernels[id] || {}).proof || []).map((line) => `${id}: ${line}`));
  const others = cell.verdict === "supported" ? [] : alternatives(backend, state.at);
  return panel.replaceChildren(
    make("h2", { id: "detail-title", "data-verdict": cell.verdict, text: `${state.b} on SM ${state.at}: ${MARK[shown(cell)] === "?" ? "not known" : MARK[shown(cell)]}` }),
    tools(),
    pairs([
      ["Verdict", cell.verdict],
      ["Selector", cell.accepts === 1 ? "accepts" : cell.accepts === 0 ? "refuses" : "cannot be told"],
      ["Fails at", cell.failsAt], ["Missing facts", cell.missing.join(", ")], ["Not tested", cell.untested],
      ["Route", route ? `${route.title} (${kernels.map((k) => `${k[0]} ${k[1]}`).join(", ")})` : null], ["Scales", route && route.scale_layout],
      ["Evidence", evidence(proof, state.at)],
      ["Backend since", DATA.backends[backend].since],
      ["Read in", DATA.backends[backend].sources.flatMap((ref, n) => (n ? [document.createTextNode(", "), link(ref)] : [link(ref)]))],
    ]),
    make("pre", { id: "command", text: command(values) }),
    ...cell.reasons.map((one) => reason(one, values)),
    others.length ? make("h3", { text: "What does work here, one change away" }) : "",
    others.length ? make("ul", {}, ...others.map((o) => make("li", {}, make("a", { href: `#${hash({ ...state, ...o.hash })}`, text: o.text })))) : "",
  );
}
function closeDetail() {
  const back = cells().find((b) => b.getAttribute("aria-expanded") === "true");
  change({ b: "", at: "" });
  const again = back && cells().find((b) => b.dataset.b === back.dataset.b && b.dataset.sm === back.dataset.sm);
  if (again) focusCell(again);
}

// ---------------------------------------------------------------------------------------- state and events

function hash(s = state) {
  // The release is always named: the newest of today is not that of the day on which the link is opened.
  const said = Object.entries(s).filter(([name, value]) => value !== DEFAULTS[name]);
  return [["v", s.v], ...said.filter(([name]) => name !== "v")].map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&");
}
function fromHash() {
  const given = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  state = { ...DEFAULTS };
  const known = Object.keys(DEFAULTS).filter((name) => Object.hasOwn(given, name));
  for (const name of known) state[name] = given[name];
  repair();
  lost = known.filter((name) => given[name] !== state[name]).map((name) => `${name}=${given[name].slice(0, 40)}`);
  if (lost.length) state = { ...state, b: "", at: "" }; // the cell would answer another question than the link's
}
// A hand-written or old permalink may name what this page does not have.
function repair() {
  const check = (name, known) => { if (!known) state[name] = DEFAULTS[name]; };
  check("t", state.t === "attention" || (state.t === "linear" && DATA.linear));
  check("layer", !DATA.linear || indexOf(DATA.linear.schemes, state.layer) >= 0);
  check("v", DATA.releases.some((r) => r.v === state.v));
  check("sm", state.sm === ALL || indexOf(DATA.sms, state.sm) >= 0);
  check("fi", state.fi === "pinned" || DATA.fi.includes(state.fi));
  check("kv", indexOf(DATA.kv, state.kv) >= 0);
  check("kind", kindNumber() >= 0);
  check("sink", state.sink === "0" || state.sink === "1");
  if (indexOf(shapes(), state.head) < 0) state.head = indexOf(shapes(), "128") >= 0 ? "128" : shapes()[0].id;
}
function change(what) {
  state = { ...state, ...what };
  lost = [];
  repair();
  const wanted = hash();
  if (location.hash.slice(1) !== wanted) history.replaceState(null, "", `${location.pathname}${location.search}#${wanted}`);
  fillControls();
  draw();
}
function focusCell(button) {
  for (const other of cells()) other.tabIndex = -1;
  button.tabIndex = 0;
  button.focus();
}
for (const [id, name] of [["sm", "sm"], ["v", "v"], ["fi", "fi"], ["kv", "kv"], ["kind", "kind"], ["head", "head"], ["layer", "layer"]]) {
  $(id).addEventListener("change", () => change({ [name]: $(id).value }));
}
$("t").addEventListener("change", () => change({ t: $("t").value, b: "", at: "", f: "" }));
$("sink").addEventListener("change", () => change({ sink: $("sink").checked ? "1" : "0" }));
$("filter").addEventListener("input", () => change({ f: $("filter").value }));
$("controls").addEventListener("submit", (event) => event.preventDefault());
$("controls").addEventListener("reset", (event) => { event.preventDefault(); change({ ...DEFAULTS }); });
$("answers").addEventListener("click", (event) => {
  const button = event.target.closest("td.cell button");
  if (!button) return;
  const open = button.getAttribute("aria-expanded") === "true";
  change(open ? { b: "", at: "" } : { b: button.dataset.b, at: button.dataset.sm });
  const again = cells().find((b) => b.dataset.b === button.dataset.b && b.dataset.sm === button.dataset.sm);
  if (again) focusCell(again);
  if (!open) $("detail").scrollIntoView({ block: "nearest" });
});
$("answers").addEventListener("keydown", (event) => {
  const steps = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] };
  const button = event.target.closest("td.cell button");
  if (!button || !(event.key in steps || event.key === "Home" || event.key === "End")) return;
  event.preventDefault();
  const grid = [...$("answers").tBodies[0].rows].map((row) => [...row.querySelectorAll("td.cell button")]);
  const y = grid.findIndex((row) => row.includes(button));
  const x = grid[y].indexOf(button);
  const [dy, dx] = steps[event.key] || [0, 0];
  const row = grid[Math.min(Math.max(y + dy, 0), grid.length - 1)];
  const column = event.key === "Home" ? 0 : event.key === "End" ? row.length - 1 : Math.min(Math.max(x + dx, 0), row.length - 1);
  focusCell(row[column]);
});
document.addEventListener("keydown", (event) => { if (event.key === "Escape" && state.b) closeDetail(); });
window.addEventListener("hashchange", () => { fromHash(); fillControls(); draw(); });
fromHash();
fillControls();
draw();
