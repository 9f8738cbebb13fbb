import type { BlockchainID } from '../primitives/ids.ts';
import type { Place } from './admission.ts';
import type { Credit } from './refusal-credit.ts';
import type { Turn } from './work-turns.ts';

/** What one of the clients has, for all who wait for the same; to be disposed of when the work is over. */
export interface TakenTurn extends Disposable {
  /** Whose it is. */
  readonly client: string | undefined;
  readonly credit: Pick<Credit, 'settle'>;
  readonly turn: Pick<Turn, 'rest' | 'resume'>;
}

/**
 * The turn to work on what several clients wait for together. Each of them stands in line as if it were alone, and whoever's turn comes
 * first works for all, and pays. So nobody waits behind the crowd of another client, or is refused for it, as that one has asked for the
 * same message before.
 *
 * Bound: one place in line for each client that waits for the same.
 */
export class SharedTurn {
  /** By client, the first of each. */
  readonly #places = new Map<string | undefined, Place>();
  /** Once they stand in line, until one of them has its turn. */
  #line: ((place: Place) => void) | undefined;

  constructor(first: Place) {
    this.#places.set(first.client, first);
  }

  /** One more who waits for the same. */
  join(place: Place): void {
    if (this.#places.has(place.client)) return;
    this.#places.set(place.client, place);
    this.#line?.(place);
  }

  /**
   * @param refusals by validators, as are to be expected if nobody signs
   * @throws where all are refused, why the first one was: {@link AggregatorError} `overloaded`, or the signal's reason
   */
  take(sourceChainID: BlockchainID, refusals: number, signal: AbortSignal): Promise<TakenTurn> {
    const { promise, resolve, reject } = Promise.withResolvers<TakenTurn>();
    const over = new AbortController();
    const onAbort = (): void => over.abort(signal.reason);
    const end = (): void => {
      this.#line = undefined;
      signal.removeEventListener('abort', onAbort);
      over.abort(OVER);
    };
    let standing = 0;
    let firstReason: { readonly reason: unknown } | undefined;
    const refused = (reason: unknown): void => {
      standing -= 1;
      firstReason ??= { reason };
      if (standing > 0 || over.signal.reason === OVER) return;
      end();
      reject(firstReason.reason);
    };
    this.#line = (place) => {
      standing += 1;
      standInLine(place, sourceChainID, refusals, over.signal).then(({ begin, ...taken }) => {
        if (over.signal.reason === OVER) return taken[Symbol.dispose]();
        try {
          begin();
        } catch (error) {
          taken[Symbol.dispose]();
          refused(error);
          return;
        }
        end();
        resolve(taken);
      }, refused);
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    for (const place of this.#places.values()) this.#line?.(place);
    return promise;
  }
}

/** Why those leave the line whose work another one does: nobody hears it. */
const OVER = Symbol('another one has the turn');

async function standInLine(
  place: Place,
  sourceChainID: BlockchainID,
  refusals: number,
  signal: AbortSignal,
): Promise<TakenTurn & { readonly begin: () => void }> {
  using stack = new DisposableStack();
  const credit = stack.use(place.takeCredit(sourceChainID, refusals));
  const turn = stack.use(await place.turn(signal));
  const held = stack.move();
  return { client: place.client, credit, turn, begin: () => credit.begin(), [Symbol.dispose]: () => held.dispose() };
}
