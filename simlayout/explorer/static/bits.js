// The bits of an offset, what Sw<B,M,S> XORs into what, and handles: both groups are dragged, and by its bar a group is widened.
const BIT = 18;

/** Draws the bits, the highest on the left, over those that choose one of so many banks. slide: called with "b", "m" or "s" and its value while a handle is dragged. */
function drawBits({ b, m, s }, count, elementBytes, banks, slide) {
  const bits = Math.max(count, b ? m + Math.max(s, 0) + b : m, 7), width = bits * BIT + 4, ink = palette();
  const svg = shape(null, "svg", { viewBox: `0 0 ${width} 62`, xmlns: SVG, "font-size": 9, "text-anchor": "middle", role: "img",
    "font-family": "system-ui, sans-serif",
    "aria-label": b ? `bits ${m + s} to ${m + s + b - 1} of the offset are XORed into bits ${m} to ${m + b - 1}` : "no swizzle" });
  svg.style.maxHeight = "84px";
  const x = (bit) => 2 + (bits - 1 - bit) * BIT, inside = (bit, first) => b && bit >= first && bit < first + b;
  const bankLow = Math.log2(4 / elementBytes), bankHigh = bankLow + Math.log2(banks);
  for (let bit = 0; bit < bits; bit++) {
    const target = inside(bit, m), source = inside(bit, m + s);
    const g = shape(svg, "g", target ? { class: "drag", "data-drag": "m" } : source ? { class: "drag", "data-drag": "s" } : {});
    shape(g, "rect", { x: x(bit), y: 34, width: BIT - 1, height: 17, rx: 2, stroke: ink.soft,
                       fill: target ? "#EE8866" : source ? "#77AADD" : ink.paper });
    shape(g, "text", { x: x(bit) + BIT / 2, y: 46, fill: target || source ? "#000" : ink.ink }, bit);
    if (bit >= bankLow && bit < bankHigh) shape(svg, "rect", { x: x(bit), y: 53, width: BIT - 1, height: 2, fill: ink.soft });
  }
  shape(svg, "text", { x: x((bankLow + bankHigh - 1) / 2) + BIT / 2, y: 62, "font-size": 7.5, fill: ink.soft }, "these choose the bank");
  for (let i = 0; i < b && s; i++) {
    const from = x(m + s + i) + BIT / 2, to = x(m + i) + BIT / 2, top = 28 - Math.min(22, Math.abs(from - to) / 4);
    shape(svg, "path", { d: `M${from},33 C${from},${top} ${to},${top} ${to},32`, fill: "none", stroke: ink.ink, "stroke-width": 1.1 });
    shape(svg, "path", { d: `M${to - 3},28 L${to},33 L${to + 3},28`, fill: "none", stroke: ink.ink });
  }
  const grip = shape(svg, "g", { class: "drag", "data-drag": "b" });
  shape(grip, "title", {}, b ? "drag: more or fewer bits" : "drag to the left: bits to XOR into");
  shape(grip, "rect", { x: x(m + b - 1) - 8, y: 28, width: 14, height: 28, fill: "transparent" });
  shape(grip, "rect", { x: x(m + b - 1) - 3, y: 31, width: 5, height: 23, rx: 2.5, fill: ink.ink, stroke: ink.paper });
  if (b && s) shape(svg, "text", { x: (x(m + s) + x(m)) / 2 + BIT / 2, y: 8, fill: ink.ink }, "XOR");
  svg.addEventListener("pointerdown", (event) => {
    const part = event.target.closest("[data-drag]");
    if (!part) return;
    event.preventDefault();
    const scale = svg.getBoundingClientRect().width / width, from = event.clientX, name = part.dataset.drag, old = { b, m, s }[name];
    const move = (e) => slide(name, old - Math.round((e.clientX - from) / (BIT * scale)));
    const end = () => { removeEventListener("pointermove", move); removeEventListener("pointerup", end); };
    addEventListener("pointermove", move);
    addEventListener("pointerup", end);
  });
  return svg;
}
