import { monitorEventLoopDelay } from 'node:perf_hooks';
import { expect } from 'vitest';
import type { Devnet } from '../../src/devnet/devnet.ts';
import { bytesToHex, parseHex } from '../../src/lib/encoding/bytes.ts';
import type { Validator } from '../../src/validators/validator.ts';
import type { Behaviour } from '../devnet/behaviour.ts';
import { setBehaviour } from '../devnet/validator-faults.ts';
import {
  type Answer,
  type RunningService,
  type ServiceSettings,
  startService,
  validatorsAt,
} from '../integration/service/running-service.ts';
import { type CanonicalSet, isSignedBy, toCanonicalSet } from './independent-check.ts';
import type { Misbehaviours, WeightedIndex } from './misbehaviour.ts';

/** Enough that no single one has more than a sixth of the weight, and that few make up the third that may misbehave. */
const VALIDATORS = 12;
/** The defaults, so that what is shown is true of them. Beside the collection, a request looks up the set. */
const DEADLINE_MS = 10_000 + 5_000;

/** What each of these validators does. */
export type Plan = ReadonlyMap<number, Behaviour>;
type Draw = (validators: readonly WeightedIndex[]) => Plan;

/** A network and a service for one run, which depends only on the behaviour of its validators. */
export interface FaultWorld extends AsyncDisposable {
  readonly service: RunningService;
  /** Validators of the primary network. */
  readonly validators: readonly WeightedIndex[];
  readonly totalWeight: bigint;
  /**
   * The longest stall of this process, with service and validators. If it comes near the 3 s that a validator has for its answer, the
   * machine is at fault, and honest validators count as silent.
   */
  longestStallMs(): number;
  misbehave(plan: Plan): void;
  /** Asks for the signature of a new message. */
  ask(quorumPercentage: number): Promise<TimedAnswer>;
  /** Expects a signed message in time, which this project's verifier and a plain pairing accept. */
  expectSigned(answer: TimedAnswer, quorum: number, circumstances?: string): Promise<void>;
}

export interface TimedAnswer extends Answer {
  readonly message: string;
  readonly tookMs: number;
}

/** @param draw returns the behaviour of validators before the service starts */
export async function startFaultWorld(
  draw: Draw = () => new Map(),
  settings: ServiceSettings = {},
): Promise<FaultWorld> {
  let set: readonly Validator[] = [];
  let canonicalSet: CanonicalSet | undefined;
  let validators: readonly WeightedIndex[] = [];
  const service = await startService(VALIDATORS, {
    settings,
    async prepare(devnet) {
      set = await validatorsAt(devnet.apiUrl, devnet.subnets.primary.subnetID);
      // In the order of the network: that of the set depends on the NodeIDs, which are new in each run.
      validators = set
        .map(({ nodeID, weight }) => ({ index: devnet.nodeIDs.indexOf(nodeID), weight }))
        .toSorted((a, b) => a.index - b.index);
      setBehaviours(devnet, draw(validators));
    },
  });
  const stalls = monitorEventLoopDelay();
  stalls.enable();
  const { devnet } = service;
  const { subnetID } = devnet.subnets.primary;
  return {
    service,
    validators,
    totalWeight: validators.reduce((sum, { weight }) => sum + weight, 0n),
    longestStallMs: () => Math.round(stalls.max / 1e6),
    misbehave: (plan) => setBehaviours(devnet, plan),
    async ask(quorumPercentage) {
      const [message = ''] = devnet.emitMessages(1);
      const startMs = performance.now();
      const answer = await service.post({ message, quorumPercentage });
      return { ...answer, message, tookMs: performance.now() - startMs };
    },
    async expectSigned(answer, quorum, circumstances = '') {
      expect(answer.status, `${circumstances}: ${JSON.stringify(answer.body)}`).toBe(201);
      expect(answer.tookMs, circumstances).toBeLessThan(DEADLINE_MS);
      expect(await service.verify(answer, { subnetID, quorum }), circumstances).toMatchObject({ kind: 'valid' });
      const signed = parseHex(String(answer.body['signedMessage']), 'signedMessage');
      expect(bytesToHex(signed).startsWith(bytesToHex(parseHex(answer.message, 'message')))).toBe(true);
      canonicalSet ??= toCanonicalSet(set);
      expect(isSignedBy(signed, canonicalSet, quorum), circumstances).toBe(true);
    },
    async [Symbol.asyncDispose]() {
      stalls.disable();
      await service[Symbol.asyncDispose]();
    },
  };
}

export function behavioursOf(misbehaviours: Misbehaviours): Plan {
  return new Map([...misbehaviours].map(([index, { behaviour }]) => [index, behaviour]));
}

interface OutcomeOfDetails {
  readonly weight: string;
  readonly count: number;
  readonly reasons?: readonly { readonly reason: string; readonly weight: string }[];
}

/** The outcomes in the details of a failure, without those of no validator; each reason of `timed_out` separately. */
export function outcomesOf({ body }: Answer): { name: string; weight: bigint }[] {
  const { outcomes } = body['details'] as { outcomes: Record<string, OutcomeOfDetails> };
  return Object.entries(outcomes).flatMap(([name, { weight, count, reasons = [] }]) => {
    if (name !== 'timed_out') return count > 0 ? [{ name, weight: BigInt(weight) }] : [];
    return reasons.map((one) => ({ name: `${name}: ${one.reason}`, weight: BigInt(one.weight) }));
  });
}

function setBehaviours(devnet: Devnet, plan: Plan): void {
  for (const [index, behaviour] of plan) setBehaviour(devnet.validator(index), behaviour);
}
