import { describe, expect, test } from 'vitest';
import {
  describeValidation,
  type Initiated,
  type UncertainField,
  type ValidationFacts,
  type ValidationView,
} from '../../../../src/aggregation/subnets/validation-view.ts';
import type { L1ValidatorState } from '../../../../src/pchain/rpc/node-api.ts';
import { idFromBytes, nodeIDFromBytes, type SubnetID } from '../../../../src/warp/ids.ts';
import { conversionOrigin, parseJustification, registrationOrigin } from '../../../../src/warp/justification.ts';
import { encodeL1Message, type L1ValidatorWeight, parseL1Message } from '../../../../src/warp/l1-message.ts';
import { createSourcelessCall, parseWarpPayload } from '../../../../src/warp/payload.ts';
import { createUnsignedMessage } from '../../../../src/warp/unsigned-message.ts';
import { registration } from '../../pchain/state/test-chain.ts';
import { CHAIN, NETWORK_ID } from '../aggregator-fixture.ts';

const EXPIRY = 2_000;
const [BEFORE_MS, AFTER_MS] = [1_999_999, 2_000_000];
const message = registration(EXPIRY);
const { subnetID } = message;
const { validationID, justification } = registrationOrigin(message);
const WHOLE = { range: { from: 0n, to: 90n }, isReading: false, isWhole: true };
const CURRENT: L1ValidatorState = {
  subnetID,
  nodeID: nodeIDFromBytes(message.nodeID),
  weight: 20n,
  minNonce: 2n,
  balance: 7n,
};

function sent(content: Initiated['content']): Initiated {
  const unsigned = createUnsignedMessage(NETWORK_ID, CHAIN, createSourcelessCall(encodeL1Message(content)));
  return { content, message: unsigned, txHash: `0x${'a'.repeat(64)}`, logIndex: 3 };
}

const weightOf = (nonce: bigint): L1ValidatorWeight => ({ kind: 'L1ValidatorWeight', validationID, nonce, weight: 5n });

function view(facts: Partial<ValidationFacts>, nowMs = BEFORE_MS): ValidationView {
  return describeValidation(
    {
      networkID: NETWORK_ID,
      validationID,
      current: undefined,
      origin: undefined,
      coverage: WHOLE,
      initiated: [],
      managerChainID: CHAIN,
      ...facts,
    },
    nowMs,
  );
}

/** The signable messages: their kinds, verifiers, and for those of the P-Chain the content. */
function signable({ signable: messages }: ValidationView) {
  return messages.map(({ content, to, by }) => {
    if (by.kind !== 'message') return [content, to, by.kind];
    const call = parseWarpPayload(by.message.payload);
    return [content, to, call.kind === 'AddressedCall' ? parseL1Message(call.payload) : undefined];
  });
}

/** The fields that are not known, each of which must have a reason. */
function unknown(described: ValidationView): string[] {
  const names: readonly UncertainField[] = [
    'registered',
    'removed',
    'weight',
    'expired',
    'registrableUntil',
    'initiated',
  ];
  const missing = names.filter((name) => (described as Partial<Record<UncertainField, unknown>>)[name] === undefined);
  for (const name of missing) expect([name, described.reasons[name]]).toEqual([name, expect.any(String)]);
  return missing;
}

describe('a registration that the manager has sent', () => {
  test('can be signed for the P-Chain until it expires', () => {
    const described = view({ initiated: [sent(message)] });
    expect(described).toMatchObject({
      state: 'initiated',
      subnetID,
      registered: false,
      removed: false,
      expired: false,
      registrableUntil: BigInt(EXPIRY),
      next: expect.stringMatching(/RegisterL1ValidatorTx before 1970-01-01T00:33:20Z/),
    });
    expect(signable(described)).toEqual([['RegisterL1Validator', 'p_chain', 'transaction']]);
    expect(described.signable[0]?.by).toMatchObject({ chainID: CHAIN, logIndex: 3 });
    expect(unknown(described)).toEqual(['weight']);
  });

  test('is refused by the P-Chain afterwards, and its end can be signed for the manager', () => {
    const described = view({ initiated: [sent(message)] }, AFTER_MS);
    expect(described).toMatchObject({ state: 'expired', expired: true, registered: false });
    expect(signable(described)).toEqual([['L1ValidatorRegistration', 'manager', 'justification']]);
    const by = described.signable[0]?.by;
    expect(by?.kind === 'justification' && parseJustification(by.justification)).toEqual(justification);
    expect(unknown(described)).toEqual(['weight', 'registrableUntil']);
  });

  test('may have been accepted in a block that was not read', () => {
    const coverage = { range: { from: 50n, to: 90n }, isReading: true, isWhole: false };
    const described = view({ registration: message, coverage, initiated: { whyUnknown: 'no feed' } });
    expect(described).toMatchObject({ state: 'initiated', registered: undefined, removed: undefined });
    expect(described.reasons.registered).toMatch(/P-Chain blocks 50 to 90 were read.*more are being read/);
    expect(described.reasons.initiated).toBe('no feed');
    expect(unknown(described)).toEqual(['registered', 'removed', 'weight', 'initiated']);
  });
});

describe('a validator', () => {
  test('has its registration and its last weight signed for the manager', () => {
    const described = view({ current: CURRENT, origin: justification });
    expect(described).toMatchObject({ state: 'active', registered: true, removed: false, weight: 20n, balance: 7n });
    expect(signable(described)).toEqual([
      ['L1ValidatorRegistration', 'manager', { kind: 'L1ValidatorRegistration', validationID, registered: true }],
      ['L1ValidatorWeight', 'manager', { ...weightOf(1n), weight: 20n }],
    ]);
    expect(unknown(described)).toEqual(['registrableUntil']);
  });

  test('has no weight to confirm before the first change', () => {
    expect(signable(view({ current: { ...CURRENT, minNonce: 0n } }))).toHaveLength(1);
  });

  test('has a change of its weight signed for the P-Chain, unless the P-Chain has had it', () => {
    const described = view({ current: CURRENT, initiated: [sent(message), sent(weightOf(1n)), sent(weightOf(2n))] });
    expect(signable(described)[0]).toEqual(['L1ValidatorWeight', 'p_chain', 'transaction']);
    expect(signable(described)).toHaveLength(3);
    expect(described.next).toContain('SetL1ValidatorWeightTx');
  });

  test('without a balance is inactive', () => {
    const described = view({ current: { ...CURRENT, balance: 0n } });
    expect(described).toMatchObject({
      state: 'inactive',
      next: expect.stringContaining('IncreaseL1ValidatorBalanceTx'),
    });
  });

  test('of an API that leaves out its weight has a reason for it', () => {
    const described = view({ current: { subnetID, minNonce: 2n } });
    expect(described.state).toBe('active');
    expect(unknown(described)).toContain('weight');
    expect(described.reasons.weight).toMatch(/leaves it out/);
    expect(signable(described)).toHaveLength(1);
  });
});

test.each([
  ['a registered', justification, true],
  ['a', conversionOrigin(idFromBytes<SubnetID>(new Uint8Array(32).fill(7), 'subnetID'), 2).justification, undefined],
] as const)('%s validator that was removed has its end signed for the manager', (_, origin, expired) => {
  const described = view({ origin }, AFTER_MS);
  expect(described).toMatchObject({ state: 'removed', subnetID, registered: true, removed: true, expired });
  expect(signable(described)).toEqual([['L1ValidatorRegistration', 'manager', 'justification']]);
});

test('of a validation that nothing is known of, every field has a reason', () => {
  const described = view({ coverage: { range: undefined, isReading: true, isWhole: false } });
  expect(described).toMatchObject({ state: 'unknown', signable: [], next: expect.stringContaining('txHash') });
  expect(unknown(described)).toEqual(['registered', 'removed', 'weight', 'expired', 'registrableUntil']);
});
