import { describe, expect, test } from 'vitest';
import { createPenalties } from '../../../../src/aggregation/admission/penalties.ts';
import { type AggregationReport, AggregatorError } from '../../../../src/aggregation/aggregator-error.ts';
import { createAggregatorMetrics } from '../../../../src/aggregation/aggregator-metrics.ts';
import type { AggregationRequest, AggregationResult } from '../../../../src/aggregation/request/aggregation-request.ts';
import { createDestinations } from '../../../../src/aggregation/signers/destination-facts.ts';
import { createSubnetPolicy } from '../../../../src/aggregation/subnet-policy.ts';
import { createUptimeProofs, type UptimeProofsOptions } from '../../../../src/aggregation/subnets/uptime-proofs.ts';
import type { AttemptOutcome, TallySummary } from '../../../../src/aggregation/validators/validator-outcome.ts';
import { createUnreadMetrics } from '../../../../src/telemetry/metrics.ts';
import { createWarpSet } from '../../../../src/validators/warp-set.ts';
import { type BlockchainID, idFromBytes, type NodeID, type ValidationID } from '../../../../src/warp/ids.ts';
import { parseWarpPayload } from '../../../../src/warp/payload.ts';
import { parseUnsignedMessage } from '../../../../src/warp/unsigned-message.ts';
import { parseValidatorUptime } from '../../../../src/warp/validator-uptime.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { CHAIN, DEFAULT_WARP, NETWORK_ID, NO_POLICY, nodeOf, SUBNET, validatorSet } from '../aggregator-fixture.ts';
import { NOT_FOUND } from '../api-failures.ts';

const VALIDATION = idFromBytes<ValidationID>(new Uint8Array(32).fill(8), 'validation');
const OTHER_CHAIN = idFromBytes<BlockchainID>(new Uint8Array(32).fill(9), 'chain');
const never = new AbortController().signal;
const SIGNED: AttemptOutcome = { kind: 'signed', signature: new Uint8Array(96) };

type Answer = (uptime: bigint) => AttemptOutcome;

/** Refuses like subnet-evm, with its figure in the text. */
function seen(figure: bigint): Answer {
  return (uptime) =>
    uptime <= figure
      ? SIGNED
      : {
          kind: 'refused',
          code: 2,
          text: `current uptime ${figure} is less than queried uptime ${uptime} for validationID x`,
        };
}

/** An L1 whose validators 1, 2, … have weights 40, 30, 20, 10, and answer so. */
function createHarness(answers: readonly Answer[], change: Partial<UptimeProofsOptions> = {}) {
  const asked = new Map<NodeID, bigint[]>();
  const requests: AggregationRequest[] = [];
  const script = {
    managerChainID: CHAIN as BlockchainID | undefined,
    aggregate: async (_uptime: bigint): Promise<AggregationResult> => ({ signers: [] }) as unknown as AggregationResult,
    beforeAnswer: async (): Promise<void> => {},
  };
  const warpSet = createWarpSet(validatorSet(40n, 30n, 20n, 10n));
  const clock = new FakeClock();
  const metrics = createAggregatorMetrics(createUnreadMetrics());
  const uptimes = createUptimeProofs({
    networkID: NETWORK_ID,
    clock,
    metrics,
    penalties: createPenalties(clock, metrics),
    resolveTimeoutMs: 1_000,
    api: {
      async getL1Validator(validationID) {
        if (validationID === VALIDATION) return { subnetID: SUBNET, minNonce: 0n };
        throw NOT_FOUND;
      },
    },
    directory: {
      validatedBy: async (chainID) => (chainID === CHAIN ? SUBNET : undefined),
      getSubnet: async () => ({ conversionID: new Uint8Array(32), managerChainID: script.managerChainID }),
    },
    destinations: createDestinations({
      directory: { validatedBy: async () => SUBNET, knownSubnetOf: () => SUBNET },
      warpConfigs: DEFAULT_WARP,
    }),
    resolver: {
      signersOf: async (signingSubnetID) => ({ signingSubnetID, pChainHeight: 55n, warpSet, avoided: new Set() }),
    },
    peers: {
      describe: () => ({ obstacle: undefined, address: undefined, client: undefined }),
      waitUntil: async () => {},
    },
    connections: {
      track: () => 0,
      isConnected: (nodeID) => answers.some((_, i) => nodeOf(i + 1) === nodeID),
      async requestSignature(nodeID, { message }) {
        const uptime = uptimeOf(message);
        asked.set(nodeID, [...(asked.get(nodeID) ?? []), uptime]);
        await script.beforeAnswer();
        return (answers[answers.findIndex((_, i) => nodeOf(i + 1) === nodeID)] as Answer)(uptime);
      },
    },
    aggregator: {
      async aggregate(request) {
        requests.push(request);
        if (request.subject.kind !== 'message') throw new Error('asked for something else');
        return script.aggregate(uptimeOf(request.subject.message.bytes));
      },
    },
    subnets: NO_POLICY,
    ...change,
  });
  const prove = (more: object = {}, client?: string) =>
    uptimes.prove({ validationID: VALIDATION, ...more }, { signal: never, client });
  return { prove, script, asked, requests };
}

function uptimeOf(message: Uint8Array): bigint {
  const payload = parseWarpPayload(parseUnsignedMessage(message).payload);
  if (payload.kind !== 'AddressedCall') throw new Error('no call');
  return parseValidatorUptime(payload.payload).totalUptime;
}

describe('the proof of an uptime', () => {
  test('is the highest that the quorum signs: two questions to each that tells its figure', async () => {
    const { prove, asked, requests } = createHarness([seen(900n), seen(800n), seen(1_000n), seen(10n)]);
    // 67 of 100: 40 + 30 is enough, 20 + 40 is not.
    expect(await prove()).toMatchObject({ uptime: 800n, uptimeChainID: CHAIN, validationID: VALIDATION });
    expect(requests).toMatchObject([{ signingSubnetID: SUBNET, pChainHeight: 55n, quorumNum: 67n }]);
    for (const questions of asked.values()) expect(questions.length).toBeLessThanOrEqual(2);
    expect(await prove({ quorumNum: 20n })).toMatchObject({ uptime: 1_000n });
  });

  test('leaves out who is silent, who refuses for another reason, and who is not connected', async () => {
    const odd: Answer = () => ({ kind: 'refused', code: -4, text: 'current uptime 5 is less than queried uptime 6' });
    const { prove } = createHarness([seen(900n), seen(800n), () => ({ kind: 'timed_out', reason: 'no_answer' })]);
    expect(await prove()).toMatchObject({ uptime: 800n });
    const { prove: proveWithout, script } = createHarness([seen(900n), odd, seen(800n)]);
    script.aggregate = async (uptime) => {
      throw new AggregatorError('insufficient_weight', `nobody signs ${uptime}`);
    };
    // 60 of 100 is not the quorum: the validators are asked for an uptime of nothing, so that the error says why.
    await expect(proveWithout()).rejects.toThrow('nobody signs 0');
  });

  test('is searched for again without a validator whose signature is invalid, and once', async () => {
    const { prove, script, requests } = createHarness([seen(900n), seen(800n), seen(700n), seen(1_000n)]);
    const outcome = { kind: 'invalid_signature', reason: 'is no point' } as const;
    const tally = { missing: [{ nodeID: nodeOf(2), weight: 30n, outcome }] } as unknown as TallySummary;
    const report = { signingSubnetID: SUBNET, pChainHeight: 55n, tally } as AggregationReport;
    script.aggregate = async (uptime) => {
      throw new AggregatorError('insufficient_weight', `one signs ${uptime} badly`, { report });
    };
    await expect(prove()).rejects.toThrow('one signs 700 badly');
    expect(requests).toHaveLength(2);
  });

  test('is searched for once by all who ask at the same time; eight are searched for, and four for one client', async () => {
    const { prove, script, asked } = createHarness([seen(900n), seen(800n), seen(700n), seen(10n)]);
    const gate = Promise.withResolvers<void>();
    script.beforeAnswer = () => gate.promise;
    const same = [prove(), prove(), prove()];
    const searches = [10n, 11n, 12n, 13n].map((quorumNum) => prove({ quorumNum }, 'flood'));
    await expect(prove({ quorumNum: 20n }, 'flood')).rejects.toMatchObject({ code: 'overloaded' });
    searches.push(prove({ quorumNum: 10n }, 'flood'));
    for (const quorumNum of [30n, 31n, 32n]) searches.push(prove({ quorumNum }, `client ${quorumNum}`));
    await expect(prove({ quorumNum: 99n })).rejects.toMatchObject({ code: 'overloaded' });
    gate.resolve();
    for (const proof of await Promise.all(same)) expect(proof.uptime).toBe(800n);
    await Promise.all(searches);
    expect(asked.get(nodeOf(1))?.length).toBeLessThanOrEqual(2 * 8);
  });

  test('of validations that do not exist is looked up for some of one client, and then refused', async () => {
    const { prove } = createHarness([seen(900n), seen(800n), seen(700n)]);
    const proveUnknown = (count: number) =>
      prove({ validationID: idFromBytes<ValidationID>(new Uint8Array(32).fill(count + 50), 'validation') }, 'flood');
    for (let count = 0; count < 64; count += 1) {
      await expect(proveUnknown(count)).rejects.toMatchObject({ code: 'unknown_validation' });
    }
    await expect(proveUnknown(64)).rejects.toMatchObject({ code: 'overloaded' });
    expect(await prove({}, 'other')).toMatchObject({ uptime: 800n });
  });

  test('is not searched for in a subnet that may not be asked', async () => {
    const subnets = createSubnetPolicy({ trackedSubnetIDs: [], allowedSubnetIDs: [] });
    const { prove, asked } = createHarness([seen(1n)], { subnets });
    await expect(prove()).rejects.toMatchObject({ code: 'subnet_not_allowed', field: 'validationID' });
    expect(asked.size).toBe(0);
  });

  test('needs a chain that its L1 validates', async () => {
    const { prove, script } = createHarness([seen(1n)]);
    await expect(prove({ uptimeChainID: OTHER_CHAIN })).rejects.toMatchObject({ field: 'uptimeChainID' });
    script.managerChainID = OTHER_CHAIN;
    await expect(prove()).rejects.toMatchObject({ code: 'invalid_request', field: 'uptimeChainID' });
    await expect(prove({ quorumNum: 101n })).rejects.toMatchObject({ field: 'quorumNum' });
  });
});
