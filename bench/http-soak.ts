import { setTimeout as sleep } from 'node:timers/promises';
import type { BenchmarkOptions } from './benchmark.ts';
import { generateLoad } from './load.ts';
import { type Resources, readResources, startRig } from './rig.ts';
import { median, round, slopeOf } from './statistics.ts';

const DEFAULTS = { minutes: 30, validators: 20, perSecond: 12 };
const CONNECTIONS = 32;
/** Of the time, for memory to settle after the filling. */
const WARM_UP = 0.25;
/**
 * The caches whose bound can be set are small, and those that hold a fixed number are filled first: what they would still take belongs
 * to no leak. The most is that of known answers, 20,000.
 */
const SMALL_CACHES = { signatureCacheSize: 5_000, signatureCachePerSigner: 1_000, resultCacheBytes: 1024 * 1024 };
const FILLING = [
  { kind: 'distinct', count: 20_000 },
  { kind: 'refused', count: 6_000 },
] as const;
const SAMPLES = 300;
/** Load comes in parts, each with new messages. */
const PART_S = 60;
/** Short enough that no message of a part comes twice. */
const FILLING_PART_S = 30;

/**
 * Hours of ordinary work in short: mixed requests at an even rate that leaves the machine time. What the service holds must not grow
 * once its caches are full and memory has settled. Numbers: minutes, validators, requests a second.
 */
export async function benchHttpSoak({ sizes, report }: BenchmarkOptions): Promise<void> {
  const [minutes = DEFAULTS.minutes, validators = DEFAULTS.validators, perSecond = DEFAULTS.perSecond] = sizes;
  await using rig = await startRig(validators, { aggregation: SMALL_CACHES });
  const { url } = rig.service;
  for (const { kind, count } of FILLING) {
    for (let answered = 0; answered < count; ) {
      const part = await generateLoad({
        ...{ url, devnetUrl: rig.devnetUrl, kind, connections: CONNECTIONS, seconds: FILLING_PART_S },
      });
      answered += part.signed.count + part.other.count;
      process.stderr.write(`filled by ${answered} of ${count} ${kind} requests\n`);
    }
  }
  const totalS = 60 * minutes;
  const startMs = performance.now();
  const elapsedS = (): number => (performance.now() - startMs) / 1_000;
  const samples: [elapsedS: number, resources: Resources][] = [];
  let failed = 0;
  let answered = 0;
  const loading = (async () => {
    while (elapsedS() < totalS) {
      const seconds = Math.min(PART_S, totalS - elapsedS());
      const part = await generateLoad({
        ...{ url, devnetUrl: rig.devnetUrl, kind: 'mixed', connections: CONNECTIONS, perSecond, seconds },
      });
      answered += part.signed.count + part.other.count;
      failed += part.refused.count + part.errors;
    }
  })();
  while (elapsedS() < totalS) {
    samples.push([elapsedS(), await readResources(url)]);
    await sleep((1_000 * totalS) / SAMPLES);
  }
  await loading;
  report({ name: 'soak', minutes, validators, per_s: perSecond, answered, failed });
  const settled = samples.filter(([atS]) => atS >= WARM_UP * totalS);
  const figures = {
    rss: 'rssMib',
    heap: 'heapMib',
    external: 'externalMib',
    sockets: 'sockets',
    timers: 'timers',
  } as const;
  for (const [name, figure] of Object.entries(figures)) {
    const values = settled.map(([atS, resources]) => [atS / 3_600, resources[figure]] as const);
    const { slope, margin } = slopeOf(values);
    report({
      name: `soak: ${name}`,
      median: median(values.map(([, value]) => value)),
      most: Math.max(...values.map(([, value]) => value)),
      ...{ slope_per_hour: round(slope), low_95: round(slope - margin), high_95: round(slope + margin) },
      // Shrinking is no leak.
      grows: slope - margin > 0 ? 'yes' : 'not distinguishable from zero',
    });
  }
}
