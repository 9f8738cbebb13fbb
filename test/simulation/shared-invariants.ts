import { LEASE_MS } from '../../src/store/redis/distributed-single-flight.ts';
import type { Plan, ReplicasPlan } from './plan.ts';
import type { StoreWatcher } from './simulated-redis.ts';
import type { StoreEntry } from './store-lies.ts';

/** The period before a loss of a lease in which its cause may lie, including pauses between attempts. */
const EXCUSE_MS = 15_000;
/** A replica that has just started may not have found the store yet. */
const STARTING_MS = 100;
/** The share of a request's time in which it waits for other replicas (`shared-signing.ts`). */
const WAITING_SHARE = 0.75;
/** A request is resolved before it waits, and looks every 100 ms. */
const PATIENCE_SLACK_MS = 500;
/** A lease expires, a replica polls, and resolves its request again. */
const TAKEN_OVER_MS = LEASE_MS + 700;
/** The first byte of a value. */
const [LEASE, OUTCOME] = [1, 2];

interface SharedCollection {
  readonly message: string;
  readonly replica: number;
  readonly startMs: number;
  endMs: number | undefined;
  readonly isLeased: boolean;
  isSigned: boolean;
}

interface Replica {
  readonly startedMs: number;
  isAlive: boolean;
}

export interface SharedInvariantsOptions {
  readonly plan: Plan & { readonly replicas: ReplicasPlan };
  readonly nowMs: () => number;
  readonly violate: (what: string) => void;
  /** The message ID of the work under a key, if the plan has a request for it. */
  readonly messageOf: (key: string) => string | undefined;
  /** How many collections of a message there may be, one for each kind of request and set. */
  readonly kindsOf: (message: string) => number;
}

/** Watches what replicas do among each other, and the store that they share. */
export class SharedInvariants implements StoreWatcher {
  readonly #options: SharedInvariantsOptions;
  readonly #replicas = new Map<number, Replica>();
  readonly #collections: SharedCollection[] = [];
  readonly #disturbed: { readonly atMs: number; readonly replica: number; readonly key: string | undefined }[] = [];
  readonly #lost: { readonly atMs: number; readonly key: string }[] = [];
  /** The replica that holds the lease of each key. */
  readonly #held = new Map<string, { readonly replica: number; readonly sinceMs: number }>();
  /** Signatures that replicas got of each validator, by message. */
  readonly #signatures = new Map<string, number>();
  readonly #limitUses: number[] = [];

  constructor(options: SharedInvariantsOptions) {
    this.#options = options;
  }

  started(number: number): void {
    this.#replicas.set(number, { startedMs: this.#options.nowMs(), isAlive: true });
  }

  /** Before its code notices anything. */
  killed(number: number): void {
    const replica = this.#replicas.get(number);
    if (replica !== undefined) replica.isAlive = false;
    for (const collection of this.#collections)
      if (collection.replica === number) collection.endMs ??= this.#options.nowMs();
    for (const [key, { replica: holder }] of this.#held) if (holder === number) this.#held.delete(key);
  }

  /** Whether anything has come between a replica and the store lately, or the store has lost something. */
  isDisturbed(sinceMs = this.#options.nowMs() - EXCUSE_MS): boolean {
    return this.#disturbed.some(({ atMs }) => atMs >= sinceMs) || this.#lost.some(({ atMs }) => atMs >= sinceMs);
  }

  /** @param askedMs when the oldest request that it may be for was sent */
  began(replica: number, message: string, askedMs: number): (isSigned: boolean) => void {
    const { nowMs, violate, plan } = this.#options;
    const startMs = nowMs();
    // Where validators with little balance are avoided, the key is one that the plan does not tell.
    const holdsLease = [...this.#held].some(
      ([key, holder]) => holder.replica === replica && (this.#options.messageOf(key) ?? message) === message,
    );
    const started = this.#replicas.get(replica)?.startedMs ?? startMs;
    const { requestTimeoutMs } = plan.aggregation;
    const isPatienceOver = startMs - askedMs >= WAITING_SHARE * requestTimeoutMs - PATIENCE_SLACK_MS;
    const isExcused = isPatienceOver || startMs - started < STARTING_MS || this.isDisturbed();
    if (!holdsLease && !isExcused) violate(`replica ${replica} began a collection without the lease`);
    const collection: SharedCollection = {
      message,
      replica,
      startMs,
      // The lease may be that of another kind of request.
      isLeased: holdsLease && !isPatienceOver,
      endMs: undefined,
      isSigned: false,
    };
    this.#collections.push(collection);
    this.#expectFew(message);
    return (isSigned) => {
      collection.endMs ??= nowMs();
      collection.isSigned = isSigned && this.#replicas.get(replica)?.isAlive === true;
    };
  }

  /** A replica has a validator's signature. */
  got(replica: number, message: string, validator: string): void {
    if (this.#replicas.get(replica)?.isAlive !== true) return;
    const name = `${message} ${validator}`;
    const count = (this.#signatures.get(name) ?? 0) + 1;
    this.#signatures.set(name, count);
    const bound = this.#boundOf(message);
    if (count > bound)
      this.#options.violate(`${validator} signed a message ${count} times, at most ${bound} are right`);
  }

  /** Forgets the collections of before: others are judged by themselves. */
  healed(): void {
    this.#collections.length = 0;
    this.#signatures.clear();
  }

  disturbed(replica: number, key: string | undefined): void {
    this.#disturbed.push({ atMs: this.#options.nowMs(), replica, key });
  }

  lost(key: string): void {
    this.#lost.push({ atMs: this.#options.nowMs(), key });
  }

  wrote(key: string, before: StoreEntry | undefined, after: StoreEntry | undefined, replica: number): void {
    if (!key.includes(':work:')) return;
    const { nowMs, violate } = this.#options;
    const leaseMs = after === undefined || kindOf(after) !== LEASE ? 0 : after.endsMs - nowMs();
    if (leaseMs > LEASE_MS) violate(`a lease of ${leaseMs} ms, at most ${LEASE_MS} are right`);
    const holder = before !== undefined && kindOf(before) === LEASE ? before.writer : undefined;
    const isTaken = holder !== undefined && holder !== replica && this.#replicas.get(holder)?.isAlive === true;
    // A message that is proven is good for all.
    const isProof = after !== undefined && kindOf(after) === OUTCOME;
    const isYoung = before !== undefined && nowMs() - before.writtenMs < LEASE_MS;
    // A replica with a wrong answer may consider the lease free.
    const isMisled = this.#disturbed.some((one) => one.replica === replica && one.key === key);
    if (isTaken && isYoung && !isProof && !isMisled)
      violate(`replica ${replica} put an end to a lease that replica ${holder} holds`);
    this.#follow(key, leaseMs > 0, replica);
  }

  #follow(key: string, isLease: boolean, replica: number): void {
    const { nowMs, violate } = this.#options;
    const held = this.#held.get(key);
    if (!isLease) {
      if (held?.replica === replica) this.#held.delete(key);
      return;
    }
    // What it had sent may arrive after its end: then the lease lapses.
    if (held?.replica === replica || this.#replicas.get(replica)?.isAlive !== true) return;
    if (held !== undefined && !this.isDisturbed(held.sinceMs - EXCUSE_MS))
      violate(`replica ${replica} took the lease that replica ${held.replica} had not given back`);
    this.#held.set(key, { replica, sinceMs: nowMs() });
  }

  /** A request has its answer. @param isSteady whether nothing but other replicas can have held it up */
  answered(message: string, startMs: number, isSteady: boolean): void {
    const { nowMs, violate } = this.#options;
    if (!isSteady || this.isDisturbed(startMs - EXCUSE_MS)) return;
    const spans = this.#collections
      .filter((one) => one.message === message)
      .map((one) => [Math.max(startMs, one.startMs), Math.min(nowMs(), one.endMs ?? nowMs())] as const)
      .filter(([from, to]) => to >= from)
      .sort(([a], [b]) => a - b);
    let [idleMs, atMs] = [0, startMs];
    for (const [from, to] of spans) {
      idleMs = Math.max(idleMs, from - atMs);
      atMs = Math.max(atMs, to);
    }
    idleMs = Math.max(idleMs, nowMs() - atMs);
    if (idleMs > TAKEN_OVER_MS) violate(`a request waited for ${idleMs} ms while nobody was at it`);
  }

  /** Records the used part of a limit that a replica received. */
  counted(used: number): void {
    this.#limitUses.push(used);
  }

  /** When all replicas are closed, and what they have sent has arrived. */
  expectLeft(entries: ReadonlyMap<string, StoreEntry>): void {
    const { violate } = this.#options;
    if (this.isDisturbed(0)) return;
    for (const [key, { endsMs, writer }] of entries) {
      if (endsMs === Number.POSITIVE_INFINITY) violate(`${key} is in the store for ever`);
      const isAlive = writer !== undefined && this.#replicas.get(writer)?.isAlive === true;
      if (isAlive && this.#held.get(key)?.replica === writer) violate(`a lease is left of ${key}`);
    }
    // Counts of a killed replica are unknown, and a new one counts alone at first.
    if (this.#options.plan.replicas.ends.length > 0) return;
    const sorted = this.#limitUses.toSorted((a, b) => a - b);
    if (sorted.some((used, index) => used !== index + 1))
      violate(`of ${sorted.length} uses of a limit, replicas counted ${sorted.join(', ')}`);
  }

  /** Collections of a message: one of each kind, and one more for each that came to nothing or was lost. */
  #boundOf(message: string): number {
    const all = this.#collections.filter((one) => one.message === message);
    const nothing = all.filter((one) => one.endMs !== undefined && !one.isSigned).length;
    const alone = all.filter((one) => !one.isLeased).length;
    return this.#options.kindsOf(message) + nothing + alone + this.#lossesOf(message);
  }

  #lossesOf(message: string): number {
    const isOf = (key: string | undefined): boolean =>
      key === undefined || (key.includes(':work:') && (this.#options.messageOf(key) ?? message) === message);
    return this.#disturbed.filter(({ key }) => isOf(key)).length + this.#lost.filter(({ key }) => isOf(key)).length;
  }

  #expectFew(message: string): void {
    const { violate } = this.#options;
    const all = this.#collections.filter((one) => one.message === message);
    const bound = this.#boundOf(message);
    if (all.length > bound)
      violate(`${all.length} collections of one message over all replicas, at most ${bound} are right`);
    const open = all.filter((one) => one.endMs === undefined);
    const most = this.#options.kindsOf(message) + open.filter((one) => !one.isLeased).length + this.#lossesOf(message);
    if (open.length > most) violate(`${open.length} collections of one message at once, at most ${most} are right`);
  }
}

function kindOf({ value }: StoreEntry): number | undefined {
  return typeof value === 'string' ? value.charCodeAt(0) : undefined;
}
