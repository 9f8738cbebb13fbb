import { setTimeout as sleep } from 'node:timers/promises';
import type { BenchmarkOptions, Row } from './benchmark.ts';
import { generateLoad } from './load.ts';
import type { ServiceProcess } from './processes.ts';
import { COLLECTING, type LiveHeap, type Resources, type Rig, readLiveHeap, readResources, startRig } from './rig.ts';
import { differenceOf, median, READINGS, round, slopeOf } from './statistics.ts';

const DEFAULTS = { minutes: 60, validators: 5, perSecond: 8 };
const CONNECTIONS = 32;
/** Of the time, for memory to settle after the filling, and for code to be there again. */
const WARM_UP = 0.4;
const LIVE_READING_MS = 2_000;
/**
 * In what lives, of one request. One that leaves anything behind leaves an object of a few words. Less than that is what fills with
 * time: validator sets at heights, and remembered failures, which are not all of one size.
 */
const LEAST_LEAK_BYTES = 16;
/**
 * The caches whose bound can be set are small, and those that hold a fixed number are filled first: what they would still take belongs
 * to no leak. The most is that of known answers, 20,000. Those let go of stay in its table until that is full, and then V8 makes it twice
 * as large, 0.9 MB more: that is after 32,768.
 */
const SMALL_CACHES = { signatureCacheSize: 5_000 };
/**
 * Refused ones mostly wait, so that more of them fit beside each other. The mixed ones are there for V8, which compiles what runs often:
 * at the rate of the soak that would take an hour, and look like a leak.
 */
const FILLING = [
  { kind: 'distinct', count: 33_000, connections: 32 },
  { kind: 'refused', count: 6_000, connections: 64 },
  { kind: 'mixed', count: 10_000, connections: 32 },
] as const;
const SAMPLES = 300;
/** Load comes in parts, each with new messages. */
const PART_S = 60;
/** Of those while what lives is read at the end. */
const LAST_PART_S = 10;
/** Short enough that no message of a part comes twice. */
const FILLING_PART_S = 30;

/**
 * Hours of ordinary work in short: mixed requests at an even rate that leaves the machine time. What the service holds must not grow
 * once its caches are full and memory has settled. Numbers: minutes, validators, requests a second.
 */
export async function benchHttpSoak({ sizes, report }: BenchmarkOptions): Promise<void> {
  const [minutes = DEFAULTS.minutes, validators = DEFAULTS.validators, perSecond = DEFAULTS.perSecond] = sizes;
  await using rig = await startRig(validators, { aggregation: SMALL_CACHES }, COLLECTING);
  const { url } = rig.service;
  await fillCaches(rig);
  const totalS = 60 * minutes;
  const startMs = performance.now();
  const elapsedS = (): number => (performance.now() - startMs) / 1_000;
  const samples: [elapsedS: number, resources: Resources][] = [];
  let failed = 0;
  let answered = 0;
  let isOver = false;
  const loading = (async () => {
    while (!isOver) {
      const seconds = Math.min(PART_S, Math.max(totalS - elapsedS(), LAST_PART_S));
      const part = await generateLoad({
        ...{ url, devnetUrl: rig.devnetUrl, kind: 'mixed', connections: CONNECTIONS, perSecond, seconds },
      });
      answered += part.signed.count + part.other.count;
      failed += part.refused.count + part.errors;
    }
  })();
  // First of all: ten collections in a row age compiled code, V8 lets go of it, and it takes minutes to be there again.
  const before = await readLive(rig.service);
  while (elapsedS() < totalS) {
    samples.push([elapsedS(), await readResources(url)]);
    await sleep((1_000 * totalS) / SAMPLES);
  }
  const after = await readLive(rig.service);
  isOver = true;
  await loading;
  report({ name: 'soak', minutes, validators, per_s: perSecond, answered, failed });
  reportLive(before, after, answered / elapsedS(), report);
  const settled = samples.filter(([atS]) => atS >= WARM_UP * totalS);
  const figures = {
    rss: 'rssMib',
    'heap with garbage': 'heapMib',
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

async function fillCaches({ service, devnetUrl }: Rig): Promise<void> {
  for (const { kind, count, connections } of FILLING) {
    for (let answered = 0; answered < count; ) {
      const { signed, other } = await generateLoad({
        ...{ url: service.url, devnetUrl, kind, connections, seconds: FILLING_PART_S },
      });
      answered += signed.count + other.count;
      process.stderr.write(`filled by ${answered} of ${count} ${kind} requests\n`);
    }
  }
}

interface LiveReadings {
  /** Of their middle. */
  readonly atMs: number;
  readonly readings: readonly LiveHeap[];
}

/** Several, as requests are under way meanwhile. */
async function readLive(service: ServiceProcess): Promise<LiveReadings> {
  const startMs = performance.now();
  const readings: LiveHeap[] = [];
  while (readings.length < READINGS) {
    readings.push(await readLiveHeap(service));
    await sleep(LIVE_READING_MS);
  }
  return { atMs: (startMs + performance.now()) / 2, readings };
}

/** What lives at the end and did not before: heap that is only read now and then has the garbage of some minutes in it. */
function reportLive(before: LiveReadings, after: LiveReadings, answeredPerS: number, report: (row: Row) => void): void {
  const seconds = (after.atMs - before.atMs) / 1_000;
  for (const kind of ['objects', 'code'] as const) {
    const bytes = ({ readings }: LiveReadings): number[] => readings.map((reading) => reading[kind]);
    const { difference, margin } = differenceOf(bytes(before), bytes(after));
    const mibPerHour = (ofBytes: number): number => round((ofBytes / 2 ** 20) * (3_600 / seconds));
    const perRequest = (ofBytes: number): number => round(ofBytes / (answeredPerS * seconds), 1);
    report({
      name: `soak: live ${kind}`,
      mib: round(median(bytes(after)) / 2 ** 20),
      ...{ slope_per_hour: mibPerHour(difference) },
      ...{ low_95: mibPerHour(difference - margin), high_95: mibPerHour(difference + margin) },
      bytes_a_request: perRequest(difference),
      // Code has an end of its own.
      ...(kind === 'objects' && {
        grows:
          perRequest(difference - margin) > LEAST_LEAK_BYTES ? 'yes' : `not by ${LEAST_LEAK_BYTES} bytes a request`,
      }),
    });
  }
}
