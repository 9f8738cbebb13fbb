import { expect, test } from 'vitest';
import {
  LARGE_QUERY_BYTES,
  MAX_STARTED_PER_TURN,
  QueryConcurrency,
} from '../../../../src/aggregation/admission/query-concurrency.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';

const LARGE = LARGE_QUERY_BYTES + 1;

function create(limits: { maxQueries: number; maxLargeBytes?: number }) {
  const turns: (() => void)[] = [];
  const clock = new FakeClock();
  const queries = new QueryConcurrency({
    clock: { after: (...args) => clock.after(...args), afterTurn: (callback) => void turns.push(callback) },
    ...limits,
  });
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  const start = (client: string, count: number, bytes = 100): void => {
    for (let number = 0; number < count; number += 1) {
      const name = `${client}${number}`;
      const query = () => {
        started.push(bytes > LARGE_QUERY_BYTES ? `${name} large` : name);
        return new Promise<void>((end) => void ends.set(name, end));
      };
      queries.start(bytes, query, client);
    }
  };
  const passTurn = (): void => {
    for (const turn of turns.splice(0)) turn();
  };
  const passTurns = (): void => {
    while (turns.length > 0) passTurn();
  };
  const end = async (name: string): Promise<void> => {
    ends.get(name)?.();
    await settle();
  };
  return { queries, started, start, end, passTurn, passTurns };
}

test.each([
  ['small', 100],
  ['large', LARGE],
])('one client whose %s queries meet silence leaves a third to others', async (_, bytes) => {
  const { started, start, end, passTurns } = create({ maxQueries: 300, maxLargeBytes: 300 * LARGE });
  start('silent', 1_000, bytes);
  passTurns();
  expect(started.length).toBeGreaterThanOrEqual(199);
  expect(started.length).toBeLessThanOrEqual(201);
  // Each of these is answered at once.
  start('good', 400, bytes);
  for (let answered = 0; answered < 400; answered += 1) {
    await settle();
    passTurns();
    await end(`good${answered}`);
  }
  expect(started.filter((name) => name.startsWith('good'))).toHaveLength(400);
});

test('large queries are bounded by their bytes and hold up no small ones', async () => {
  const { queries, started, start, passTurns } = create({ maxQueries: 1_000, maxLargeBytes: 10 * LARGE });
  for (let client = 0; client < 20; client += 1) start(`large ${client} `, 1, LARGE);
  start('small', 1);
  await settle();
  passTurns();
  expect(started.filter((name) => name.endsWith('large'))).toHaveLength(10);
  expect(started).toContain('small0');
  expect(queries.large.held).toBeLessThanOrEqual(queries.large.limit);
});

test('few start in one tick of the event loop, round robin over clients and sizes', async () => {
  const { started, start, passTurn, passTurns } = create({ maxQueries: 10_000 });
  start('flood', 10 * MAX_STARTED_PER_TURN);
  start('good', 2);
  start('flood', 2, LARGE);
  await settle();
  expect(started).toHaveLength(MAX_STARTED_PER_TURN);
  passTurn();
  expect(started).toHaveLength(2 * MAX_STARTED_PER_TURN);
  expect(started).toEqual(expect.arrayContaining(['good0', 'good1', 'flood0 large', 'flood1 large']));
  passTurns();
  expect(started).toHaveLength(10 * MAX_STARTED_PER_TURN + 4);
});
