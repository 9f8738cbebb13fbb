import { keccak_256 } from '@noble/hashes/sha3.js';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { DecodedReading } from '../../../../../src/api/messages/message-records.ts';
import type { AggregationDetails } from '../../../../../src/client/gen/api.ts';
import type { Failure } from '../../../../../src/console/page/console-api.ts';
import { groupExamples } from '../../../../../src/console/page/input/example-groups.ts';
import { readTokenTransfer } from '../../../../../src/console/page/inspect/token-transfer.ts';
import { HERE, verificationBody } from '../../../../../src/console/page/inspect/verification-body.ts';
import { placeOf } from '../../../../../src/console/page/session.ts';
import { adviceOn, sentenceOf, standOf } from '../../../../../src/console/page/sign/failure-words.ts';
import { consequencesOf, type Preflight, quorumOf } from '../../../../../src/console/page/sign/quorum.ts';
import { DEFAULT_OPTIONS, decideRequest, optionsOfBody } from '../../../../../src/console/page/sign/sign-request.ts';
import {
  curlOf,
  deliverCalldata,
  GET_VERIFIED_WARP_MESSAGE,
  RECEIVE_CROSS_CHAIN_MESSAGE,
  readCalldata,
  sdkOf,
} from '../../../../../src/console/page/sign/snippets.ts';
import { bytesToHex } from '../../../../../src/lib/encoding/bytes.ts';
import { encodeCb58 } from '../../../../../src/lib/encoding/cb58.ts';

const plain = (text: string) => text.replaceAll('\u00a0', ' ');
const word = (value: bigint | number) => value.toString(16).padStart(64, '0');
const selectorOf = (signature: string) =>
  Buffer.from(keccak_256(new TextEncoder().encode(signature)))
    .toString('hex')
    .slice(0, 8);

describe('the quorum', () => {
  const known = {
    messageNetworkId: 1337,
    serviceNetworkId: 1337,
    subnetProblem: undefined,
    acceptors: 'all' as const,
    destinationQuorum: undefined,
    isDestinationsQuorum: false,
    isNetworkDown: false,
  };

  const OF_80 = { acceptors: 'destination', destinationQuorum: 80 } as const;

  test('that is reached is in whole percent, rounded down', () => {
    expect([quorumOf(669n, 1_000n), quorumOf(1n, 0n)]).toEqual([66, 0]);
  });

  test.each<[number, number, bigint, string, RegExp, Partial<Preflight>]>([
    [67, 0, 100n, 'good good good', /^Accepted by the P-Chain, the C-Chain and L1s that ask for up to 67 %\.$/m, {}],
    [
      67,
      0,
      100n,
      'good good good',
      /^Accepted by the P-Chain and the C-Chain\. An L1 .* own/,
      { acceptors: 'primary' },
    ],
    [67, 0, 100n, 'good good good', /^Accepted by the C-Chain\. An L1 .* own/, { acceptors: 'c_chain' }],
    [67, 0, 100n, 'warn good good', /the P-Chain, the C-Chain .* refuse these/, { acceptors: 'signing_subnet' }],
    [67, 0, 100n, 'good good good', /^Enough for chains that accept these signers/, { acceptors: 'unknown' }],
    [67, 0, 100n, 'bad good', /^No chain accepts it/, { acceptors: 'none' }],
    [67, 0, 100n, 'bad good', /^The destination accepts .* another/, { acceptors: 'none', destinationQuorum: 67 }],
    [67, 0, 100n, 'warn good good', /if it accepts these signers/, { acceptors: 'unknown', destinationQuorum: 67 }],
    [67, 0, 100n, 'good good', /^Up to/, { acceptors: undefined }],
    [50, 0, 100n, 'warn good good', /Below 67 %/, {}],
    [100, 0, 100n, 'good warn good', /Every validator must sign/, {}],
    [67, 10, 70n, 'good good good warn', /its buffer is not/, {}],
    [67, 0, 66n, 'good good bad', /Out of reach now: validators with 66.0 %/, {}],
    [67, 0, 100n, 'bad good good', /^This message is of network ID 1; .* network ID 1337/, { messageNetworkId: 1 }],
    [67, 0, 100n, 'bad good good', /^Not this one\./, { subnetProblem: 'Not this one.' }],
    [67, 0, 66n, 'good', /^The destination decides/, { isDestinationsQuorum: true }],
    [67, 0, 100n, 'bad good good', /^Below 80 %, which the destination demands/, OF_80],
    [80, 0, 100n, 'good good good', /^Accepted by the destination/, OF_80],
    [67, 0, 100n, 'bad good good', /^Not now: the service can sign nothing/, { isNetworkDown: true }],
    [80, 30, 100n, 'bad good good good', /^The quorum and its buffer add up to 110 %/, {}],
  ])('%i %% and %i %% more, where %i %% can sign: %s', (quorum, buffer, signableWeight, tones, text, more) => {
    const signable = { totalWeight: 100n, signableWeight };
    const list = consequencesOf(quorum, buffer, { ...known, signable, ...more });
    expect(list.map(({ tone }) => tone).join(' ')).toBe(tones);
    expect(plain(list.map((one) => one.text).join('\n'))).toMatch(text);
  });
});

describe('what a destination takes', () => {
  test('calldata begins with the selectors of the contracts', () => {
    expect(GET_VERIFIED_WARP_MESSAGE).toBe(selectorOf('getVerifiedWarpMessage(uint32)'));
    expect(RECEIVE_CROSS_CHAIN_MESSAGE).toBe(selectorOf('receiveCrossChainMessage(uint32,address)'));
    expect(readCalldata()).toHaveLength(2 + 8 + 64);
    expect(deliverCalldata(`0x${'Ab'.repeat(20)}`)).toBe(
      `0x${RECEIVE_CROSS_CHAIN_MESSAGE}${word(0)}${'0'.repeat(24)}${'ab'.repeat(20)}`,
    );
  });
});

describe('token transfers', () => {
  const address = (byte: string) => byte.repeat(20);
  const bytesOf = (hex: string) => word(hex.length / 2) + hex.padEnd(Math.ceil(hex.length / 64) * 64, '0');
  const message = (type: number, payload: string) => word(32) + word(type) + word(64) + bytesOf(payload);

  test('a plain one', () => {
    const payload = `${'0'.repeat(24)}${address('ab')}${word(5n * 10n ** 18n)}`;
    expect(readTokenTransfer(message(1, payload))).toEqual({
      type: 'Send tokens',
      fields: [
        { name: 'Recipient', kind: 'address', value: `0x${address('ab')}` },
        { name: 'Amount', kind: 'amount', value: '5000000000000000000' },
      ],
    });
  });

  test('one with a call', () => {
    const of = (byte: string) => `${'0'.repeat(24)}${address(byte)}`;
    const words = [word(7), of('11'), of('22'), of('33'), word(9), word(256), word(100_000), of('44')];
    const transfer = readTokenTransfer(message(2, `${word(32)}${words.join('')}${bytesOf('c0ffee')}`));
    expect(transfer?.type).toBe('Send tokens and call');
    expect(Object.fromEntries(transfer?.fields.map(({ name, value }) => [name, value]) ?? [])).toMatchObject({
      'Source blockchain': `0x${word(7)}`,
      'Recipient contract': `0x${address('33')}`,
      Amount: '9',
      'Recipient payload': 'c0ffee',
      'Fallback recipient': `0x${address('44')}`,
    });
  });

  test.each([
    '',
    'ab',
    word(32),
    message(5, ''),
    message(1, word(1)),
    message(1, word(1) + word(2) + word(3)),
    message(1, `${'f'.repeat(64)}${word(1)}`),
  ])('anything else is none: %#', (hex) => {
    expect(readTokenTransfer(hex)).toBeUndefined();
  });
});

describe('the request', () => {
  const bytesPasted = (hex: string) => ({ kind: 'bytes', hex, source: 'hex', fields: {}, more: 0 }) as const;
  const decideBytes = (as: object, more: object = {}) =>
    decideRequest(bytesPasted('ab'), as as DecodedReading, { ...DEFAULT_OPTIONS, ...more });
  const decideId = (more: object) => decideRequest({ kind: 'id', id: 't' }, undefined, { ...DEFAULT_OPTIONS, ...more });

  test('of a message has what was chosen, and of a signed one its unsigned part', () => {
    const chosen = { quorum: 80, buffer: 5, signingSubnetId: ' s ', justification: '0xaa', pChainHeight: '12' };
    const body = {
      message: '0xab',
      justification: '0xaa',
      quorumPercentage: 80,
      quorumPercentageBuffer: 5,
      signingSubnetId: 's',
      pChainHeight: 12,
    };
    expect(decideBytes({ as: 'unsignedMessage' }, chosen)).toEqual({
      request: { kind: 'body', body },
    });
    expect(decideBytes({ as: 'signedMessage', unsignedMessage: 'cd' })).toMatchObject({
      request: { body: { message: '0xcd' } },
    });
  });

  test.each([
    ['nothing more', {}, {}],
    ['where it goes', { destinationBlockchainId: 'd' }, { destinationBlockchainId: 'd' }],
    ['its signers', { quorum: 80, signingSubnetId: 's' }, { quorumPercentage: 80, signingSubnetId: 's' }],
    ['its chain and the chosen log', { chain: ' X ', logIndex: '3' }, { blockchainId: 'X', logIndex: '3' }],
  ])('of a transaction has its ID, and %s', (_, more, query) => {
    expect(decideId(more)).toEqual({ request: { kind: 'transaction', txHash: 't', query } });
  });

  test('of a subnet has its ID in hex, as the API takes justifications', () => {
    const decide = (id: string) => decideRequest({ kind: 'id', id }, undefined, { ...DEFAULT_OPTIONS, idIs: 'subnet' });
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (bytes) => {
        const hex = `0x${bytesToHex(bytes)}`;
        const expected = { request: { kind: 'body', body: { justification: hex } } };
        expect([decide(encodeCb58(bytes)), decide(hex)]).toEqual([expected, expected]);
      }),
    );
    const long = encodeCb58(new Uint8Array(33).fill(255));
    expect(decide(long)).toEqual({ why: 'This is no ID of a subnet: one has 32 bytes.' });
  });

  test('of a payload alone there is none, and why', () => {
    expect(decideBytes({ as: 'payload' })).toMatchObject({ why: expect.stringContaining('payload alone') });
    expect(decideRequest({ kind: 'empty' }, undefined, DEFAULT_OPTIONS)).toEqual({ why: undefined });
  });

  test('that was pasted sets what it says', () => {
    expect(optionsOfBody({ quorumPercentage: 70, pChainHeight: 5, justification: '0x1' })).toMatchObject({
      quorum: 70,
      buffer: 0,
      pChainHeight: '5',
      justification: '0x1',
    });
    const destination = { destinationBlockchainId: 'd' };
    const read = optionsOfBody({ pChainHeight: 0, ...destination });
    expect(read).toMatchObject({ pChainHeight: '', ...destination });
  });

  test('is shown as a call that others can make, without the key', () => {
    const place = { origin: 'http://a.test', network: 'fuji', hasKey: true };
    const url = 'http://a.test/v1/signatureAggregator/fuji/aggregateSignatures';
    const request = { kind: 'body', body: { message: '0xab', quorumPercentage: 67 } } as const;
    const transaction = { kind: 'transaction', txHash: 't/', query: { destinationBlockchainId: 'd' } } as const;
    expect(curlOf(request, place).split(' \\\n  ')).toEqual([
      `curl -s '${url}'`,
      `-H 'x-service-api-key: '"$API_KEY"`,
      "-H 'content-type: application/json'",
      `-d '{"message":"0xab","quorumPercentage":67}'`,
    ]);
    expect(sdkOf(request, place)).toContain('apiKey: process.env.API_KEY');
    expect(sdkOf(transaction, place)).toContain('signatureAggregator.get(\n  { txHash: "t/" }');
    expect(curlOf({ kind: 'body', body: { signingSubnetId: "'; ls '" } }, place)).toContain(
      `-d '{"signingSubnetId":"'\\''; ls '\\''"}'`,
    );
    const withoutKey = { ...place, hasKey: false };
    expect(curlOf(transaction, withoutKey)).toBe(`curl -s '${url}/t%2F?destinationBlockchainId=d'`);
  });
});

describe('a failure', () => {
  const none = { weight: '0', count: 0, reasons: [] };
  /** Weight and number of validators by outcome, of a set that weighs 100. */
  const failureWith = (outcomes: Record<string, [weight: string, count: number]>, code = 'insufficient_weight') => ({
    message: '67*100 > 100*0',
    code,
    statusCode: 500,
    details: {
      weightNeeded: '67',
      weightSigned: '61',
      totalWeight: '100',
      outcomes: {
        signed: none,
        refused: none,
        timed_out: none,
        unreachable: none,
        invalid_signature: none,
        not_asked: none,
        no_key: none,
        ...Object.fromEntries(
          Object.entries(outcomes).map(([outcome, [weight, count]]) => [outcome, { weight, count, reasons: [] }]),
        ),
      },
    } as unknown as AggregationDetails,
  });

  test('is explained by what weighs most first, without what decides nothing', () => {
    const { details } = failureWith({ refused: ['20', 1], timed_out: ['35', 2], unreachable: ['4', 1] });
    expect(adviceOn(details).map((text) => plain(text).split('.')[0])).toEqual([
      'Validators with 35',
      'Validators with 20',
    ]);
  });

  test.each<[string, Failure, boolean, RegExp]>([
    ['all refused', failureWith({ refused: ['100', 20] }), false, /^No validator knows .*: 20 of 20 refused\.$/],
    ['all refused', failureWith({ refused: ['100', 20] }), true, /^No validator confirms .*: 20 of 20 refused\.$/],
    [
      'some signed',
      failureWith({ signed: ['61', 2], refused: ['39', 1] }),
      ...([false, /^Only 61.0 % of the weight signed, 67.0 % is needed: 1 of 3 refused\.$/] as const),
    ],
    [
      'nobody is there',
      failureWith({ unreachable: ['100', 2] }),
      false,
      /^No validator signed: 2 of 2 cannot be reached/,
    ],
    [
      'too much weight cannot sign',
      failureWith({ not_asked: ['60', 2], no_key: ['40', 1] }, 'quorum_unreachable'),
      false,
      /^The quorum cannot be reached: validators with 40.0 % of the weight cannot sign\.$/,
    ],
    [
      'too few are there',
      failureWith({ unreachable: ['100', 2] }, 'not_connected'),
      false,
      /^Too few .*: 2 of 2 cannot/,
    ],
    ['there are no details', { message: 'm', code: 'unknown_subnet', statusCode: 404 }, false, /^meaning$/],
  ])('has a sentence for people where %s', (_, failure, isOfPChain, sentence) => {
    expect(plain(sentenceOf(failure, 'meaning', isOfPChain))).toMatch(sentence);
  });

  test('shows what is missing; one of a newer service has its message', () => {
    const { details, ...failure } = failureWith({ signed: ['61', 2] });
    expect(plain(standOf(details))).toBe('61.0 % signed, 67.0 % is needed: 6.0 % of the weight is missing.');
    expect(sentenceOf(failure, undefined, false)).toBe(failure.message);
  });
});

describe('the place in an address', () => {
  test.each([
    ['', 'sign', undefined],
    ['#/', 'sign', undefined],
    ['#/nowhere', undefined, undefined],
    ['#/subnets/', 'subnets', undefined],
    ['#/subnets/a%20b', 'subnets', 'a b'],
    // The page must come up with any link.
    ['#/subnets/%', 'subnets', '%'],
    ['#/inspect/%E0%A4', 'inspect', '%E0%A4'],
    ['#/sign?message=%', 'sign', undefined],
  ])('%s', (hash, view, rest) => {
    expect(placeOf(hash)).toMatchObject({ view, rest });
  });
});

const message = `0x000000000539${'ab'.repeat(40)}`;
const path = '/v1/signatureAggregator/fuji/aggregateSignatures';
const groups = groupExamples([
  { name: 'C-Chain message', method: 'POST', path, body: { message, quorumPercentage: 67 } },
  { name: 'L1 message', method: 'POST', path, body: { message, quorumPercentage: 80 } },
  { name: 'by transaction: ConvertSubnetToL1Tx', method: 'GET', path: `${path}/abc` },
]);

test('examples are in groups, as people would paste them; those that must fail have a message of another network', () => {
  const names = ['Primary network', 'L1', 'Conversions and L1 validators', 'Must fail'];
  expect(groups.map(([group]) => group)).toEqual(names);
  expect(groups[0]?.[1]).toEqual([{ name: 'C-Chain message', text: message }]);
  expect(JSON.parse(groups[1]?.[1][0]?.text ?? '')).toEqual({ message, quorumPercentage: 80 });
  expect(groups[2]?.[1]).toEqual([{ name: 'by transaction: ConvertSubnetToL1Tx', text: 'abc' }]);
  const failing = groups[3]?.[1].map(({ text }) => text) ?? [];
  expect(failing).toContain(message.replace('00000539', '00000001'));
  expect(failing).not.toContain(message);
  expect(groupExamples([])).toEqual([]);
});

describe('what is asked about a signed message', () => {
  test('is all that the form says', () => {
    expect(verificationBody('00ff', HERE)).toEqual({ signedMessage: '00ff' });
    const filled = { destinationBlockchainId: ' C ', pChainHeight: ' 12 ', signingSubnetId: ' S ', quorum: 80 };
    expect(verificationBody('00ff', filled)).toEqual({
      signedMessage: '00ff',
      quorumPercentage: 80,
      signingSubnetId: 'S',
      destinationBlockchainId: 'C',
      pChainHeight: 12,
    });
  });

  test.each(['x', '1e3', '-1', '1.5'])('is nothing while the height is %j', (typed) => {
    expect(verificationBody('00ff', { ...HERE, pChainHeight: typed })).toBeUndefined();
    expect(decideRequest({ kind: 'id', id: 't' }, undefined, { ...DEFAULT_OPTIONS, pChainHeight: typed })).toEqual({
      why: 'The P-Chain height is no whole number.',
    });
  });
});
