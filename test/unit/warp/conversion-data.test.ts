import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ByteWriter } from '../../../src/primitives/byte-writer.ts';
import { parseHex } from '../../../src/primitives/bytes.ts';
import {
  type BlockchainID,
  idBytes,
  P_CHAIN_ID,
  PRIMARY_NETWORK_ID,
  parseId,
  type SubnetID,
} from '../../../src/primitives/ids.ts';
import {
  type ConversionData,
  conversionID,
  encodeConversionData,
  parseConversionData,
} from '../../../src/warp/conversion-data.ts';
import { parseL1Message } from '../../../src/warp/l1-message.ts';
import { parseWarpPayload } from '../../../src/warp/payload.ts';
import { readCase, readRpcExchanges, readTransaction, rpcResult } from '../../vectors/vectors.ts';
import { conversions } from './arbitrary-messages.ts';
import { hostileBytes, MANY_RUNS, parseOrRefuse, throughSocket } from './codec-properties.ts';

const codec = { encode: encodeConversionData, parse: parseConversionData };

interface ConvertSubnetToL1Tx {
  readonly subnetID: string;
  readonly chainID: string;
  readonly address: string;
  readonly validators: readonly { nodeID: string; weight: number; signer: { publicKey: string } }[];
}

function conversionOfTransaction(): ConversionData {
  const tx = readTransaction('ConvertSubnetToL1Tx').unsignedTx as unknown as ConvertSubnetToL1Tx;
  return {
    subnetID: parseId<SubnetID>(tx.subnetID, 'subnetID'),
    managerChainID: parseId<BlockchainID>(tx.chainID, 'chainID'),
    managerAddress: parseHex(tx.address, 'address'),
    validators: tx.validators.map(({ nodeID, weight, signer }) => ({
      nodeID: parseHex(nodeID, 'nodeID'),
      blsPublicKey: parseHex(signer.publicKey, 'publicKey'),
      weight: BigInt(weight),
    })),
  };
}

test('the hash of a real conversion is what the P-Chain says and signs', () => {
  const data = conversionOfTransaction();
  const call = parseWarpPayload(readCase('p_conversion').payload);
  if (call.kind !== 'AddressedCall') throw new Error('not an addressed call');
  expect(parseL1Message(call.payload)).toEqual({ kind: 'SubnetToL1Conversion', conversionID: conversionID(data) });

  const subnet = rpcResult<{ conversionID: string }>(readRpcExchanges('pchain'), 'platform.getSubnet', {
    subnetID: data.subnetID,
  });
  expect(conversionID(data)).toEqual(idBytes(parseId<SubnetID>(subnet.conversionID, 'conversionID')));
  expect(idBytes(data.subnetID)).toEqual(readCase('p_conversion').justification);
});

test('round-trips', () => {
  fc.assert(
    fc.property(conversions, (value) => {
      expect(throughSocket(codec, value)).toEqual(value);
    }),
  );
});

test('any bytes are conversion data or a ParseError', () => {
  fc.assert(
    fc.property(hostileBytes(codec, conversions), (bytes) => {
      const parsed = parseOrRefuse(codec, bytes);
      if (parsed === undefined) return;
      expect(codec.encode(parsed)).toEqual(bytes);
    }),
    MANY_RUNS,
  );
});

test('the ID is the hash of the bytes', () => {
  fc.assert(
    fc.property(conversions, (data) => {
      const hash = createHash('sha256').update(encodeConversionData(data)).digest();
      expect(conversionID(data)).toEqual(Uint8Array.from(hash));
    }),
  );
});

test('50,000 validators round-trip', () => {
  const validator = { nodeID: new Uint8Array(20), blsPublicKey: new Uint8Array(48), weight: 1n };
  const data: ConversionData = {
    subnetID: PRIMARY_NETWORK_ID,
    managerChainID: P_CHAIN_ID,
    managerAddress: new Uint8Array(20),
    validators: Array.from({ length: 50_000 }, () => validator),
  };
  const encoded = encodeConversionData(data);
  expect(parseConversionData(encoded).validators).toHaveLength(50_000);
});

function upToValidators(): ByteWriter {
  return new ByteWriter().u16(0).bytes(new Uint8Array(64)).lengthPrefixed(new Uint8Array(20));
}

test.each<[string, Uint8Array, string]>([
  ['four billion validators', upToValidators().u32(0xffff_ffff).finish(), '4294967295 validators, more than fit'],
  ['two where there is room for less', upToValidators().u32(2).bytes(new Uint8Array(119)).finish(), 'more than fit'],
  [
    'a manager address of 4,097 bytes',
    new ByteWriter().u16(0).bytes(new Uint8Array(64)).lengthPrefixed(new Uint8Array(4097)).u32(0).finish(),
    'managerAddress has 4097 bytes, at most 4096 are allowed',
  ],
])('refuses %s', (_name, bytes, reason) => {
  expect(() => parseConversionData(bytes)).toThrowError(reason);
});

test('two validators without node IDs just fit', () => {
  expect(parseConversionData(upToValidators().u32(2).bytes(new Uint8Array(120)).finish()).validators).toHaveLength(2);
});

test('a key of another length is a bug and crashes', () => {
  const data = conversionOfTransaction();
  const validators = [{ nodeID: new Uint8Array(20), blsPublicKey: new Uint8Array(96), weight: 1n }];
  expect(() => encodeConversionData({ ...data, validators })).toThrowError(RangeError);
});
