// NVFP4 linear layers, looked up as attention is: the release's set has a sheet per way to ask and scheme, a sheet a strip
// per class of SMs, a strip one cell or one per class of FlashInfer versions. Only functions: this follows what starts the page.
function linearSet(s) {
  const at = DATA.releases.findIndex((r) => r.v === s.v);
  return DATA.linear.sets[DATA.linear.releases[at]];
}
function linearLookup(s, id, sm) {
  const L = DATA.linear;
  const line = linearSet(s).asks.find((one) => L.asks[one[0]].id === id);
  if (!line) return null;
  const strip = L.sheets[line[1 + indexOf(L.schemes, s.layer)]][L.sm[sm]];
  const fi = L.fi[fiNumber(s, DATA.releases.find((r) => r.v === s.v))];
  const [verdict, accepts, selected, failsAt, reasons, missing, untested, tried, compute] = L.cells[strip[strip.length > 1 ? fi : 0]];
  const ask = L.asks[line[0]];
  return {
    ask, verdict: DATA.verdicts[verdict], accepts, kernel: selected === null ? null : L.kernels[selected], failsAt,
    reasons: reasons.map((n) => L.reasons[n]), missing, untested, tried: L.tried[tried], compute,
    other: ask.kernel !== null && selected !== null && selected !== ask.kernel,
  };
}
function linearShown(cell) {
  return cell.other ? "other" : shown(cell);
}
function linearText(cell, picked) {
  const mark = linearShown(cell);
  if (cell.kernel && (cell.other || cell.ask.kernel === null)) return `${MARK[mark]}: ${cell.kernel.short}`;
  return picked && cell.kernel && picked.kernel === cell.kernel ? `${MARK[mark]} (picked)` : MARK[mark];
}
// The gate that refuses the kernel asked for says more than that none is left.
function linearWhy(cell) {
  const gates = cell.tried.filter((one) => one[0] === cell.ask.kernel && one[2]).map((one) => one[2]);
  return [...gates, ...cell.reasons.map((r) => r.code)].join(", ");
}
function linearRows() {
  const L = DATA.linear;
  const sms = state.sm === ALL ? DATA.sms.map((_, n) => n) : [indexOf(DATA.sms, state.sm)];
  const wanted = state.f.trim().toLowerCase();
  const present = linearSet(state).asks.map((line) => L.asks[line[0]]);
  const walked = state.sm === ALL ? [] : linearLookup(state, "engine", sms[0]).tried.map((one) => one[0]);
  const tried = (ask) => walked.indexOf(ask.kernel);
  const key = (ask) => (ask.kernel === null ? (ask.id === "engine" ? -1 : 2000) : tried(ask) < 0 ? 1000 + ask.kernel : tried(ask));
  const found = present.filter((ask) => ask.title.toLowerCase().includes(wanted)).sort((a, b) => key(a) - key(b));
  return { sms, present, found, tried };
}
function drawLinear() {
  const { sms, present, found, tried } = linearRows();
  const one = state.sm !== ALL;
  const head = make("tr", {}, make("th", { scope: "col", text: "Kernel" }));
  if (one) head.append(make("th", { scope: "col", text: "Tried" }));
  for (const sm of sms) head.append(make("th", { scope: "col", text: DATA.sms[sm].id, title: DATA.sms[sm].gpus.join(", ") }));
  if (one) head.append(make("th", { scope: "col", text: "Computes" }), make("th", { scope: "col", text: "Why" }));
  $("answers").tHead.replaceChildren(head);
  const counts = {};
  const picks = Object.fromEntries(sms.map((sm) => [sm, linearLookup(state, "engine", sm)]));
  const body = found.map((ask) => {
    const entry = ask.kernel === null ? null : DATA.linear.kernels[ask.kernel];
    const line = make("tr", {}, make("th", { scope: "row", text: ask.title, title: entry ? entry.title : null }));
    if (one) line.append(make("td", { text: ask.kernel === null ? "-" : tried(ask) < 0 ? "only if asked for" : String(tried(ask) + 1) }));
    let last = null;
    for (const sm of sms) {
      last = linearLookup(state, ask.id, sm);
      const mark = linearShown(last);
      counts[mark] = (counts[mark] || 0) + 1;
      const id = DATA.sms[sm].id;
      const open = state.b === ask.id && state.at === id;
      const text = linearText(last, picks[sm]);
      const button = make("button", {
        type: "button", class: mark, text, tabindex: "-1", "aria-expanded": String(open), "aria-controls": "detail",
        "aria-label": `${ask.title}, SM ${id}: ${text === "?" ? "not known" : text}`, "data-b": ask.id, "data-sm": id, "data-verdict": last.verdict,
      });
      line.append(make("td", { class: "cell" }, button));
    }
    if (one) {
      line.append(make("td", { text: last.compute || "-" }));
      line.append(make("td", { text: linearWhy(last) || last.untested || last.missing.join(", ") || "-" }));
    }
    return line;
  });
  $("answers").tBodies[0].replaceChildren(...body);
  const said = Object.keys(MARK).filter((m) => counts[m]).map((m) => `${counts[m]} ${MARK[m] === "?" ? "not known" : MARK[m]}`);
  const without = present.length - found.length;
  const silent = linearSet(state).silent.map((n) => DATA.linear.kernels[n].short);
  $("status").textContent = `${found.length} ways to ask${without ? ` (${without} filtered out)` : ""}: ${said.join(", ") || "no cell"}.`
    + (silent.length ? ` Nothing in ${DATA.engine} ${state.v} that the matrix knows asks for ${silent.join(", ")} alone.` : "");
}
function linearFacts(s, ask, sm) {
  const r = DATA.releases.find((one) => one.v === s.v);
  return { engine_version: s.v, flashinfer_version: DATA.fi[fiNumber(s, r)], sm, linear: s.layer, ...ask.fields };
}
function linearAlternatives(ask, sm) {
  const found = [];
  const at = indexOf(DATA.sms, sm);
  const look = (change, text, id) => {
    const cell = linearLookup({ ...state, ...change }, id, at);
    const works = cell && cell.verdict === "supported" && !cell.other;
    if (works && found.length < 12) found.push({ text: `${text} -> ${cell.kernel.short}`, hash: { ...change, b: id, at: sm } });
  };
  for (const line of linearSet(state).asks) {
    const one = DATA.linear.asks[line[0]];
    if (one.id !== ask.id) look({}, one.title, one.id);
  }
  [...DATA.fi].reverse().forEach((v) => { if (v !== state.fi) look({ fi: v }, `FlashInfer ${v}`, ask.id); });
  [...DATA.releases].reverse().forEach((r) => { if (r.v !== state.v) look({ v: r.v, fi: "pinned" }, `${DATA.engine} ${r.v} with the FlashInfer that it pins`, ask.id); });
  return found;
}
function linearProof(kernel, sm) {
  if (!kernel) return null;
  const proof = kernel.proof || [];
  const here = proof.filter((one) => one[0] === sm).map((one) => one[1]);
  if (here.length) return `on this SM: ${here.join("; ")}`;
  return proof.length ? `none on SM ${sm}: known by reading. Elsewhere: ${proof.map((one) => one[1]).join("; ")}` : "untested, no live run: known by reading";
}
function passedOver(cell) {
  const lines = cell.tried.filter((one) => one[1] !== null).map(([kernel, words, code]) => {
    const name = code ? make("a", { href: `rules/${code}.md`, text: DATA.linear.kernels[kernel].id }) : make("span", { text: DATA.linear.kernels[kernel].id });
    return make("li", {}, name, document.createTextNode(`: ${words}`));
  });
  return lines.length ? [make("ul", {}, ...lines)] : null;
}
function detailLinear(panel) {
  const sm = indexOf(DATA.sms, state.at);
  const cell = sm < 0 ? null : linearLookup(state, state.b, sm);
  panel.hidden = !cell;
  if (!cell) return panel.replaceChildren();
  const values = linearFacts(state, cell.ask, state.at);
  const about = cell.kernel || (cell.ask.kernel === null ? null : DATA.linear.kernels[cell.ask.kernel]);
  const way = cell.compute || (about && about.compute);
  const meaning = way ? DATA.linear.compute[way] : null;
  const mark = linearShown(cell);
  const others = cell.verdict === "supported" && !cell.other ? [] : linearAlternatives(cell.ask, state.at);
  return panel.replaceChildren(
    make("h2", { id: "detail-title", "data-verdict": cell.verdict, text: `${cell.ask.title} on SM ${state.at}: ${MARK[mark] === "?" ? "not known" : MARK[mark]}` }),
    tools(),
    pairs([
      ["Verdict", cell.verdict],
      ["Selector", cell.accepts === 1 ? "accepts" : cell.accepts === 0 ? "refuses" : "cannot be told"],
      ["Picked", cell.kernel ? `${cell.kernel.id}: ${cell.kernel.title}` : "none"],
      ["Computes", meaning ? `${way}: ${meaning.title}` : null], ["Speed", meaning && meaning.speed], ["Accuracy", meaning && meaning.accuracy],
      ["Fails at", cell.failsAt], ["Missing facts", cell.missing.join(", ")], ["Not tested", cell.untested],
      ["Library kernel", about && about.library],
      ["Alignment", about ? (about.multiple_of ? `K is padded to multiples of ${about.multiple_of}, N of ${about.multiple_of_n || about.multiple_of}` : "no padding stated") + "; K per rank must be a multiple of 16" : null],
      ["Note", about && about.note], ["Evidence", linearProof(about, state.at)], ["Kernel since", about && about.since],
      ["Passed over", passedOver(cell)],
      ["Read in", about ? (about.sources || []).flatMap((ref, n) => (n ? [document.createTextNode(", "), link(ref)] : [link(ref)])) : null],
    ]),
    make("pre", { id: "command", text: command(values) }),
    ...cell.reasons.map((one) => reason(one, values)),
    others.length ? make("h3", { text: "What does work here, one change away" }) : "",
    others.length ? make("ul", {}, ...others.map((o) => make("li", {}, make("a", { href: `#${hash({ ...state, ...o.hash })}`, text: o.text })))) : "",
  );
}
