import { bech32 } from '@scure/base';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { PARAMETER_FORMATS, type ParameterFormatName } from '../../../../src/http/parameters/parameter-formats.ts';
import { bytesToHex } from '../../../../src/lib/encoding/bytes.ts';
import { idFromBytes, nodeIDFromBytes } from '../../../../src/warp/ids.ts';

/** Often with zeros before the last byte, whose texts are the shortest, or with ones only. */
const bytes = (length: number) =>
  fc.oneof(
    fc.uint8Array({ minLength: length, maxLength: length }),
    fc.nat(255).map((last) => new Uint8Array(length).fill(last, -1)),
    fc.constant(new Uint8Array(length).fill(255)),
  );
const cb58Id = bytes(32).map((id) => idFromBytes(id, 'ID') as string);
const hexId = fc.tuple(fc.constantFrom('', '0x'), bytes(32)).map(([prefix, id]) => `${prefix}${bytesToHex(id)}`);
const anyId = fc.oneof(cb58Id, hexId);
const chainNumber = fc.bigInt({ min: 1n, max: 10n ** 20n - 1n }).map(String);
const evmAddress = bytes(20).map((address) => `0x${bytesToHex(address)}`);
const nodeID = bytes(20).map((id) => nodeIDFromBytes(id) as string);
const bech32Address = fc
  .tuple(fc.constantFrom('', 'P-', 'X-'), fc.constantFrom('avax', 'fuji'), bytes(20))
  .map(([chain, prefix, address]) => `${chain}${bech32.encode(prefix, bech32.toWords(address))}`);
const listOf = (item: fc.Arbitrary<string>) =>
  fc.array(item, { minLength: 1, maxLength: 5 }).map((items) => items.join(','));

/** Valid texts of each format, and whether its pattern is the whole check. */
const FORMATS: Readonly<Record<ParameterFormatName, readonly [good: fc.Arbitrary<string>, isExact: boolean]>> = {
  'primary-network-id': [anyId, false],
  'evm-chain-id': [fc.oneof(chainNumber, anyId), false],
  'evm-address': [evmAddress, true],
  'evm-hash': [bytes(32).map((hash) => `0x${bytesToHex(hash)}`), true],
  'evm-block-id': [
    fc.oneof(
      chainNumber,
      fc.constant('0'),
      bytes(32).map((hash) => `0x${bytesToHex(hash)}`),
    ),
    true,
  ],
  'token-id': [
    fc
      .tuple(fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }), fc.boolean())
      .map(([token, isHex]) => (isHex ? `0x${token.toString(16)}` : String(token))),
    false,
  ],
  'node-id': [nodeID, false],
  'node-id-list': [listOf(nodeID), false],
  'node-id-part-list': [
    listOf(
      fc.oneof(
        nodeID,
        nodeID.map((id) => id.slice(3, 12)),
      ),
    ),
    true,
  ],
  'address-list': [listOf(fc.oneof(evmAddress, bech32Address)), false],
  'transaction-type': [
    fc.constantFrom(
      'AddValidatorTx',
      'AddDelegatorTx',
      'ConvertSubnetToL1Tx',
      'IncreaseL1ValidatorBalanceTx',
      'UNKNOWN',
    ),
    true,
  ],
  'delegation-capacity': [fc.bigInt({ min: 0n, max: 720_000_000_000_000_000n }).map(String), true],
  'rpc-chain': [fc.oneof(fc.constantFrom('X', 'P'), cb58Id), false],
};

const NAMES = Object.keys(FORMATS) as ParameterFormatName[];
/** The pattern as JSON Schema reads it. */
const patternOf = (name: ParameterFormatName) => new RegExp(PARAMETER_FORMATS[name].pattern, 'u');
const problemOf = (name: ParameterFormatName, text: string) => PARAMETER_FORMATS[name].findProblem(text);

test.each(NAMES)('%s and its pattern accept valid texts', (name) => {
  fc.assert(
    fc.property(FORMATS[name][0], (text) => {
      expect([text, problemOf(name, text)]).toEqual([text, undefined]);
      expect(text).toMatch(patternOf(name));
    }),
  );
});

test.each(NAMES)('%s refuses texts that its pattern does not match', (name) => {
  const mutated = fc
    .tuple(FORMATS[name][0], fc.nat(), fc.constantFrom('', ' ', ',', '0', 'l', '\n', 'é', '%'))
    .map(([text, at, character]) => {
      const index = at % (text.length + 1);
      return `${text.slice(0, index)}${character}${text.slice(index + 1)}`;
    });
  fc.assert(
    fc.property(fc.oneof(mutated, fc.string()), (text) => {
      fc.pre(!patternOf(name).test(text));
      expect([text, typeof problemOf(name, text)]).toEqual([text, 'string']);
    }),
  );
});

test.each(NAMES.filter((name) => !FORMATS[name][1]))('%s checks more than its pattern', (name) => {
  const wrong: Readonly<Partial<Record<ParameterFormatName, string>>> = {
    'token-id': String(2n ** 256n),
    'address-list': bech32.encode('fuji', bech32.toWords(new Uint8Array(20))).replace(/.$/, 'q'),
  };
  const badChecksum = name.startsWith('node-id') ? `NodeID-${'1'.repeat(33)}` : '1'.repeat(50);
  const text = wrong[name] ?? badChecksum;
  expect(text).toMatch(patternOf(name));
  expect(problemOf(name, text)).toMatch(/^(must be|has a|cb58) /);
});

test('a delegation capacity has an exact bound', () => {
  const { findProblem } = PARAMETER_FORMATS['delegation-capacity'];
  const good = ['0', '9', '99999999999999999', '100000000000000000', '699999999999999999', '719999999999999999'];
  for (const text of good) expect(findProblem(text)).toBeUndefined();
  const bad = ['720000000000000001', '720000000000000010', '721000000000000000', '800000000000000000', '00', '-1'];
  for (const text of bad) expect(findProblem(text)).toBe('must be an integer from 0 to 720000000000000000');
});
