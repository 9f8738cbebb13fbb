import { type AggregationLimits, aggregationLimits } from '../../src/aggregation/aggregation-limits.ts';
import { type BlockchainID, idFromBytes, P_CHAIN_ID, PRIMARY_NETWORK_ID, type SubnetID } from '../../src/warp/ids.ts';
import { createUnsignedMessage, type UnsignedMessage } from '../../src/warp/unsigned-message.ts';
import { Draws } from './draws.ts';
import type { LedgerBlock, LedgerPlan, LedgerSet } from './ledger.ts';
import { API_REACTIONS, type ApiPlan } from './simulated-api.ts';
import type { NetFaults } from './simulated-net.ts';
import type { StorePlan } from './simulated-redis.ts';
import { MOODS, type Mood, REACTIONS, type Reaction, type ValidatorPlan } from './simulated-validator.ts';

/** All that happens in one simulation, drawn from its seed before it starts. */
export interface Plan {
  readonly seed: number;
  readonly networkID: number;
  /** The kinds of faults of this seed: few at a time, so that each has a visible effect. */
  readonly themes: ReadonlySet<Theme>;
  readonly bls: 'model' | 'noble' | 'native';
  /** How long one job of the BLS threads takes. */
  readonly blsMs: readonly [number, number];
  readonly validators: readonly ValidatorPlan[];
  readonly ledger: LedgerPlan;
  readonly net: NetFaults;
  readonly apis: readonly ApiPlan[];
  readonly apiTimeoutMs: number;
  readonly aggregation: AggregationLimits;
  readonly messages: readonly MessagePlan[];
  readonly requests: readonly RequestPlan[];
  /** The time between the last answer and closing the service. */
  readonly lingersMs: number;
  /** Time from the first request for a message to its execution by the fastest validators: until then they refuse it. */
  readonly executionLagMs: number;
  /** Undefined for one service without a shared store. */
  readonly replicas: ReplicasPlan | undefined;
}

/** Replicas of the service, and the store that they share. */
export interface ReplicasPlan {
  readonly count: number;
  readonly store: StorePlan;
  /** One replica at least has no end before the others. */
  readonly ends: readonly ReplicaEnd[];
}

export interface ReplicaEnd {
  readonly replica: number;
  readonly atMs: number;
  readonly how: 'killed' | 'drained';
  /** Delay until another process replaces it; undefined for none. */
  readonly comesBackAfterMs: number | undefined;
}

export type Theme = keyof typeof THEMES;

export interface MessagePlan {
  readonly message: UnsignedMessage;
  readonly subnetID: SubnetID | undefined;
  /** Without it, honest validators refuse. */
  readonly needs: Uint8Array | undefined;
  /** The error code with which all honest validators refuse. */
  readonly refusal: number | undefined;
}

export interface RequestPlan {
  readonly atMs: number;
  readonly client: number;
  readonly message: number;
  readonly justification: Uint8Array;
  readonly quorum: number;
  readonly buffer: number;
  /** 0n: the one proposed. */
  readonly height: bigint;
  readonly signingSubnetID: SubnetID | undefined;
  readonly destinationChainID: BlockchainID | undefined;
  readonly leavesAfterMs: number | undefined;
  /** The time that the client gives the transaction. */
  readonly waitMs: number;
  /** The preferred replica. */
  readonly replica: number;
}

/** Kinds of faults by the share of seeds that have them. */
const THEMES = {
  validators: 0.55,
  connections: 0.25,
  addresses: 0.2,
  api: 0.3,
  changes: 0.35,
  overload: 0.04,
  'slow machine': 0.06,
};

/** Every kind of fault is left out of half of the seeds that could have it: so rare ones are met undisturbed. */
function someOf<Name extends string>(
  draws: Draws,
  weights: Readonly<Record<Name, number>>,
): Partial<Record<Name, number>> {
  const names = Object.keys(weights) as Name[];
  const chosen = names.filter(() => draws.chance(draws.next()));
  const kept = chosen.length === 0 ? [draws.pick(names)] : chosen;
  return Object.fromEntries(kept.map((name) => [name, weights[name]])) as Partial<Record<Name, number>>;
}

const WEIGHTS = Object.fromEntries(Object.entries(REACTIONS).map(([name, { weight }]) => [name, weight])) as Record<
  Reaction,
  number
>;

const id = <T extends SubnetID | BlockchainID>(draws: Draws): T => idFromBytes<T>(draws.bytes(32), 'ID');

/** @param bls selects the backend; by default it follows from the seed */
export function planOf(seed: number, bls?: Plan['bls']): Plan {
  const root = new Draws(`simulation ${seed}`);
  const draws = root.fork('plan');
  const isCalm = draws.chance(0.1);
  const themes = new Set(isCalm ? [] : (Object.keys(THEMES) as Theme[]).filter((theme) => draws.chance(THEMES[theme])));
  const networkID = 54_321;
  const ledger = planLedger(root.fork('ledger'), themes);
  const messages = planMessages(root.fork('messages'), networkID, ledger);
  return {
    seed,
    networkID,
    themes,
    ledger,
    messages,
    bls: bls ?? 'model',
    blsMs: themes.has('slow machine') ? [10, draws.pick([40, 150, 400])] : [0, draws.pick([0, 1, 4])],
    validators: planValidators(root.fork('validators'), themes, ledger),
    net: planNet(root.fork('net'), themes),
    apis: planApis(root.fork('apis'), themes),
    apiTimeoutMs: draws.pick([2_000, 5_000]),
    aggregation: planAggregation(root.fork('aggregation'), themes),
    requests: drawWaits(root.fork('waits'), planRequests(root.fork('requests'), { themes, ledger, messages })),
    lingersMs: draws.chance(0.05) ? 40_000 : draws.pick([0, 0, 0, 700]),
    executionLagMs: planExecutionLag(root.fork('execution')),
    replicas: undefined,
  };
}

/** Requests mostly come after the execution. The longest lag outlasts the time in which refusals are repeated. */
export function planExecutionLag(draws: Draws): number {
  return draws.chance(0.7) ? 0 : draws.pick([9, 100, 400, 1_000, 1_500, 3_000, 7_000]);
}

const FIRST_HEIGHT = 90n;

export function planLedger(
  draws: Draws,
  themes: ReadonlySet<Theme>,
  {
    l1Share = 0.4,
    sizes = [1, 2, 3, 4, 4, 5, 6, 9],
  }: { readonly l1Share?: number; readonly sizes?: readonly number[] } = {},
): LedgerPlan {
  const hasL1 = draws.chance(l1Share);
  const l1 = id<SubnetID>(draws);
  const chains = new Map<BlockchainID, SubnetID>([[P_CHAIN_ID, PRIMARY_NETWORK_ID]]);
  chains.set(id<BlockchainID>(draws), PRIMARY_NETWORK_ID);
  if (hasL1) chains.set(id<BlockchainID>(draws), l1);
  let sets = new Map<SubnetID, LedgerSet>([[PRIMARY_NETWORK_ID, drawSet(draws, 0, draws.pick(sizes), false)]]);
  if (hasL1) sets.set(l1, drawSet(draws, draws.pick([0, 10]), draws.int(1, 4), true));
  const blocks: LedgerBlock[] = [{ height: FIRST_HEIGHT, atMs: -100_000, sets }];
  const append = (atMs: number, changed: boolean): void => {
    if (changed)
      sets = new Map([...sets].map(([subnetID, set]) => [subnetID, draws.chance(0.7) ? change(draws, set) : set]));
    const { height } = blocks.at(-1) as LedgerBlock;
    blocks.push({ height: height + 1n, atMs, sets });
  };
  for (let past = draws.int(2, 6); past > 0; past -= 1) append(-10_000 * past, draws.chance(0.4));
  if (themes.has('changes'))
    for (let atMs = draws.int(500, 3_000); atMs < 14_000; atMs += draws.int(200, 4_000))
      append(atMs, draws.chance(0.6));
  const epochLag = new Map(
    [...chains.keys()].flatMap((chain) => (draws.chance(0.5) ? [[chain, BigInt(draws.int(0, 4))]] : [])),
  );
  return { chains, blocks, epochLag };
}

function drawSet(draws: Draws, first: number, count: number, isL1: boolean): LedgerSet {
  const max = draws.pick([1, 10, 1_000_000]);
  return Array.from({ length: count }, (_, offset) => {
    const number = first + offset;
    return {
      number,
      // Some have no key, and some share one.
      key: draws.chance(0.08) ? undefined : draws.chance(0.08) && offset > 0 ? number - 1 : number,
      weight: BigInt(draws.int(1, max)),
      ...(isL1 && { balance: draws.chance(0.15) ? 5n : 1_000_000n }),
    };
  });
}

/** Adds or removes a validator, or changes its weight or key. */
function change(draws: Draws, set: LedgerSet): LedgerSet {
  const at = draws.int(0, set.length - 1);
  const entry = set[at];
  if (entry === undefined) return set;
  switch (draws.pick(['comes', 'goes', 'weight', 'weight', 'key'] as const)) {
    case 'comes': {
      const number = Math.max(...set.map((one) => one.number)) + 1;
      return [...set, { ...entry, number, key: number }];
    }
    case 'goes':
      return set.length > 1 ? set.toSpliced(at, 1) : set;
    case 'weight':
      return set.with(at, { ...entry, weight: entry.weight * BigInt(draws.pick([2, 3, 10])) + 1n });
    case 'key':
      return set.with(at, { ...entry, key: (entry.key ?? entry.number) + 100 });
  }
}

export function planMessages(draws: Draws, networkID: number, { chains }: LedgerPlan, most = 3): MessagePlan[] {
  return Array.from({ length: draws.int(1, most) }, () => {
    const isUnknown = draws.chance(0.04);
    const chain = isUnknown ? id<BlockchainID>(draws) : draws.pick([...chains.keys()]);
    const isForeign = draws.chance(0.02);
    const message = createUnsignedMessage(isForeign ? networkID + 1 : networkID, chain, draws.bytes(draws.int(1, 60)));
    return {
      message,
      subnetID: isForeign ? undefined : chains.get(chain),
      // Justifications of the P-Chain have other forms.
      needs: chain !== P_CHAIN_ID && draws.chance(0.25) ? draws.bytes(8) : undefined,
      refusal: draws.chance(0.08) ? draws.pick([6, 11, 4, -2]) : undefined,
    };
  });
}

export function planValidators(draws: Draws, themes: ReadonlySet<Theme>, { blocks }: LedgerPlan): ValidatorPlan[] {
  const numbers = new Set(
    blocks.flatMap(({ sets }) => [...sets.values()].flatMap((set) => set.map(({ number }) => number))),
  );
  // From none over the harmless third to all.
  const badShare = themes.has('validators') ? draws.pick([0.1, 0.3, 0.3, 0.6, 1]) : 0;
  const homelessShare = themes.has('addresses') ? draws.pick([0.1, 0.3, 0.8]) : 0;
  const fashion = someOf(draws, WEIGHTS);
  const moods = someOf(draws, MOODS);
  return [...numbers].map((number) => ({
    number,
    misbehaviour: draws.chance(badShare) ? draws.pick([0.3, 1, 1]) : 0,
    habits: draws.chance(0.7) ? fashion : someOf(draws, WEIGHTS),
    answerMs: draws.chance(0.9) ? [1, 60] : [1, 250],
    lagsUntilMs: draws.int(0, 12_000),
    moods: draws.chance(homelessShare) ? planMoods(draws, moods) : [],
  }));
}

function planMoods(draws: Draws, moods: Partial<Record<Mood, number>>): ValidatorPlan['moods'] {
  const plan: { fromMs: number; mood: Mood }[] = [];
  let fromMs = draws.pick([0, draws.int(0, 8_000)]);
  for (let count = draws.int(1, 3); count > 0; count -= 1) {
    plan.push({ fromMs, mood: plan.length % 2 === 0 ? (draws.weighted(moods) ?? 'refusing') : 'up' });
    fromMs += draws.int(200, 6_000);
  }
  return plan;
}

export function planNet(draws: Draws, themes: ReadonlySet<Theme>): NetFaults {
  if (!themes.has('connections')) return { latencyMs: [1, 20], stall: 0, cut: 0, split: 0 };
  return {
    latencyMs: draws.pick([
      [1, 20],
      [1, 200],
      [100, 900],
    ] as const),
    stall: draws.pick([0, 0.02, 0.1]),
    cut: draws.pick([0, 0.01, 0.05]),
    split: draws.pick([0, 0.2]),
  };
}

export function planApis(draws: Draws, themes: ReadonlySet<Theme>): ApiPlan[] {
  const habits = someOf(draws, API_REACTIONS);
  return Array.from({ length: draws.int(1, 2) }, () => {
    const isBad = themes.has('api');
    const fromMs = draws.int(0, 9_000);
    return {
      habits,
      misbehaviour: isBad ? draws.pick([0, 0.05, 0.3, 0.9]) : 0,
      answerMs: isBad
        ? draws.pick([
            [1, 20],
            [50, 900],
          ] as const)
        : [1, 20],
      lagMs: isBad ? draws.pick([0, 0, 2_500]) : 0,
      outages:
        isBad && draws.chance(0.3)
          ? [
              {
                fromMs,
                untilMs: fromMs + draws.int(100, 9_000),
                how: draws.pick(['refuses connections', 'hangs', 'status 500'] as const),
              },
            ]
          : [],
      proposedLag: BigInt(draws.pick([0, 0, 1])),
    };
  });
}

export function planAggregation(draws: Draws, themes: ReadonlySet<Theme>): AggregationLimits {
  const isTight = themes.has('overload');
  const requestTimeoutMs = draws.pick([1_500, 10_000, 10_000]);
  return {
    ...aggregationLimits({ requestTimeoutMs, signatureCacheSize: 0 }),
    peerTimeoutMs: draws.pick([1_000, 3_000]),
    hedgeAfterMs: draws.pick([200, 500]),
    connectTimeoutMs: draws.pick([1_000, 5_000]),
    maxAggregationsInFlight: isTight ? draws.int(1, 5) : 256,
    maxQueriesInFlight: isTight ? draws.int(1, 10) : 8_192,
    maxConcurrentQueries: draws.chance(0.1) ? draws.int(1, 4) : 2_048,
    signatureCacheSize: draws.pick([2, 1_000]),
    signatureCachePerSigner: draws.pick([1, 100]),
    resultCacheBytes: draws.pick([2_048, 1_000_000]),
  };
}

export const NO_JUSTIFICATION = new Uint8Array();

/** Some clients wait, and others ask for the same message without. */
export function drawWaits(draws: Draws, requests: readonly RequestPlan[]): RequestPlan[] {
  return requests.map((request) => ({
    ...request,
    waitMs: draws.chance(0.15) ? draws.pick([500, 3_000, 20_000]) : 0,
  }));
}

function planRequests(
  draws: Draws,
  { themes, ledger, messages }: { themes: ReadonlySet<Theme>; ledger: LedgerPlan; messages: readonly MessagePlan[] },
): RequestPlan[] {
  const requests: RequestPlan[] = [];
  const tip = ledger.blocks.findLast(({ atMs }) => atMs <= 0)?.height ?? FIRST_HEIGHT;
  const end = draws.chance(0.04) ? 60_000 : 7_000;
  for (let count = themes.has('overload') ? draws.int(2, 4) : draws.int(1, 3); count > 0; count -= 1) {
    const number = draws.int(0, messages.length - 1);
    const { needs } = messages[number] as MessagePlan;
    const isGiven = needs !== undefined ? draws.chance(0.6) : draws.chance(0.08);
    const request: RequestPlan = {
      // Some before the service is ready.
      atMs: draws.chance(0.06) ? draws.int(0, 1_500) : draws.int(1_500, end),
      client: draws.int(1, 4),
      message: number,
      justification: isGiven ? (needs ?? draws.bytes(4)) : NO_JUSTIFICATION,
      ...drawQuorum(draws),
      height: draws.chance(0.4) ? FIRST_HEIGHT + BigInt(draws.int(-1, Number(tip - FIRST_HEIGHT) + 2)) : 0n,
      signingSubnetID: draws.chance(0.08) ? draws.pick([...ledger.chains.values()]) : undefined,
      destinationChainID: undefined,
      leavesAfterMs: draws.chance(0.1) ? draws.int(0, 3_000) : undefined,
      waitMs: 0,
      replica: 0,
    };
    requests.push(
      draws.chance(0.1)
        ? { ...request, height: 0n, destinationChainID: draws.pick([...ledger.chains.keys()]) }
        : request,
    );
    // Equal ones at the same time, and others that differ in one thing, as flights must tell apart.
    for (let more = themes.has('overload') ? draws.int(8, 16) : draws.pick([0, 0, 1, 2]); more > 0; more -= 1) {
      requests.push({
        ...request,
        ...varied(draws, request, { needs, tip, isCrowd: themes.has('overload') }),
        client: draws.int(1, 4),
      });
    }
  }
  return requests.sort((a, b) => a.atMs - b.atMs);
}

export function drawQuorum(draws: Draws): { quorum: number; buffer: number } {
  const quorum = draws.pick([67, 67, 50, 80, 100, 1, draws.int(0, 100)]);
  return { quorum, buffer: draws.chance(0.3) ? draws.int(0, 100 - quorum) : 0 };
}

function varied(
  draws: Draws,
  request: RequestPlan,
  { needs, tip, isCrowd }: { needs: Uint8Array | undefined; tip: bigint; isCrowd: boolean },
): Partial<RequestPlan> {
  const laterMs = { atMs: request.atMs + draws.pick([0, 0, 5, 60, 400]) };
  switch (draws.pick(['equal', 'equal', 'left', 'quorum', 'justification', 'height'] as const)) {
    case 'equal':
      return isCrowd && draws.chance(0.8) ? { ...laterMs, quorum: draws.int(1, 60), buffer: 0 } : laterMs;
    case 'left':
      return { ...laterMs, leavesAfterMs: draws.int(0, 800) };
    case 'quorum':
      return { ...laterMs, ...drawQuorum(draws) };
    case 'justification':
      return {
        ...laterMs,
        justification: request.justification.length > 0 ? NO_JUSTIFICATION : (needs ?? NO_JUSTIFICATION),
      };
    case 'height':
      return { ...laterMs, height: tip - BigInt(draws.int(0, 3)), destinationChainID: undefined };
  }
}
