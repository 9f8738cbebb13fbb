import { describe, expect, test } from 'vitest';
import { AggregatorError } from '../../../../src/aggregation/aggregator-error.ts';
import {
  createL1Messages,
  type L1Messages,
  type L1MessagesOptions,
} from '../../../../src/aggregation/l1/l1-messages.ts';
import { ApiError } from '../../../../src/pchain/rpc/api-error.ts';
import type { Subnet, TxStatus } from '../../../../src/pchain/rpc/node-api.ts';
import type { IndexCoverage } from '../../../../src/pchain/state/validation-index.ts';
import { conversionID } from '../../../../src/warp/conversion-data.ts';
import {
  type BlockchainID,
  idBytes,
  idFromBytes,
  P_CHAIN_ID,
  PRIMARY_NETWORK_ID,
  type SubnetID,
  type TxID,
} from '../../../../src/warp/ids.ts';
import { encodeJustification, parseJustification } from '../../../../src/warp/justification.ts';
import { parseL1Message, registrationValidationID } from '../../../../src/warp/l1-message.ts';
import { parseWarpPayload } from '../../../../src/warp/payload.ts';
import { encodeSignedMessage } from '../../../../src/warp/signed-message.ts';
import { createUnsignedMessage } from '../../../../src/warp/unsigned-message.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { createLogLines } from '../../../support/log-lines.ts';
import { testModel } from '../../devnet/test-model.ts';

const SIGNAL = new AbortController().signal;
const UNKNOWN = { id: idFromBytes<TxID>(new Uint8Array(32).fill(9), 'txID') };
const model = testModel();
const { l1, ledger } = model;
const { heights } = l1;
const CONVERSION = ledger.transactionAt(heights.conversion, 'ConvertSubnetToL1Tx');
const REGISTRATION = ledger.transactionAt(heights.registration, 'RegisterL1ValidatorTx');
const WEIGHT = ledger.transactionAt(heights.weightChange, 'SetL1ValidatorWeightTx');
const OVERTAKEN = ledger.transactionAt(heights.overtakenWeightChange, 'SetL1ValidatorWeightTx');
const REMOVAL = ledger.transactionAt(heights.removal, 'SetL1ValidatorWeightTx');
const REGISTERED_REMOVAL = ledger.transactionAt(heights.registeredRemoval, 'SetL1ValidatorWeightTx');
const DISABLING = ledger.transactionAt(heights.disabling, 'DisableL1ValidatorTx');
const USED_UP = ledger.transactionAt(heights.usedUpRegistration, 'RegisterL1ValidatorTx');

const { managerChainID } = l1.conversion;
const SUBNETS = new Map<SubnetID, Subnet>([
  [l1.subnetID, { managerChainID, conversionID: conversionID(l1.conversion) }],
  [PRIMARY_NETWORK_ID, { managerChainID: undefined, conversionID: undefined }],
]);

function rejected(): ApiError {
  return new ApiError('rejected', 'refused', { rejection: { code: -32_000, message: 'not found' } });
}

function createHarness() {
  const clock = new FakeClock();
  const state = {
    status: { status: 'Unknown', reason: undefined } as TxStatus,
    isOfXChain: false,
    xChainFailure: undefined as Error | undefined,
    failure: undefined as Error | undefined,
    hangs: false,
    /** What the index has: nothing, so that every other way is taken. */
    origins: [] as { validationID: string; justification: ReturnType<typeof parseJustification> }[],
    coverage: { range: { from: 5n, to: 90n }, isReading: false } as IndexCoverage,
    dataApi: undefined as (() => Promise<readonly TxID[]>) | undefined,
    managerSubnet: l1.subnetID as SubnetID | undefined,
    hasValidators: true,
    /** Replaces the bytes of every transaction. */
    bytes: undefined as Uint8Array | undefined,
  };
  const guarded = async <T>(signal: AbortSignal, answer: () => T): Promise<T> => {
    if (state.hangs) {
      return new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      });
    }
    if (state.failure !== undefined) throw state.failure;
    return answer();
  };
  const log = createLogLines();
  const options: L1MessagesOptions = {
    networkID: model.networkID,
    api: {
      getTx: (txID, signal) =>
        guarded(signal, () => {
          const transaction = ledger.transaction(txID);
          if (transaction === undefined) throw rejected();
          return state.bytes ?? transaction.bytes;
        }),
      getBlockchainsOf: async () => [],
      getTxStatus: (_, signal) => guarded(signal, () => state.status),
      getL1Validator: (validationID, signal) =>
        guarded(signal, () => {
          const validator = state.hasValidators ? model.l1Validator(validationID) : undefined;
          if (validator === undefined) throw rejected();
          return { subnetID: l1.subnetID, minNonce: validator.minNonce };
        }),
    },
    evm: { getReceipt: () => Promise.reject(new Error('not asked')) },
    subnets: { tracked: new Set() },
    chains: {
      findXChainTx: async () => {
        if (state.xChainFailure !== undefined) throw state.xChainFailure;
        if (!state.isOfXChain) throw rejected();
      },
    },
    directory: {
      validatedBy: async () => state.managerSubnet,
      exists: async () => true,
      knownSubnetOf: () => undefined,
      isKnown: () => true,
      getSubnet: async (subnetID) => SUBNETS.get(subnetID),
    },
    index: {
      originOf: async (validationID) =>
        state.origins.find((origin) => origin.validationID === validationID)?.justification,
      coverage: () => state.coverage,
    },
    dataApi: {
      transactionsOf: async () => (state.dataApi === undefined ? [] : state.dataApi()),
      [Symbol.asyncDispose]: async () => undefined,
    },
    clock,
    logger: log.logger,
    timeoutMs: 5_000,
  };
  const messages: L1Messages = createL1Messages(options);
  const failure = async (work: Promise<unknown>): Promise<AggregatorError> => {
    const error = await work.catch((caught: unknown) => caught);
    if (error instanceof AggregatorError) return error;
    throw new Error('expected a failure', { cause: error });
  };
  return {
    clock,
    state,
    log,
    messages,
    failure,
    of: ({ id }: { id: TxID }) => messages.ofTransaction({ txID: id }, SIGNAL),
  };
}

function contentOf({ message }: { message: { payload: Uint8Array; sourceChainID: BlockchainID } }) {
  expect(message.sourceChainID).toBe(P_CHAIN_ID);
  const call = parseWarpPayload(message.payload);
  if (call.kind !== 'AddressedCall') throw new Error(call.kind);
  return parseL1Message(call.payload);
}

const removedID = registrationValidationID(l1.story.removedRegistration);

describe('of a transaction', () => {
  test('a conversion, justified by the subnet', async () => {
    const found = await createHarness().of(CONVERSION);
    expect(contentOf(found)).toEqual({ kind: 'SubnetToL1Conversion', conversionID: conversionID(l1.conversion) });
    expect(found.justification).toEqual(idBytes(l1.subnetID));
    expect(found).toMatchObject({ managerChainID: l1.blockchainID, signingSubnetID: l1.subnetID });
  });

  test('is signed by the primary network where the manager is on a chain of it', async () => {
    const { state, of } = createHarness();
    state.managerSubnet = PRIMARY_NETWORK_ID;
    expect(await of(CONVERSION)).toMatchObject({ signingSubnetID: PRIMARY_NETWORK_ID });
  });

  test('whose manager is on a chain that nobody knows', async () => {
    const { state, of, failure } = createHarness();
    state.managerSubnet = undefined;
    expect(await failure(of(CONVERSION))).toMatchObject({ code: 'invalid_request', field: 'transaction' });
  });

  test('a registration and a weight, without a justification', async () => {
    const { of } = createHarness();
    for (const transaction of [REGISTRATION, WEIGHT]) expect((await of(transaction)).justification).toHaveLength(0);
    expect(contentOf(await of(REGISTRATION))).toMatchObject({ validationID: l1.story.registered, registered: true });
    expect(contentOf(await of(WEIGHT))).toEqual({ kind: 'L1ValidatorWeight', ...l1.story.weightChange });
  });

  test('a removal from the conversion: by hashing, without any index', async () => {
    const found = await createHarness().of(REMOVAL);
    const { validationID, index } = l1.story.removed;
    expect(contentOf(found)).toEqual({ kind: 'L1ValidatorRegistration', validationID, registered: false });
    expect(parseJustification(found.justification)).toEqual({ kind: 'SubnetIDIndex', subnetID: l1.subnetID, index });
  });

  test.each([
    ['an overtaken weight', OVERTAKEN, 'message_superseded', /was set anew since \(nonce 1\)/],
    ['a registration of a removed validator', USED_UP, 'message_superseded', /registered was removed since/],
    ['a transaction without a message', DISABLING, 'no_message_in_transaction', /is a DisableL1ValidatorTx/],
  ])('%s, which nobody will sign, is an error of the caller', async (_, transaction, code, text) => {
    const { of, failure } = createHarness();
    const message = expect.stringMatching(text);
    expect(await failure(of(transaction))).toMatchObject({ code, field: 'transaction', message });
  });

  test('a transaction of an unknown type has no message', async () => {
    const { state, of, failure } = createHarness();
    state.bytes = Buffer.from('00000000002b', 'hex');
    const message = expect.stringContaining('transaction of the unknown type 43');
    expect(await failure(of(CONVERSION))).toMatchObject({ code: 'no_message_in_transaction', message });
  });

  test('the weight of a validator that was removed since', async () => {
    const { state, of, failure } = createHarness();
    state.hasValidators = false;
    expect(await failure(of(WEIGHT))).toMatchObject({ code: 'message_superseded', field: 'transaction' });
  });
});

describe('of a transaction that was not accepted', () => {
  test.each<[TxStatus, RegExp]>([
    [{ status: 'Unknown', reason: undefined }, /neither the P-Chain nor the X-Chain knows .* as 0x and 64 digits$/],
    [{ status: 'Processing', reason: undefined }, /not yet accepted/],
    [{ status: 'Committed', reason: undefined }, /not yet accepted/],
    [{ status: 'Dropped', reason: 'no funds' }, /dropped .*: no funds$/],
  ])('%o', async (status, text) => {
    const { state, of, failure } = createHarness();
    state.status = status;
    const message = expect.stringMatching(text);
    expect(await failure(of(UNKNOWN))).toMatchObject({ code: 'unknown_transaction', field: 'transaction', message });
  });

  test('because it is of the X-Chain', async () => {
    const { state, of, failure } = createHarness();
    state.isOfXChain = true;
    expect(await failure(of(UNKNOWN))).toMatchObject({ code: 'no_message_in_transaction', field: 'transaction' });
  });
});

describe('the registration that a removal needs', () => {
  const origin = {
    validationID: removedID,
    justification: { kind: 'RegisterL1ValidatorMessage' as const, message: new Uint8Array([1, 2, 3]) },
  };

  test('comes from the index', async () => {
    const { state, of } = createHarness();
    state.origins = [origin];
    expect((await of(REGISTERED_REMOVAL)).justification).toEqual(encodeJustification(origin.justification));
  });

  test('comes from the data API, which only names transactions, in any order', async () => {
    const { state, of } = createHarness();
    state.dataApi = async () => [UNKNOWN.id, REGISTERED_REMOVAL.id, REGISTRATION.id, USED_UP.id];
    const { justification } = await of(REGISTERED_REMOVAL);
    expect(parseJustification(justification)).toMatchObject({ kind: 'RegisterL1ValidatorMessage' });
  });

  test('is not taken from a data API that names others', async () => {
    const { state, of, failure } = createHarness();
    state.dataApi = async () => [REGISTRATION.id, CONVERSION.id];
    expect(await failure(of(REGISTERED_REMOVAL))).toMatchObject({ code: 'justification_not_found' });
  });

  test('and a data API that fails is none, which is said once a minute', async () => {
    const { state, log, of, failure } = createHarness();
    state.dataApi = () => Promise.reject(new ApiError('unavailable', 'no answer'));
    expect(await failure(of(REGISTERED_REMOVAL))).toMatchObject({
      ...{ code: 'justification_not_found', field: 'transaction' },
      message: expect.stringContaining('P-Chain blocks 5 to 90 were read'),
    });
    await failure(of(REGISTERED_REMOVAL));
    expect(log.count('the data API could not be asked')).toBe(1);
  });

  test.each([
    [undefined, 'no P-Chain block was read yet'],
    [{ from: 5n, to: 90n }, 'P-Chain blocks 5 to 90 were read'],
  ])('may be found later while the index reads: %o', async (range, where) => {
    const { state, of, failure } = createHarness();
    state.coverage = { range, isReading: true };
    const message = expect.stringContaining(where);
    expect(await failure(of(REGISTERED_REMOVAL))).toMatchObject({ code: 'justification_pending', message });
  });
});

describe('of a justification', () => {
  const of = (bytes: Uint8Array) => createHarness().messages.ofJustification(bytes, SIGNAL);
  const { failure } = createHarness();
  const warpMessage = createUnsignedMessage(model.networkID, l1.blockchainID, new Uint8Array([1, 2, 3]));
  const signed = encodeSignedMessage({
    unsignedMessage: warpMessage,
    signature: { signers: [0, 2], signature: new Uint8Array(96).fill(7) },
  });

  test('a subnet: its conversion', async () => {
    const found = await of(idBytes(l1.subnetID));
    expect(contentOf(found)).toEqual({ kind: 'SubnetToL1Conversion', conversionID: conversionID(l1.conversion) });
    expect(found).toMatchObject({ managerChainID: l1.blockchainID, signingSubnetID: l1.subnetID });
  });

  test('a validation that is over: its end', async () => {
    const { validationID, index } = l1.story.removed;
    const justification = encodeJustification({ kind: 'SubnetIDIndex', subnetID: l1.subnetID, index });
    const found = await of(justification);
    expect(contentOf(found)).toEqual({ kind: 'L1ValidatorRegistration', validationID, registered: false });
    expect(found.justification).toEqual(justification);
  });

  test('a validation that is not over yet', async () => {
    const exists = encodeJustification({ kind: 'SubnetIDIndex', subnetID: l1.subnetID, index: 0 });
    const expected = { code: 'validation_not_over', field: 'justification' };
    expect(await failure(of(exists))).toMatchObject(expected);
  });

  test.each<[string, Uint8Array, string, RegExp]>([
    ['nothing', new Uint8Array(), 'invalid_request', /^without a message it must be the 32 bytes of a subnet ID/],
    ['text', Buffer.from('hello'), 'invalid_request', /^without a message it must be the 32 bytes of a subnet ID/],
    ['a signed message', signed, 'invalid_request', /^this is a Warp message that is signed already/],
    ['a message', warpMessage.bytes, 'invalid_request', /^this is a Warp message: to have it signed/],
    ['an unknown subnet', idBytes(UNKNOWN.id), 'unknown_subnet', /./],
    ['the primary network', idBytes(PRIMARY_NETWORK_ID), 'invalid_request', /was not converted/],
  ])('%s is an error that says what it is', async (_, bytes, code, text) => {
    const message = expect.stringMatching(text);
    expect(await failure(of(bytes))).toMatchObject({ code, field: 'justification', message });
  });
});

test('a transaction that cannot be read is not taken for a failure of the API', async () => {
  const { state, failure, of } = createHarness();
  state.bytes = Uint8Array.from(CONVERSION.bytes.subarray(0, 20));
  expect(await failure(of(CONVERSION))).toMatchObject({
    code: 'p_chain_invalid',
    message: expect.stringContaining('this service cannot read transaction'),
  });
});

describe('an API that fails', () => {
  test.each([
    ['unavailable', 'p_chain_unavailable'],
    ['invalid response', 'p_chain_invalid'],
  ] as const)('%s', async (kind, code) => {
    const { state, of, failure } = createHarness();
    state.failure = new ApiError(kind, 'platform.getTx: nothing', { detail: 'node.internal:9650: nothing' });
    const message = 'the P-Chain API failed: platform.getTx: nothing';
    expect(await failure(of(CONVERSION))).toMatchObject({ code, message });
  });

  test('or hangs is given up in time', async () => {
    const { clock, state, of, failure } = createHarness();
    state.hangs = true;
    const failed = failure(of(CONVERSION));
    await clock.advance(5_000);
    expect(await failed).toMatchObject({ code: 'p_chain_unavailable' });
    expect(clock.pendingTimers).toBe(0);
  });
});
