// SPDX-License-Identifier: Apache-2.0
// The page's style sheet. Colours are named once for light and once for dark; all pairs of text
// and ground keep a contrast of at least 4.5 to 1.
#pragma once

#include <string_view>

namespace cyclewatch::render {

inline constexpr std::string_view kPageStyle = R"css(
:root {
  color-scheme: light dark;
  --ground: #f4f5f7; --card: #fff; --ink: #1b1f27; --soft: #565e6c; --line: #dde1e8;
  --well: #f7f8fa; --loop: #3d4db8; --loop-fill: #eef0fd; --cut: #c0282d; --cut-fill: #fdf1f0;
  --owner: #0a6e5f; --owner-fill: #e6f5f2; --shared: #8fc7bd;
  --mono: ui-monospace, "SF Mono", SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #12141a; --card: #1b1e26; --ink: #e8eaf0; --soft: #a4acbb; --line: #323845;
    --well: #15181f; --loop: #a5b0ff; --loop-fill: #262b47; --cut: #ff8f8a; --cut-fill: #35201f;
    --owner: #5cc9b5; --owner-fill: #14332e; --shared: #2f6b60;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--ground); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial,
  "DejaVu Sans", sans-serif; }
main { max-width: 1240px; margin: 0 auto; padding: clamp(16px, 3vw, 44px) clamp(12px, 3vw, 32px); }
h1, h2, h3, p, ol, ul, figure { margin: 0; }
h1 { font-size: clamp(1.4rem, 2.6vw, 2.1rem); line-height: 1.2; letter-spacing: -.015em;
  font-weight: 680; max-width: 32em; text-wrap: balance; overflow-wrap: anywhere; }
h2 { font-size: 1.08rem; line-height: 1.45; font-weight: 620; }
h3 { font-size: .95rem; line-height: 1.4; font-weight: 650; }
code, .title, .bars .label { font-family: var(--mono); font-size: .88em; overflow-wrap: anywhere; }
a { color: inherit; }
:focus-visible { outline: 3px solid var(--loop); outline-offset: 2px; border-radius: 4px; }
.program { color: var(--soft); font-size: .88rem; margin-bottom: 14px; overflow-wrap: anywhere; }
.program b { color: var(--ink); }
.program span::before { content: "\00b7"; margin: 0 .45em 0 .2em; }
.lead { margin-top: 10px; font-size: 1.1rem; color: var(--soft); max-width: 46em; }
.quiet, .more, .hint, figcaption { color: var(--soft); font-size: .9rem; }

.bars { list-style: none; padding: 0; margin-top: 26px; display: grid; gap: 2px; }
.bars a { display: grid; grid-template-columns: 1.9em minmax(0, 5fr) minmax(80px, 4fr) 6.2em;
  gap: 0 14px; align-items: center; padding: 6px 8px; margin: 0 -8px; border-radius: 8px;
  text-decoration: none; }
.bars a:hover { background: var(--card); }
.bars .label { white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.bars .bytes { text-align: right; font-weight: 620; font-variant-numeric: tabular-nums; }
.rank { display: inline-block; min-width: 1.75em; padding: 0 .3em; border-radius: 1em;
  text-align: center; font-size: .82em; font-weight: 650; background: var(--line); }
.bar { width: 100%; height: 12px; border-radius: 3px; display: block; }
.bar .room { fill: var(--line); } .own { fill: var(--owner); } .shared { fill: var(--shared); }
.key-line { margin-top: 8px; }
.key { display: inline-block; font-size: .85rem; color: var(--soft); margin-right: 1.2em; }
.key::before { content: ""; display: inline-block; width: 1.5em; height: .7em; margin-right: .5em;
  border-radius: 3px; background: var(--owner); }
.key.shared::before { background: var(--shared); }
.key.loop::before { background: none; height: 0; border-top: 3px solid var(--loop);
  border-radius: 0; vertical-align: .25em; }
.key.cut::before { background: none; height: 0; border-top: 3px dashed var(--cut);
  border-radius: 0; vertical-align: .25em; }
.key.owner::before { background: var(--owner-fill); border: 1.5px solid var(--owner); }

.card { background: var(--card); border: 1px solid var(--line); border-radius: 14px;
  padding: clamp(16px, 2.4vw, 30px); margin-top: 26px; scroll-margin-top: 12px; }
.card h2 { display: flex; gap: 12px; align-items: baseline; }
.card .title { font-size: .98rem; }
.to { color: var(--soft); padding: 0 .15em; }
.facts { display: flex; flex-wrap: wrap; align-items: baseline; gap: 4px 20px; margin-top: 8px;
  color: var(--soft); font-size: .95rem; }
.facts .bytes { color: var(--ink); font-size: 1.55rem; font-weight: 680; line-height: 1.2;
  letter-spacing: -.01em; }
.pill { border: 1px solid var(--line); border-radius: 1em; padding: 0 .75em; font-size: .84rem;
  overflow-wrap: anywhere; }
.headline { margin-top: 6px; max-width: 60em; overflow-wrap: anywhere; }

.columns { display: grid; grid-template-columns: minmax(0, 5fr) minmax(0, 7fr); gap: 26px;
  margin-top: 20px; align-items: start; }
.columns.wide { grid-template-columns: minmax(0, 1fr); }
.advice { display: grid; gap: 20px; min-width: 0; }
.wide .advice { display: flex; flex-wrap: wrap; }
.wide .advice > .cut { flex: 2 1 420px; } .wide .advice > .other { flex: 1 1 280px; }
.cut, .other { min-width: 0; }
section.cut { background: var(--cut-fill); border-left: 4px solid var(--cut); border-radius: 8px;
  padding: 14px 18px 16px; }
section.cut h3 { color: var(--cut); }
section.cut.none { background: var(--well); border-color: var(--line); }
.choices { display: grid; gap: 16px; margin-top: 8px; }
.choice + .choice { border-top: 1px solid var(--line); padding-top: 14px; }
.reference { line-height: 1.6; overflow-wrap: anywhere; }
.reference .name { font-weight: 700; margin-right: .5em; }
.cut .reference .name { color: var(--cut); font-size: 1.08em; text-decoration: underline 2px;
  text-underline-offset: 4px; }
.where code { font-weight: 600; } .where::before { content: "at "; color: var(--soft); }
.why { margin-top: 2px; overflow-wrap: anywhere; }
.ends { margin-top: 6px; font-size: .88rem; line-height: 1.5; overflow-wrap: anywhere; }
.ends span { display: inline-block; width: 2.9em; color: var(--soft); }
.other { font-size: .94rem; } .other h3 { color: var(--soft); }
.other ul { list-style: none; padding: 0; margin-top: 4px; display: grid; gap: 12px; }

figure { min-width: 0; }
.scroll { overflow-x: auto; }
figure > .scroll { background: var(--well); border: 1px solid var(--line); border-radius: 10px;
  padding: 8px; text-align: center; }
figcaption { margin-top: 8px; display: flex; flex-wrap: wrap; gap: 2px 0; }
svg.ring, svg.graph { display: inline-block; max-width: 100%; height: auto; min-width: 520px; }
.ring text { font-family: var(--mono); text-anchor: middle; fill: var(--ink); }
.ring .name { font-size: 13px; font-weight: 600; }
.ring .detail { font-size: 11px; fill: var(--soft); }
.ring .box { fill: var(--card); stroke: var(--soft); stroke-width: 1.2; }
.ring .item.loop .box { fill: var(--loop-fill); stroke: var(--loop); stroke-width: 2; }
.ring .item.owner .box { fill: var(--owner-fill); stroke: var(--owner); stroke-width: 1.4; }
.weight-room { fill: var(--line); } .weight { fill: var(--owner); }
.ring .line { fill: none; stroke: var(--soft); stroke-width: 1.3; }
.ring .head { fill: var(--soft); }
.ring .arrow.loop .line { stroke: var(--loop); stroke-width: 2.4; }
.ring .arrow.loop .head { fill: var(--loop); }
.ring .arrow.cut .line { stroke: var(--cut); stroke-width: 2.6; stroke-dasharray: 7 4; }
.ring .arrow.cut .head { fill: var(--cut); }
.ring .label { font-size: 11px; fill: var(--soft); } .label-ground { fill: var(--well); }
.ring .label.loop { fill: var(--loop); font-weight: 600; }
.ring .label.cut { fill: var(--cut); font-weight: 700; text-decoration: underline; }
.graph text { fill: var(--ink); font-family: var(--mono); }
.graph .item path, .graph .item polygon { stroke: var(--soft); }
.graph .item.loop path { stroke: var(--loop); fill: var(--loop-fill); }
.graph .item.owner polygon { stroke: var(--owner); fill: var(--owner-fill); }
.graph .arrow path { stroke: var(--soft); }
.graph .arrow polygon { stroke: var(--soft); fill: var(--soft); }
.graph .arrow.loop path { stroke: var(--loop); }
.graph .arrow.loop polygon { stroke: var(--loop); fill: var(--loop); }
.graph .arrow.cut path { stroke: var(--cut); }
.graph .arrow.cut polygon { stroke: var(--cut); fill: var(--cut); }
.graph .arrow.cut text { fill: var(--cut); font-weight: 700; text-decoration: underline; }

table { border-collapse: collapse; width: 100%; font-size: .9rem; }
.card > .scroll { margin-top: 22px; }
caption { text-align: left; font-weight: 650; font-size: .95rem; padding-bottom: 6px; }
th, td { text-align: left; padding: 6px 18px 6px 0; border-bottom: 1px solid var(--line);
  vertical-align: top; }
th { color: var(--soft); font-weight: 600; font-size: .84rem; white-space: nowrap; }
td code { overflow-wrap: normal; }
.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
details { margin-top: 18px; } details > .scroll { margin-top: 10px; }
summary { cursor: pointer; color: var(--soft); font-size: .94rem; }
summary:hover { color: var(--ink); }
.signature { margin-top: 16px; font-size: .88rem; color: var(--soft); }
.signature code { user-select: all; -webkit-user-select: all; background: var(--well);
  border: 1px solid var(--line); border-radius: 5px; padding: 1px 7px; color: var(--ink); }
.hint { font-size: .84rem; margin-left: .5em; }

.chart { margin-top: 16px; }
.timeline { display: block; width: 100%; height: 110px; }
.axis { fill: var(--line); }
.axis-labels { display: flex; justify-content: space-between; color: var(--soft);
  font-size: .84rem; margin-top: 4px; }
footer { margin-top: 30px; color: var(--soft); font-size: .9rem; display: grid; gap: 8px;
  overflow-wrap: anywhere; }
.notes { padding-left: 1.2em; }

@media (max-width: 900px) { .columns { grid-template-columns: minmax(0, 1fr); } }
@media (max-width: 620px) {
  .bars a { grid-template-columns: 1.9em minmax(0, 1fr) auto; }
  .bars .bar { grid-column: 2 / -1; grid-row: 2; }
  .card h2 { gap: 8px; } .hint { display: block; margin: 4px 0 0; }
}
@media print {
  :root { --ground: #fff; --card: #fff; --well: #fff; --ink: #000; --soft: #333; --line: #bbb;
    --loop: #3d4db8; --loop-fill: #fff; --cut: #b00; --cut-fill: #fff; --owner: #0a6e5f;
    --owner-fill: #fff; --shared: #8fc7bd; }
  main { max-width: none; padding: 0; } .card { break-inside: avoid-page; }
  .scroll { overflow: visible; } svg.ring, svg.graph { min-width: 0; }
  .bar, .timeline, .key::before { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
)css";

}  // namespace cyclewatch::render
