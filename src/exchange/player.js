"use strict";
/* Plays the items of a session. Everything recorded goes onto the page as text (textContent), never as markup. */
(function () {
  const all = JSON.parse(document.getElementById("data").textContent);
  const items = all.filter(i => !i.report), facts = all.filter(i => i.report);
  const main = document.getElementById("items"), bar = document.getElementById("bar");
  const IDLE = 2000;
  let at = items.length, timer = 0, speed = 1, agent = "";

  function make(name, cls, text) {
    const e = document.createElement(name);
    if (cls) e.className = cls;
    if (text !== undefined) e.textContent = text;
    return e;
  }
  function span(ms) {
    const s = Math.floor(ms / 1000);
    return Math.floor(s / 60) + ":" + String(s % 60).padStart(2, "0") + "." + Math.floor(ms % 1000 / 100);
  }
  function took(ms) { return ms < 10000 ? ms + " ms" : span(ms); }
  const words = { task: "task", says: "says", person: "a person says", ends: "ended", note: "note",
    leak: "a honeytoken was seen", tool: "tool", result: "tool result" };
  function card(it) {
    const a = make("article", it.type), head = make("div", "head");
    head.append(make("span", "id", "#" + it.id), make("span", "time", span(it.ms)));
    if (it.agent) head.append(make("span", "who", it.agent));
    head.append(make("span", "kind", it.type === "action" ? it.kind : words[it.type] || it.type));
    if (it.type === "action") {
      let mark = it.end;
      if (it.decision) mark += " (" + it.decision + " by " + it.by + ")";
      a.classList.add(it.decision ? "held" : it.good ? "good" : "bad");
      head.append(make("span", "mark", mark), make("span", "time", took(it.took)));
    }
    if (it.type === "leak") a.classList.add("bad");
    if (it.type === "result") a.classList.add(it.good ? "good" : "bad");
    if (it.type === "leak" || it.type === "result") {
      if (it.of) head.append(make("span", "id", "of #" + it.of));
    }
    a.append(head, make("div", "what", it.what));
    if (it.proposed) a.append(make("div", "time", "wanted was: " + it.proposed));
    if (it.rules) a.append(make("div", "time", "rules: " + it.rules));
    if (it.why) a.append(make("div", "time", "why: " + it.why));
    if (it.files && it.files.length) a.append(make("div", "files", it.files.join("   ")));
    if (it.output) a.append(make("pre", "", it.output));
    return a;
  }
  const titles = { cost: "cost", verification: "verification", claim: "claim", diff: "changed files of sandbox" };
  function lines(text) { /* of a patch, each in its color */
    const pre = make("pre");
    for (const l of text.split("\n")) {
      const c = /^(\+\+\+|---|diff |index )/.test(l) ? "meta" : l[0] === "+" ? "add" : l[0] === "-" ? "del" : l[0] === "@" ? "hunk" : "";
      pre.append(make("span", c, l + "\n"));
    }
    return pre;
  }
  function fact(it) {
    const a = make("article", it.type), head = make("div", "head");
    head.append(make("span", "kind", titles[it.type]));
    if (it.id) head.append(make("span", "id", "#" + it.id));
    if (it.agent) head.append(make("span", "who", it.agent));
    if (it.end) head.append(make("span", "mark", it.end));
    if (it.good !== undefined) a.classList.add(it.good ? "good" : "bad");
    a.append(head, make("div", "what", it.what));
    if (it.why) a.append(make("div", "time", "why: " + it.why));
    if (it.evidence) a.append(make("div", "time", "evidence: " + it.evidence));
    if (it.output) a.append(it.type === "diff" ? lines(it.output) : make("pre", "", it.output));
    if (it.left_out) a.append(make("div", "time", it.left_out + " more bytes are left out; sandglass export -F patch has all of them"));
    return a;
  }
  const cards = items.map(card);
  main.append(...cards);
  if (facts.length) {
    const top = make("details", "facts");
    top.append(make("summary", "", "Report: " + facts.filter(f => f.type === "cost" || f.type === "verification")
      .map(f => f.type + " " + f.what).join(", ")), ...facts.map(fact));
    main.before(top);
  }

  const play = make("button", "", "Play"), back = make("button", "", "<"), next = make("button", "", ">");
  const bad = make("button", "", "next failed"), range = make("input"), out = make("output"), who = make("select"), fast = make("select");
  range.type = "range"; range.min = 0; range.max = items.length; range.step = 1;
  play.id = "play"; range.setAttribute("aria-label", "position");
  for (const x of [0.5, 1, 2, 4, 16, 64]) { const o = make("option", "", x + "x"); o.value = x; if (x === 1) o.selected = true; fast.append(o); }
  who.append(make("option", "", "everybody")); who.firstChild.value = "";
  for (const n of [...new Set(items.map(i => i.agent))].filter(Boolean)) { const o = make("option", "", n); o.value = n; who.append(o); }
  bar.append(play, back, next, bad, range, out, fast, who);

  function shown(i) { return !agent || items[i].agent === agent; }
  function show(n, scroll) {
    at = Math.max(0, Math.min(items.length, n));
    cards.forEach((c, i) => { c.hidden = i >= at || !shown(i); c.classList.toggle("now", i === at - 1 && at < items.length); });
    range.value = at;
    out.textContent = at + "/" + items.length + "  " + (at ? span(items[at - 1].ms) : "0:00.0");
    if (scroll && at) cards[at - 1].scrollIntoView({ block: "center" });
  }
  const leaks = items.filter(it => it.type === "leak"); /* above all that was done: nobody had a reason to carry one */
  if (leaks.length) {
    const line = make("div", "leaks", "honeytokens were seen " + (leaks.length > 1 ? leaks.length + " times: " : "once: "));
    for (const it of leaks.slice(0, 20)) {
      const b = make("button", "", "#" + it.id);
      b.onclick = () => { stop(); agent = who.value = ""; show(items.indexOf(it) + 1, true); };
      line.append(b);
    }
    bar.after(line);
  }
  function stop() { clearTimeout(timer); timer = 0; play.textContent = "Play"; }
  function tick() {
    if (at >= items.length) return stop();
    show(at + 1, true);
    const wait = at < items.length ? Math.min(IDLE, items[at].ms - items[at - 1].ms) : 0;
    timer = setTimeout(tick, Math.max(20, wait / speed));
  }
  play.onclick = () => { if (timer) return stop(); if (at >= items.length) show(0); play.textContent = "Pause"; tick(); };
  back.onclick = () => { stop(); show(at - 1, true); };
  next.onclick = () => { stop(); show(at + 1, true); };
  bad.onclick = () => {
    stop();
    const from = at >= items.length ? 0 : at;
    const i = items.findIndex((it, k) => k >= from && (it.type === "leak" || (it.type === "action" || it.type === "result") && !it.good) && shown(k));
    if (i >= 0) show(i + 1, true);
  };
  range.oninput = () => { stop(); show(+range.value, true); };
  fast.onchange = () => { speed = +fast.value; };
  who.onchange = () => { agent = who.value; show(at); };
  document.onkeydown = e => {
    if (e.target.tagName === "SELECT") return;
    if (e.key === " ") { e.preventDefault(); play.onclick(); }
    else if (e.key === "," || e.key === "ArrowLeft") back.onclick();
    else if (e.key === "." || e.key === "ArrowRight") next.onclick();
  };
  show(items.length);
  const m = /^#(\d+)$/.exec(location.hash);
  if (m) { const i = items.findIndex(it => it.id >= +m[1]); if (i >= 0) show(i + 1, true); }
})();
