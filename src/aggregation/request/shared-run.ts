import type { SubnetID } from '../../warp/ids.ts';
import type { Admission, RunPermit } from '../admission/admission.ts';

/** Clients of one aggregation. The first to get a permit runs it for all, so none waits behind the queue of another. */
export class SharedRun {
  readonly #admission: Pick<Admission, 'run'>;
  readonly #clients = new Set<string | undefined>();
  #wait: ((client: string | undefined) => Promise<void>) | undefined;

  constructor(admission: Pick<Admission, 'run'>, first: string | undefined) {
    this.#admission = admission;
    this.#clients.add(first);
  }

  join(client: string | undefined): void {
    if (this.#clients.has(client)) return;
    this.#clients.add(client);
    void this.#wait?.(client);
  }

  async acquire(
    subnetID: SubnetID,
    check: (client: string | undefined) => void,
    signal: AbortSignal,
  ): Promise<RunPermit> {
    const { promise, resolve, reject } = Promise.withResolvers<RunPermit>();
    const over = new AbortController();
    const onAbort = (): void => over.abort(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    let waiting = 0;
    this.#wait = async (client) => {
      waiting += 1;
      try {
        using stack = new DisposableStack();
        const permit = stack.use(await this.#admission.run({ client, subnetID }, over.signal));
        over.signal.throwIfAborted();
        check(client);
        stack.move();
        over.abort(SERVED);
        resolve(permit);
      } catch (error) {
        waiting -= 1;
        if (waiting === 0) reject(error);
      }
    };
    for (const client of this.#clients) void this.#wait(client);
    try {
      return await promise;
    } finally {
      this.#wait = undefined;
      signal.removeEventListener('abort', onAbort);
    }
  }
}

const SERVED = new DOMException('another client was served first', 'AbortError');
