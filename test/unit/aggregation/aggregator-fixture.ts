import { Registry } from 'prom-client';
import { createPenalties } from '../../../src/aggregation/admission/penalties.ts';
import type { AggregationLimits } from '../../../src/aggregation/aggregation-limits.ts';
import { AggregatorError } from '../../../src/aggregation/aggregator-error.ts';
import { createAggregatorMetrics } from '../../../src/aggregation/aggregator-metrics.ts';
import type { AggregationRequest } from '../../../src/aggregation/request/aggregation-request.ts';
import { createDestinations } from '../../../src/aggregation/signers/destination-facts.ts';
import {
  createSigningResolver,
  type SigningResolverOptions,
} from '../../../src/aggregation/signers/signing-resolver.ts';
import { createAggregator } from '../../../src/aggregation/stages/aggregator.ts';
import type { AggregatorOptions } from '../../../src/aggregation/stages/aggregator-parts.ts';
import type { Caller } from '../../../src/aggregation/stages/calls.ts';
import { createSubnetPolicy } from '../../../src/aggregation/subnet-policy.ts';
import type { L1MessageRequest } from '../../../src/aggregation/transactions/l1-messages.ts';
import { createAnswerHistories } from '../../../src/aggregation/validators/answer-history.ts';
import { createInvalidSigners } from '../../../src/aggregation/validators/invalid-signers.ts';
import { ApiError } from '../../../src/pchain/rpc/api-error.ts';
import { createSubnetDirectory } from '../../../src/pchain/state/subnet-directory.ts';
import { createValidatorSets } from '../../../src/pchain/state/validator-sets.ts';
import type { WarpReading } from '../../../src/pchain/state/warp-configs.ts';
import { createMemorySignatureStore } from '../../../src/store/local/signature-store.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import type { Validator } from '../../../src/validators/validator.ts';
import { createWarpSet } from '../../../src/validators/warp-set.ts';
import {
  type BlockchainID,
  idFromBytes,
  type NodeID,
  nodeIDFromBytes,
  P_CHAIN_ID,
  PRIMARY_NETWORK_ID,
  type SubnetID,
  type TxID,
} from '../../../src/warp/ids.ts';
import { createUnsignedMessage, type UnsignedMessage } from '../../../src/warp/unsigned-message.ts';
import { settle } from '../../support/fake-clock.ts';
import { createModelSigner, modelBackend } from '../bls/backends/model-backend.ts';
import { createInlineBls } from '../bls/service/inline-bls.ts';
import { hang, NOT_FOUND } from './api-failures.ts';
import { ANSWER_MS, LIMITS as COLLECTION_LIMITS, SteppedClock } from './collection/collection-fixture.ts';
import { ScriptedSource } from './scripted-source.ts';

export const NETWORK_ID = 1337;
const id = <T extends BlockchainID | SubnetID>(byte: number): T =>
  idFromBytes(new Uint8Array(32).fill(byte), 'id') as unknown as T;
export const CHAIN = id<BlockchainID>(1);
export const UNKNOWN_CHAIN = id<BlockchainID>(2);
export const SUBNET = id<SubnetID>(3);
export const OTHER_SUBNET = id<SubnetID>(4);
export const EMPTY_SUBNET = id<SubnetID>(5);
export const UNKNOWN_SUBNET = id<SubnetID>(6);

export const LIMITS: AggregationLimits = {
  ...COLLECTION_LIMITS,
  maxAggregationsInFlight: 4,
  maxQueriesInFlight: 100,
  resultCacheBytes: 10_000,
};

export function nodeOf(number: number): NodeID {
  return nodeIDFromBytes(Uint8Array.from({ length: 20 }, (_, i) => (i === 19 ? number : 0)));
}

export const signers = [1, 2, 3, 4, 5].map((number) => ({
  nodeID: nodeOf(number),
  ...createModelSigner(BigInt(number + 1) ** 5n),
}));

export function validatorSet(...weights: bigint[]): Validator[] {
  return weights.map((weight, i) => ({ nodeID: nodeOf(i + 1), publicKey: signers[i]?.publicKey, weight }));
}

/** The questions an aggregator asks the node's API, answered as the test says. */
class FakeNodeApi {
  height = 100n;
  proposed = 98n;
  sets = new Map<SubnetID, (height: bigint) => readonly Validator[]>([
    [SUBNET, () => validatorSet(40n, 30n, 20n, 10n)],
    [OTHER_SUBNET, () => validatorSet(10n, 10n)],
    [PRIMARY_NETWORK_ID, () => validatorSet(25n, 25n, 25n, 25n)],
  ]);
  /** Instead of any answer. */
  failure: Error | undefined;
  hangs = false;
  calls: string[] = [];

  async getHeight(signal: AbortSignal): Promise<bigint> {
    return this.#answer('getHeight', signal, () => this.height);
  }

  async getProposedHeight(signal: AbortSignal): Promise<bigint> {
    return this.#answer('getProposedHeight', signal, () => this.proposed);
  }

  async getValidatorsAt(subnetID: SubnetID, height: bigint | 'proposed', signal: AbortSignal) {
    return this.#answer('getValidatorsAt', signal, () => {
      if (height === 'proposed' || height > this.height) throw new ApiError('height_not_reached', 'too high');
      return this.sets.get(subnetID)?.(height) ?? [];
    });
  }

  async validatedBy(chainID: BlockchainID, signal: AbortSignal): Promise<SubnetID> {
    return this.#answer('validatedBy', signal, () => {
      if (chainID !== CHAIN) throw NOT_FOUND;
      return SUBNET;
    });
  }

  async getSubnet(subnetID: SubnetID, signal: AbortSignal) {
    return this.#answer('getSubnet', signal, () => {
      if (subnetID !== EMPTY_SUBNET && !this.sets.has(subnetID)) throw NOT_FOUND;
      return { conversionID: undefined, managerChainID: undefined };
    });
  }

  async getTx(_txID: TxID, signal: AbortSignal): Promise<Uint8Array> {
    return this.#answer('getTx', signal, () => {
      throw NOT_FOUND;
    });
  }

  async getBlockchains(signal: AbortSignal) {
    return this.#answer('getBlockchains', signal, () => [{ blockchainID: CHAIN, subnetID: SUBNET }]);
  }

  #answer<T>(method: string, signal: AbortSignal, answer: () => T): Promise<T> {
    this.calls.push(method);
    if (this.hangs) return hang(signal);
    if (this.failure !== undefined) return Promise.reject(this.failure);
    return Promise.try(answer);
  }
}

/** Finds {@link FOUND} for whatever it is asked, and remembers that. */
class ScriptedL1Messages {
  readonly asked: (TxID | Uint8Array)[] = [];

  async ofTransaction({ txID }: { txID: TxID }, _signal?: AbortSignal): Promise<L1MessageRequest> {
    this.asked.push(txID);
    return FOUND;
  }

  async ofJustification(justification: Uint8Array): Promise<L1MessageRequest> {
    this.asked.push(justification);
    return FOUND;
  }
}

export const TX = idFromBytes<TxID>(new Uint8Array(32).fill(9), 'transaction');
export const FOUND: L1MessageRequest = {
  message: createUnsignedMessage(NETWORK_ID, P_CHAIN_ID, Uint8Array.of(7)),
  justification: Uint8Array.of(8),
  managerChainID: CHAIN,
  signingSubnetID: SUBNET,
};

/** An operator who tracks no subnet and allows all. */
export const NO_POLICY = createSubnetPolicy({ trackedSubnetIDs: [], allowedSubnetIDs: undefined });

export const NO_EPOCH = { number: 0n, pChainHeight: 0n, startTime: 0n };
const READ: WarpReading = {
  kind: 'read',
  config: { isEnabled: true, quorumNum: 67n, requirePrimaryNetworkSigners: false },
};
/** Every chain has the default configuration. */
export const DEFAULT_WARP = { get: async () => READ, known: () => READ };

interface HarnessParts
  extends Partial<Omit<AggregatorOptions, 'directory' | 'resolver'>>,
    Partial<Pick<SigningResolverOptions, 'directory' | 'destinations' | 'validatorSets' | 'epochs' | 'funds'>> {
  readonly clock?: SteppedClock;
}

const NEVER = new AbortController().signal;

export function createHarness(limits: Partial<AggregationLimits> = {}, parts: HarnessParts = {}) {
  const { clock = new SteppedClock(), subnets = NO_POLICY } = parts;
  const source = new ScriptedSource(clock);
  const api = new FakeNodeApi();
  const registry = new Registry();
  const l1Messages = new ScriptedL1Messages();
  for (const number of signers.keys()) signs(number + 1);
  const metrics = createAggregatorMetrics(createMetrics(registry));
  const penalties = createPenalties(clock, metrics);
  const directory = parts.directory ?? createSubnetDirectory({ api, networkID: NETWORK_ID, clock });
  const resolving = {
    networkID: NETWORK_ID,
    directory,
    destinations: createDestinations({ directory, warpConfigs: DEFAULT_WARP }),
    validatorSets: createValidatorSets({ api, clock, build: createWarpSet }),
    epochs: { get: async () => NO_EPOCH, peek: () => undefined },
    funds: { soonInactive: async () => new Set<NodeID>(), knownSoonInactive: () => new Set<NodeID>() },
    clock,
    resolveTimeoutMs: 5_000,
    ...parts,
  };
  const aggregator = createAggregator({
    resolver: createSigningResolver(resolving),
    l1Messages,
    invalidSigners: createInvalidSigners(clock),
    histories: createAnswerHistories(clock, LIMITS.hedgeAfterMs),
    subnets,
    source,
    store: createMemorySignatureStore({ clock, maxSignatures: 1_000, maxPerSigner: 100 }),
    bls: createInlineBls(modelBackend),
    clock,
    metrics,
    penalties,
    limits: { ...LIMITS, ...limits },
    ...parts,
  });

  function start(more: RequestOptions = {}, options: Partial<Caller> = {}) {
    const result = aggregator.aggregate(request(more), { signal: NEVER, ...options });
    result.catch(() => undefined);
    return result;
  }

  const startFor = (client: string, more: RequestOptions) => start(more, { client });

  const finish = <T>(result: Promise<T>) => clock.finish(result);

  async function failure(more: RequestOptions = {}): Promise<AggregatorError> {
    try {
      await finish(start(more));
    } catch (error) {
      if (error instanceof AggregatorError) return error;
      throw error;
    }
    throw new Error('expected a failure');
  }

  function signs(number: number, afterMs = ANSWER_MS): void {
    const { sign } = signers[number - 1] as (typeof signers)[number];
    source.add(nodeOf(number), ({ message }) => ({
      afterMs,
      outcome: { kind: 'signed', signature: sign(message) },
    }));
  }

  function silence(...numbers: number[]): void {
    for (const number of numbers) {
      source.add(nodeOf(number), () => ({
        afterMs: Number.POSITIVE_INFINITY,
        outcome: { kind: 'timed_out', reason: 'no_answer' },
      }));
    }
  }

  const leftovers = () => ({ timers: clock.pendingTimers, listeners: source.listenerCount, requests: source.inFlight });
  return { clock, source, api, registry, l1Messages, start, startFor, finish, failure, signs, silence, leftovers };
}

/** {@link AggregationRequest} with the message or the justification alone in place of the subject. */
export interface RequestOptions extends Omit<Partial<AggregationRequest>, 'subject'> {
  readonly message?: UnsignedMessage;
  readonly justification?: Uint8Array;
  readonly subject?: AggregationRequest['subject'];
}

export function messageOf(number: number, chainID = CHAIN): UnsignedMessage {
  return createUnsignedMessage(NETWORK_ID, chainID, Uint8Array.of(number >> 8, number & 0xff));
}

export const MESSAGE = createUnsignedMessage(NETWORK_ID, CHAIN, Uint8Array.of(1));

/** What has become of promises by now: `open`, `done`, or the code of the failure. */
export async function outcomesOf(results: readonly Promise<unknown>[]): Promise<readonly string[]> {
  await settle();
  return Promise.all(
    results.map((result) =>
      Promise.race([result.then(() => 'done'), Promise.resolve().then(() => 'open')]).catch((error: unknown) =>
        error instanceof AggregatorError ? error.code : String(error),
      ),
    ),
  );
}

function request({ message = MESSAGE, justification = new Uint8Array(), ...more }: RequestOptions = {}) {
  return { subject: { kind: 'message', message, justification }, ...more } satisfies AggregationRequest;
}
