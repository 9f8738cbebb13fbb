import { keccak_256 } from '@noble/hashes/sha3.js';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { DecodedReading } from '../../../../../src/api/messages/message-records.ts';
import type { Failure, FailureDetails } from '../../../../../src/console/page/api-client.ts';
import { groupExamples } from '../../../../../src/console/page/input/example-groups.ts';
import { readTokenTransfer } from '../../../../../src/console/page/inspect/token-transfer.ts';
import { HERE, verificationBody } from '../../../../../src/console/page/inspect/verification-body.ts';
import { placeOf } from '../../../../../src/console/page/session.ts';
import { adviceOn, sentenceOf, standOf } from '../../../../../src/console/page/sign/failure-words.ts';
import {
  accessListOf,
  deliverCalldata,
  GET_VERIFIED_WARP_MESSAGE,
  packPredicate,
  RECEIVE_CROSS_CHAIN_MESSAGE,
  readCalldata,
} from '../../../../../src/console/page/sign/predicate.ts';
import { consequencesOf, type Preflight, quorumOf, weightNeeded } from '../../../../../src/console/page/sign/quorum.ts';
import { linkedSigning, signLink } from '../../../../../src/console/page/sign/sign-link.ts';
import { DEFAULT_OPTIONS, decideRequest, optionsOf } from '../../../../../src/console/page/sign/sign-request.ts';
import { curlOf, sdkOf } from '../../../../../src/console/page/sign/snippets.ts';
import { drawSeries, niceTop, spanOf } from '../../../../../src/console/page/ui/chart-path.ts';
import {
  ago,
  bytes,
  compactWeight,
  dateTime,
  duration,
  grouped,
  milliseconds,
  missingOf,
  percentOf,
  ratioOf,
  sharesOf,
  shortened,
  tokenAmount,
  unixTime,
} from '../../../../../src/console/page/ui/figures.ts';
import { textOfHex } from '../../../../../src/console/page/ui/hex.ts';
import { squarify } from '../../../../../src/console/page/ui/treemap.ts';
import { bytesToHex } from '../../../../../src/lib/encoding/bytes.ts';
import { encodeCb58 } from '../../../../../src/lib/encoding/cb58.ts';
import { quorumWeight } from '../../../../../src/validators/quorum.ts';

const plain = (text: string) => text.replaceAll('\u00a0', ' ');
const word = (value: bigint | number) => value.toString(16).padStart(64, '0');
const selectorOf = (signature: string) =>
  Buffer.from(keccak_256(new TextEncoder().encode(signature)))
    .toString('hex')
    .slice(0, 8);

describe('a chart', () => {
  test.each<[string, number[], [number, number]]>([
    ['none', [], [-600_000, 0]],
    ['one', [5_000_000], [4_400_000, 5_000_000]],
    ['a few', [4_900_000, 5_000_000], [4_400_000, 5_000_000]],
    ['an hour', [1_400_000, 3_000_000, 5_000_000], [1_400_000, 5_000_000]],
  ])('shows ten minutes at least, and ends with its last time: %s', (_, times, span) => {
    expect(spanOf(times)).toEqual(span);
  });

  test('has a line where values are neighbours, and a point where one is alone', () => {
    const points = [[0, 9] as const, undefined, [2, 5] as const, [3, 4] as const, undefined, [5, 1] as const];
    expect(drawSeries(points, false, 10)).toEqual({
      line: 'M2 5L3 4',
      area: 'M2 5L3 4V10H2Z',
      dots: 'M0 9h0M5 1h0',
    });
    expect(drawSeries(points.slice(2), true, 10).line).toBe('M2 5V4H3');
  });

  test('has a round number at its top', () => {
    expect([0, 1, 1.5, 3, 7, 230, 501].map(niceTop)).toEqual([1, 1, 2, 5, 10, 500, 1_000]);
  });
});

describe('figures', () => {
  test('percentages have one decimal, and are never rounded up', () => {
    expect(
      [
        percentOf(6_699n, 10_000n),
        percentOf(67n, 100n),
        percentOf(1n, 10_000n),
        percentOf(0n, 5n),
        percentOf(1n, 0n),
        percentOf(999_999n, 1_000_000n),
        percentOf(5n, 5n),
      ].map(plain),
    ).toEqual(['66.9 %', '67.0 %', '< 0.1 %', '0 %', '0 %', '99.9 %', '100 %']);
    expect(ratioOf(1n, 3n)).toBeCloseTo(1 / 3, 5);
    expect(ratioOf(1n, 0n)).toBe(0);
  });

  test('percentages of a whole add up, and the first is that of the figure alone', () => {
    const tenths = (text: string) => Math.round(10 * Number(plain(text).replace(/^< |[ %]/g, '')));
    expect(sharesOf([6_785n, 3_215n], 10_000n).map(plain)).toEqual(['67.8 %', '32.2 %']);
    expect(sharesOf([1n, 1n, 1n], 3n).map(plain)).toEqual(['33.3 %', '33.4 %', '33.3 %']);
    expect(sharesOf([], 0n)).toEqual([]);
    fc.assert(
      fc.property(fc.array(fc.bigInt({ min: 0n, max: 10n ** 18n }), { minLength: 1, maxLength: 8 }), (parts) => {
        const whole = parts.reduce((sum, part) => sum + part, 0n);
        fc.pre(parts.every((part) => part === 0n || 1_000n * part >= whole));
        const shares = sharesOf(parts, whole);
        expect(shares.reduce((sum, share) => sum + tenths(share), 0)).toBe(whole === 0n ? 0 : 1_000);
        expect(shares[0]).toBe(percentOf(parts[0] ?? 0n, whole));
      }),
    );
  });

  test('what is missing is the difference of what is shown', () => {
    expect(plain(missingOf(6_149n, 6_700n, 10_000n))).toBe('5.6 %');
    expect(plain(missingOf(6_700n, 6_700n, 10_000n))).toBe('0 %');
    expect(plain(missingOf(7_000n, 6_700n, 10_000n))).toBe('0 %');
  });

  test.each<[bigint, string, string]>([
    [23_750_004_960_008_537n, '23.75 M', '23.75 P'],
    [35_000_008_800_376_923n, '35.00 M', '35.00 P'],
    [999_999_999_999n, '999.99', '999.99 G'],
    [1_999n, '0.00', '1.99 k'],
    [999n, '0.00', '999'],
    [0n, '0', '0'],
  ])('the weight %s is %s AVAX, and %s as a number', (weight, avax, number) => {
    expect([compactWeight(weight, true), compactWeight(weight, false)].map(plain)).toEqual([avax, number]);
  });

  test('numbers', () => {
    expect([grouped(1_234_567n), grouped(123), grouped('1000')].map(plain)).toEqual(['1 234 567', '123', '1 000']);
    expect([milliseconds(4.26), milliseconds(640.2), milliseconds(1_250), milliseconds(12_340)]).toEqual([
      '4.3 ms',
      '640 ms',
      '1.25 s',
      '12.3 s',
    ]);
    expect([duration(500), duration(61_000), duration(3_600_000), duration(90_000_000)]).toEqual([
      '0 s',
      '1 min 1 s',
      '1 h',
      '1 d 1 h',
    ]);
    expect([ago(20), ago(65_000)]).toEqual(['now', '1 min ago']);
    expect([bytes(2_048), bytes(3 * 1_048_576)]).toEqual(['2 KiB', '3 MiB']);
    expect(dateTime(Date.UTC(2026, 0, 2, 3, 4, 5))).toBe('2026-01-02 03:04:05 UTC');
    // The expiry of a registration is any u64, and the view of it must not break.
    expect([unixTime('1767323045'), unixTime('8640000000000')]).toEqual([
      '2026-01-02 03:04:05 UTC',
      '+275760-09-13 00:00:00 UTC',
    ]);
    expect(unixTime('18446744073709551615')).toBe(`${grouped('18446744073709551615')} s after 1970`);
    expect(plain(tokenAmount(1_500_000_000_000_000_000n))).toBe('1 500 000 000 000 000 000 (1.5 with 18 decimals)');
    expect(tokenAmount(12n)).toBe('12');
  });

  test('IDs keep what people compare', () => {
    expect(shortened('NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg')).toBe('NodeID-7Xhw2mDx…bSt3Lg');
    expect(shortened('0x12')).toBe('0x12');
  });

  test('bytes that are a text', () => {
    expect(textOfHex('68656c6c6f')).toBe('hello');
    expect(textOfHex('00ff')).toBeUndefined();
    expect(textOfHex('')).toBeUndefined();
  });
});

const KNOWN: Preflight = {
  messageNetworkId: 1337,
  serviceNetworkId: 1337,
  signable: undefined,
  subnetProblem: undefined,
};

describe('the quorum', () => {
  test('needs the weight that the service needs', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 63n }), fc.integer({ min: 0, max: 100 }), (total, percentage) => {
        expect(weightNeeded(total, percentage)).toBe(quorumWeight(total, BigInt(percentage)));
      }),
    );
    expect(quorumOf(669n, 1_000n)).toBe(66);
    expect(quorumOf(1n, 0n)).toBe(0);
  });

  test.each([
    [67, 0, 100n, ['good', 'good', 'good'], /Accepted by the P-Chain/],
    [50, 0, 100n, ['warn', 'good', 'good'], /Below 67 %/],
    [100, 0, 100n, ['good', 'warn', 'good'], /Every validator must sign/],
    [67, 10, 70n, ['good', 'good', 'good', 'warn'], /its buffer is not/],
    [67, 0, 66n, ['good', 'good', 'bad'], /Out of reach now: validators with 66.0 %/],
  ] as const)('%i %% and %i %% more, where %i %% can sign', (quorum, buffer, signableWeight, tones, text) => {
    const list = consequencesOf(quorum, buffer, { ...KNOWN, signable: { totalWeight: 100n, signableWeight } });
    expect(list.map(({ tone }) => tone)).toEqual(tones);
    expect(plain(list.map((one) => one.text).join('\n'))).toMatch(text);
  });

  test.each<[string, number, number, Partial<Preflight>, RegExp]>([
    ['another network', 67, 0, { messageNetworkId: 1 }, /^This message is of network ID 1; .* for network ID 1337\.$/],
    ['a subnet that is not allowed', 67, 0, { subnetProblem: 'Not this one.' }, /^Not this one\.$/],
    [
      'more than all of the weight',
      80,
      30,
      {},
      /^The quorum and its buffer add up to 110 %; at most 100 % is possible\.$/,
    ],
  ])('is not in reach of %s', (_, quorum, buffer, known, text) => {
    const list = consequencesOf(quorum, buffer, {
      ...KNOWN,
      signable: { totalWeight: 100n, signableWeight: 100n },
      ...known,
    });
    expect(list[0]?.tone).toBe('bad');
    expect(plain(list[0]?.text ?? '')).toMatch(text);
    expect(list.some((one) => one.text.startsWith('In reach'))).toBe(false);
  });
});

describe('what a destination takes', () => {
  test('the predicate ends the message and fills whole words', () => {
    expect(packPredicate('0xab')).toBe(`abff${'0'.repeat(60)}`);
    expect(packPredicate('11'.repeat(31))).toBe(`${'11'.repeat(31)}ff`);
    expect(packPredicate('11'.repeat(32))).toBe(`${'11'.repeat(32)}ff${'0'.repeat(62)}`);
  });

  test('the message can be got back from the access list', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (message) => {
        const [{ storageKeys }] = accessListOf(Buffer.from(message).toString('hex')) as unknown as [
          { storageKeys: string[] },
        ];
        const packed = storageKeys.map((key) => key.slice(2)).join('');
        expect(packed.length % 64).toBe(0);
        expect(packed.replace(/(?:00)*$/, '')).toBe(`${Buffer.from(message).toString('hex')}ff`);
      }),
    );
  });

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
    const addressWord = (byte: string) => `${'0'.repeat(24)}${address(byte)}`;
    const struct =
      word(7) +
      addressWord('11') +
      addressWord('22') +
      addressWord('33') +
      word(9) +
      word(256) +
      word(100_000) +
      addressWord('44') +
      bytesOf('c0ffee');
    const transfer = readTokenTransfer(message(2, word(32) + struct));
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

describe('the map', () => {
  test('areas are as the weights, within bounds, and without overlap', () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 0.01, max: 1_000, noNaN: true }), { minLength: 1, maxLength: 60 }),
        (weights) => {
          const sortedWeights = weights.toSorted((a, b) => b - a);
          const [width, height] = [600, 250];
          const rects = squarify(sortedWeights, width, height);
          const total = sortedWeights.reduce((sum, weight) => sum + weight, 0);
          let covered = 0;
          for (const [index, weight] of sortedWeights.entries()) {
            const [x = 0, y = 0, w = 0, h = 0] = rects.subarray(4 * index, 4 * index + 4);
            expect(w * h).toBeCloseTo((weight / total) * width * height, 3);
            expect(Math.min(x, y)).toBeGreaterThanOrEqual(-1e-6);
            expect(x + w).toBeLessThanOrEqual(width + 1e-6);
            expect(y + h).toBeLessThanOrEqual(height + 1e-6);
            covered += w * h;
          }
          expect(covered).toBeCloseTo(width * height, 2);
        },
      ),
    );
  });

  test('nothing has no area', () => {
    expect([...squarify([], 10, 10)]).toEqual([]);
    expect([...squarify([0], 10, 10)]).toEqual([0, 0, 0, 0]);
  });
});

describe('the request', () => {
  const bytesPasted = (hex: string) => ({ kind: 'bytes', hex, source: 'hex', fields: {}, more: 0 }) as const;
  const unsigned = { as: 'unsignedMessage' } as DecodedReading;

  test('of a message has what was chosen', () => {
    const options = {
      ...DEFAULT_OPTIONS,
      quorum: 80,
      buffer: 5,
      signingSubnetId: ' s ',
      justification: '0xaa',
      at: 'height' as const,
      pChainHeight: '12',
    };
    expect(decideRequest(bytesPasted('ab'), unsigned, options)).toEqual({
      request: {
        kind: 'body',
        body: {
          message: '0xab',
          justification: '0xaa',
          quorumPercentage: 80,
          quorumPercentageBuffer: 5,
          signingSubnetId: 's',
          pChainHeight: 12,
        },
      },
    });
  });

  test('of a signed message has its unsigned part', () => {
    const signed = { as: 'signedMessage', unsignedMessage: 'cd' } as DecodedReading;
    expect(decideRequest(bytesPasted('ab'), signed, DEFAULT_OPTIONS)).toMatchObject({
      request: { body: { message: '0xcd' } },
    });
  });

  test('of a transaction has its ID, and where it goes', () => {
    const options = { ...DEFAULT_OPTIONS, at: 'destination' as const, destinationBlockchainId: 'd' };
    expect(decideRequest({ kind: 'id', id: 't' }, undefined, options)).toEqual({
      request: { kind: 'transaction', txHash: 't', query: { destinationBlockchainId: 'd' } },
    });
  });

  test('of an EVM transaction has its hash, its chain, and the log that was chosen', () => {
    const ask = (more: object) => decideRequest({ kind: 'id', id: 't' }, undefined, { ...DEFAULT_OPTIONS, ...more });
    expect(ask({})).toEqual({ request: { kind: 'transaction', txHash: 't', query: {} } });
    expect(ask({ chain: ' X ', logIndex: '3' })).toEqual({
      request: { kind: 'transaction', txHash: 't', query: { blockchainId: 'X', logIndex: '3' } },
    });
  });

  test('of a subnet has its ID in hex, as the API takes justifications', () => {
    const decide = (id: string) => decideRequest({ kind: 'id', id }, undefined, { ...DEFAULT_OPTIONS, idIs: 'subnet' });
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (bytes) => {
        const hex = `0x${bytesToHex(bytes)}`;
        const expected = { request: { kind: 'body', body: { justification: hex, quorumPercentage: 67 } } };
        expect([decide(encodeCb58(bytes)), decide(hex)]).toEqual([expected, expected]);
      }),
    );
    const long = encodeCb58(new Uint8Array(33).fill(255));
    expect(decide(long)).toEqual({ why: 'This is no ID of a subnet: one has 32 bytes.' });
  });

  test('of a payload alone there is none, and why', () => {
    expect(decideRequest(bytesPasted('ab'), { as: 'payload' } as DecodedReading, DEFAULT_OPTIONS)).toMatchObject({
      why: expect.stringContaining('payload alone'),
    });
    expect(decideRequest({ kind: 'empty' }, undefined, DEFAULT_OPTIONS)).toEqual({ why: undefined });
  });

  test('that was pasted sets what it says', () => {
    expect(optionsOf({ quorumPercentage: 70, pChainHeight: 5, justification: '0x1' }, DEFAULT_OPTIONS)).toMatchObject({
      quorum: 70,
      buffer: 0,
      at: 'height',
      pChainHeight: '5',
      justification: '0x1',
    });
    expect(optionsOf({ pChainHeight: 0, destinationBlockchainId: 'd' }, DEFAULT_OPTIONS)).toMatchObject({
      at: 'destination',
      destinationBlockchainId: 'd',
    });
  });

  test('is shown as a call that others can make, without the key', () => {
    const place = { origin: 'http://a.test', network: 'fuji', hasKey: true };
    const request = { kind: 'body', body: { message: '0xab', quorumPercentage: 67 } } as const;
    expect(curlOf(request, place)).toBe(
      'curl -s \'http://a.test/v1/signatureAggregator/fuji/aggregateSignatures\' \\\n  -H \'x-service-api-key: \'"$API_KEY" \\\n  -H \'content-type: application/json\' \\\n  -d \'{"message":"0xab","quorumPercentage":67}\'',
    );
    expect(sdkOf(request, place)).toContain('apiKey: process.env.API_KEY');
    expect(sdkOf({ kind: 'transaction', txHash: 't', query: {} }, place)).toContain(
      'signatureAggregator.get(\n  { txHash: "t" }',
    );
    expect(curlOf({ kind: 'body', body: { signingSubnetId: "'; ls '" } }, place)).toContain(
      `-d '{"signingSubnetId":"'\\''; ls '\\''"}'`,
    );
    expect(
      curlOf(
        { kind: 'transaction', txHash: 't/', query: { destinationBlockchainId: 'd' } },
        { ...place, hasKey: false },
      ),
    ).toBe("curl -s 'http://a.test/v1/signatureAggregator/fuji/aggregateSignatures/t%2F?destinationBlockchainId=d'");
  });
});

describe('a failure', () => {
  const none = { weight: '0', count: 0 };
  const outcomes = {
    ...{
      signed: none,
      timed_out: { ...none, reasons: [] },
      invalid_signature: { ...none, reasons: [] },
      not_asked: { ...none, reasons: [] },
      no_key: none,
    },
    refused: { ...none, reasons: [] },
    unreachable: { ...none, reasons: [] },
  };
  const adviceWith = (changed: object) =>
    adviceOn({ totalWeight: '100', outcomes: { ...outcomes, ...changed } } as unknown as Parameters<
      typeof adviceOn
    >[0]).map(plain);

  test('is explained by what weighs most first, without what decides nothing', () => {
    const advice = adviceWith({
      refused: { weight: '20', count: 1, reasons: [] },
      timed_out: { weight: '35', count: 2, reasons: [] },
      unreachable: { weight: '4', count: 1, reasons: [] },
    });
    expect(advice).toHaveLength(2);
    expect(advice[0]).toMatch(/^Validators with 35.0 % of the weight did not answer\./);
    expect(advice[1]).toMatch(/^Validators with 20.0 % of the weight refused\./);
  });

  const refused = (count: number, weight: string) => ({ refused: { weight, count, reasons: [] } });
  const signed = (count: number, weight: string) => ({ signed: { weight, count } });
  const failureWith = (changed: object, code = 'insufficient_weight'): Failure => ({
    ...{ message: '67*100 > 100*0', code, statusCode: 500 },
    details: {
      ...{ weightNeeded: '67', weightSigned: '61', totalWeight: '100' },
      outcomes: { ...outcomes, ...changed },
    } as unknown as FailureDetails,
  });
  const unreachable = { unreachable: { weight: '100', count: 2, reasons: [] } };

  test.each<[string, Failure, boolean, string]>([
    ['all refused', failureWith(refused(20, '100')), false, 'No validator knows this message: 20 of 20 refused.'],
    ['all refused', failureWith(refused(20, '100')), true, 'No validator confirms this message: 20 of 20 refused.'],
    [
      'some signed',
      failureWith({ ...signed(2, '61'), ...refused(1, '39') }),
      false,
      'Only 61.0 % of the weight signed, 67.0 % is needed: 1 of 3 refused.',
    ],
    ['nobody is there', failureWith(unreachable), false, 'No validator signed: 2 of 2 cannot be reached.'],
    [
      'too few are there',
      failureWith(unreachable, 'not_connected'),
      false,
      'Too few validators are connected: 2 of 2 cannot be reached.',
    ],
  ])('has a sentence for people where %s', (_, failure, isOfPChain, sentence) => {
    expect(plain(sentenceOf(failure, 'meaning', isOfPChain))).toBe(sentence);
  });

  test('without details has the meaning of its code, else its message', () => {
    const failure = { message: 'no such thing', code: 'unknown_subnet', statusCode: 404 };
    expect([sentenceOf(failure, 'meaning', false), sentenceOf(failure, undefined, false)]).toEqual([
      'meaning',
      'no such thing',
    ]);
  });

  test('shows what is missing', () => {
    expect(plain(standOf(failureWith(signed(2, '61')).details as FailureDetails))).toBe(
      '61.0 % signed, 67.0 % is needed: 6.0 % of the weight is missing.',
    );
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

  const linked = (hash: string) => linkedSigning(placeOf(hash).query);

  test('holds what is to be signed', () => {
    fc.assert(
      fc.property(
        fc.string({ minLength: 1 }),
        fc.integer({ min: 0, max: 100 }),
        fc.string(),
        (text, quorum, subnet) => {
          fc.pre(text.trim() !== '');
          const options = { quorum, signingSubnetId: subnet.trim() };
          expect(linked(signLink(text, { ...DEFAULT_OPTIONS, ...options }))).toEqual({ text: text.trim(), options });
        },
      ),
    );
  });

  test('has no message that is empty or too long for a link', () => {
    expect(signLink(' ', DEFAULT_OPTIONS)).toBe('#/sign');
    expect(signLink('a'.repeat(10_000), DEFAULT_OPTIONS)).toBe('#/sign');
    expect(linked('#/sign')).toBeUndefined();
  });

  test.each(['101', '-1', 'x', ''])('has no quorum of %j', (quorum) => {
    expect(linked(`#/sign?message=a&quorum=${quorum}`)?.options).not.toHaveProperty('quorum');
  });
});

describe('examples', () => {
  const message = `0x000000000539${'ab'.repeat(40)}`;
  const path = '/v1/signatureAggregator/fuji/aggregateSignatures';
  const groups = groupExamples([
    { name: 'C-Chain message', method: 'POST', path, body: { message, quorumPercentage: 67 } },
    { name: 'L1 message', method: 'POST', path, body: { message, quorumPercentage: 80 } },
    { name: 'by transaction: ConvertSubnetToL1Tx', method: 'GET', path: `${path}/abc` },
  ]);

  test('are in groups, as people would paste them', () => {
    expect(groups.map(([group]) => group)).toEqual([
      'Primary network',
      'L1',
      'Conversions and L1 validators',
      'Must fail',
    ]);
    expect(groups[0]?.[1]).toEqual([{ name: 'C-Chain message', text: message }]);
    expect(JSON.parse(groups[1]?.[1][0]?.text ?? '')).toEqual({ message, quorumPercentage: 80 });
    expect(groups[2]?.[1]).toEqual([{ name: 'by transaction: ConvertSubnetToL1Tx', text: 'abc' }]);
  });

  test('that must fail have a message of another network', () => {
    const texts = groups[3]?.[1].map(({ text }) => text) ?? [];
    expect(texts).toContain(message.replace('00000539', '00000001'));
    for (const text of texts) expect(text).not.toBe(message);
  });

  test('have no empty group', () => {
    expect(groupExamples([])).toEqual([]);
  });
});

describe('what is asked about a signed message', () => {
  const now = { signedMessage: '00ff', quorumPercentage: 67 };

  test('is all that the form says, without what belongs to another choice', () => {
    expect(verificationBody('00ff', HERE)).toEqual(now);
    const filled = {
      ...HERE,
      destinationBlockchainId: ' C ',
      pChainHeight: ' 12 ',
      signingSubnetId: ' S ',
      quorum: 80,
    };
    const signed = { signedMessage: '00ff', quorumPercentage: 80, signingSubnetId: 'S' };
    expect(verificationBody('00ff', filled)).toEqual(signed);
    expect(verificationBody('00ff', { ...filled, at: 'destination' })).toEqual({
      ...signed,
      destinationBlockchainId: 'C',
    });
    expect(verificationBody('00ff', { ...filled, at: 'height' })).toEqual({ ...signed, pChainHeight: 12 });
  });

  test.each(['', ' ', 'x', '1e3', '-1', '0x10', '1.5'])('is nothing while the height is %j', (pChainHeight) => {
    expect(verificationBody('00ff', { ...HERE, at: 'height', pChainHeight })).toBeUndefined();
  });

  test('is nothing while the destination is not named', () => {
    expect(verificationBody('00ff', { ...HERE, at: 'destination' })).toBeUndefined();
  });
});
