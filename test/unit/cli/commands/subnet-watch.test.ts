import { expect, test } from 'vitest';
import type { SubnetViewBody } from '../../../../src/api/subnets/subnet-records.ts';
import { screenOf, watch } from '../../../../src/cli/commands/subnet.ts';
import { CommandFailure, EXIT, usageFailure } from '../../../../src/cli/io/exit-codes.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';

const viewAt = (pChainHeight: number) => ({ pChainHeight }) as SubnetViewBody;

test('a watched subnet is read every 5 s, also after a failure that may pass, until another failure', async () => {
  const clock = new FakeClock();
  const answers = [
    () => viewAt(1),
    () => {
      throw new CommandFailure(EXIT.later, 'away');
    },
    () => viewAt(2),
    () => {
      throw usageFailure('wrong');
    },
  ];
  const seen: unknown[] = [];
  const watching = watch({
    load: async () => (answers.shift() ?? (() => viewAt(3)))(),
    show: ({ pChainHeight }) => seen.push(pChainHeight),
    report: ({ message }) => seen.push(message),
    clock,
  });
  watching.catch(() => undefined);
  await settle();
  expect(seen).toEqual([1]);
  await clock.advance(4_999);
  expect(seen).toEqual([1]);
  await clock.advance(1);
  await clock.advance(5_000);
  expect(seen).toEqual([1, 'away', 2]);
  await clock.advance(5_000);
  await expect(watching).rejects.toThrow('wrong');
  expect(clock.pendingTimers).toBe(0);
});

test('a terminal shows as many lines as it has, in place of the last view', () => {
  const text = 'one\ntwo\nthree\nfour';
  expect(screenOf(text, { isTTY: true, rows: 5 })).toBe(`\u001b[H\u001b[J${text}`);
  expect(screenOf(text, { isTTY: true, rows: 4 })).toBe('\u001b[H\u001b[Jone\ntwo\n… 2 more lines');
  expect(screenOf(text, { isTTY: true, rows: 0 })).toContain('… 3 more lines');
  expect(screenOf(text, { isTTY: false, rows: 4 })).toBe(`${text}\n`);
});
