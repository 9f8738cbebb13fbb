import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ByteWriter } from '../../../../src/lib/encoding/byte-writer.ts';
import { bytesToHex } from '../../../../src/lib/encoding/bytes.ts';
import { attempt, ParseError } from '../../../../src/lib/encoding/parse-error.ts';
import { type PChainTransaction, parsePChainTransaction } from '../../../../src/pchain/codec/l1-transaction.ts';
import { parsePChainBlock } from '../../../../src/pchain/codec/p-chain-block.ts';
import { conversionID } from '../../../../src/warp/conversion-data.ts';
import { idFromBytes } from '../../../../src/warp/ids.ts';
import { conversionValidationID, registrationValidationID } from '../../../../src/warp/l1-message.ts';
import { readRpcExchanges, readTransaction, rpcResult, TRANSACTION_NAMES } from '../../../vectors/vectors.ts';

const CONVERT = 'ConvertSubnetToL1Tx';
const REGISTER = 'RegisterL1ValidatorTx_register_node5';
const SET_WEIGHT = 'SetL1ValidatorWeightTx_weight_node4';
const exchanges = readRpcExchanges('pchain');
const subnet = rpcResult<{ conversionID: string; managerChainID: string; managerAddress: string }>(
  exchanges,
  'platform.getSubnet',
);

function bytesOf(name: string): Uint8Array {
  return readTransaction(name).bytesWithChecksum.slice(0, -4);
}

function parsed<Kind extends PChainTransaction['kind']>(name: string, kind: Kind) {
  const transaction = parsePChainTransaction(bytesOf(name));
  if (transaction.kind !== kind) throw new Error(`${name} is a ${transaction.kind}`);
  return transaction as Extract<PChainTransaction, { kind: Kind }>;
}

describe('transactions of a real network', () => {
  test('a conversion has the conversion ID of the P-Chain', () => {
    const { conversion } = parsed(CONVERT, 'ConvertSubnetToL1Tx');
    expect(idFromBytes(conversionID(conversion), 'id')).toBe(subnet.conversionID);
    expect(conversion.managerChainID).toBe(subnet.managerChainID);
    expect(`0x${bytesToHex(conversion.managerAddress)}`).toBe(subnet.managerAddress);
    expect(conversion.validators.map(({ weight }) => weight)).toEqual([20n, 100n, 400n, 200n, 300n]);
  });

  test('a registration has the validation ID of a validator that the P-Chain lists', () => {
    const { message, managerChainID } = parsed(REGISTER, 'RegisterL1ValidatorTx');
    expect(managerChainID).toBe(subnet.managerChainID);
    const { validators } = rpcResult<{ validators: { validationID: string; weight: string }[] }>(
      exchanges,
      'platform.getCurrentValidators',
      { subnetID: message.subnetID },
    );
    const listed = validators.find(({ validationID }) => validationID === registrationValidationID(message));
    expect(listed?.weight).toBe(String(message.weight));
  });

  test('a weight change has the nonce below the next one and the weight', () => {
    const { message, managerChainID } = parsed(SET_WEIGHT, 'SetL1ValidatorWeightTx');
    expect(managerChainID).toBe(subnet.managerChainID);
    const state = rpcResult<{ minNonce: string; weight: string }>(exchanges, 'platform.getL1Validator', {
      validationID: message.validationID,
    });
    expect(message).toMatchObject({ nonce: BigInt(state.minNonce) - 1n, weight: BigInt(state.weight) });
  });

  test.each(TRANSACTION_NAMES)('%s is known by name', (name) => {
    const transaction = parsePChainTransaction(bytesOf(name));
    expect(transaction.kind === 'other' ? transaction.name : transaction.kind).toBe(name.split('_')[0]);
  });

  test.each([CONVERT, REGISTER, SET_WEIGHT])('%s truncated before the end of its message is rejected', (name) => {
    const bytes = bytesOf(name);
    const whole = parsePChainTransaction(bytes);
    for (let length = 0; length < bytes.length; length += 1) {
      const transaction = attempt(() => parsePChainTransaction(bytes.subarray(0, length)));
      if (transaction instanceof ParseError) continue;
      // Authorizations and credentials come last, and are not read.
      expect(transaction).toEqual(whole);
      expect(length).toBeGreaterThan(bytes.length - 120 - 80);
    }
  });

  test('any other bytes are parsed or rejected', () => {
    const samples = [CONVERT, REGISTER, SET_WEIGHT].map(bytesOf);
    fc.assert(
      fc.property(
        fc.constantFrom(...samples),
        fc.array(fc.record({ at: fc.nat(800), value: fc.integer({ min: 0, max: 255 }) }), { maxLength: 4 }),
        (sample, changes) => {
          const bytes = new Uint8Array(sample);
          for (const { at, value } of changes) bytes[at % bytes.length] = value;
          expect(() => attempt(() => parsePChainTransaction(bytes))).not.toThrow();
        },
      ),
    );
  });
});

describe('kinds without a message', () => {
  const header = (typeID: number): Uint8Array => new ByteWriter().u16(0).u32(typeID).finish();

  test.each([
    [12, 'AddValidatorTx'],
    [34, 'BaseTx'],
    [39, 'DisableL1ValidatorTx'],
    [40, 'AddAutoRenewedValidatorTx'],
    [41, 'SetAutoRenewedValidatorConfigTx'],
    [42, 'RewardAutoRenewedValidatorTx'],
    [43, 'transaction of the unknown type 43'],
    [28, 'transaction of the unknown type 28'],
  ])('type %i is %s', (typeID, name) => {
    expect(parsePChainTransaction(header(typeID))).toEqual({ kind: 'other', name });
  });

  test('another codec version is rejected', () => {
    expect(() => parsePChainTransaction(Uint8Array.of(0, 1, 0, 0, 0, 34))).toThrow('unknown codec version 1');
  });
});

test('locked outputs and inputs are skipped', () => {
  const id = new Uint8Array(32).fill(1);
  const transfer = (writer: ByteWriter) => writer.u32(7).u64(5n).u64(0n).u32(1).u32(1).bytes(new Uint8Array(20));
  const writer = new ByteWriter().u16(0).u32(37).u32(1).bytes(id);
  transfer(transfer(writer.u32(2).bytes(id)).bytes(id).u32(22).u64(9n));
  writer.u32(2).bytes(id).u32(0).bytes(id).u32(5).u64(5n).u32(1).u32(0);
  writer.bytes(id).u32(0).bytes(id).u32(21).u64(9n).u32(5).u64(5n).u32(0);
  writer.lengthPrefixed(Buffer.from('memo'));
  const { message } = readTransaction(SET_WEIGHT).unsignedTx as { message: string };
  writer.lengthPrefixed(Buffer.from(message.slice(2), 'hex'));
  expect(parsePChainTransaction(writer.finish())).toEqual(parsed(SET_WEIGHT, 'SetL1ValidatorWeightTx'));
});

describe('blocks', () => {
  const id = (byte: number): string => idFromBytes(new Uint8Array(32).fill(byte), 'id');
  const block = (txs: unknown, more: object = {}) => ({
    id: id(2),
    parentID: id(1),
    height: 7,
    time: 99,
    txs,
    ...more,
  });
  const jsonOf = (name: string) => (readTransaction(name).json.response.result as { tx: unknown }).tx;

  test('contain the origins of the validations that start in them', () => {
    const { height, parentID, timestamp, origins } = parsePChainBlock(block(TRANSACTION_NAMES.map(jsonOf)));
    expect({ height, parentID, timestamp }).toEqual({ height: 7n, parentID: id(1), timestamp: 99n });
    const { message } = parsed(REGISTER, 'RegisterL1ValidatorTx');
    const { conversion } = parsed(CONVERT, 'ConvertSubnetToL1Tx');
    expect(origins.map(({ validationID }) => validationID)).toEqual([
      ...[0, 1, 2, 3, 4].map((index) => conversionValidationID(conversion.subnetID, index)),
      registrationValidationID(message),
    ]);
    const { subnetID } = conversion;
    expect(origins[3]?.justification).toEqual({ kind: 'SubnetIDIndex', subnetID, index: 3 });
  });

  test('of other kinds have no transactions, or none of an L1', () => {
    expect(parsePChainBlock(block(null)).origins).toEqual([]);
    const old = block(undefined, { time: undefined });
    expect(parsePChainBlock(old)).toMatchObject({ timestamp: undefined, origins: [] });
  });

  test('a malformed transaction does not hide the others', () => {
    const unreadable = { unsignedTx: { message: '0x00', proofOfPossession: [], balance: 1 } };
    expect(parsePChainBlock(block([unreadable, jsonOf(REGISTER)])).origins).toHaveLength(1);
  });

  test('transactions of newer kinds do not hide the others', () => {
    const unknown = { chainID: id(3), address: 7, validators: 'all', message: null, proofOfPossession: {} };
    const rewarding = { txID: id(5), timestamp: 1_234_567_890 };
    const txs = [rewarding, unknown, {}].map((unsignedTx) => ({ unsignedTx, credentials: [], id: id(4) }));
    const { height, origins } = parsePChainBlock(block([...txs, jsonOf(REGISTER), ...txs]));
    expect({ height, count: origins.length }).toEqual({ height: 7n, count: 1 });
  });

  test.each<[string, unknown]>([
    ['no object', 7],
    ['no height', block([], { height: undefined })],
    ['an ID that is none', block([], { id: 'x' })],
    ['transactions that are none', block([7])],
  ])('%s is refused', (_, value) => {
    expect(() => parsePChainBlock(value)).toThrow(ParseError);
  });
});
