import { describe, expect, test } from 'vitest';
import { AggregatorError } from '../../../../src/aggregation/aggregator-error.ts';
import {
  createL1Messages,
  type L1Messages,
  type L1MessagesOptions,
} from '../../../../src/aggregation/l1/l1-messages.ts';
import { ApiError } from '../../../../src/pchain/rpc/api-error.ts';
import type { TxStatus } from '../../../../src/pchain/rpc/node-api.ts';
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
import { HELICON_TRANSACTIONS } from '../../pchain/codec/helicon-transactions.ts';

const SIGNAL = new AbortController().signal;
const UNKNOWN_TX = idFromBytes<TxID>(new Uint8Array(32).fill(9), 'txID');
const model = testModel();
const { l1, ledger } = model;
const { heights } = l1;
const CONVERSION = ledger.transactionAt(heights.conversion, 'ConvertSubnetToL1Tx');
const REGISTRATION = ledger.transactionAt(heights.registration, 'RegisterL1ValidatorTx');
const WEIGHT = ledger.transactionAt(heights.weightChange, 'SetL1ValidatorWeightTx');
const OVERTAKEN = ledger.transactionAt(heights.overtakenWeightChange, 'SetL1ValidatorWeightTx');
const REMOVAL = ledger.transactionAt(heights.removal, 'SetL1ValidatorWeightTx');
const REGISTERED_REMOVAL = ledger.transactionAt(heights.registeredRemoval, 'SetL1ValidatorWeightTx');
const USED_UP = ledger.transactionAt(heights.usedUpRegistration, 'RegisterL1ValidatorTx');

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
    reads: 0,
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
          state.reads += 1;
          const transaction = ledger.transaction(txID);
          if (transaction === undefined) throw rejected();
          return state.bytes ?? transaction.bytes;
        }),
      getBlockchainsOf: async () => [],
      getTxStatus: (_, signal) => guarded(signal, () => state.status),
      getL1Validator: (validationID, signal) =>
        guarded(signal, () => {
          const validator = model.l1Validator(validationID);
          if (validator === undefined) throw rejected();
          return { subnetID: l1.subnetID, weight: validator.weight, minNonce: validator.minNonce };
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
      getSubnet: async (subnetID) =>
        subnetID === l1.subnetID
          ? {
              isPermissioned: false,
              conversionID: conversionID(l1.conversion),
              managerChainID: l1.conversion.managerChainID,
              managerAddress: l1.managerAddress,
            }
          : undefined,
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
    expect(await failure(of(CONVERSION))).toMatchObject({
      code: 'invalid_request',
      field: 'transaction',
      message: `the L1's validator manager is on blockchain ${l1.blockchainID}, which the P-Chain does not know`,
    });
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
    [OVERTAKEN, 'message_superseded', /was set anew since \(nonce 1\): the P-Chain confirms the last one only$/],
    [USED_UP, 'message_superseded', /^the L1 validator that transaction \w+ registered was removed since: /],
    [
      ledger.transactionAt(heights.disabling, 'DisableL1ValidatorTx'),
      'no_message_in_transaction',
      /is a DisableL1ValidatorTx, which carries no Warp message: messages are of /,
    ],
  ])('%#: one that nobody will sign is an error of the caller', async (transaction, code, message) => {
    const { of, failure } = createHarness();
    expect(await failure(of(transaction))).toMatchObject({
      code,
      field: 'transaction',
      message: expect.stringMatching(message),
    });
  });

  test.each([...HELICON_TRANSACTIONS, { name: 'transaction of the unknown type 43', hex: '00000000002b' }])(
    '$name has no message',
    async ({ name, hex }) => {
      const { state, of, failure } = createHarness();
      state.bytes = Buffer.from(hex, 'hex');
      expect(await failure(of(CONVERSION))).toMatchObject({
        code: 'no_message_in_transaction',
        field: 'transaction',
        message: expect.stringMatching(
          new RegExp(`^transaction \\w+ is an? ${name}, which carries no Warp message: messages are of `),
        ),
      });
    },
  );

  test('the weight of a validator that was removed since', async () => {
    const { of, failure } = createHarness();
    const later = testModel();
    const id = later.ledger.transactionAt(heights.weightChange, 'SetL1ValidatorWeightTx').id;
    const { l1Validator } = model;
    try {
      model.l1Validator = () => undefined;
      expect(await failure(of({ id }))).toMatchObject({
        code: 'message_superseded',
        field: 'transaction',
        message: `the L1 validator whose weight transaction ${id} set was removed since: the P-Chain no longer confirms its weight; use the transaction that removed it`,
      });
    } finally {
      model.l1Validator = l1Validator;
    }
  });
});

describe('of a transaction that was not accepted', () => {
  test.each<[TxStatus, string]>([
    [
      { status: 'Unknown', reason: undefined },
      `neither the P-Chain nor the X-Chain knows a transaction ${UNKNOWN_TX}; write the hash of an EVM transaction as 0x and 64 digits`,
    ],
    [
      { status: 'Processing', reason: undefined },
      `transaction ${UNKNOWN_TX} is not yet accepted by the P-Chain; try again in a moment`,
    ],
    [
      { status: 'Committed', reason: undefined },
      `transaction ${UNKNOWN_TX} is not yet accepted by the P-Chain; try again in a moment`,
    ],
    [
      { status: 'Dropped', reason: 'no funds' },
      `transaction ${UNKNOWN_TX} was dropped by the P-Chain and not accepted: no funds`,
    ],
    [{ status: 'Dropped', reason: undefined }, `transaction ${UNKNOWN_TX} was dropped by the P-Chain and not accepted`],
  ])('%o', async (status, message) => {
    const { state, of, failure } = createHarness();
    state.status = status;
    const error = await failure(of({ id: UNKNOWN_TX }));
    expect(error).toMatchObject({ code: 'unknown_transaction', field: 'transaction', message });
  });

  test('because it is of the X-Chain', async () => {
    const { state, of, failure } = createHarness();
    state.isOfXChain = true;
    expect(await failure(of({ id: UNKNOWN_TX }))).toMatchObject({
      code: 'no_message_in_transaction',
      field: 'transaction',
      message: expect.stringContaining(`${UNKNOWN_TX} is a transaction of the X-Chain, which carries no Warp message`),
    });
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
    state.dataApi = async () => [UNKNOWN_TX, REGISTERED_REMOVAL.id, REGISTRATION.id, USED_UP.id];
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
      code: 'justification_not_found',
      field: 'transaction',
      message: `the registration of validation ${removedID}, which the message needs as its justification, was not found: P-Chain blocks 5 to 90 were read; give the justification by POST`,
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
    expect(await failure(of(REGISTERED_REMOVAL))).toMatchObject({
      code: 'justification_pending',
      field: 'transaction',
      message: `the registration of validation ${removedID}, which the message needs as its justification, was not found: ${where}, and more are being read; give the justification by POST, or try again later`,
    });
  });
});

describe('of a justification', () => {
  const of = (bytes: Uint8Array) => {
    const { messages, failure } = createHarness();
    return {
      result: () => messages.ofJustification(bytes, SIGNAL),
      failure: () => failure(messages.ofJustification(bytes, SIGNAL)),
    };
  };
  const ACCEPTED =
    /without a message it must be the 32 bytes of a subnet ID, an L1ValidatorRegistrationJustification, a /;
  const warpMessage = createUnsignedMessage(model.networkID, l1.blockchainID, new Uint8Array([1, 2, 3]));
  const signed = encodeSignedMessage({
    unsignedMessage: warpMessage,
    signature: { signers: [0, 2], signature: new Uint8Array(96).fill(7) },
  });

  test('a subnet: its conversion', async () => {
    const found = await of(idBytes(l1.subnetID)).result();
    expect(contentOf(found)).toEqual({ kind: 'SubnetToL1Conversion', conversionID: conversionID(l1.conversion) });
    expect(found).toMatchObject({ managerChainID: l1.blockchainID, signingSubnetID: l1.subnetID });
  });

  test('a validation that is over: its end', async () => {
    const { validationID, index } = l1.story.removed;
    const justification = encodeJustification({ kind: 'SubnetIDIndex', subnetID: l1.subnetID, index });
    const found = await of(justification).result();
    expect(contentOf(found)).toEqual({ kind: 'L1ValidatorRegistration', validationID, registered: false });
    expect(found.justification).toEqual(justification);
  });

  test('a validation that is not over yet', async () => {
    const exists = encodeJustification({ kind: 'SubnetIDIndex', subnetID: l1.subnetID, index: 0 });
    expect(await of(exists).failure()).toMatchObject({
      code: 'validation_not_over',
      field: 'justification',
      message: expect.stringMatching(
        /^validation \w+ is of an L1 validator that exists: the P-Chain confirms the end /,
      ),
    });
  });

  test.each<[string, Uint8Array, string, RegExp]>([
    ['nothing', new Uint8Array(), 'invalid_request', ACCEPTED],
    ['text', Buffer.from('hello'), 'invalid_request', ACCEPTED],
    [
      'a signed message',
      signed,
      'invalid_request',
      /^this is a Warp message that is signed already; without a message it/,
    ],
    [
      'a message',
      warpMessage.bytes,
      'invalid_request',
      /^this is a Warp message: to have it signed, give it as the message; /,
    ],
    ['an unknown subnet', idBytes(UNKNOWN_TX), 'unknown_subnet', /^the P-Chain knows no subnet /],
  ])('%s is an error that says what it is', async (_, bytes, code, message) => {
    const error = await of(bytes).failure();
    expect(error).toMatchObject({ code, field: 'justification', message: expect.stringMatching(message) });
  });
});

test('a transaction that cannot be read is not taken for a failure of the API', async () => {
  const { state, failure, of } = createHarness();
  state.bytes = Uint8Array.from(CONVERSION.bytes.subarray(0, 20));
  expect(await failure(of(CONVERSION))).toMatchObject({
    code: 'p_chain_invalid',
    message: expect.stringMatching(/^this service cannot read transaction \w+: P-Chain transaction: too short: /),
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
    expect(await failed).toMatchObject({
      code: 'p_chain_unavailable',
      message: 'the P-Chain API did not answer in time',
    });
    expect(clock.pendingTimers).toBe(0);
  });
});
