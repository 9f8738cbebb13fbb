export interface Rectangle {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/**
 * Rectangles whose areas are as the weights, as near to squares as they can be (Bruls, Huizing and van Wijk, "Squarified Treemaps").
 *
 * @param weights in descending order, none negative
 */
export function squarify(weights: readonly number[], width: number, height: number): Rectangle[] {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  if (total <= 0 || width <= 0 || height <= 0) return weights.map(() => ({ x: 0, y: 0, width: 0, height: 0 }));
  const areas = weights.map((weight) => (weight * width * height) / total);
  const rectangles: Rectangle[] = [];
  let [x, y, w, h] = [0, 0, width, height];
  while (rectangles.length < areas.length) {
    const side = Math.min(w, h);
    const row = rowOf(areas, rectangles.length, side);
    const thickness = side === 0 ? 0 : row.reduce((sum, area) => sum + area, 0) / side;
    const isAcross = w <= h;
    let along = 0;
    for (const area of row) {
      const length = thickness === 0 ? 0 : area / thickness;
      rectangles.push(
        isAcross
          ? { x: x + along, y, width: length, height: thickness }
          : { x, y: y + along, width: thickness, height: length },
      );
      along += length;
    }
    if (isAcross) {
      y += thickness;
      h = Math.max(0, h - thickness);
    } else {
      x += thickness;
      w = Math.max(0, w - thickness);
    }
  }
  return rectangles;
}

/** The areas of the next row along this side: it grows while its least square rectangle becomes more square. */
function rowOf(areas: readonly number[], start: number, side: number): readonly number[] {
  const largest = areas[start] ?? 0;
  let sum = 0;
  let worst = Number.POSITIVE_INFINITY;
  let end = start;
  for (; end < areas.length; end += 1) {
    const area = areas[end] ?? 0;
    const squared = (sum + area) ** 2;
    const ratio = Math.max((side * side * largest) / squared, squared / (side * side * area));
    if (end > start && ratio > worst) break;
    worst = ratio;
    sum += area;
  }
  return areas.slice(start, end);
}
