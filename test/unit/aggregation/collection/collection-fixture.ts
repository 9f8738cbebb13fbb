import { inspect } from 'node:util';
import { Registry } from 'prom-client';
import { expect } from 'vitest';
import { createPenalties } from '../../../../src/aggregation/admission/penalties.ts';
import { QueryConcurrency } from '../../../../src/aggregation/admission/query-concurrency.ts';
import { type AggregationLimits, aggregationLimits } from '../../../../src/aggregation/aggregation-limits.ts';
import { createAggregatorMetrics } from '../../../../src/aggregation/aggregator-metrics.ts';
import { openCollection } from '../../../../src/aggregation/collection/collection.ts';
import type { CollectionDeps } from '../../../../src/aggregation/collection/collection-context.ts';
import type { Collection, Insufficient, Job, JobEnd, SignedEnd } from '../../../../src/aggregation/collection/job.ts';
import { ProgressFeed } from '../../../../src/aggregation/collection/progress.ts';
import { signatureKey } from '../../../../src/aggregation/request/result-key.ts';
import { awaitExecution, collect as collectStage } from '../../../../src/aggregation/stages/await-execution.ts';
import { JobCallers } from '../../../../src/aggregation/stages/share.ts';
import { createAnswerHistories } from '../../../../src/aggregation/validators/answer-history.ts';
import { createInvalidSigners } from '../../../../src/aggregation/validators/invalid-signers.ts';
import type { AttemptOutcome } from '../../../../src/aggregation/validators/validator-outcome.ts';
import { EventLoopScheduler } from '../../../../src/lib/concurrency/event-loop-scheduler.ts';
import { stages } from '../../../../src/lib/concurrency/stages.ts';
import { bytesToHex } from '../../../../src/lib/encoding/bytes.ts';
import { createMemorySignatureStore } from '../../../../src/store/local/signature-store.ts';
import { createMetrics } from '../../../../src/telemetry/metrics.ts';
import { NO_SPAN } from '../../../../src/telemetry/spans.ts';
import { verifySignedMessage } from '../../../../src/validators/verify-signed-message.ts';
import { createWarpSet } from '../../../../src/validators/warp-set.ts';
import {
  type BlockchainID,
  idFromBytes,
  type NodeID,
  nodeIDFromBytes,
  type SubnetID,
} from '../../../../src/warp/ids.ts';
import { parseSignedMessage } from '../../../../src/warp/signed-message.ts';
import { createUnsignedMessage } from '../../../../src/warp/unsigned-message.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { createModelSigner, type ModelSigner, modelBackend } from '../../bls/backends/model-backend.ts';
import { createInlineBls } from '../../bls/service/inline-bls.ts';
import { type Behaviour, ScriptedSource } from '../scripted-source.ts';

const NETWORK_ID = 1337;
const CHAIN_ID = idFromBytes<BlockchainID>(new Uint8Array(32).fill(3), 'chain');
export const SUBNET_ID = idFromBytes<SubnetID>(new Uint8Array(32).fill(4), 'subnet');

/** The client of all collections. */
const CLIENT = 'client';

export const LIMITS: AggregationLimits = {
  ...aggregationLimits({ requestTimeoutMs: 10_000, signatureCacheSize: 200_000 }),
  maxConcurrentQueries: 100,
};

/** Time of an answer where the test says nothing else. */
export const ANSWER_MS = 10;

interface TestValidator extends ModelSigner {
  readonly weight: bigint;
  readonly nodeIDs: readonly NodeID[];
  readonly publicKeyHex: string;
  /** A signature that is a point, and not the signer's of this message. */
  forge(message: Uint8Array): Uint8Array;
}

export interface FixtureOptions {
  readonly weights: readonly number[];
  /** Weight of validators that have no key. */
  readonly keyless?: number;
  /** Nodes that share the key, by position; 1 where nothing is said. */
  readonly nodeCounts?: readonly number[];
  readonly limits?: Partial<AggregationLimits>;
  readonly sourceChainID?: BlockchainID;
}

export interface CollectOptions {
  readonly quorum: number;
  readonly buffer?: number;
  readonly justification?: Uint8Array;
  readonly signal?: AbortSignal;
  readonly deps?: Partial<CollectionDeps>;
  readonly progress?: ProgressFeed;
  readonly permit?: Omit<Job['permit'], typeof Symbol.dispose>;
  readonly sourceSubnetID?: SubnetID;
  readonly onOpen?: (collection: Collection) => void;
}

/**
 * Validators of the given weights, all connected and signing after {@link ANSWER_MS}, and one collection after another from
 * them.
 */
export function createFixture(options: FixtureOptions) {
  const { weights, keyless = 0, nodeCounts = [] } = options;
  const limits = { ...LIMITS, ...options.limits };
  const clock = new SteppedClock();
  const source = new ScriptedSource(clock);
  const registry = new Registry();
  const store = createMemorySignatureStore({ clock, maxSignatures: 1_000, maxPerSigner: 100 });
  const message = createUnsignedMessage(NETWORK_ID, options.sourceChainID ?? CHAIN_ID, Uint8Array.of(1, 2, 3));

  let nodes = 0;
  const createNodeID = (): NodeID => {
    nodes += 1;
    return nodeIDFromBytes(Uint8Array.from({ length: 20 }, (_, i) => (i === 19 ? nodes : 0)));
  };
  const validators = weights.map((weight, position): TestValidator => {
    const signer = createModelSigner(BigInt(position + 2) ** 3n);
    return {
      ...signer,
      weight: BigInt(weight),
      nodeIDs: Array.from({ length: nodeCounts[position] ?? 1 }, createNodeID),
      publicKeyHex: bytesToHex(signer.publicKey),
      forge: (bytes) => signer.sign(Uint8Array.of(...bytes, 0)),
    };
  });
  const warpSet = createWarpSet([
    // The first node of each key has the whole weight, the others nothing: they add up.
    ...validators.flatMap(({ nodeIDs, publicKey, weight }) =>
      nodeIDs.map((nodeID, i) => ({ nodeID, publicKey, weight: i === 0 ? weight : 0n })),
    ),
    ...(keyless === 0 ? [] : [{ nodeID: createNodeID(), publicKey: undefined, weight: BigInt(keyless) }]),
  ]);
  for (const position of validators.keys()) script(position, 'signs');

  function at(position: number): TestValidator {
    return validators[position] ?? expect.fail(`no validator ${position}`);
  }

  /** What the validator at that position answers if it does so. */
  function acts(position: number, act: Act, afterMs = ANSWER_MS): Behaviour {
    const { sign, forge } = at(position);
    return ({ message }) => {
      switch (act) {
        case 'signs':
          return { afterMs, outcome: { kind: 'signed', signature: sign(message) } };
        case 'forges':
          return { afterMs, outcome: { kind: 'signed', signature: forge(message) } };
        case 'no point':
          return { afterMs, outcome: { kind: 'signed', signature: new Uint8Array(96) } };
        case 'refuses':
          return { afterMs, outcome: { kind: 'refused', code: 2, text: 'not found' } };
        case 'refuses for good':
          return { afterMs, outcome: { kind: 'refused', code: -2, text: 'no handler' } };
        case 'silent':
          return { afterMs: Number.POSITIVE_INFINITY, outcome: { kind: 'timed_out', reason: 'no_answer' } };
        case 'full':
          return { afterMs: 0, outcome: { kind: 'unreachable', reason: 'queue full' } };
      }
    };
  }

  /** The validator at that position behaves so at its first, second, … question, through all of its nodes. */
  function script(position: number, ...behaviours: readonly (Behaviour | Act)[]): void {
    const inTurn = behaviours.map((each) => (typeof each === 'string' ? acts(position, each) : each));
    for (const nodeID of at(position).nodeIDs) {
      source.add(nodeID, (query, attempt) => (inTurn[attempt - 1] ?? inTurn.at(-1) ?? expect.fail())(query, attempt));
    }
  }

  let justifications = 0;
  /** A justification that no collection had before: to the store of signatures, that is another message. */
  function createJustification(): Uint8Array {
    justifications += 1;
    return new Uint8Array(Uint32Array.of(justifications).buffer);
  }

  const queriesFor = (maxQueries: number): QueryConcurrency => new QueryConcurrency({ clock, maxQueries });

  const metrics = createAggregatorMetrics(createMetrics(registry), (subnetID) => subnetID === SUBNET_ID);
  const deps: CollectionDeps = {
    source,
    store,
    bls: createInlineBls(modelBackend),
    invalidSigners: createInvalidSigners(clock),
    clock,
    metrics,
    limits,
    histories: createAnswerHistories(clock, limits.hedgeAfterMs),
    penalties: createPenalties(clock, metrics),
    observeDelay: () => undefined,
    queries: queriesFor(1_000),
    scheduler: new EventLoopScheduler(clock, 1),
  };

  function createFeed(): ProgressFeed {
    const isConnected = source.isConnected.bind(source);
    return new ProgressFeed({ signingSubnetID: SUBNET_ID, pChainHeight: 7n, isConnected });
  }

  /** Runs a job with one caller. */
  async function runJob(options: CollectOptions): Promise<SignedEnd | Insufficient> {
    const { quorum, buffer = 0, justification = new Uint8Array(), deps: more } = options;
    const parts = {
      message,
      justification,
      signingSubnetID: SUBNET_ID,
      sourceSubnetID: options.sourceSubnetID ?? SUBNET_ID,
      pChainHeight: 7n,
      warpSet,
      avoided: new Set<number>(),
      quorumNum: BigInt(quorum),
      quorumBuffer: BigInt(buffer),
    };
    const question = { ...parts, signingSubnetID: undefined, destination: undefined };
    const plan = { ...parts, key: '', rule: 'source_subnet', target: undefined, question } as const;
    const left = new AbortController();
    const signal = AbortSignal.any([left.signal, ...(options.signal ? [options.signal] : [])]);
    const callers = new JobCallers(clock, { ...limits, ...more?.limits });
    const client = CLIENT;
    const progress = options.progress ?? createFeed();
    const key = signatureKey(plan);
    const shared = { plan, signatureKey: key, client, span: NO_SPAN, progress, phases: [], times: callers, signal };
    using collection = openCollection(shared, { ...deps, ...more });
    options.onOpen?.(collection);
    let isHeld = true;
    const permit: Job['permit'] = {
      rest() {
        isHeld = false;
        options.permit?.rest();
      },
      suspend(bytes) {
        isHeld = false;
        options.permit?.suspend(bytes);
      },
      async resume(until) {
        if (!isHeld) await options.permit?.resume(until);
        isHeld = true;
      },
      [Symbol.dispose]: () => undefined,
    };
    const run = stages<Job, JobEnd>(awaitExecution(), collectStage());
    const ended = run({ key, plan, permit, collection, times: callers, signal });
    ended.catch(() => undefined);
    const { promise: over, resolve: fail } = Promise.withResolvers<Insufficient>();
    const wait = { untilMs: 0, signersUntilMs: 0, ends: undefined, spentMs: 0, [Symbol.dispose]: () => undefined };
    const toError = (insufficient: Insufficient): Error => {
      fail(insufficient);
      return new Error('the time of the caller is over');
    };
    using caller = callers.join({ joinedMs: clock.monotonicMs(), wait, signal, toError }, collection);
    caller.left.catch(() => undefined);
    const outcome = await Promise.race([ended, over]);
    left.abort(new Error('the only caller has left'));
    if (outcome.kind === 'not yet') throw new Error('a job ended before its time');
    return outcome;
  }

  function collect(options: CollectOptions) {
    const result = runJob(options);
    result.catch(() => undefined);
    return result;
  }

  /** Lets time pass until the promise settles; returns its value and the time. */
  async function finish<T>(promise: Promise<T>, turns = TURNS): Promise<{ value: T; atMs: number }> {
    return { value: await clock.finish(promise, turns), atMs: clock.monotonicMs() };
  }

  /** Runs a collection to its end, after which nothing may be under way. */
  async function run(options: CollectOptions) {
    const ended = await finish(collect(options));
    expect(leftovers()).toEqual(NOTHING_LEFT);
    return ended;
  }

  /** The position in `weights` of each node asked, in the order of asking. */
  function asked(): number[] {
    return source.calls.map(({ nodeID }) => validators.findIndex(({ nodeIDs }) => nodeIDs.includes(nodeID)));
  }

  /** The positions of the signers of a signed message, which must be one that a destination accepts. */
  function signersOf(outcome: JobEnd, quorum: number): number[] {
    if (outcome.kind !== 'signed') throw new Error(`not signed: ${inspect(outcome, { depth: 5 })}`);
    const verification = verifySignedMessage(
      outcome.signedMessage,
      { networkID: NETWORK_ID, warpSet, quorumNum: BigInt(quorum) },
      modelBackend,
    );
    if (verification.kind === 'invalid') throw new Error(`a destination refuses the result: ${verification.reason}`);
    if (verification.signedWeight !== outcome.signedWeight) throw new Error('the weight is not that of the signers');
    return parseSignedMessage(outcome.signedMessage)
      .signature.signers.map((index) =>
        validators.findIndex(({ publicKeyHex }) => publicKeyHex === warpSet.validators[index]?.publicKeyHex),
      )
      .toSorted((a, b) => a - b);
  }

  /** What must be 0 when nothing is under way any more. */
  function leftovers() {
    return { timers: clock.pendingTimers, listeners: source.listenerCount, requests: source.inFlight };
  }

  return {
    clock,
    source,
    store,
    registry,
    message,
    validators,
    warpSet,
    deps,
    queriesFor,
    createFeed,
    createJustification,
    collect,
    finish,
    run,
    asked,
    signersOf,
    at,
    acts,
    script,
    leftovers,
  };
}

export const ACTS = ['signs', 'forges', 'no point', 'refuses', 'refuses for good', 'silent', 'full'] as const;
export type Act = (typeof ACTS)[number];

export function answers(outcome: AttemptOutcome, afterMs = ANSWER_MS): Behaviour {
  return () => ({ afterMs, outcome });
}

export type Fixture = ReturnType<typeof createFixture>;
export const NOTHING_LEFT = { timers: 0, listeners: 0, requests: 0 };

/** Advances in steps until a promise settles, and waits for turns of the event loop after steps that ran a timer. */
export class SteppedClock extends FakeClock {
  #fired = 0;

  override after(delayMs: number, callback: () => void): () => void {
    return super.after(delayMs, () => {
      this.#fired += 1;
      callback();
    });
  }

  async finish<T>(promise: Promise<T>, turns = TURNS): Promise<T> {
    let isSettled = false;
    const settled = (): void => {
      isSettled = true;
    };
    promise.then(settled, settled);
    const untilMs = this.monotonicMs() + MAX_MS;
    await drain(turns);
    while (!isSettled) {
      if (this.monotonicMs() >= untilMs) throw new Error(`not settled within ${MAX_MS} ms`);
      const fired = this.#fired;
      await this.advance(STEP_MS);
      if (this.#fired > fired) await drain(turns);
    }
    return promise;
  }
}

const MAX_MS = 40_000;
/** Fine enough that all times in tests are multiples of it. */
const STEP_MS = 10;
/** Each decoded point and each check takes one turn of the event loop; tests have some ten validators. */
const TURNS = 60;

/** Lets everything happen that needs no time. */
export async function drain(turns = TURNS): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
