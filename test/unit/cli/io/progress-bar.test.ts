import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { afterEach, expect, test, vi } from 'vitest';
import type { AggregationEvent, ValidatorRecord } from '../../../../src/api/aggregation/progress-records.ts';
import { ProgressBar } from '../../../../src/cli/io/progress-bar.ts';

afterEach(() => vi.restoreAllMocks());

const QUORUM = { quorumPercentage: 67, quorumPercentageBuffer: 0, quorumWeight: '67', targetWeight: '67' };
const validators = [40, 27, 33].map(
  (weight, index): ValidatorRecord => ({
    index,
    nodeIds: [`NodeID-${index}`],
    weight: String(weight),
    isConnected: true,
    status: 'not_asked',
  }),
);

const resolved = (signedWeight: string, statuses: readonly ValidatorRecord['status'][]): AggregationEvent => ({
  event: 'resolved',
  data: {
    network: 'local',
    signingSubnetId: 's',
    pChainHeight: 7,
    totalWeight: '100',
    signedWeight,
    isVerifying: false,
    ...QUORUM,
    validators: validators.map((validator, index) => ({ ...validator, status: statuses[index] ?? validator.status })),
  },
});

/** What the bar writes at these events, by line. */
function linesOf(isTTY: boolean, ...events: AggregationEvent[]): string[] {
  const stream = Object.assign(new PassThrough(), { isTTY }) as unknown as NodeJS.WriteStream & PassThrough;
  using bar = new ProgressBar(stream);
  for (const event of events) bar.onEvent(event);
  return stripVTControlCharacters(String(stream.read() ?? ''))
    .split('\r')
    .slice(1);
}

test('shows the signed weight against the quorum, until the quorum is reached', () => {
  const below = resolved('40', ['signed', 'asked']);
  expect(linesOf(true, below)).toEqual([
    `${'█'.repeat(16)}${'░'.repeat(10)}┃${'░'.repeat(13)} 40.0 % of 67 % · 1 signed · 1 asked`,
  ]);
  const reached = resolved('67', ['signed', 'signed']);
  expect(linesOf(true, reached)).toEqual([`${'█'.repeat(26)}${'░'.repeat(14)} 67.0 % of 67 % · 2 signed`]);
});

test('draws an answer with the progress that follows, and the verification at once', () => {
  const answer = { index: 0, weight: '40', outcome: 'signed' } as const;
  // Long after the line before, so that only the kind of event decides.
  let nowMs = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => (nowMs += 1_000));
  const lines = linesOf(
    true,
    resolved('67', ['asked', 'signed']),
    { event: 'answer', data: { answers: [answer] } },
    { event: 'verifying', data: {} },
  );
  expect(lines).toHaveLength(2);
  expect(lines[1]).toMatch(/· 2 signed · verifying$/);
});

test('writes nothing before the validators are known, and nothing where there is no terminal', () => {
  expect(linesOf(true, { event: 'asked', data: { validators: [0] } })).toEqual([]);
  expect(linesOf(false, resolved('0', []))).toEqual([]);
});
