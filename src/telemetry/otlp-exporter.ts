import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import { ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace';
import type { Dispatcher } from 'undici';
import { backoffMs } from '../primitives/backoff.ts';
import { type Clock, type Random, sleep } from '../primitives/clock.ts';
import { startDeadline } from '../primitives/deadline.ts';
import { type OpenHttp, openHttpPool } from '../primitives/http-port.ts';
import type { Logger } from './logger.ts';
import type { Counter } from './metrics.ts';
import { createSampledWarnings } from './sampled-warnings.ts';

/** Where spans are sent. */
export interface OtlpTarget {
  /** Whole, with the path. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** For one batch with all its attempts. */
  readonly timeoutMs: number;
  readonly isCompressed: boolean;
}

export interface OtlpExporterOptions extends OtlpTarget {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** What became of the spans. */
  readonly spans: Counter<'outcome'>;
  readonly openHttp?: OpenHttp;
}

/** One batch goes out at a time, and the batches of the last flush together. */
const MAX_CONNECTIONS = 2;
/** A collector that restarts is back within seconds; the batch has its deadline beside. */
const MAX_ATTEMPTS = 4;
const BACKOFF = { baseMs: 500, maxMs: 4_000 };
/** Collectors answer with some bytes. A longer answer is not read: its connection is closed. */
const MAX_ANSWER_BYTES = 16 * 1024;
/** The specification: these may pass, and any other failure does not. */
const PASSING_STATUSES: ReadonlySet<number> = new Set([429, 502, 503, 504]);

const compress = promisify(gzip);

/**
 * Sends spans by OTLP over HTTP, as protobuf. Spans that cannot be sent are lost, which is counted, and said at most once a minute:
 * nobody waits for them, and nothing fails for them. Disposing of it breaks off what is under way.
 */
export class OtlpExporter implements SpanExporter, AsyncDisposable {
  readonly #options: OtlpExporterOptions;
  readonly #http: Dispatcher;
  readonly #path: string;
  readonly #stopped = new AbortController();
  /** One, or those of the last flush. */
  readonly #sending = new Set<Promise<void>>();
  readonly #warn: ReturnType<typeof createSampledWarnings>;

  constructor(options: OtlpExporterOptions) {
    this.#options = options;
    const { origin, pathname, search } = new URL(options.url);
    this.#path = pathname + search;
    this.#http = (options.openHttp ?? openHttpPool)(origin, {
      connections: MAX_CONNECTIONS,
      allowH2: false,
      connect: { timeout: options.timeoutMs },
      // Our own deadline covers the whole batch and runs on the injected clock.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    this.#warn = createSampledWarnings(options.logger, options.clock);
  }

  export(spans: ReadableSpan[], done: (result: ExportResult) => void): void {
    const sending = this.#send(spans).then(
      () => {
        this.#options.spans.inc({ outcome: 'exported' }, spans.length);
        done({ code: ExportResultCode.SUCCESS });
      },
      (error: unknown) => {
        this.#options.spans.inc({ outcome: 'failed' }, spans.length);
        const reason = error instanceof Error ? error.message : String(error);
        this.#warn('export', { reason, spans: spans.length }, 'traces could not be exported');
        done({ code: ExportResultCode.FAILED });
      },
    );
    this.#sending.add(sending);
    void sending.finally(() => this.#sending.delete(sending));
  }

  /** Resolves when what is under way has been sent, or has failed. */
  async shutdown(): Promise<void> {
    await Promise.all(this.#sending);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped.abort(new Error('the service stops'));
    await this.#http.destroy();
  }

  async #send(spans: ReadableSpan[]): Promise<void> {
    const { clock, random, timeoutMs, isCompressed } = this.#options;
    const bytes = ProtobufTraceSerializer.serializeRequest(spans);
    if (bytes === undefined) throw new Error('the spans cannot be encoded');
    const body = isCompressed ? await compress(bytes) : bytes;
    using deadline = startDeadline(clock, timeoutMs, 'sending spans', this.#stopped.signal);
    for (let attempt = 1; ; attempt += 1) {
      const problem = await this.#post(body, deadline.signal);
      if (problem === undefined) return;
      if (!problem.mayPass || attempt === MAX_ATTEMPTS) throw new Error(problem.reason);
      await sleep(clock, backoffMs(attempt, BACKOFF, random), deadline.signal).catch(() => {
        throw new Error(problem.reason);
      });
    }
  }

  /** @returns why the spans were not taken, if they were not */
  async #post(body: Uint8Array, signal: AbortSignal): Promise<{ reason: string; mayPass: boolean } | undefined> {
    const { headers, isCompressed } = this.#options;
    try {
      const { statusCode, body: answer } = await this.#http.request({
        method: 'POST',
        path: this.#path,
        headers: {
          ...headers,
          'content-type': 'application/x-protobuf',
          ...(isCompressed && { 'content-encoding': 'gzip' }),
        },
        body,
        signal,
      });
      await answer.dump({ limit: MAX_ANSWER_BYTES, signal });
      if (statusCode >= 200 && statusCode <= 299) return undefined;
      return { reason: `HTTP status ${statusCode}`, mayPass: PASSING_STATUSES.has(statusCode) };
    } catch (error) {
      signal.throwIfAborted();
      return { reason: describe(error), mayPass: true };
    }
  }
}

/** Without the address, in which a key may stand. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return 'failure';
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}
