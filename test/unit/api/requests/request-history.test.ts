import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type RequestEntry, sizeOfEntry } from '../../../../src/api/requests/request-entry.ts';
import { MAX_BYTES_EACH, RequestHistory } from '../../../../src/api/requests/request-history.ts';
import { MAX_RECORDS_EACH } from '../../../../src/store/local/record-limits.ts';
import { collectGarbage } from '../../../support/collect-garbage.ts';
import { FakeClock } from '../../../support/fake-clock.ts';

const MIB = 1024 * 1024;

function entry(id: string, more: Partial<RequestEntry> = {}): RequestEntry {
  return {
    id,
    endedAt: 1,
    durationMs: 2,
    stages: {},
    client: 'address:1.2.3.4',
    method: 'POST',
    route: '/',
    outcome: 'signed',
    weights: undefined,
    pChainHeight: 7,
    quorumPercentage: 67,
    quorumPercentageBuffer: 0,
    ...more,
  };
}

/** Details with so many missing validators, each with a reason of its own. */
function details(count: number, text: string): NonNullable<RequestEntry['details']> {
  const weight = `${10n ** 15n}`;
  const missing = Array.from({ length: count }, (_, index) => ({
    nodeId: `NodeID-${String(index).padStart(33, 'x')}`,
    weight: `${10n ** 15n + BigInt(index)}`,
    outcome: 'refused' as const,
    code: 1,
    text: Buffer.from(`${index}${text}`).toString(),
  }));
  const none = () => ({ weight: '0', count: 0, reasons: [] });
  const reasons = missing
    .slice(0, 8)
    .map((one) => ({ weight, count: 1, code: 1, text: Buffer.from(`r${one.text}`).toString() }));
  return {
    weightNeeded: weight,
    weightSigned: '0',
    totalWeight: weight,
    signingSubnetId: 's',
    pChainHeight: 7,
    outcomes: {
      signed: { weight: '0', count: 0 },
      refused: { weight, count, reasons },
      timed_out: none(),
      unreachable: none(),
      invalid_signature: none(),
      not_asked: none(),
      no_key: none(),
    },
    missing,
    missingOmitted: 0,
  };
}

test('the bounds in number and bytes hold for any requests, and the latest of each kind stay', async () => {
  const requests = fc.array(
    fc.record({
      isSigned: fc.boolean(),
      count: fc.integer({ min: 0, max: 32 }),
      length: fc.integer({ max: 200, min: 0 }),
    }),
    { minLength: 2_500, maxLength: 4_000, size: 'max' },
  );
  await fc.assert(
    fc.asyncProperty(requests, async (all) => {
      const history = new RequestHistory(new FakeClock());
      const entries = all.map(({ isSigned, count, length }, index) =>
        entry(`${index}`, {
          endedAt: index,
          outcome: isSigned ? 'signed' : 'insufficient_weight',
          details: details(count, 'é'.repeat(length)),
        }),
      );
      for (const one of entries) history.add(one);
      for (const isSigned of [true, false]) {
        const kept: string[] = [];
        let bytes = 0;
        for (const one of entries.toReversed().filter(({ outcome }) => (outcome === 'signed') === isSigned)) {
          bytes += sizeOfEntry(one);
          if (bytes > MAX_BYTES_EACH || kept.length === MAX_RECORDS_EACH) break;
          kept.push(one.id);
        }
        const listed = await history.list({ since: 0 }, 4_000);
        expect(listed.filter(({ outcome }) => (outcome === 'signed') === isSigned).map(({ id }) => id)).toEqual(kept);
      }
    }),
    { numRuns: 5 },
  );
});

test('a full history takes at most 12 MiB', async () => {
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  const history = new RequestHistory(new FakeClock());
  for (let index = 0; index < 5_000; index += 1) {
    const id = `${index}`.padStart(128, 'i');
    history.add(entry(id, { stages: { resolve: index / 3, collect: index / 7 }, endedAt: index }));
    const errorMessage = Buffer.from(`${index}${'語'.repeat(490)}`).toString();
    const failed = { outcome: 'signing_refused', errorMessage, details: details(32, '語'.repeat(200)) } as const;
    history.add(entry(id, { ...failed, endedAt: index }));
  }
  collectGarbage();
  const tookBytes = process.memoryUsage().heapUsed - before;
  expect((await history.list({ since: 0 }, 4_000)).length).toBeGreaterThan(1_000);
  expect(tookBytes).toBeLessThan(12 * MIB);
});

test('records of other replicas are read up to a page with older ones only', async () => {
  const record = (id: string, endedAt: number) => ({ ...entry(id), endedAt, stages: {} });
  const pages = [
    [record('a', 5_000), record('b', 900)],
    [record('c', 4_000)],
    [record('d', 800)],
    [record('e', 4_500)],
  ];
  const history = new RequestHistory(new FakeClock(), {
    add: () => undefined,
    find: async () => undefined,
    async *pages(list) {
      if (list === 'signed') yield* pages;
    },
  });
  const listed = await history.list({ since: 1_000 }, 10);
  expect(listed.map(({ id }) => id)).toEqual(['a', 'c']);
});

test('a record of a replica of another version is read without what this one does not know', async () => {
  const known = { ...entry('newer'), stages: { resolve: 1 } };
  const values = [
    { ...known, size: 7, stages: { ...known.stages, think: 2 } },
    { ...entry('other outcome'), outcome: 'an outcome of a later version' },
    { ...entry('without a time'), endedAt: undefined },
    undefined,
    null,
    5,
    'text',
    [],
    {},
  ];
  const history = new RequestHistory(new FakeClock(), {
    add: () => undefined,
    find: async (list) => (list === 'signed' ? values[0] : null),
    async *pages(list) {
      if (list === 'signed') yield* [values.slice(1), values.slice(0, 1)];
    },
  });
  expect(await history.list({ since: 0 }, 10)).toEqual([known]);
  expect(await history.find('newer', undefined)).toEqual(known);
});

test('of several requests with one ID the latest is found, and for a client its own', async () => {
  const history = new RequestHistory(new FakeClock());
  history.add(entry('same', { client: 'key:one', endedAt: 1 }));
  history.add(entry('same', { client: 'key:one', endedAt: 2, outcome: 'overloaded' }));
  history.add(entry('same', { client: 'key:other', endedAt: 3 }));
  expect(await history.find('same', undefined)).toMatchObject({ client: 'key:other' });
  expect(await history.find('same', 'key:one')).toMatchObject({ client: 'key:one', endedAt: 2 });
  expect(await history.find('same', 'key:third')).toBeUndefined();
});
