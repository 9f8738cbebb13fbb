/**
 * Rectangles whose areas are as the weights, as near to squares as they can be (Bruls, Huizing and van Wijk, "Squarified Treemaps").
 *
 * @param weights in descending order, none negative
 * @returns x, y, width and height of each, one after the other
 */
export function squarify(weights: readonly number[], width: number, height: number): Float64Array {
  const rects = new Float64Array(4 * weights.length);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  if (total <= 0 || width <= 0 || height <= 0) return rects;
  const scale = (width * height) / total;
  let x = 0;
  let y = 0;
  let w = width;
  let h = height;
  let start = 0;
  while (start < weights.length) {
    const side = Math.min(w, h);
    let end = start;
    let rowArea = 0;
    let worst = Number.POSITIVE_INFINITY;
    const largest = (weights[start] ?? 0) * scale;
    // The row grows while its least square rectangle becomes more square.
    while (end < weights.length) {
      const area = (weights[end] ?? 0) * scale;
      const nextArea = rowArea + area;
      const ratio = Math.max(
        (side * side * largest) / (nextArea * nextArea),
        (nextArea * nextArea) / (side * side * area),
      );
      if (end > start && ratio > worst) break;
      worst = ratio;
      rowArea = nextArea;
      end++;
    }
    const thickness = side === 0 ? 0 : rowArea / side;
    let along = 0;
    for (let index = start; index < end; index++) {
      const length = thickness === 0 ? 0 : ((weights[index] ?? 0) * scale) / thickness;
      const at = 4 * index;
      if (w <= h) rects.set([x + along, y, length, thickness], at);
      else rects.set([x, y + along, thickness, length], at);
      along += length;
    }
    if (w <= h) {
      y += thickness;
      h = Math.max(0, h - thickness);
    } else {
      x += thickness;
      w = Math.max(0, w - thickness);
    }
    start = end;
  }
  return rects;
}
