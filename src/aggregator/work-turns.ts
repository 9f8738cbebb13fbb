import type { Clock } from '../primitives/clock.ts';
import { addTo } from '../primitives/counts.ts';

export interface WorkTurnsOptions {
  readonly clock: Clock;
  /** How many may work at a time, now. */
  readonly limit: () => number;
  /** Whoever has waited so long is told that it takes too long. */
  readonly timeoutMs: number;
  /** Makes the error for it. */
  readonly tooLong: () => Error;
}

/** The right to work, until it is disposed of. */
export interface Turn extends Disposable {
  /** Lets others work while this work has nothing to do but wait. */
  rest(): void;
  /** After a rest, waits for the right to work again. Comes back without it when the signal aborts. */
  resume(until: AbortSignal): Promise<void>;
}

interface Waiting {
  readonly client: string | undefined;
  readonly start: () => void;
}

/**
 * Who may work now, of those who were let in. Few do at a time: whatever works shares the machine with all else that does, so each
 * would take as long as all of them together. The others wait without cost. Next is who has least under way, and of those who came
 * first; so whoever asks now and then does not stand behind the hundreds of another. No client takes a turn when it has as many as
 * are free: alone it has half of them, so whoever comes next need not wait for anybody to end, and gets as much of the machine.
 *
 * Bound: whoever waits has a seat, see {@link FairSeats}, or shares that of an equal request of another client.
 */
export class WorkTurns {
  readonly #options: WorkTurnsOptions;
  readonly #byClient = new Map<string, number>();
  readonly #waiting = new Set<Waiting>();
  #taken = 0;

  constructor(options: WorkTurnsOptions) {
    this.#options = options;
  }

  get taken(): number {
    return this.#taken;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /** @throws the signal's reason, or what says that it takes too long */
  async take(client: string | undefined, signal: AbortSignal): Promise<Turn> {
    await this.#wait(client, signal, this.#options.timeoutMs);
    return this.#turn(client);
  }

  /** To be called when there may be more turns than before. */
  startWaiting(): void {
    for (;;) {
      const next = this.#next();
      if (next === undefined) return;
      next.start();
    }
  }

  #next(): Waiting | undefined {
    const free = this.#options.limit() - this.#taken;
    if (free < 1) return undefined;
    let next: Waiting | undefined;
    let fewest = free;
    for (const waiting of this.#waiting) {
      const underWay = waiting.client === undefined ? 0 : (this.#byClient.get(waiting.client) ?? 0);
      if (underWay >= fewest) continue;
      next = waiting;
      fewest = underWay;
      if (fewest === 0) break;
    }
    return next;
  }

  /** Until there is a turn, which is taken then. @throws the signal's reason, or what says that it takes too long */
  #wait(client: string | undefined, signal: AbortSignal, timeoutMs?: number): Promise<void> {
    const { clock, tooLong } = this.#options;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const end = (): void => {
      this.#waiting.delete(waiting);
      signal.removeEventListener('abort', onAbort);
      cancel?.();
    };
    const cancel =
      timeoutMs === undefined
        ? undefined
        : clock.after(timeoutMs, () => {
            end();
            reject(tooLong());
          });
    const onAbort = (): void => {
      end();
      reject(signal.reason);
    };
    const waiting: Waiting = {
      client,
      start: () => {
        end();
        this.#taken += 1;
        this.#count(client, 1);
        resolve();
      },
    };
    this.#waiting.add(waiting);
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    this.startWaiting();
    return promise;
  }

  /** Of a turn that was taken. */
  #turn(client: string | undefined): Turn {
    let isHeld = true;
    const release = (): void => {
      if (!isHeld) return;
      isHeld = false;
      this.#taken -= 1;
      this.#count(client, -1);
      this.startWaiting();
    };
    return {
      rest: release,
      resume: async (until) => {
        if (isHeld) return;
        try {
          await this.#wait(client, until);
          isHeld = true;
        } catch (error) {
          if (!until.aborted) throw error;
        }
      },
      [Symbol.dispose]: release,
    };
  }

  #count(client: string | undefined, by: 1 | -1): void {
    if (client !== undefined) addTo(this.#byClient, client, by);
  }
}
