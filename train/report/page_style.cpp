#include "train/report/page_parts.h"

namespace brightnet {

const char* const page_style = R"css(
:root { color-scheme: light dark; --page: #f4f5f7; --paper: #fff; --ink: #22262b; --soft: #5a626c; --edge: #dfe2e6;
  --rule: #eceef0; --off: #8a9099; --axis: #9aa1a9; --grid: #e6e8eb; --grew: #b9c0c8; --best: #6a727b;
  --apart: #9c4409; --alarm: #c01f33; --lift: none; }
@media (prefers-color-scheme: dark) {
  :root { --page: #16191d; --paper: #1f2329; --ink: #e4e7eb; --soft: #a3abb5; --edge: #363c44; --rule: #2c3138;
    --off: #7b838d; --axis: #6d757f; --grid: #2f353d; --grew: #59626d; --best: #939ca7; --apart: #f0a060;
    --alarm: #ff7584; --lift: brightness(1.35); }
}
@media print { :root { color-scheme: light; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--page); color: var(--ink); font: 14px/1.5 system-ui, "DejaVu Sans", sans-serif; }
main { max-width: 1560px; margin: 0 auto; padding: 20px 16px 60px; display: grid; gap: 14px;
  grid-template-columns: repeat(2, minmax(0, 1fr)); }
main > * { grid-column: 1 / -1; }
main > .half { grid-column: span 1; }
header { margin-bottom: 14px; }
h1 { font-size: 24px; line-height: 1.25; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 17px; margin: 0 0 10px; }
h3 { font-size: 13px; margin: 0 0 2px; font-weight: 600; }
.subtitle { color: var(--soft); margin: 4px 0 0; overflow-wrap: anywhere; }
section { background: var(--paper); border: 1px solid var(--edge); border-radius: 8px; padding: 16px; margin: 0; min-width: 0; }
.tiles { display: grid; grid-template-columns: repeat(auto-fill, minmax(136px, 1fr)); gap: 10px; background: none;
  border: 0; padding: 0; }
.tile { background: var(--paper); border: 1px solid var(--edge); border-radius: 8px; padding: 10px 14px; min-width: 0; }
.tile b { display: block; font-size: 22px; line-height: 1.3; overflow-wrap: anywhere; }
.tile span { color: var(--soft); font-size: 12px; }
.sentences { border-left: 4px solid #0072b2; }
.sentences p { margin: 0 0 6px; max-width: 100ch; }
.grid { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 340px), 1fr)); gap: 18px 22px; }
.panel { min-width: 0; position: relative; }
.panel path, .panel circle, .legend i, .names i { filter: var(--lift); }
.panel svg { display: block; width: 100%; touch-action: pan-y; }
.panel text { font-size: 11px; fill: var(--soft); }
.legend { display: grid; grid-template-columns: auto minmax(0, 1fr) auto auto; gap: 0 10px; font-size: 12px;
  align-items: center; margin-bottom: 4px; }
.legend .head { color: var(--soft); font-size: 11px; text-align: right; }
.legend i { width: 16px; height: 3px; display: inline-block; border-radius: 2px; }
.legend button { all: unset; cursor: pointer; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.legend button:focus-visible { outline: 2px solid #0072b2; }
.legend button.off { text-decoration: line-through; color: var(--off); }
.legend .value { text-align: right; font-variant-numeric: tabular-nums; }
.names { display: flex; flex-wrap: wrap; gap: 2px 14px; font-size: 12px; margin-bottom: 4px; }
.names button { all: unset; cursor: pointer; display: flex; align-items: center; gap: 6px; max-width: 100%;
  overflow-wrap: anywhere; }
.names button.off { text-decoration: line-through; color: var(--off); }
.names i { width: 14px; height: 3px; flex: none; display: inline-block; border-radius: 2px; }
.mark { font-size: 12px; color: var(--alarm); display: flex; align-items: center; gap: 6px; margin-bottom: 2px; }
.mark i { width: 10px; height: 10px; border: 2.5px solid #d5283c; border-radius: 6px; flex: none; }
.tip { position: absolute; pointer-events: none; background: #22262bee; color: #fff; font-size: 12px; padding: 5px 8px;
  border-radius: 5px; white-space: nowrap; z-index: 2; display: none; max-width: 100%; overflow: hidden; }
.tip i { width: 9px; height: 9px; display: inline-block; border-radius: 5px; margin-right: 6px; }
.scroll { overflow-x: auto; max-width: 100%; }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
th, td { padding: 5px 10px; text-align: right; border-bottom: 1px solid var(--rule); white-space: nowrap; }
th { color: var(--soft); font-weight: 600; font-size: 12px; }
th:first-child, td:first-child { text-align: left; }
.wide th { white-space: normal; vertical-align: bottom; }
.wide td:first-child { max-width: 300px; overflow: hidden; text-overflow: ellipsis; }
.matrix td, .matrix th { text-align: center; padding: 4px 8px; border: 1px solid var(--rule); min-width: 62px; }
.matrix th:first-child { text-align: right; max-width: 220px; white-space: normal; overflow-wrap: break-word; }
.matrix tr:first-child th { white-space: normal; overflow-wrap: break-word; max-width: 120px; }
.matrix td small { display: block; font-size: 11px; line-height: 1.2; }
.matrix .apart { border-left: 4px solid var(--paper); }
.matrix tr.apart td, .matrix tr.apart th { border-top: 4px solid var(--paper); }
.matrix .background { color: var(--apart); }
.facts { display: grid; grid-template-columns: minmax(110px, max-content) minmax(0, 1fr); gap: 4px 18px; }
.facts dt { color: var(--soft); }
.facts dd { margin: 0; overflow-wrap: anywhere; }
.remark { color: var(--soft); font-size: 12px; margin: 0; text-align: center; }
.note { color: var(--soft); font-size: 13px; margin: -4px 0 10px; max-width: 110ch; }
img { max-width: 100%; height: auto; display: block; cursor: zoom-in; }
.picture.whole { overflow-x: auto; }
.picture.whole img { max-width: none; cursor: zoom-out; }
pre { font: 12px/1.5 ui-monospace, "DejaVu Sans Mono", monospace; overflow-x: auto; margin: 10px 0 0; }
summary { cursor: pointer; font-size: 17px; font-weight: 700; }
footer { color: var(--soft); font-size: 12px; margin-top: 20px; }
@media (max-width: 1000px) { main > .half { grid-column: 1 / -1; } }
@media (max-width: 520px) { main { padding: 14px 10px 40px; } section { padding: 12px 10px; } }
)css";

}  // namespace brightnet
