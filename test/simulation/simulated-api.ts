import type { Dispatcher } from 'undici';
import type { Clock } from '../../src/lib/concurrency/clock.ts';
import { bytesToHex } from '../../src/lib/encoding/bytes.ts';
import type { OpenHttp } from '../../src/lib/net/http-port.ts';
import { type BlockchainID, idFromBytes, type NodeID, type SubnetID } from '../../src/warp/ids.ts';
import { CHAIN_ALIASES } from '../../src/warp/networks.ts';
import type { Draws } from './draws.ts';
import { blockIDBytes, type Ledger } from './ledger.ts';

/** What an API node may do with a call instead of answering it, by relative frequency. */
export const API_REACTIONS = {
  'refuses connections': 2,
  hangs: 1,
  slow: 2,
  'status 500': 1,
  'status 404': 0.5,
  'status 429': 1,
  'no json': 1,
  truncated: 1,
  'wrong types': 2,
  'wrong id': 1,
  error: 1,
  endless: 0.1,
  'breaks off': 1,
  /** It is some blocks behind, for this one call: so heights go backwards. */
  behind: 3,
};
export type ApiReaction = 'answers' | keyof typeof API_REACTIONS;

export interface ApiPlan {
  /** Share of the calls that it answers as {@link habits} say. */
  readonly misbehaviour: number;
  readonly habits: Readonly<Partial<Record<ApiReaction, number>>>;
  readonly answerMs: readonly [number, number];
  /** How far it is behind all the time. */
  readonly lagMs: number;
  /** In these spans of time it is away. */
  readonly outages: readonly { readonly fromMs: number; readonly untilMs: number; readonly how: ApiReaction }[];
  /** How far the height that it proposes is below the newest one. */
  readonly proposedLag: bigint;
}

export interface ApiWorld {
  readonly clock: Clock;
  readonly ledger: Ledger;
  readonly networkID: number;
  publicKey(key: number): Uint8Array;
  nodeIDOf(number: number): NodeID;
  /** What `info.peers` shows. */
  peers(): readonly { readonly nodeID: NodeID; readonly address: string }[];
}

/** The price of a second of an L1 validator. */
const FEE_PRICE = 1n;
const REJECTED = { code: -32_000, message: 'rejected' };

class Rejection extends Error {}

/** One API node: the calls that the service makes of the P-Chain, the info API and the chains. */
export class SimulatedApi {
  #plan: ApiPlan;
  readonly #world: ApiWorld;
  readonly #draws: Draws;
  calls = 0;

  constructor(plan: ApiPlan, world: ApiWorld, draws: Draws) {
    this.#plan = plan;
    this.#world = world;
    this.#draws = draws;
  }

  heal(): void {
    this.#plan = { misbehaviour: 0, habits: {}, answerMs: [1, 20], lagMs: 0, outages: [], proposedLag: 0n };
  }

  get isPerfect(): boolean {
    const { misbehaviour, outages, answerMs, lagMs } = this.#plan;
    return misbehaviour === 0 && outages.length === 0 && answerMs[1] <= 200 && lagMs === 0;
  }

  react(): { readonly reaction: ApiReaction; readonly afterMs: number } {
    const draws = this.#draws;
    this.calls += 1;
    const nowMs = this.#world.clock.monotonicMs();
    const outage = this.#plan.outages.find(({ fromMs, untilMs }) => fromMs <= nowMs && nowMs < untilMs);
    const drawn = draws.chance(this.#plan.misbehaviour) ? draws.weighted(this.#plan.habits) : undefined;
    const reaction = outage?.how ?? drawn ?? 'answers';
    const [min, max] = this.#plan.answerMs;
    return { reaction, afterMs: reaction === 'slow' ? draws.int(500, 6_000) : draws.int(min, max) };
  }

  /** The body of the answer. */
  answer(path: string, body: string, reaction: ApiReaction): string {
    const { id, method, params } = JSON.parse(body) as { id: number; method: string; params: Params };
    if (reaction === 'no json') return '<html>';
    if (reaction === 'error') return JSON.stringify({ jsonrpc: '2.0', id, error: REJECTED });
    const lagMs = this.#plan.lagMs + (reaction === 'behind' ? 4_000 : 0);
    let answer: object;
    try {
      const result = this.#result(path, method, params, lagMs);
      answer = { jsonrpc: '2.0', id: reaction === 'wrong id' ? id + 1 : id, result };
    } catch (error) {
      if (!(error instanceof Rejection)) throw error;
      answer = { jsonrpc: '2.0', id, error: REJECTED };
    }
    const text = JSON.stringify(answer);
    if (reaction === 'truncated') return text.slice(0, this.#draws.int(1, text.length - 1));
    if (reaction === 'wrong types') return spoil(text, this.#draws);
    return text;
  }

  #result(path: string, method: string, params: Params, lagMs: number): unknown {
    const { ledger, networkID, clock } = this.#world;
    const tip = ledger.tip(lagMs);
    switch (method) {
      case 'info.getNetworkID':
        return { networkID: String(networkID) };
      case 'info.getNodeVersion':
        return { version: 'avalanchego/1.14.2' };
      case 'info.getNodeID':
        return { nodeID: this.#world.nodeIDOf(990) };
      case 'info.getNodeIP':
        return { ip: '40.0.0.1:9651' };
      case 'info.peers':
        return { peers: this.#world.peers().map(({ nodeID, address }) => ({ nodeID, publicIP: address })) };
      case 'platform.getHeight':
        return { height: String(tip.height) };
      case 'platform.getProposedHeight':
        return { height: String(this.#proposed(tip.height)) };
      case 'platform.getValidatorsAt':
        return this.#validatorsAt(params, tip.height);
      case 'platform.getCurrentValidators':
        return this.#currentValidators(params.subnetID as SubnetID, tip.height);
      case 'platform.getValidatorFeeState':
        return { excess: '0', price: String(FEE_PRICE), time: new Date(clock.now()).toISOString() };
      case 'platform.validatedBy': {
        const subnetID = ledger.plan.chains.get(params.blockchainID as BlockchainID);
        if (subnetID === undefined) throw new Rejection();
        return { subnetID };
      }
      case 'platform.getSubnet':
        if (![...ledger.plan.chains.values()].includes(params.subnetID as SubnetID)) throw new Rejection();
        return { isPermissioned: true, controlKeys: [], threshold: '1' };
      case 'platform.getBlockByHeight':
        return { block: blockAt(BigInt(params.height ?? 0), tip.height) };
      case 'eth_getChainConfig': {
        const chainID = path.split('/')[3] as BlockchainID;
        if (!ledger.plan.chains.has(chainID)) throw new Rejection();
        const strict = ledger.requiresPrimarySigners(chainID) && { requirePrimaryNetworkSigners: true };
        return { warpConfig: { blockTimestamp: 0, ...strict } };
      }
      case 'proposervm.getCurrentEpoch':
        return this.#epoch(path, tip.height);
      default:
        throw new Rejection();
    }
  }

  #proposed(tip: bigint): bigint {
    const height = tip - this.#plan.proposedLag;
    return height < this.#world.ledger.floor ? this.#world.ledger.floor : height;
  }

  #validatorsAt({ subnetID, height }: Params, tip: bigint): unknown {
    const at = height === 'proposed' ? this.#proposed(tip) : BigInt(height ?? 0);
    if (at > tip) throw new Rejection();
    const set = this.#world.ledger.setAt(subnetID as SubnetID, at) ?? [];
    return Object.fromEntries(
      set.map(({ number, key, weight }) => [
        this.#world.nodeIDOf(number),
        { publicKey: key === undefined ? null : `0x${bytesToHex(this.#world.publicKey(key))}`, weight: String(weight) },
      ]),
    );
  }

  #currentValidators(subnetID: SubnetID, tip: bigint): unknown {
    const set = this.#world.ledger.setAt(subnetID, tip) ?? [];
    return {
      validators: set.map(({ number, weight, balance }) => ({
        nodeID: this.#world.nodeIDOf(number),
        weight: String(weight),
        ...(balance !== undefined && { balance: String(balance) }),
      })),
    };
  }

  #epoch(path: string, tip: bigint): unknown {
    const { ledger } = this.#world;
    const chain = path.split('/')[3];
    const entry = [...ledger.plan.epochLag].find(([id]) => id === chain || CHAIN_ALIASES.get(id) === chain);
    if (entry === undefined) return { number: '0', startTime: '0', pChainHeight: '0' };
    const height = tip - entry[1];
    return { number: '7', startTime: '0', pChainHeight: String(height < ledger.floor ? ledger.floor : height) };
  }
}

interface Params {
  readonly subnetID?: string;
  readonly blockchainID?: string;
  readonly height?: string | number;
}

function blockAt(height: bigint, tip: bigint): unknown {
  if (height > tip) throw new Rejection();
  const id = (at: bigint): string => idFromBytes<BlockchainID>(blockIDBytes(at), 'block ID');
  return { height: String(height), id: id(height), parentID: id(height - 1n), time: 1_700_000_000, txs: [] };
}

/** Another type in the place of one of the values. */
function spoil(text: string, draws: Draws): string {
  const values = [...text.matchAll(/:("[^"]*"|\d+|null|true|false)/g)].slice(2);
  const value = values.length === 0 ? undefined : draws.pick(values);
  if (value === undefined) return '[]';
  const wrong = draws.pick(['true', '[]', '{}', '-1', '1e30', '"x"', '"99999999999999999999999"']);
  return `${text.slice(0, value.index)}:${wrong}${text.slice(value.index + value[0].length)}`;
}

type Fail = (reason: Error | undefined) => void;

/** {@link OpenHttp} over virtual time: calls of API nodes, by their origins, without a bound of connections. */
export class SimulatedHttp {
  readonly #clock: Clock;
  readonly #apis: ReadonlyMap<string, SimulatedApi>;
  /** Requests under way of each pool that is open. */
  readonly #pools = new Map<Dispatcher, Set<Fail>>();

  constructor(clock: Clock, apis: ReadonlyMap<string, SimulatedApi>) {
    this.#clock = clock;
    this.#apis = apis;
  }

  /** Pools opened and not destroyed. */
  get openPools(): number {
    return this.#pools.size;
  }

  readonly open: OpenHttp = (origin) => {
    const api = this.#apis.get(origin);
    if (api === undefined) throw new Error(`the service calls ${origin}, which nobody told it to`);
    const underWay = new Set<Fail>();
    const request = (options: Dispatcher.RequestOptions): Promise<unknown> =>
      new Promise((resolve, reject) => {
        const signal = options.signal as AbortSignal | undefined;
        if (!this.#pools.has(pool) || signal?.aborted) {
          reject(signal?.reason ?? new Error('the pool is destroyed'));
          return;
        }
        const { reaction, afterMs } = api.react();
        const end = (settle: () => void): void => {
          if (!underWay.delete(fail)) return;
          cancel?.();
          signal?.removeEventListener('abort', onAbort);
          settle();
        };
        const fail: Fail = (reason) => end(() => reason !== undefined && reject(reason));
        const onAbort = (): void => fail(signal?.reason as Error);
        underWay.add(fail);
        signal?.addEventListener('abort', onAbort, { once: true });
        const answer = (): void => {
          if (reaction === 'refuses connections') fail(Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }));
          else end(() => resolve(responseOf(api, options, reaction)));
        };
        const cancel = reaction === 'hangs' ? undefined : this.#clock.after(afterMs, answer);
      });
    const destroy = async (): Promise<void> => this.#close(pool, new Error('the pool is destroyed'));
    const pool = { request, destroy } as unknown as Dispatcher;
    this.#pools.set(pool, underWay);
    return pool;
  };

  /** The process of a pool is no more, and hears nothing of it. */
  abandon(pool: Dispatcher): void {
    this.#close(pool, undefined);
  }

  #close(pool: Dispatcher, reason: Error | undefined): void {
    const underWay = this.#pools.get(pool) ?? [];
    this.#pools.delete(pool);
    for (const fail of Array.from(underWay)) fail(reason);
  }
}

function responseOf(api: SimulatedApi, { path, body }: Dispatcher.RequestOptions, reaction: ApiReaction): unknown {
  const status = /^status (\d+)$/.exec(reaction)?.[1];
  const text = status === undefined ? api.answer(path, body as string, reaction) : 'no';
  return {
    statusCode: Number(status ?? 200),
    headers: {},
    body: {
      dump: async () => undefined,
      async *[Symbol.asyncIterator]() {
        if (reaction === 'breaks off') {
          yield Buffer.from(text.slice(0, text.length >> 1));
          throw Object.assign(new Error('other side closed'), { code: 'UND_ERR_SOCKET' });
        }
        yield Buffer.from(text);
        if (reaction === 'endless') for (const chunk = Buffer.alloc(1024 * 1024); ; ) yield chunk;
      },
    },
  };
}
