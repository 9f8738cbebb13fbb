import { ErrorReply } from '@redis/client';
import type { Clock } from '../../src/lib/concurrency/clock.ts';
import type { openRedisLink, RedisLink } from '../../src/store/redis/redis-link.ts';
import type { Draws } from './draws.ts';
import { compileRedisScript, type Reply } from './redis-script.ts';
import type { Liar, Lie, StoreEntry } from './store-lies.ts';

/** What the store, or the way to it, may do for a while, by relative frequency. */
export const STORE_FAULTS = {
  slow: 2,
  /** Does not answer, and runs the received commands later. */
  frozen: 2,
  /** Half of the times it comes back empty. */
  down: 2,
  /** A replica cannot reach the server; sent data may still arrive. */
  'cut off': 3,
  /** A replica's commands are done, and their answers are lost. */
  deaf: 1,
  'read only': 0.5,
  full: 0.5,
  lies: 4,
};
export type StoreFault = keyof typeof STORE_FAULTS;

/** What may happen to the store at one moment. */
export const STORE_MOMENTS = {
  wiped: 2,
  /** Some of its keys are gone. */
  evicts: 2,
  'loses leases': 3,
  /** Another server takes over, without the latest writes. */
  'rolls back': 2,
  'another kind of value': 1,
  /** A value that no replica has written. */
  planted: 4,
};
export type StoreMoment = keyof typeof STORE_MOMENTS;

export interface StoreSpell {
  readonly fromMs: number;
  readonly untilMs: number;
  readonly fault: StoreFault;
  /** Undefined: for all of them. */
  readonly replica: number | undefined;
}

export interface StorePlan {
  readonly latencyMs: readonly [number, number];
  readonly spells: readonly StoreSpell[];
  readonly moments: readonly { readonly atMs: number; readonly what: StoreMoment }[];
  readonly lies: Readonly<Partial<Record<Lie, number>>>;
  /** The share of wrong answers. */
  readonly lying: number;
}

/** Sees what replicas do in the store, and what becomes of it. */
export interface StoreWatcher {
  /** `after` is undefined for a deleted key. */
  wrote(key: string, before: StoreEntry | undefined, after: StoreEntry | undefined, replica: number): void;
  /** A command of a replica was not done, or not answered in time and truly. */
  disturbed(replica: number, key: string | undefined): void;
  /** A value was deleted or changed, but not by a replica. */
  lost(key: string): void;
}

/** Beyond it a replica may not wait for the answer. */
const PROMPT_MS = 150;
/** Values of a key that a liar can come back to. */
const MAX_HISTORY = 3;
/** That what was sent over a way that is cut arrives after all. */
const ARRIVES_LATE = 0.5;

/** A Redis of which replicas use the scripts, under virtual time, with faults. */
export class SimulatedRedis {
  readonly clock: Clock;
  readonly draws: Draws;
  readonly watcher: StoreWatcher;
  readonly #plan: StorePlan;
  readonly #liar: Liar;
  readonly entries = new Map<string, StoreEntry>();
  /** What each key had before, the latest last. */
  readonly history = new Map<string, string[]>();
  readonly links = new Set<SimulatedLink>();
  commands = 0;
  #isHealed = false;

  constructor(options: {
    readonly clock: Clock;
    readonly draws: Draws;
    readonly plan: StorePlan;
    readonly watcher: StoreWatcher;
    readonly liar: Liar;
  }) {
    this.clock = options.clock;
    this.draws = options.draws;
    this.watcher = options.watcher;
    this.#plan = options.plan;
    this.#liar = options.liar;
    for (const { atMs, what } of options.plan.moments) this.clock.after(atMs, () => this.#happen(what));
    for (const { fromMs, fault } of options.plan.spells)
      if (fault === 'down') this.clock.after(fromMs, () => this.#goDown());
  }

  /** The way there of one replica, from one of its processes. */
  linkOpener(replica: number, process: number): typeof openRedisLink {
    return async (options) => {
      const link = new SimulatedLink(this, { ...options, replica, process });
      this.links.add(link);
      return link;
    };
  }

  /** Without a word to the replica, which is no more. */
  abandon(process: number): void {
    for (const link of Array.from(this.links)) if (link.process === process) link.abandon();
  }

  entryOf(key: string): StoreEntry | undefined {
    const entry = this.entries.get(key);
    if (entry === undefined || entry.endsMs > this.clock.monotonicMs()) return entry;
    this.entries.delete(key);
    return undefined;
  }

  /** Ends all faults. What they have left in the store remains. */
  heal(): void {
    this.#isHealed = true;
  }

  /** A spell of now. @param replica undefined for one that is for all */
  spell(fault: StoreFault, replica?: number): StoreSpell | undefined {
    if (this.#isHealed) return undefined;
    const nowMs = this.clock.monotonicMs();
    return this.#plan.spells.find(
      (one) =>
        one.fault === fault &&
        one.fromMs <= nowMs &&
        nowMs < one.untilMs &&
        (one.replica === undefined || one.replica === replica),
    );
  }

  isIn(fault: StoreFault, replica: number): boolean {
    return this.spell(fault, replica) !== undefined;
  }

  get frozenForMs(): number {
    const spell = this.spell('frozen');
    return spell === undefined ? 0 : spell.untilMs - this.clock.monotonicMs();
  }

  latencyMs(replica: number): number {
    const [min, max] = this.#plan.latencyMs;
    const ms = min + this.draws.next() * (max - min);
    return this.isIn('slow', replica) ? ms + this.draws.int(20, 300) : ms;
  }

  #goDown(): void {
    if (this.#isHealed) return;
    for (const link of Array.from(this.links)) link.break('Socket closed unexpectedly');
    if (this.draws.chance(0.5)) this.#happen('wiped');
  }

  #happen(what: StoreMoment): void {
    if (this.#isHealed) return;
    const lose = (key: string): void => {
      this.entries.delete(key);
      this.watcher.lost(key);
    };
    const keys = [...this.entries.keys()];
    switch (what) {
      case 'wiped':
        for (const key of keys) lose(key);
        return;
      case 'evicts':
        for (const key of keys) if (this.draws.chance(0.5)) lose(key);
        return;
      case 'loses leases':
        for (const key of keys) if (key.includes(':work:')) lose(key);
        return;
      case 'rolls back':
        for (const key of keys) {
          const before = this.history.get(key)?.at(-1);
          if (before === undefined) lose(key);
          else this.#plant(key, before);
        }
        return;
      case 'another kind of value':
        for (const key of keys) if (this.draws.chance(0.5)) this.#plant(key, ['not', 'ours']);
        return;
      case 'planted':
        for (const key of keys) {
          const value = this.#liar.planted(key, this.draws);
          if (value !== undefined) this.#plant(key, value);
        }
    }
  }

  #plant(key: string, value: StoreEntry['value']): void {
    const nowMs = this.clock.monotonicMs();
    this.entries.set(key, { value, endsMs: nowMs + 600_000, writtenMs: nowMs, writer: undefined });
    this.watcher.lost(key);
  }

  /** Returns the answer for the replica. @throws {ErrorReply} */
  handle(script: string, key: string, args: readonly string[], replica: number, process: number): unknown {
    this.commands += 1;
    const before = this.entryOf(key);
    let reply: Reply;
    try {
      reply = compileRedisScript(script)([key], args, (name, given) => this.#call(name, given, replica, process));
    } catch (error) {
      if (error instanceof ErrorReply) this.watcher.disturbed(process, key);
      throw error;
    }
    const after = this.entryOf(key);
    if (after !== before) {
      if (typeof before?.value === 'string') this.#remember(key, before.value);
      this.watcher.wrote(key, before, after, process);
    }
    const answer = fromReply(reply);
    if (!this.isIn('lies', replica) || !this.draws.chance(this.#plan.lying)) return answer;
    const lie = this.draws.weighted(this.#plan.lies);
    if (lie === undefined) return answer;
    this.watcher.disturbed(process, key);
    return this.#liar.tell(lie, { key, answer }, this, this.draws);
  }

  #remember(key: string, value: string): void {
    const values = this.history.get(key) ?? [];
    values.push(value);
    if (values.length > MAX_HISTORY) values.shift();
    this.history.set(key, values);
  }

  /** The commands that our scripts use. */
  #call(name: string, [key = '', ...args]: readonly string[], replica: number, writer: number): Reply {
    const nowMs = this.clock.monotonicMs();
    const entry = this.entryOf(key);
    const text = (): string => {
      if (entry !== undefined && typeof entry.value !== 'string')
        throw new ErrorReply('WRONGTYPE Operation against a key holding the wrong kind of value');
      return (entry?.value as string | undefined) ?? '';
    };
    const list = (): readonly string[] => {
      if (typeof entry?.value === 'string')
        throw new ErrorReply('WRONGTYPE Operation against a key holding the wrong kind of value');
      return entry?.value ?? [];
    };
    const write = (value: StoreEntry['value'], ttlMs: number): void => {
      this.#refuseWriting(replica, name);
      this.entries.set(key, { value, endsMs: nowMs + ttlMs, writtenMs: nowMs, writer });
    };
    switch (name) {
      case 'GET':
        return entry === undefined ? false : text();
      case 'GETRANGE':
        return text().slice(Number(args[0]), lastOf(Number(args[1]), text().length) + 1);
      case 'STRLEN':
        return text().length;
      case 'TYPE':
        return { ok: entry === undefined ? 'none' : typeof entry.value === 'string' ? 'string' : 'list' };
      case 'PTTL':
        if (entry === undefined) return -2;
        return entry.endsMs === Number.POSITIVE_INFINITY ? -1 : Math.ceil(entry.endsMs - nowMs);
      case 'SET': {
        const [value = '', ...options] = args;
        if (options.includes('NX') && entry !== undefined) return false;
        const px = options.indexOf('PX');
        write(value, px < 0 ? Number.POSITIVE_INFINITY : Number(options[px + 1]));
        return { ok: 'OK' };
      }
      case 'LPUSH':
        write([...args.toReversed(), ...list()], entry === undefined ? Number.POSITIVE_INFINITY : entry.endsMs - nowMs);
        return list().length + args.length;
      case 'LTRIM':
        write(elements(list(), args), entry === undefined ? 0 : entry.endsMs - nowMs);
        return { ok: 'OK' };
      case 'LRANGE':
        return elements(list(), args);
      case 'PEXPIRE':
        if (entry !== undefined) write(entry.value, Number(args[0]));
        return entry === undefined ? 0 : 1;
      case 'DEL':
        // Allowed on a full server.
        this.#refuseWriting(replica, name);
        this.entries.delete(key);
        return entry === undefined ? 0 : 1;
      default:
        throw new Error(`the simulated Redis has no command ${name}`);
    }
  }

  #refuseWriting(replica: number, name: string): void {
    if (this.isIn('read only', replica)) throw new ErrorReply("READONLY You can't write against a read only replica.");
    if (this.isIn('full', replica) && name !== 'DEL')
      throw new ErrorReply("OOM command not allowed when used memory > 'maxmemory'.");
  }
}

function elements(list: readonly string[], [first, last]: readonly string[]): readonly string[] {
  return list.slice(Number(first), lastOf(Number(last), list.length) + 1);
}

function lastOf(index: number, length: number): number {
  return index < 0 ? length + index : index;
}

/** Converts texts to buffers like the client library. */
function fromReply(reply: Reply): unknown {
  if (typeof reply === 'string') return Buffer.from(reply, 'latin1');
  if (Array.isArray(reply)) return reply.map(fromReply);
  if (typeof reply === 'object' && reply !== null && 'ok' in reply) return Buffer.from(reply.ok);
  return reply;
}

type LinkOptions = Parameters<typeof openRedisLink>[0] & { readonly replica: number; readonly process: number };

/** One connection: what is sent over it arrives in the order in which it was sent. */
class SimulatedLink implements RedisLink {
  readonly #redis: SimulatedRedis;
  readonly #options: LinkOptions;
  readonly #waiting = new Set<(error: Error) => void>();
  #isOver = false;
  #thereMs = 0;
  #backMs = 0;

  constructor(redis: SimulatedRedis, options: LinkOptions) {
    this.#redis = redis;
    this.#options = options;
  }

  get process(): number {
    return this.#options.process;
  }

  connect(): Promise<void> {
    const { signal } = this.#options;
    return new Promise((resolve, reject) => {
      const onAbort = (): void => fail(signal.reason as Error);
      const fail = (error: Error): void => {
        signal.removeEventListener('abort', onAbort);
        this.#waiting.delete(fail);
        this.#disturbed(undefined);
        reject(error);
      };
      this.#waiting.add(fail);
      signal.addEventListener('abort', onAbort, { once: true });
      // The way that is cut swallows it.
      if (this.#cutUntilMs !== undefined) return;
      this.#there(() => {
        if (this.#isDown) return fail(new Error('connect ECONNREFUSED'));
        this.#back(() => {
          signal.removeEventListener('abort', onAbort);
          if (!this.#waiting.delete(fail)) return;
          resolve();
        });
      });
    });
  }

  run(script: string, key: string, args: readonly (string | Uint8Array)[]): Promise<unknown> {
    const { keyPrefix, replica, process } = this.#options;
    const redis = this.#redis;
    const full = keyPrefix + key;
    const sentMs = redis.clock.monotonicMs();
    const texts = args.map((arg) => (typeof arg === 'string' ? arg : Buffer.from(arg).toString('latin1')));
    return new Promise((resolve, reject) => {
      if (this.#isOver) return reject(new Error('The client is closed'));
      const fail = (error: Error): void => {
        this.#waiting.delete(fail);
        reject(error);
      };
      this.#waiting.add(fail);
      const cutUntilMs = this.#cutUntilMs;
      if (cutUntilMs !== undefined) {
        this.#disturbed(full);
        if (!redis.draws.chance(ARRIVES_LATE)) return;
        this.#thereMs = Math.max(this.#thereMs, cutUntilMs);
      }
      this.#there(
        () => {
          if (this.#isDown) return this.#disturbed(full);
          let settle: () => void;
          try {
            const answer = redis.handle(script, full, texts, replica, process);
            settle = () => resolve(answer);
          } catch (error) {
            if (!(error instanceof ErrorReply)) throw error;
            settle = () => reject(error);
          }
          if (redis.isIn('deaf', replica) || this.#cutUntilMs !== undefined) return this.#disturbed(full);
          const answeredMs = this.#back(() => {
            if (this.#waiting.delete(fail)) settle();
          });
          if (answeredMs - sentMs > PROMPT_MS) this.#disturbed(full);
        },
        () => this.#disturbed(full),
      );
      // The replica may be gone before the answer.
      if (this.#thereMs - sentMs > PROMPT_MS || redis.frozenForMs > 0) this.#disturbed(full);
    });
  }

  destroy(): void {
    this.#end();
    for (const fail of Array.from(this.#waiting)) fail(new Error('Disconnects client'));
  }

  /** The server ends it. */
  break(reason: string): void {
    if (this.#isOver) return;
    this.#disturbed(undefined);
    this.#end();
    const error = new Error(reason);
    for (const fail of Array.from(this.#waiting)) fail(error);
    this.#options.onBroken(error);
  }

  abandon(): void {
    this.#end();
    this.#waiting.clear();
  }

  get #isDown(): boolean {
    return this.#redis.isIn('down', this.#options.replica);
  }

  /** When the way is open again; undefined if it is. */
  get #cutUntilMs(): number | undefined {
    return this.#redis.spell('cut off', this.#options.replica)?.untilMs;
  }

  #disturbed(key: string | undefined): void {
    this.#redis.watcher.disturbed(this.process, key);
  }

  #end(): void {
    this.#isOver = true;
    this.#redis.links.delete(this);
  }

  /** What was sent arrives, whether the replica is still there or not. */
  #there(arrived: () => void, held: () => void = () => undefined): void {
    const redis = this.#redis;
    const { clock } = redis;
    const nowMs = clock.monotonicMs();
    this.#thereMs = Math.max(this.#thereMs, nowMs + redis.latencyMs(this.#options.replica));
    const arrive = (): void => {
      const frozenMs = redis.frozenForMs;
      if (frozenMs > 0) {
        // It may have been sent before the server froze.
        held();
        clock.after(frozenMs, arrive);
      } else {
        arrived();
      }
    };
    clock.after(this.#thereMs - nowMs, arrive);
  }

  /** @returns when it arrives */
  #back(arrived: () => void): number {
    const redis = this.#redis;
    const { clock } = redis;
    const nowMs = clock.monotonicMs();
    this.#backMs = Math.max(this.#backMs, nowMs + redis.latencyMs(this.#options.replica));
    clock.after(this.#backMs - nowMs, () => {
      if (!this.#isOver) arrived();
    });
    return this.#backMs;
  }
}
