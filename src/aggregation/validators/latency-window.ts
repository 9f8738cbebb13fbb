export interface LatencySummary {
  readonly count: number;
  readonly medianMs: number;
  readonly p99Ms: number;
}

const WINDOW_ANSWERS = 100;
const FIRST_ANSWERS = 4;

/** Latencies of the last hundred answers of one node, at four bytes each. The array grows on demand. */
export class LatencyWindow {
  #values = new Float32Array(FIRST_ANSWERS);
  #added = 0;

  add(latencyMs: number): void {
    if (this.#added === this.#values.length && this.#added < WINDOW_ANSWERS) {
      const grown = new Float32Array(Math.min(WINDOW_ANSWERS, 3 * this.#values.length));
      grown.set(this.#values);
      this.#values = grown;
    }
    this.#values[this.#added % this.#values.length] = latencyMs;
    this.#added += 1;
  }

  summary(): LatencySummary | undefined {
    const count = Math.min(this.#added, this.#values.length);
    if (count === 0) return undefined;
    const sorted = this.#values.slice(0, count).sort();
    return { count, medianMs: nearestRank(sorted, 0.5), p99Ms: nearestRank(sorted, 0.99) };
  }
}

function nearestRank(sorted: Float32Array, share: number): number {
  return sorted[Math.ceil(share * sorted.length) - 1] ?? 0;
}
