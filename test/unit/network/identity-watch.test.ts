import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { findIdentityProblem, LOOK_INTERVAL_MS, watchIdentity } from '../../../src/network/identity-watch.ts';
import { createMetrics, METRIC_PREFIX } from '../../../src/telemetry/metrics.ts';
import { FakeClock, settle } from '../../support/fake-clock.ts';
import { createLogLines } from '../../support/log-lines.ts';

const NO_SIGNS = { inStore: undefined, peers: [] };
const ADVICE = 'give each replica an identity of its own, or end the other process';
const contested = { network: 'fuji', connected: 1, turnedAway: 4 };

test('the text has the most reliable sign and advice, but not the other process', () => {
  expect(findIdentityProblem(NO_SIGNS)).toBeUndefined();
  expect(findIdentityProblem({ ...NO_SIGNS, peers: [{ ...contested, connected: 100 }] })).toBeUndefined();
  expect(findIdentityProblem({ ...NO_SIGNS, inStore: 'process 2', peers: [contested] })).toEqual({
    text: `another replica has registered the same NodeID in the shared store: ${ADVICE}`,
    other: 'process 2',
  });
  expect(findIdentityProblem({ ...NO_SIGNS, peers: [{ ...contested, turnedAway: 0 }, contested] })).toEqual({
    text:
      '4 nodes of fuji close our connections at once, and 1 let us in; ' +
      `most likely another process uses the same NodeID: ${ADVICE}`,
    other: undefined,
  });
});

test('the begin and the end of a problem are logged, and the metric follows', async () => {
  const clock = new FakeClock();
  const log = createLogLines();
  const registry = new Registry();
  const state = { other: undefined as string | undefined, closed: 0 };
  const watch = watchIdentity({
    registration: {
      look: async () => state.other,
      async [Symbol.asyncDispose]() {
        state.closed += 1;
      },
    },
    peers: () => [],
    clock,
    logger: log.logger,
    metrics: createMetrics(registry),
  });
  const metric = async () =>
    (await registry.getSingleMetricAsString(`${METRIC_PREFIX}identity_contested`)).trim().at(-1);
  const look = async (): Promise<void> => {
    await clock.advance(LOOK_INTERVAL_MS);
    await settle();
  };
  await settle();
  expect([watch.problem(), await metric(), log.lines]).toEqual([undefined, '0', []]);
  state.other = 'process 7';
  await look();
  await look();
  expect(watch.problem()).toContain('has registered the same NodeID');
  expect(await metric()).toBe('1');
  expect(log.lines.map((line) => JSON.parse(line) as object)).toMatchObject([
    { level: 40, msg: 'the NodeID is used by another process too', other: 'process 7' },
  ]);
  state.other = undefined;
  await look();
  expect([watch.problem(), await metric()]).toEqual([undefined, '0']);
  expect(log.lines).toHaveLength(2);
  await watch[Symbol.asyncDispose]();
  expect(state.closed).toBe(1);
});
