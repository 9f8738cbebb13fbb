import type { ProgressListener } from '../../src/aggregation/collection/progress.ts';
import type { AttemptOutcome } from '../../src/aggregation/validators/validator-outcome.ts';
import { equalBytes } from '../../src/lib/encoding/bytes.ts';
import type { NodeID } from '../../src/warp/ids.ts';
import type { Ledger, LedgerSet } from './ledger.ts';
import type { MessagePlan, Plan, RequestPlan } from './plan.ts';
import type { Watcher } from './service.ts';

/** The code with which a node refuses that has no handler for the chain (avalanchego `network/p2p/error.go`). */
const NO_HANDLER = -2;
/** Delays before a validator is asked again whose connection broke. */
const RECONNECTIONS = 2;
/** Time during which validators are asked again whose refusal may pass: after 50, 100 and 250 ms, and then every 400 ms. */
const REPEAT_MS = 5_000;
/** Requests of a collection to one node: the first one, the three quick repetitions, those after lost connections and one after a timeout. */
const MAX_QUICK_ASKS = 1 + 3 + RECONNECTIONS + 1;
const QUICK_MS = 400;
const LAST_DELAY_MS = 400;
/** Lookups of a request before it joins a collection. */
const RESOLVES = 2;
/** The extra time of the search for invalid signers. */
const SEARCH_MS = 2_000;
/** A store that does not answer is waited for once. */
const STORE_MS = 250;
/** Aggregations, checks and searches that one collection needs at most, one after the other, in a set of these sizes. */
const JOBS_IN_A_ROW = 60;

interface Collection {
  readonly message: Uint8Array;
  readonly startMs: number;
  endMs: number | undefined;
  query: object | undefined;
  /** The time from which the collection had nothing to wait for, because the quorum was out of reach. */
  lostMs: number | undefined;
  readonly asks: Map<NodeID, Ask[]>;
  /** Whether several requests for its message were seen at once. */
  isShared: boolean;
}

interface Ask {
  outcome: AttemptOutcome['kind'] | undefined;
  code: number | undefined;
  answeredMs: number | undefined;
}

/** A request from its start to its end, as far as collections depend on it. */
export interface LiveRequest {
  readonly startMs: number;
  readonly plan: RequestPlan;
  readonly message: MessagePlan;
}

/** Watches the ports of one service, and notes what must not be. */
export class Invariants implements Watcher {
  readonly violations: string[] = [];
  readonly #plan: Plan;
  readonly #ledger: Ledger;
  readonly #nowMs: () => number;
  readonly #nodeIDOf: (number: number) => NodeID;
  readonly #collections: Collection[] = [];
  #isMuted = false;
  /** Unfinished requests of this service. */
  readonly live = new Set<LiveRequest>();
  /** The requests that ended last: their collections may end in the same instant. */
  readonly #ended: { readonly atMs: number; readonly request: LiveRequest }[] = [];

  constructor(plan: Plan, ledger: Ledger, nowMs: () => number, nodeIDOf: (number: number) => NodeID) {
    this.#plan = plan;
    this.#ledger = ledger;
    this.#nowMs = nowMs;
    this.#nodeIDOf = nodeIDOf;
  }

  get openCollections(): number {
    return this.#collections.filter(({ endMs }) => endMs === undefined).length;
  }

  /** Ignores later events, because the process has ended. */
  mute(): void {
    this.#isMuted = true;
  }

  violate(what: string): void {
    if (this.#isMuted) return;
    this.violations.push(`at ${this.#nowMs().toFixed(1)} ms: ${what}`);
  }

  /** Runs a request with a listener, which must receive the state first, and nothing after the end. */
  async listen<Result>(run: (listener: ProgressListener) => Result | Promise<Result>): Promise<Result> {
    let [isOver, events] = [false, 0];
    try {
      return await run(({ kind }) => {
        if (isOver) this.violate('a listener received progress after its request had ended');
        if (events === 0 && kind !== 'state') this.violate(`a listener received "${kind}" before the state`);
        events += 1;
      });
    } finally {
      isOver = true;
    }
  }

  /** How long a collection may take beyond its deadline: for checks that were under way, and the search for invalid signers. */
  get slackMs(): number {
    const storeMs = this.#plan.replicas === undefined ? 0 : STORE_MS;
    return SEARCH_MS + JOBS_IN_A_ROW * this.#plan.blsMs[1] + storeMs + 50;
  }

  collectionBegan(message: Uint8Array): () => void {
    const collection: Collection = {
      message,
      startMs: this.#nowMs(),
      endMs: undefined,
      query: undefined,
      lostMs: undefined,
      asks: new Map(),
      isShared: false,
    };
    this.#collections.push(collection);
    this.#expectShared(message);
    return () => {
      collection.endMs = this.#nowMs();
      const tookMs = collection.endMs - this.#lastJoinMs(collection);
      const { requestTimeoutMs } = this.#plan.aggregation;
      if (tookMs > requestTimeoutMs + this.slackMs)
        this.violate(`a collection took ${tookMs} ms, with a deadline of ${requestTimeoutMs}`);
      // No answer tells that the time for repetitions is over.
      const repeatUntilMs = this.#lastJoinMs(collection) + REPEAT_MS;
      if (collection.endMs > repeatUntilMs) this.#noteLoss(collection, repeatUntilMs);
      this.#expectSoon(collection);
    };
  }

  asked(query: object, message: Uint8Array, nodeID: NodeID) {
    const collection = this.#collectionOf(query, message);
    const ask: Ask = { outcome: undefined, code: undefined, answeredMs: undefined };
    if (collection !== undefined) {
      const asks = collection.asks.get(nodeID) ?? [];
      asks.push(ask);
      collection.asks.set(nodeID, asks);
      // Each request that joins prolongs the repetitions.
      const repeatedMs = Math.min(this.#nowMs(), this.#lastJoinMs(collection) + REPEAT_MS) - collection.startMs;
      const maxAsks = MAX_QUICK_ASKS + Math.ceil(Math.max(0, repeatedMs - QUICK_MS) / LAST_DELAY_MS);
      if (asks.length > maxAsks) this.violate(`${nodeID} was asked ${asks.length} times by one collection`);
    }
    return (outcome: AttemptOutcome['kind'], code?: number): void => {
      Object.assign(ask, { outcome, code, answeredMs: this.#nowMs() });
      if (collection !== undefined && collection.endMs === undefined) this.#noteLoss(collection, this.#nowMs());
    };
  }

  /** A request has its answer, or its client has left. */
  ended(request: LiveRequest): void {
    const atMs = this.#nowMs();
    this.live.delete(request);
    if (this.#ended[0]?.atMs !== atMs) this.#ended.length = 0;
    this.#ended.push({ atMs, request });
  }

  /** To be called when all is over. */
  expectAllEnded(): void {
    for (const collection of this.#collections) {
      if (collection.endMs === undefined)
        this.violate(`a collection that began at ${collection.startMs} ms never ended`);
    }
  }

  /** The query of a collection is made with its first question: the oldest one of the message without a query begins to ask. */
  #collectionOf(query: object, message: Uint8Array): Collection | undefined {
    const known = this.#collections.find((one) => one.query === query);
    if (known !== undefined) return known;
    const found = this.#collections.find(
      (one) => one.query === undefined && one.endMs === undefined && equalBytes(one.message, message),
    );
    if (found !== undefined) found.query = query;
    return found;
  }

  #expectShared(message: Uint8Array): void {
    const isOfIt = (one: { readonly message: Uint8Array }): boolean => equalBytes(one.message, message);
    const open = this.#collections.filter((one) => one.endMs === undefined && isOfIt(one)).length;
    const live = [...this.live].filter((one) => equalBytes(one.message.message.bytes, message));
    const allowed = maxCollections(live, this.#ledger);
    if (open > allowed) this.violate(`${open} collections of one message at once, for requests of ${allowed} kinds`);
  }

  /** The latest beginning of the time of the last request of a collection: when it joined, or when its wait ended. */
  #lastJoinMs(collection: Collection): number {
    const { message, startMs } = collection;
    const nowMs = this.#nowMs();
    const ended = this.#ended.flatMap(({ atMs, request }) => (atMs === nowMs ? [request] : []));
    const requests = [...this.live, ...ended].filter((one) => equalBytes(one.message.message.bytes, message));
    collection.isShared ||= requests.length > 1;
    const resolveMs = collection.isShared ? RESOLVES * this.#plan.apiTimeoutMs : 0;
    return Math.max(startMs, ...requests.map((one) => one.startMs + Math.max(resolveMs, one.plan.waitMs)));
  }

  /** Returns the only request that a collection can belong to, and its set; undefined if there are several. */
  #settingOf({ message }: Collection): { readonly quorum: number; readonly set: LedgerSet } | undefined {
    const requests = [...this.live].filter((one) => equalBytes(one.message.message.bytes, message));
    const [first] = requests;
    const subnetID = first && this.#ledger.signerOf(first.plan, first.message);
    if (first === undefined || subnetID === undefined) return undefined;
    const quorum = Math.min(...requests.map(({ plan }) => plan.quorum));
    const isOne = requests.every(({ plan, message: asked }) => this.#ledger.signerOf(plan, asked) === subnetID);
    const sets = this.#ledger.setsOf(subnetID);
    return isOne && sets.length === 1 ? { quorum, set: sets[0] as LedgerSet } : undefined;
  }

  #noteLoss(collection: Collection, atMs: number): void {
    if (collection.lostMs !== undefined) return;
    const setting = this.#settingOf(collection);
    if (setting === undefined) return;
    const { set, quorum } = setting;
    const lost = (entry: LedgerSet[number]): boolean => {
      if (entry.key === undefined) return true;
      const nodes = set.filter(({ key }) => key === entry.key);
      const asks = nodes.flatMap(({ number }) => collection.asks.get(this.#nodeIDOf(number)) ?? []);
      // A signature may still be good, and one under way may still come.
      if (asks.some((ask) => isPendingAt(ask, atMs) || ask.outcome === 'signed')) return false;
      if (asks.some(({ outcome, code }) => outcome === 'invalid_signature' || code === NO_HANDLER || code === -3))
        return true;
      if (asks.filter(({ outcome }) => outcome === 'timed_out').length > nodes.length) return true;
      if (asks.some(({ outcome }) => outcome === 'refused')) return atMs >= this.#lastJoinMs(collection) + REPEAT_MS;
      return asks.filter(({ outcome }) => outcome !== 'timed_out').length >= nodes.length + RECONNECTIONS;
    };
    const total = set.reduce((sum, { weight }) => sum + weight, 0n);
    const isTooLittle = (weight: bigint): boolean => 100n * weight < BigInt(quorum) * total || weight === 0n;
    const weightIf = (isCounted: (entry: LedgerSet[number]) => boolean): bigint =>
      set.filter(isCounted).reduce((sum, { weight }) => sum + weight, 0n);
    if (!isTooLittle(weightIf((entry) => !lost(entry)))) return;
    const asksOf = ({ number }: LedgerSet[number]): readonly Ask[] => collection.asks.get(this.#nodeIDOf(number)) ?? [];
    const isRefusedForGood = (entry: LedgerSet[number]): boolean =>
      asksOf(entry).some(({ code }) => code === NO_HANDLER);
    const isPending = (entry: LedgerSet[number]): boolean => asksOf(entry).some((ask) => isPendingAt(ask, atMs));
    // Answers that are not late may still decide that the refusal is final.
    const isVerdictOpen =
      weightIf(isRefusedForGood) > 0n &&
      !isTooLittle(weightIf((entry) => !isRefusedForGood(entry))) &&
      isTooLittle(weightIf((entry) => !isRefusedForGood(entry) && !isPending(entry)));
    collection.lostMs = atMs + (isVerdictOpen ? this.#plan.aggregation.hedgeAfterMs : 0);
  }

  /** A quorum that is out of reach fails at once: but for signatures that are still being added. */
  #expectSoon({ lostMs, endMs }: Collection): void {
    if (lostMs === undefined || endMs === undefined) return;
    const boundMs = 50 + JOBS_IN_A_ROW * this.#plan.blsMs[1];
    if (endMs - lostMs > boundMs)
      this.violate(`a collection went on for ${endMs - lostMs} ms after its quorum was out of reach`);
  }
}

function isPendingAt({ answeredMs }: Ask, atMs: number): boolean {
  return answeredMs === undefined || answeredMs > atMs;
}

/** The most collections that requests for one message need at once: one for each kind of request in each set of its subnet. */
export function maxCollections(requests: readonly Omit<LiveRequest, 'startMs'>[], ledger: Ledger): number {
  const kinds = new Set<string>();
  let allowed = 0;
  for (const { plan, message } of requests) {
    const { quorum, buffer, height, signingSubnetID, destinationChainID, justification } = plan;
    const settings = [quorum, buffer, height, signingSubnetID, destinationChainID];
    const kind = [...settings, Buffer.from(justification).toString('hex')].join();
    if (kinds.has(kind)) continue;
    kinds.add(kind);
    const subnetID = ledger.signerOf(plan, message);
    const sets = subnetID === undefined ? [] : ledger.setsOf(subnetID);
    // Low balances, which only L1s have, are another reason to sign again.
    const isAvoiding = sets.some((set) => set.some(({ balance }) => balance !== undefined));
    allowed += height !== 0n || subnetID === undefined ? 1 : (isAvoiding ? 2 : 1) * sets.length;
  }
  return allowed;
}
