import type { BenchmarkOptions, Row } from './benchmark.ts';
import { type Answers, generateLoad, type LoadResult } from './load.ts';
import type { RequestKind } from './load-requests.ts';
import { peakRssMib, startRig } from './rig.ts';
import { round } from './statistics.ts';

const KINDS: readonly RequestKind[] = ['distinct', 'repeated', 'refused', 'mixed'];
const CONNECTIONS = [1, 16, 64, 256, 1_024];
/** Of what a closed loop did: with less than all, an open one shows how long answers take where nothing piles up. */
const OPEN_SHARE = 0.5;
const DEFAULTS = { seconds: 3, validators: 200 };

/**
 * Each kind of request over few and many connections: in a closed loop, and in an open one at half of the rate that 16 connections
 * reached in the closed one. Numbers: seconds of each measurement, validators.
 */
export async function benchHttp({ sizes, words, report }: BenchmarkOptions): Promise<void> {
  const [seconds = DEFAULTS.seconds, validators = DEFAULTS.validators] = sizes;
  for (const kind of KINDS) {
    if (words.length > 0 && !words.includes(kind)) continue;
    await using rig = await startRig(validators);
    const { url, pid } = rig.service;
    const job = { url, devnetUrl: rig.devnetUrl, kind, seconds };
    await generateLoad({ ...job, connections: 16, seconds: Math.min(3, seconds) });
    let reference = 1;
    for (const connections of CONNECTIONS) {
      const closed = await generateLoad({ ...job, connections });
      if (connections === 16) reference = worked(closed) / seconds;
      report({ name: `${connections} connections: ${kind}, closed loop`, ...describe(closed, pid) });
    }
    const perSecond = Math.max(1, OPEN_SHARE * reference);
    for (const connections of CONNECTIONS) {
      const open = await generateLoad({ ...job, connections, perSecond });
      report({
        name: `${connections} connections: ${kind}, open loop`,
        due_per_s: round(perSecond, 1),
        ...describe(open, pid),
      });
    }
  }
}

/** What was worked on, and not refused before. */
function worked({ signed, other }: LoadResult): number {
  return signed.count + other.count;
}

function describe(result: LoadResult, pid: number): Omit<Row, 'name'> {
  const seconds = (result.endedMs - result.startedMs) / 1_000;
  const answered = (what: string, { count, p50Ms, p95Ms, p99Ms }: Answers): Omit<Row, 'name'> =>
    count === 0
      ? {}
      : {
          [`${what}_per_s`]: round(count / seconds, 1),
          ...{ [`${what}_p50_ms`]: p50Ms ?? 0, [`${what}_p95_ms`]: p95Ms ?? 0, [`${what}_p99_ms`]: p99Ms ?? 0 },
        };
  const { signed, refused, other, errors, unsent } = result;
  const peak = peakRssMib(pid);
  return {
    ...{ ...answered('signed', signed), ...answered('refused', refused), ...answered('other', other) },
    ...(errors > 0 && { errors }),
    ...(unsent > 0 && { unsent }),
    ...(peak !== undefined && { rss_peak_mib: peak }),
  };
}
