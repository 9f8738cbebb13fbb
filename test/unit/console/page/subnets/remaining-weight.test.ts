import { describe, expect, test } from 'vitest';
import type { SubnetViewBody } from '../../../../../src/api/subnets/subnet-records.ts';
import {
  countsText,
  levelOf,
  type Recorded,
  remainingNow,
  worstHour,
} from '../../../../../src/console/page/subnets/remaining-weight.ts';

const NONE: Recorded = {
  asked: 0,
  signed: 0,
  refused: 0,
  timedOut: 0,
  unreachable: 0,
  invalidSignature: 0,
  notAsked: 0,
};

describe('the weight that remains', () => {
  test('now is that of signable validators that were not chosen', () => {
    const validator = (
      publicKey: string | undefined,
      status: SubnetViewBody['validators'][number]['status'],
      weight: string,
    ) => ({
      status,
      weight,
      nodes: [],
      ...(publicKey !== undefined && { publicKey }),
    });
    const validators = [
      validator('a', 'signable', '40'),
      validator('b', 'signable', '30'),
      validator('c', 'doubtful', '20'),
      validator(undefined, 'inactive', '10'),
    ];
    expect(remainingNow({ validators }, new Set())).toBe(70n);
    expect(remainingNow({ validators }, new Set(['b', 'c']))).toBe(40n);
  });

  test('in the worst hour is without what the chosen ones brought in that hour', () => {
    const hours = [
      { start: 1, signingWeight: '90' },
      { start: 2, signingWeight: '70' },
      { start: 3, signingWeight: '100' },
    ];
    expect(worstHour(hours, [])).toEqual({ start: 2, weight: 70n });
    // It brought nothing in the second hour, half in the first, and all in the third, of which it has no record.
    const chosen = {
      weight: '40',
      hours: [
        { ...NONE, start: 1, signedShare: 0.5, connectedShare: 1 },
        { ...NONE, start: 2, connectedShare: 0 },
      ],
    };
    expect(worstHour(hours, [chosen])).toEqual({ start: 3, weight: 60n });
    expect(worstHour([], [chosen])).toBeUndefined();
  });
});

test.each([
  [{ ...NONE }, 'no question', 'empty'],
  [{ ...NONE, asked: 3, signed: 3, signedShare: 1 }, 'signed 3 of 3', 'all'],
  [
    { ...NONE, asked: 10, signed: 3, timedOut: 5, refused: 2, signedShare: 0.3 },
    'signed 3 of 10: 5 timed out, 2 refused',
    'none',
  ],
  [
    { ...NONE, asked: 10, signed: 7, unreachable: 2, invalidSignature: 1, signedShare: 0.7 },
    'signed 7 of 10: 2 unreachable, 1 invalid',
    'few',
  ],
  [{ ...NONE, asked: 100, signed: 95, timedOut: 5, signedShare: 0.95 }, 'signed 95 of 100: 5 timed out', 'most'],
  [{ ...NONE, notAsked: 4, signedShare: 0 }, 'not asked: 4 passed over, as it had just failed', 'none'],
] as const)('%o is said in words, and has a level', (recorded, text, level) => {
  expect(countsText(recorded)).toBe(text);
  expect(levelOf(recorded)).toBe(level);
});
