import { resultKey } from '../../src/aggregation/request/result-key.ts';
import type { Clock } from '../../src/lib/concurrency/clock.ts';
import type { LimitCounters } from '../../src/store/local/limit-counters.ts';
import { createWarpSet } from '../../src/validators/warp-set.ts';
import type { NodeID } from '../../src/warp/ids.ts';
import type { BlsScheme } from './bls-scheme.ts';
import type { Draws } from './draws.ts';
import { type Invariants, maxCollections } from './invariants.ts';
import type { Ledger } from './ledger.ts';
import type { MessagePlan, Plan } from './plan.ts';
import { KEY_PREFIX, NETWORK_NAME, type SharedOptions, type Watcher } from './service.ts';
import { SharedInvariants } from './shared-invariants.ts';
import { SimulatedRedis } from './simulated-redis.ts';
import { Liar, type Target } from './store-lies.ts';

/** Longer than a run, so that no use is worked off before its end. */
const USE_NS = 600e9;

/** The store of a world with replicas, and its watchers. */
export interface ReplicaStore {
  readonly redis: SimulatedRedis;
  readonly invariants: SharedInvariants;
  /** Whether the store may return forged values. */
  readonly canForge: boolean;
  /** @param index of the replica; `number` that of its process */
  optionsOf(index: number, number: number): SharedOptions;
  watcherOf(number: number, own: Invariants): Watcher;
  /** Counts a request like those of clients. */
  useLimit(limits: LimitCounters): Promise<void>;
  /** When all is over. */
  expectLeft(): void;
}

interface ReplicaWorld {
  readonly scheme: BlsScheme;
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly draws: Draws;
  readonly violate: (what: string) => void;
  readonly nodeIDOf: (number: number) => NodeID;
}

export function openReplicaStore(plan: Plan, world: ReplicaWorld): ReplicaStore | undefined {
  const { replicas } = plan;
  if (replicas === undefined) return undefined;
  const { clock, draws, scheme } = world;
  const scope = `v3:${plan.networkID}:${NETWORK_NAME}:`;
  const targets = workOf(plan, world);
  const kinds = new Map(plan.messages.map((message) => [message.message.id as string, kindsOf(plan, message, world)]));
  const invariants = new SharedInvariants({
    plan: { ...plan, replicas },
    nowMs: () => clock.monotonicMs(),
    violate: world.violate,
    messageOf: (key) => targets.get(key.slice((KEY_PREFIX + scope).length))?.message.id,
    kindsOf: (message) => kinds.get(message) ?? Number.POSITIVE_INFINITY,
  });
  const liar = new Liar({ scheme, scope, targetOf: (name) => targets.get(name) });
  const redis = new SimulatedRedis({ clock, draws, liar, plan: replicas.store, watcher: invariants });
  return {
    redis,
    invariants,
    canForge:
      replicas.store.spells.some(({ fault }) => fault === 'lies') ||
      replicas.store.moments.some(({ what }) => what === 'planted'),
    optionsOf(index, number) {
      invariants.started(number);
      return { openLink: redis.linkOpener(index, number) };
    },
    watcherOf: (number, own) => ({
      collectionBegan(message) {
        const ended = own.collectionBegan(message);
        const id = idOf(plan, message);
        const asking = [...own.live].filter((live) => Buffer.from(live.message.message.bytes).equals(message));
        const askedMs = Math.min(clock.monotonicMs(), ...asking.map((live) => live.plan.atMs));
        const endedForAll = invariants.began(number, id, askedMs);
        return (isSigned) => {
          ended();
          endedForAll(isSigned);
        };
      },
      asked(query, message, nodeID) {
        const answered = own.asked(query, message, nodeID);
        return (outcome, code) => {
          answered(outcome, code);
          if (outcome === 'signed') invariants.got(number, idOf(plan, message), nodeID);
        };
      },
    }),
    async useLimit(limits) {
      const { ns } = await limits.take('a client', USE_NS, Number.MAX_SAFE_INTEGER);
      invariants.counted(Math.ceil(ns / USE_NS));
    },
    expectLeft: () => invariants.expectLeft(redis.entries),
  };
}

function idOf({ messages }: Plan, bytes: Uint8Array): string {
  return messages.find(({ message }) => Buffer.from(message.bytes).equals(bytes))?.message.id ?? 'of nobody';
}

/** The names in the store of all work that the plan's requests can lead to. */
function workOf(plan: Plan, { scheme, ledger, nodeIDOf }: ReplicaWorld): ReadonlyMap<string, Target> {
  const targets = new Map<string, Target>();
  for (const { message: index, justification, quorum, buffer, signingSubnetID: given } of plan.requests) {
    const { message, subnetID } = plan.messages[index] as MessagePlan;
    const signingSubnetID = given ?? subnetID;
    if (signingSubnetID === undefined) continue;
    for (const set of ledger.setsOf(signingSubnetID)) {
      const warpSet = createWarpSet(
        set.map(({ number, key, weight }) => ({
          nodeID: nodeIDOf(number),
          weight,
          publicKey: key === undefined ? undefined : scheme.publicKey(key),
        })),
      );
      const quorums = { quorumNum: BigInt(quorum), quorumBuffer: BigInt(buffer) };
      const key = resultKey({ message, justification, ...quorums, signingSubnetID, warpSet, avoided: new Set() });
      const keys = warpSet.validators.flatMap(
        ({ nodeIDs }) => set.find(({ number }) => nodeIDs.includes(nodeIDOf(number)))?.key ?? [],
      );
      targets.set(`work:${key}`, { message, keys });
    }
  }
  return targets;
}

/** The most collections for a message. A part of the buffer is an answer for a few seconds only. */
function kindsOf({ requests, messages }: Plan, message: MessagePlan, { ledger }: ReplicaWorld): number {
  const live = requests.filter((plan) => messages[plan.message] === message).map((plan) => ({ plan, message }));
  return maxCollections(live, ledger) + live.filter(({ plan }) => plan.buffer > 0).length;
}
