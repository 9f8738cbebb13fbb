import { Agent, request } from 'undici';
import { AGGREGATION_PATH, bodyOf, JSON_HEADERS } from './client.ts';
import { median, quantile, round } from './statistics.ts';

/** Loopback addresses other than the flood's 127.0.0.1. Linux has all of 127.0.0.0/8. */
const GOOD_CLIENT = '127.0.0.2';
const HEALTH_CLIENT = '127.0.0.3';
const NEW_CLIENT = '127.0.0.4';
const HEALTH_EVERY_MS = 100;
const NEW_CONNECTION_EVERY_MS = 200;
const TIMEOUT_MS = 60_000;

interface Sample {
  /** Unix time in milliseconds at which it was due. */
  readonly atMs: number;
  readonly tookMs: number;
  readonly isGood: boolean;
}

export interface ProbeFigures {
  readonly count: number;
  readonly goodPercent: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly maxMs: number;
  /** A message that is signed already, requested over a new connection each time. */
  readonly newConnectionGoodPercent: number;
  readonly newConnectionP50Ms: number;
  readonly newConnectionMaxMs: number;
  readonly healthP50Ms: number;
  readonly healthMaxMs: number;
  /** `/health/live` on the port of operations. */
  readonly probeP50Ms: number;
  readonly probeMaxMs: number;
}

export interface ProberOptions {
  readonly url: string;
  readonly operationsUrl: string;
  readonly messages: readonly string[];
  /** Good requests. */
  readonly perSecond: number;
  /** Further fields of each request, such as `,"pChainHeight":5`. */
  readonly extra: string;
}

/**
 * A good client that requests a new message at even intervals, one that requests the same message, and probes of `/health/live` on both ports.
 * The first one keeps its connections; the others have a new one for each request. Each has an address of its own.
 */
export class Prober implements AsyncDisposable {
  readonly #options: ProberOptions;
  readonly #good = new Agent({ localAddress: GOOD_CLIENT });
  readonly #health = new Agent({ localAddress: HEALTH_CLIENT, pipelining: 0 });
  readonly #newConnections = new Agent({ localAddress: NEW_CLIENT, pipelining: 0 });
  readonly #samples: Sample[] = [];
  readonly #newConnectionSamples: Sample[] = [];
  readonly #healthSamples: Sample[] = [];
  readonly #probeSamples: Sample[] = [];
  readonly #underWay = new Set<Promise<void>>();
  readonly #timers: NodeJS.Timeout[];
  #sent = 0;

  constructor(options: ProberOptions) {
    const { url, operationsUrl, perSecond } = options;
    this.#options = options;
    this.#timers = [
      setInterval(() => this.#start(this.#samples, () => this.#askNext()), 1_000 / perSecond),
      setInterval(
        () => this.#start(this.#newConnectionSamples, () => this.#ask(options.messages[0] ?? '', this.#newConnections)),
        NEW_CONNECTION_EVERY_MS,
      ),
      setInterval(() => this.#start(this.#healthSamples, () => this.#askHealth(url)), HEALTH_EVERY_MS),
      setInterval(() => this.#start(this.#probeSamples, () => this.#askHealth(operationsUrl)), HEALTH_EVERY_MS),
    ];
  }

  /** Summarizes the requests that were sent between two times. */
  figures(fromMs: number, toMs: number): ProbeFigures {
    const within = ({ atMs }: Sample): boolean => atMs >= fromMs && atMs < toMs;
    const samples = this.#samples.filter(within);
    const tookMs = samples.map((sample) => sample.tookMs);
    const newConnections = this.#newConnectionSamples.filter(within);
    const newTookMs = newConnections.map((sample) => sample.tookMs);
    const timesOf = (all: readonly Sample[]): number[] => all.filter(within).map((sample) => sample.tookMs);
    const [healthTookMs, probeTookMs] = [timesOf(this.#healthSamples), timesOf(this.#probeSamples)];
    return {
      count: samples.length,
      goodPercent: goodPercentOf(samples),
      p50Ms: round(median(tookMs)),
      p95Ms: round(quantile(tookMs, 0.95)),
      maxMs: round(quantile(tookMs, 1)),
      newConnectionGoodPercent: goodPercentOf(newConnections),
      newConnectionP50Ms: round(median(newTookMs)),
      newConnectionMaxMs: round(quantile(newTookMs, 1)),
      healthP50Ms: round(median(healthTookMs)),
      healthMaxMs: round(quantile(healthTookMs, 1)),
      probeP50Ms: round(median(probeTookMs)),
      probeMaxMs: round(quantile(probeTookMs, 1)),
    };
  }

  /** @returns seconds from `fromMs` to the last request that failed or took longer than `limitMs` */
  recoveredAfter(fromMs: number, limitMs: number): number {
    const late = this.#samples.filter(({ atMs, tookMs, isGood }) => atMs >= fromMs && (!isGood || tookMs > limitMs));
    const last = late.at(-1);
    return last === undefined ? 0 : round((last.atMs - fromMs) / 1_000, 1);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    await Promise.all(this.#underWay);
    await Promise.all([this.#good.destroy(), this.#newConnections.destroy(), this.#health.destroy()]);
  }

  #start(samples: Sample[], ask: () => Promise<boolean>): void {
    const atMs = Date.now();
    const startMs = performance.now();
    const asking = ask()
      .catch(() => false)
      .then((isGood) => {
        samples.push({ atMs, tookMs: performance.now() - startMs, isGood });
        samples.sort((a, b) => a.atMs - b.atMs);
        this.#underWay.delete(asking);
      });
    this.#underWay.add(asking);
  }

  #askNext(): Promise<boolean> {
    const { messages } = this.#options;
    const message = messages[this.#sent % messages.length] ?? '';
    this.#sent += 1;
    return this.#ask(message, this.#good);
  }

  async #ask(message: string, dispatcher: Agent): Promise<boolean> {
    const { url, extra } = this.#options;
    const { statusCode, body } = await request(`${url}${AGGREGATION_PATH}`, {
      method: 'POST',
      dispatcher,
      headers: JSON_HEADERS,
      body: bodyOf(message).replace('}', `${extra}}`),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const text = await body.text();
    if (statusCode !== 201) process.stderr.write(`a good request: ${statusCode} ${text.slice(0, 200)}\n`);
    return statusCode === 201;
  }

  async #askHealth(url: string): Promise<boolean> {
    const { statusCode, body } = await request(`${url}/health/live`, {
      dispatcher: this.#health,
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    await body.dump();
    return statusCode === 200;
  }
}

function goodPercentOf(samples: readonly Sample[]): number {
  return round((100 * samples.filter(({ isGood }) => isGood).length) / samples.length);
}
