import { describe, expect, test } from 'vitest';
import { createPChainMessage } from '../../../../src/aggregation/transactions/l1-justification.ts';
import { createL1Messages, type L1MessagesOptions } from '../../../../src/aggregation/transactions/l1-messages.ts';
import type { EvmReceipt } from '../../../../src/pchain/codec/evm-receipt.ts';
import { ApiError } from '../../../../src/pchain/rpc/api-error.ts';
import type { Subnet, TxStatus } from '../../../../src/pchain/rpc/node-api.ts';
import type { IndexCoverage } from '../../../../src/pchain/state/validation-index.ts';
import { conversionID } from '../../../../src/warp/conversion-data.ts';
import { idBytes, idFromBytes, PRIMARY_NETWORK_ID, type SubnetID, type TxID } from '../../../../src/warp/ids.ts';
import { encodeJustification } from '../../../../src/warp/justification.ts';
import { encodeSignedMessage } from '../../../../src/warp/signed-message.ts';
import { createUnsignedMessage } from '../../../../src/warp/unsigned-message.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { createLogLines } from '../../../support/log-lines.ts';
import { testModel } from '../../devnet/test-model.ts';
import { hang, METHOD_REFUSED, NOT_FOUND } from '../api-failures.ts';

const SIGNAL = new AbortController().signal;
const UNKNOWN = { id: idFromBytes<TxID>(new Uint8Array(32).fill(9), 'txID') };
const model = testModel();
const { l1, ledger } = model;
const { heights } = l1;
const CONVERSION = ledger.transactionAt(heights.conversion);
const REGISTRATION = ledger.transactionAt(heights.registration);
const WEIGHT = ledger.transactionAt(heights.weightChange);
const REGISTERED_REMOVAL = ledger.transactionAt(heights.registeredRemoval);
const DISABLING = ledger.transactionAt(heights.disabling);
const USED_UP = ledger.transactionAt(heights.usedUpRegistration);

const { managerChainID } = l1.conversion;
const SUBNETS = new Map<SubnetID, Subnet>([
  [l1.subnetID, { managerChainID, conversionID: conversionID(l1.conversion) }],
  [PRIMARY_NETWORK_ID, { managerChainID: undefined, conversionID: undefined }],
]);

function createHarness() {
  const clock = new FakeClock();
  const state = {
    status: { status: 'Unknown', reason: undefined } as TxStatus,
    hangs: false,
    coverage: { range: { from: 5n, to: 90n }, isReading: false, isWhole: false } as IndexCoverage,
    dataApi: undefined as (() => Promise<readonly TxID[]>) | undefined,
    isManagerChainKnown: true,
    hasValidators: true,
    /** Of the weight of each validator, since the transactions. */
    changesSince: 0n,
    /** Methods that no API serves. */
    refused: [] as string[],
    receipt: undefined as EvmReceipt | Error | undefined,
    /** Replaces the bytes of every transaction. */
    bytes: undefined as Uint8Array | undefined,
  };
  const log = createLogLines();
  const requireServed = (method: string): void => {
    if (state.refused.includes(method)) throw METHOD_REFUSED;
  };
  const options: L1MessagesOptions = {
    networkID: model.networkID,
    api: {
      async getTx(txID, signal) {
        requireServed('getTx');
        if (state.hangs) return hang(signal);
        const transaction = ledger.transaction(txID);
        if (transaction === undefined) throw NOT_FOUND;
        return state.bytes ?? transaction.bytes;
      },
      getBlockchains: async () => [],
      async getTxStatus() {
        requireServed('getTxStatus');
        return state.status;
      },
      async getL1Validator(validationID) {
        requireServed('getL1Validator');
        const validator = state.hasValidators ? model.l1Validator(validationID) : undefined;
        if (validator === undefined) throw NOT_FOUND;
        return { subnetID: l1.subnetID, minNonce: validator.minNonce + state.changesSince };
      },
    },
    evm: {
      async getReceipt() {
        if (state.receipt instanceof Error) throw state.receipt;
        return state.receipt;
      },
    },
    subnets: { tracked: new Set() },
    chains: {
      async findXChainTx() {
        requireServed('avm.getTx');
        throw NOT_FOUND;
      },
    },
    directory: {
      validatedBy: async () => (state.isManagerChainKnown ? l1.subnetID : undefined),
      exists: async () => true,
      knownSubnetOf: () => undefined,
      isKnown: () => true,
      getSubnet: async (subnetID) => SUBNETS.get(subnetID),
    },
    // Knows no registration, so that every other way is taken.
    index: { originOf: async () => undefined, coverage: () => state.coverage },
    dataApi: {
      transactionsOf: async () => (state.dataApi === undefined ? [] : state.dataApi()),
      [Symbol.asyncDispose]: async () => undefined,
    },
    clock,
    logger: log.logger,
    timeoutMs: 5_000,
  };
  const messages = createL1Messages(options);
  const of = ({ id }: { id: TxID }) => messages.ofTransaction({ txID: id }, SIGNAL);
  const ofHash = ({ id }: { id: TxID }) =>
    messages.ofTransaction({ txID: id, evm: { chain: undefined, logIndex: undefined } }, SIGNAL);
  return { clock, state, log, messages, of, ofHash };
}

describe('of a transaction', () => {
  test('whose manager is on a chain that nobody knows', async () => {
    const { state, of } = createHarness();
    state.isManagerChainKnown = false;
    await expect(of(CONVERSION)).rejects.toMatchObject({ code: 'invalid_request', field: 'transaction' });
  });

  test.each([
    ['a registration of a removed validator', USED_UP, 'message_superseded', /registered was removed since/],
    ['a transaction without a message', DISABLING, 'no_message_in_transaction', /is a DisableL1ValidatorTx/],
  ])('%s, which nobody will sign, is an error of the caller', async (_, transaction, code, text) => {
    const { of } = createHarness();
    const message = expect.stringMatching(text);
    await expect(of(transaction)).rejects.toMatchObject({ code, field: 'transaction', message });
  });

  test('a transaction of an unknown type has no message', async () => {
    const { state, of } = createHarness();
    state.bytes = Buffer.from('00000000002b', 'hex');
    const message = expect.stringContaining('transaction of the unknown type 43');
    await expect(of(CONVERSION)).rejects.toMatchObject({ code: 'no_message_in_transaction', message });
  });

  test('the weight of a validator, until it is set anew', async () => {
    const { state, of } = createHarness();
    expect(await of(WEIGHT)).toMatchObject({ signingSubnetID: l1.subnetID, justification: new Uint8Array() });
    state.changesSince = 1n;
    const message = expect.stringContaining('was set anew since');
    await expect(of(WEIGHT)).rejects.toMatchObject({ code: 'message_superseded', message });
  });

  test('the weight of a validator that was removed since', async () => {
    const { state, of } = createHarness();
    state.hasValidators = false;
    await expect(of(WEIGHT)).rejects.toMatchObject({ code: 'message_superseded', field: 'transaction' });
  });
});

test.each<[TxStatus, RegExp]>([
  [
    { status: 'Unknown', reason: undefined },
    /neither the P-Chain nor the X-Chain of network \d+ knows .* as 0x and 64 digits$/,
  ],
  [{ status: 'Processing', reason: undefined }, /not yet accepted/],
  [{ status: 'Dropped', reason: 'no funds' }, /dropped .*: no funds$/],
])('a transaction that was not accepted: %o', async (status, text) => {
  const { state, of } = createHarness();
  state.status = status;
  const message = expect.stringMatching(text);
  await expect(of(UNKNOWN)).rejects.toMatchObject({ code: 'unknown_transaction', field: 'transaction', message });
});

describe('an API that does not serve', () => {
  const RPC_MISSING = new ApiError('invalid_response', 'HTTP status 404');
  const message = (text: RegExp) => expect.stringMatching(text);

  test('getL1Validator confirms nothing, and fails nothing', async () => {
    const { state, messages, of } = createHarness();
    state.refused = ['getL1Validator'];
    state.hasValidators = false;
    for (const transaction of [REGISTRATION, WEIGHT]) expect(await of(transaction)).toHaveProperty('message');
    const { id, index } = { id: l1.subnetID, index: l1.story.removed.index };
    const justification = encodeJustification({ kind: 'SubnetIDIndex', subnetID: id, index });
    expect(await messages.ofJustification(justification, SIGNAL)).toHaveProperty('message');
  });

  test('getTxStatus has no reason why a transaction was not accepted', async () => {
    const { state, of } = createHarness();
    state.refused = ['getTxStatus'];
    await expect(of(UNKNOWN)).rejects.toMatchObject({
      code: 'unknown_transaction',
      message: message(/nor the X-Chain/),
    });
  });

  test('getTx fails a transaction of the P-Chain, and no EVM hash', async () => {
    const { state, of, ofHash } = createHarness();
    state.refused = ['getTx'];
    await expect(of(UNKNOWN)).rejects.toMatchObject({ code: 'p_chain_invalid' });
    const text = message(/^neither the X-Chain, the C-Chain nor .*; the P-Chain could not be asked: /);
    await expect(ofHash(UNKNOWN)).rejects.toMatchObject({ code: 'unknown_transaction', message: text });
    state.status = { status: 'Committed', reason: undefined };
    await expect(ofHash(UNKNOWN)).rejects.toMatchObject({ code: 'p_chain_invalid' });
    const sent = createUnsignedMessage(model.networkID, managerChainID, Uint8Array.of(1));
    state.receipt = { hasFailed: false, logCount: 1, messages: [{ logIndex: 0, message: sent }] };
    expect(await ofHash(UNKNOWN)).toMatchObject({ message: sent });
  });

  test.each([
    ['chain_rpc_invalid', RPC_MISSING, /RPC of the C-Chain failed: HTTP status 404; .* setting chainRpc; name another/],
    ['chain_rpc_unavailable', new ApiError('unavailable', 'no answer'), /RPC of the C-Chain failed: no answer; /],
  ])('the C-Chain: an EVM hash is %s', async (code, error, text) => {
    const { state, ofHash } = createHarness();
    state.receipt = error;
    await expect(ofHash(UNKNOWN)).rejects.toMatchObject({ code, message: message(text) });
  });

  test('the X-Chain: the error names it', async () => {
    const { state, of } = createHarness();
    state.refused = ['avm.getTx'];
    const text = message(/^the P-Chain of network \d+ knows no transaction .*; the X-Chain could not be asked: /);
    await expect(of(UNKNOWN)).rejects.toMatchObject({ code: 'unknown_transaction', message: text });
  });
});

describe('the registration that a removal needs', () => {
  test('is not taken from a data API that names others', async () => {
    const { state, of } = createHarness();
    state.dataApi = async () => [REGISTRATION.id, CONVERSION.id];
    await expect(of(REGISTERED_REMOVAL)).rejects.toMatchObject({ code: 'justification_not_found' });
  });

  test('and a data API that fails is none, which is said once a minute', async () => {
    const { state, log, of } = createHarness();
    state.dataApi = () => Promise.reject(new ApiError('unavailable', 'no answer'));
    await expect(of(REGISTERED_REMOVAL)).rejects.toMatchObject({
      code: 'justification_not_found',
      field: 'transaction',
      message: expect.stringContaining('P-Chain blocks 5 to 90 were read'),
    });
    await of(REGISTERED_REMOVAL).catch(() => undefined);
    expect(log.count('the data API could not be asked')).toBe(1);
  });

  test.each([
    [undefined, 'no P-Chain block was read yet'],
    [{ from: 5n, to: 90n }, 'P-Chain blocks 5 to 90 were read'],
  ])('may be found later while the index reads: %o', async (range, where) => {
    const { state, of } = createHarness();
    state.coverage = { range, isReading: true, isWhole: false };
    const message = expect.stringContaining(where);
    await expect(of(REGISTERED_REMOVAL)).rejects.toMatchObject({ code: 'justification_pending', message });
  });
});

describe('of a justification', () => {
  const of = (bytes: Uint8Array) => createHarness().messages.ofJustification(bytes, SIGNAL);
  const warpMessage = createUnsignedMessage(model.networkID, l1.blockchainID, new Uint8Array([1, 2, 3]));
  const signed = encodeSignedMessage({
    unsignedMessage: warpMessage,
    signature: { signers: [0, 2], signature: new Uint8Array(96).fill(7) },
  });

  test('a validation that is over: its end', async () => {
    const { validationID, index } = l1.story.removed;
    const justification = encodeJustification({ kind: 'SubnetIDIndex', subnetID: l1.subnetID, index });
    const found = await of(justification);
    const content = { kind: 'L1ValidatorRegistration', validationID, registered: false } as const;
    expect(found.message).toEqual(createPChainMessage(model.networkID, content));
    expect(found.justification).toEqual(justification);
  });

  test('a validation that is not over yet', async () => {
    const exists = encodeJustification({ kind: 'SubnetIDIndex', subnetID: l1.subnetID, index: 0 });
    const expected = { code: 'validation_not_over', field: 'justification' };
    await expect(of(exists)).rejects.toMatchObject(expected);
  });

  test.each<[string, Uint8Array, string, RegExp]>([
    ['nothing', new Uint8Array(), 'invalid_request', /^without a message it must be the 32 bytes of a subnet ID/],
    ['a signed message', signed, 'invalid_request', /^this is a Warp message that is signed already/],
    ['a message', warpMessage.bytes, 'invalid_request', /^this is a Warp message: to have it signed/],
    ['an unknown subnet', idBytes(UNKNOWN.id), 'unknown_subnet', /^the P-Chain knows no subnet /],
    ['the primary network', idBytes(PRIMARY_NETWORK_ID), 'invalid_request', /was not converted/],
  ])('%s is an error that says what it is', async (_, bytes, code, text) => {
    const message = expect.stringMatching(text);
    await expect(of(bytes)).rejects.toMatchObject({ code, field: 'justification', message });
  });
});

test('a transaction that cannot be read is not taken for a failure of the API', async () => {
  const { state, of } = createHarness();
  state.bytes = Uint8Array.from(CONVERSION.bytes.subarray(0, 20));
  await expect(of(CONVERSION)).rejects.toMatchObject({
    code: 'p_chain_invalid',
    message: expect.stringContaining('this service cannot read transaction'),
  });
});

test('an API that hangs is given up in time', async () => {
  const { clock, state, of } = createHarness();
  state.hangs = true;
  const failure = of(CONVERSION).catch((error: unknown) => error);
  await clock.advance(5_000);
  expect(await failure).toMatchObject({ code: 'p_chain_unavailable' });
  expect(clock.pendingTimers).toBe(0);
});
