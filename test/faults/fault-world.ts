import { expect } from 'vitest';
import type { Devnet } from '../../src/devnet/devnet.ts';
import { parseHex } from '../../src/lib/encoding/bytes.ts';
import type { Validator } from '../../src/validators/validator.ts';
import type { Behaviour } from '../devnet/behaviour.ts';
import { setBehaviour } from '../devnet/faulty-validator.ts';
import {
  type Answer,
  type ServiceSettings,
  startService,
  validatorsAt,
} from '../integration/service/running-service.ts';
import { problemOf } from '../simulation/judge-message.ts';
import { isSignedBy } from '../simulation/real-bls.ts';
import type { Misbehaviours, WeightedIndex } from './misbehaviour.ts';

/** Enough that no single one has more than a sixth of the weight, and that few make up the third that may misbehave. */
const VALIDATORS = 12;
/** The default deadline of the collection; beside it, a request looks up the set. */
const DEADLINE_MS = 10_000 + 5_000;

/** What each of these validators does. */
export type Plan = ReadonlyMap<number, Behaviour>;

/** A network and a service for one run, which depends only on the behaviour of its validators. */
export interface FaultWorld extends AsyncDisposable {
  /** Validators of the primary network. */
  readonly validators: readonly WeightedIndex[];
  misbehave(plan: Plan): void;
  /** Asks for the signature of a new message. */
  ask(quorumPercentage: number): Promise<TimedAnswer>;
  /** Expects a signed message in time. */
  expectSigned(answer: TimedAnswer, quorum: number, circumstances: string): void;
}

export interface TimedAnswer extends Answer {
  readonly message: string;
  readonly tookMs: number;
}

/** @param draw returns the behaviour of validators before the service starts */
export async function startFaultWorld(
  draw: (validators: readonly WeightedIndex[]) => Plan = () => new Map(),
  settings: ServiceSettings = {},
): Promise<FaultWorld> {
  let set: readonly Validator[] = [];
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
  const { devnet } = service;
  return {
    validators,
    misbehave: (plan) => setBehaviours(devnet, plan),
    async ask(quorumPercentage) {
      const [message = ''] = devnet.emitMessages(1);
      const startMs = performance.now();
      const answer = await service.post({ message, quorumPercentage });
      return { ...answer, message, tookMs: performance.now() - startMs };
    },
    expectSigned({ status, body, message, tookMs }, quorum, circumstances) {
      expect(status, `${circumstances}: ${JSON.stringify(body)}`).toBe(201);
      expect(tookMs, circumstances).toBeLessThan(DEADLINE_MS);
      const reported = {
        signedWeight: BigInt(String(body['signedWeight'])),
        totalWeight: BigInt(String(body['totalWeight'])),
      };
      const signed = parseHex(String(body['signedMessage']), 'signedMessage');
      const unsignedMessage = parseHex(message, 'message');
      expect(problemOf(signed, { unsignedMessage, set, quorum, reported, isSignedBy }), circumstances).toBeUndefined();
    },
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  };
}

export function behavioursOf(misbehaviours: Misbehaviours): Plan {
  return new Map([...misbehaviours].map(([index, { behaviour }]) => [index, behaviour]));
}

function setBehaviours(devnet: Devnet, plan: Plan): void {
  for (const [index, behaviour] of plan) setBehaviour(devnet.validator(index), behaviour);
}
