import { expect } from 'vitest';
import type { Behaviour } from '../../src/devnet/behaviour.ts';
import type { Devnet } from '../../src/devnet/devnet.ts';
import type { Misbehaviours, WeightedIndex } from '../../src/devnet/misbehaviour.ts';
import { bytesToHex, parseHex } from '../../src/primitives/bytes.ts';
import type { Validator } from '../../src/validators/validator.ts';
import {
  type Answer,
  type RunningService,
  startService,
  validatorsAt,
} from '../integration/service/running-service.ts';
import { isSignedBy } from './independent-check.ts';

/** Enough that no single one has more than a tenth of the weight. */
const VALIDATORS = 16;
/** Most of the time a fault takes is until it counts as one, so these are short. Their meaning is tested under virtual time. */
const AGGREGATION = { peerTimeoutMs: 1_000, hedgeAfterMs: 100, requestTimeoutMs: 5_000, connectTimeoutMs: 1_000 };
const REQUEST_TIMEOUT_MS = AGGREGATION.requestTimeoutMs;
/** Beside the collection, a request looks up the set, and a busy machine takes its time. */
const LOOKUP_MS = 2_000;

/** What each of these validators does. */
export type Plan = ReadonlyMap<number, Behaviour>;
type Draw = (validators: readonly WeightedIndex[]) => Plan;

/** A network and a service of its own for one run, so that it depends on nothing but what its validators are told. */
export interface FaultWorld extends AsyncDisposable {
  readonly service: RunningService;
  /** Of the primary network. */
  readonly validators: readonly WeightedIndex[];
  misbehave(plan: Plan): void;
  /** Asks for the signature of a new message. */
  ask(quorumPercentage: number): Promise<TimedAnswer>;
  /** That it was signed, in time, and that whoever checks it finds it good: this project's verifier and a plain pairing. */
  expectSigned(answer: TimedAnswer, quorum: number): Promise<void>;
}

export interface TimedAnswer extends Answer {
  readonly message: string;
  readonly tookMs: number;
}

/** @param draw says how validators act before the service starts */
export async function startFaultWorld(draw: Draw = () => new Map()): Promise<FaultWorld> {
  let set: readonly Validator[] = [];
  let validators: readonly WeightedIndex[] = [];
  const service = await startService(VALIDATORS, {
    settings: { aggregation: AGGREGATION },
    async prepare(devnet) {
      set = await validatorsAt(devnet.apiUrl, devnet.subnets.primary.subnetID);
      validators = set.map(({ nodeID, weight }) => ({ index: devnet.nodeIDs.indexOf(nodeID), weight }));
      tell(devnet, draw(validators));
    },
  });
  const { devnet } = service;
  const { subnetID } = devnet.subnets.primary;
  return {
    service,
    validators,
    misbehave: (plan) => tell(devnet, plan),
    async ask(quorumPercentage) {
      const [message = ''] = devnet.emitMessages(1);
      const startMs = performance.now();
      const answer = await service.post({ message, quorumPercentage });
      return { ...answer, message, tookMs: performance.now() - startMs };
    },
    async expectSigned(answer, quorum) {
      expect(answer.status, JSON.stringify(answer.body)).toBe(201);
      expect(answer.tookMs).toBeLessThan(REQUEST_TIMEOUT_MS + LOOKUP_MS);
      expect(await service.verify(answer, { subnetID, quorum })).toMatchObject({ kind: 'valid' });
      const signed = parseHex(String(answer.body['signedMessage']), 'signedMessage');
      expect(bytesToHex(signed).startsWith(bytesToHex(parseHex(answer.message, 'message')))).toBe(true);
      expect(isSignedBy(signed, set, quorum)).toBe(true);
    },
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  };
}

export function behavioursOf(misbehaviours: Misbehaviours): Plan {
  return new Map([...misbehaviours].map(([index, { behaviour }]) => [index, behaviour]));
}

function tell(devnet: Devnet, plan: Plan): void {
  for (const [index, behaviour] of plan) devnet.validator(index).setBehaviour(behaviour);
}
