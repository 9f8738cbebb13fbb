// node --import ./bench/loop-delay.js src/start.js: a service that measures the delay of its event loop. On SIGUSR2 it writes the figures since
// the last signal to loop-delay-PID.json in the folder for temporary files. Plain JavaScript, because the compiler that strips types would
// stay in memory.
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PerformanceObserver, performance } from 'node:perf_hooks';
import { isMainThread } from 'node:worker_threads';

const TIMER_MS = 10;

/** @typedef {{ fromMs: number, toMs: number, waitedMs: number }} Sample */

// Threads inherit the arguments and receive no signals.
if (isMainThread) {
  /** @type {Sample[]} */
  let samples = [];
  /** @type {import('node:perf_hooks').PerformanceEntry[]} */
  let collecting = [];
  let [atMs, waitedMs] = [performance.now(), waitedForCoreMs()];
  new PerformanceObserver((list) => collecting.push(...list.getEntries())).observe({ entryTypes: ['gc'] });

  const onTimer = () => {
    const nowMs = performance.now();
    const nowWaitedMs = waitedForCoreMs();
    samples.push({ fromMs: atMs, toMs: nowMs, waitedMs: nowWaitedMs - waitedMs });
    [atMs, waitedMs] = [nowMs, nowWaitedMs];
    setTimeout(onTimer, TIMER_MS).unref();
  };
  setTimeout(onTimer, TIMER_MS).unref();

  process.on('SIGUSR2', () => {
    const path = join(tmpdir(), `loop-delay-${process.pid}.json`);
    writeFileSync(`${path}.new`, JSON.stringify(figures(samples, collecting)));
    renameSync(`${path}.new`, path);
    samples = [];
    collecting = [];
    // Writing took milliseconds that no request of the service waited for.
    [atMs, waitedMs] = [performance.now(), waitedForCoreMs()];
  });
}

/**
 * `p99` is the delay of a timer, `own_p99` leaves out the time in which this thread was ready to run and others had the cores, and
 * `own_without_gc_p99` also garbage collections.
 *
 * @param {Sample[]} samples
 * @param {import('node:perf_hooks').PerformanceEntry[]} collecting
 */
function figures(samples, collecting) {
  const delays = samples.map(({ fromMs, toMs, waitedMs }) => {
    const ms = Math.max(0, toMs - fromMs - TIMER_MS);
    const own = Math.max(0, ms - waitedMs);
    const gcMs = collecting
      .filter(({ startTime, duration }) => startTime < toMs && startTime + duration > fromMs)
      .reduce((sum, { duration }) => sum + duration, 0);
    return { ms, own, ownWithoutGc: Math.max(0, own - gcMs) };
  });
  const p99 = (/** @type {number[]} */ values) =>
    values.toSorted((a, b) => a - b)[Math.floor(0.99 * values.length)] ?? 0;
  return {
    p99: p99(delays.map(({ ms }) => ms)),
    own_p99: p99(delays.map(({ own }) => own)),
    own_without_gc_p99: p99(delays.map(({ ownWithoutGc }) => ownWithoutGc)),
  };
}

/** @returns the time this thread was ready and waited for a core; 0 outside Linux */
function waitedForCoreMs() {
  try {
    return Number(readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ')[1]) / 1e6;
  } catch {
    return 0;
  }
}
