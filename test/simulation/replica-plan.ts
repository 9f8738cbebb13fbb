import { Draws } from './draws.ts';
import type { LedgerPlan } from './ledger.ts';
import {
  drawQuorum,
  drawWaits,
  type MessagePlan,
  NO_JUSTIFICATION,
  type Plan,
  planAggregation,
  planApis,
  planExecutionLag,
  planLedger,
  planMessages,
  planNet,
  planValidators,
  type ReplicaEnd,
  type ReplicasPlan,
  type RequestPlan,
  type Theme,
} from './plan.ts';
import { STORE_FAULTS, STORE_MOMENTS, type StoreMoment, type StorePlan, type StoreSpell } from './simulated-redis.ts';
import { LIES } from './store-lies.ts';

/** When the first requests come: replicas are connected by then. */
const OPEN_MS = 1_200;
/** When the last ones come. */
const END_MS = 5_000;

/** Fewer of the faults that one service has alone than in `plan.ts`: here is what replicas do to each other. */
const THEMES: Readonly<Partial<Record<Theme, number>>> = {
  validators: 0.3,
  connections: 0.08,
  addresses: 0.08,
  api: 0.08,
  changes: 0.15,
  'slow machine': 0.04,
};

/** Most worlds have three replicas; one in twelve has two or four. */
function countOf(seed: number): number {
  if (seed % 12 !== 0) return 3;
  return seed % 24 === 0 ? 4 : 2;
}

export function planOfReplicas(seed: number, bls?: Plan['bls']): Plan & { readonly replicas: ReplicasPlan } {
  const root = new Draws(`replicas ${seed}`);
  const draws = root.fork('plan');
  const themes = new Set(
    draws.chance(0.4) ? [] : (Object.keys(THEMES) as Theme[]).filter((theme) => draws.chance(THEMES[theme] ?? 0)),
  );
  const networkID = 54_321;
  const ledger = planLedger(root.fork('ledger'), themes, { l1Share: 0.1, sizes: [1, 2, 2, 3, 3, 4] });
  const messages = planMessages(root.fork('messages'), networkID, ledger, 2);
  const count = countOf(seed);
  const requests = drawWaits(root.fork('waits'), planRequests(root.fork('requests'), { ledger, messages, count }));
  const replicas = planReplicas(root.fork('replicas'), count, requests);
  return {
    seed,
    networkID,
    themes,
    ledger,
    messages,
    requests,
    replicas,
    bls: bls ?? 'model',
    blsMs: themes.has('slow machine') ? [10, draws.pick([40, 150])] : [0, draws.pick([0, 1, 4])],
    validators: planSlow(root.fork('slow'), planValidators(root.fork('validators'), themes, ledger)),
    net: planNet(root.fork('net'), themes),
    apis: planApis(root.fork('apis'), themes).slice(0, 1),
    apiTimeoutMs: draws.pick([2_000, 5_000]),
    aggregation: planAggregation(root.fork('aggregation'), themes),
    lingersMs: 0,
    executionLagMs: planExecutionLag(root.fork('execution')),
  };
}

/** Collections that take longer than a lease lasts: so it has to be renewed. */
function planSlow(draws: Draws, validators: Plan['validators']): Plan['validators'] {
  if (!draws.chance(0.3)) return validators;
  const answerMs = draws.pick([
    [100, 250],
    [800, 2_600],
  ] as const);
  return validators.map((validator) => (draws.chance(0.6) ? { ...validator, answerMs } : validator));
}

function planReplicas(draws: Draws, count: number, requests: readonly RequestPlan[]): ReplicasPlan {
  const survivor = draws.int(0, count - 1);
  const ends: ReplicaEnd[] = [];
  if (draws.chance(0.45))
    for (let replica = 0; replica < count; replica += 1) {
      if (replica === survivor || !draws.chance(0.6)) continue;
      ends.push({
        replica,
        atMs: whileAtWork(draws, requests),
        how: draws.chance(0.65) ? 'killed' : 'drained',
        comesBackAfterMs: draws.chance(0.25) ? draws.int(0, 1_000) : undefined,
      });
    }
  return {
    count,
    ends,
    store: planStore(draws, count, requests),
  };
}

/** Mostly while something is under way; a collection takes some 100 ms. */
function whileAtWork(draws: Draws, requests: readonly RequestPlan[]): number {
  const { atMs } = draws.pick(requests);
  return draws.chance(0.75) ? atMs + draws.int(1, draws.pick([30, 100, 400])) : draws.int(OPEN_MS, END_MS);
}

function planStore(draws: Draws, count: number, requests: readonly RequestPlan[]): StorePlan {
  const latencyMs = draws.pick([
    [0, 1],
    [0, 1],
    [1, 10],
    [1, 40],
  ] as const);
  // As often as not the store is well, and all that replicas do is counted exactly.
  const isWell = draws.chance(0.4);
  const spells: StoreSpell[] = [];
  const moments: { atMs: number; what: StoreMoment }[] = [];
  for (let some = isWell ? 0 : draws.int(0, 2); some > 0; some -= 1) {
    const fromMs = draws.chance(0.3) ? draws.int(0, OPEN_MS) : whileAtWork(draws, requests) - draws.int(0, 300);
    spells.push({
      fromMs,
      untilMs: fromMs + draws.pick([draws.int(50, 400), draws.int(300, 3_000), 10_000]),
      fault: draws.weighted(STORE_FAULTS) ?? 'lies',
      replica: draws.chance(0.5) ? draws.int(0, count - 1) : undefined,
    });
  }
  for (let some = isWell ? 0 : draws.int(spells.length === 0 ? 1 : 0, 3); some > 0; some -= 1)
    moments.push({ atMs: whileAtWork(draws, requests), what: draws.weighted(STORE_MOMENTS) ?? 'wiped' });
  return { latencyMs, spells, moments, lies: LIES, lying: draws.pick([0.1, 0.5, 1]) };
}

function planRequests(
  draws: Draws,
  {
    ledger,
    messages,
    count,
  }: { readonly ledger: LedgerPlan; readonly messages: readonly MessagePlan[]; readonly count: number },
): RequestPlan[] {
  const requests: RequestPlan[] = [];
  for (const [number, { needs }] of messages.entries()) {
    const kinds = draws.pick([1, 1, 1, 2]);
    for (let kind = 0; kind < kinds; kind += 1) {
      const request = {
        message: number,
        justification: needs !== undefined && draws.chance(0.8) ? needs : NO_JUSTIFICATION,
        ...drawQuorum(draws),
        height: 0n,
        signingSubnetID: draws.chance(0.04) ? draws.pick([...ledger.chains.values()]) : undefined,
        destinationChainID: undefined,
      };
      // Several at once on different replicas, and some when it is done, or may have been forgotten.
      const atMs = draws.int(OPEN_MS, END_MS - 1_500);
      for (let more = draws.int(2, 4); more > 0; more -= 1)
        requests.push({
          ...request,
          atMs: atMs + draws.pick([0, 0, 0, 1, 5, 20, 100, 500, draws.int(0, 1_500)]),
          client: draws.int(1, 4),
          waitMs: 0,
          leavesAfterMs: draws.chance(0.06) ? draws.int(0, 800) : undefined,
          replica: draws.int(0, count - 1),
        });
    }
  }
  return requests.sort((a, b) => a.atMs - b.atMs);
}
