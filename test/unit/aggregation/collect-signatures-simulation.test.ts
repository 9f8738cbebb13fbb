import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ACTS, createFixture, drain, NOTHING_LEFT } from './collection/collection-fixture.ts';

/** What a validator does: its answers in turn, the last one again and again. */
const answer = fc.record({
  afterMs: fc.integer({ min: 0, max: 400 }).map((tens) => tens * 10),
  kind: fc.oneof(
    { weight: 4, arbitrary: fc.constant('signs' as const) },
    { weight: 3, arbitrary: fc.constantFrom(...ACTS, 'breaks') },
  ),
});
type Answer = typeof answer extends fc.Arbitrary<infer T> ? T : never;

const validator = fc.record({
  weight: fc.integer({ min: 1, max: 20 }),
  answers: fc.array(answer, { minLength: 1, maxLength: 3 }),
  /** Undefined: from the start. */
  connectsAtMs: fc.option(
    fc.integer({ min: 0, max: 700 }).map((tens) => tens * 10),
    { nil: undefined },
  ),
  nodeCount: fc.integer({ min: 1, max: 2 }),
});

const network = fc.record({
  validators: fc.array(validator, { minLength: 1, maxLength: 7 }),
  keyless: fc.nat(10),
  quorum: fc.integer({ min: 0, max: 100 }),
  bufferShare: fc.integer({ min: 0, max: 100 }),
  maxConcurrentQueries: fc.integer({ min: 1, max: 8 }),
  requestTimeoutMs: fc.constantFrom(800, 4_000, 10_000),
});

/** Signs at the first request to any of its nodes, well before it would be given up, and cannot be missed. */
function isSure({ answers, connectsAtMs }: { answers: Answer[]; connectsAtMs: number | undefined }): boolean {
  return connectsAtMs === undefined && answers[0]?.kind === 'signs' && answers[0].afterMs < 3_000;
}

test('whatever validators do, a collection ends in time, with the right verdict, and leaves nothing behind', async () => {
  await fc.assert(
    fc.asyncProperty(network, async ({ validators, keyless, quorum, bufferShare, ...limits }) => {
      const fixture = createFixture({
        weights: validators.map(({ weight }) => weight),
        nodeCounts: validators.map(({ nodeCount }) => nodeCount),
        keyless,
        limits,
      });
      const { source, clock } = fixture;
      for (const [position, { answers, connectsAtMs }] of validators.entries()) {
        let attempts = 0;
        for (const nodeID of fixture.at(position).nodeIDs) {
          source.add(nodeID, (query, attempt) => {
            const { afterMs, kind } = answers[Math.min(attempts, answers.length - 1)] as Answer;
            attempts += 1;
            if (kind !== 'breaks') return fixture.acts(position, kind, afterMs)(query, attempt);
            clock.after(afterMs + 500, () => source.connect(nodeID));
            return { afterMs, outcome: { kind: 'unreachable', reason: 'closed' }, disconnects: true };
          });
          if (connectsAtMs === undefined) continue;
          source.disconnect(nodeID);
          clock.after(connectsAtMs, () => source.connect(nodeID));
        }
      }
      const buffer = Math.floor(((100 - quorum) * bufferShare) / 100);
      const { value, atMs } = await fixture.finish(fixture.collect({ quorum, buffer }));

      expect(atMs).toBeLessThanOrEqual(limits.requestTimeoutMs);
      const total = validators.reduce((sum, { weight }) => sum + weight, keyless);
      const needed = Math.max(1, Math.ceil((quorum * total) / 100));
      if (value.kind === 'signed') {
        const signers = fixture.signersOf(value, quorum);
        expect(signers.every((position) => validators[position]?.answers.some(({ kind }) => kind === 'signs'))).toBe(
          true,
        );
        const weight = signers.reduce((sum, position) => sum + (validators[position]?.weight ?? 0), 0);
        expect(weight).toBeGreaterThanOrEqual(needed);
        expect(value.isTargetReached).toBe(weight >= Math.max(1, Math.ceil(((quorum + buffer) * total) / 100)));
      } else {
        const { summary } = value;
        expect(summary.signedWeight < needed).toBe(true);
        // Those that sign for certain were not enough, unless the time or the bound on concurrency cut it short.
        if (limits.requestTimeoutMs === 10_000 && limits.maxConcurrentQueries >= validators.length) {
          const sure = validators.filter(isSure).reduce((sum, { weight }) => sum + weight, 0);
          expect(sure).toBeLessThan(needed);
        }
      }
      // Bound per validator: its nodes and the delays.
      for (const [position, { nodeCount }] of validators.entries()) {
        const asked = fixture.asked().filter((other) => other === position).length;
        expect(asked).toBeLessThanOrEqual(nodeCount + 2);
      }
      await drain();
      expect({ ...fixture.leftovers(), timers: 0 }).toEqual(NOTHING_LEFT);
      // The test's own timers run out; what is left then would be the collection's.
      await clock.advance(60_000);
      expect(fixture.leftovers()).toEqual(NOTHING_LEFT);
    }),
    { numRuns: 300 },
  );
}, 30_000);
