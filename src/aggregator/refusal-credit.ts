import type { Clock } from '../primitives/clock.ts';
import type { BlockchainID } from '../primitives/ids.ts';
import { VainWork } from './vain-work.ts';

/** What one collection may spend. */
export interface Credit extends Disposable {
  /**
   * To be called before validators are asked. One that ends after that before it is settled, as its client has left, has spent what was
   * expected.
   *
   * @throws the refusal, where others of the client have used up its credit since
   */
  begin(): void;
  /** @param refusals of a message that nobody signed; 0 where somebody did */
  settle(refusals: number): void;
}

/**
 * Refusals of validators, of one client for one chain. Each costs some 80 µs, so these are an eighth of one core. Where a hundred of 200
 * validators refuse each message, they are 60 messages at once and 15 a second; of five validators some thousand, and hundreds.
 */
const OF_CHAIN = { atOnce: 6_000, perSecond: 1_500 };
/** Over all chains, so that one chain whose validators refuse everything does not stop a relayer of four. */
const OF_CLIENT = { atOnce: 24_000, perSecond: 6_000 };
/**
 * Whoever has had more than this part of it refused lately spends while its turn to work has not come: else a crowd would wait for turns, and be
 * refused late.
 */
const TRUSTED_PART = 0.25;

/**
 * How many refusals by validators a client may cause with messages that nobody signs. What nobody signs is found out by asking a third of
 * the weight, and no memory helps where every message is another one. Messages that are signed cost nothing here, however many validators
 * refused them first, as those that lag do.
 */
export class RefusalCredit {
  readonly #ofChain: VainWork;
  readonly #ofClient: VainWork;
  readonly #refuse: () => Error;

  /** @param refuse makes the error for whoever has used it up */
  constructor(clock: Clock, refuse: () => Error) {
    this.#refuse = refuse;
    this.#ofChain = new VainWork(clock, OF_CHAIN);
    this.#ofClient = new VainWork(clock, OF_CLIENT);
  }

  /** Whether the client may show validators one more message of the chain. */
  has(client: string, chainID: BlockchainID): boolean {
    return this.#ofChain.usedPart(keyOf(client, chainID)) < 1 && this.#ofClient.usedPart(client) < 1;
  }

  /** @throws the refusal, where it may not */
  require(client: string, chainID: BlockchainID): void {
    if (!this.has(client, chainID)) throw this.#refuse();
  }

  /** @param expected refusals, if nobody signs @throws the refusal, where there is no credit */
  take(client: string, chainID: BlockchainID, expected: number): Credit {
    this.require(client, chainID);
    const key = keyOf(client, chainID);
    const spend = (refusals: number): void => {
      this.#ofChain.count(key, refusals);
      this.#ofClient.count(client, refusals);
    };
    const isAhead = this.#ofChain.usedPart(key) > TRUSTED_PART;
    if (isAhead) spend(expected);
    let actual = 0;
    return {
      begin: () => {
        if (!isAhead) this.require(client, chainID);
        actual = expected;
      },
      settle: (refusals) => {
        actual = refusals;
      },
      [Symbol.dispose]: () => spend(isAhead ? actual - expected : actual),
    };
  }
}

/** No ID has a space. */
function keyOf(client: string, chainID: BlockchainID): string {
  return `${chainID} ${client}`;
}
