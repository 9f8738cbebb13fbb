import { expect, test } from 'vitest';
import { createPenalties } from '../../../../src/aggregation/admission/penalties.ts';
import { AggregatorError } from '../../../../src/aggregation/aggregator-error.ts';
import { createAggregatorMetrics } from '../../../../src/aggregation/aggregator-metrics.ts';
import { createSubnetUptimes, type UptimePage } from '../../../../src/aggregation/subnets/subnet-uptimes.ts';
import type { UptimeProof, UptimeRequest } from '../../../../src/aggregation/subnets/uptime-proofs.ts';
import type { CurrentValidator } from '../../../../src/pchain/rpc/node-api.ts';
import { createUnreadMetrics } from '../../../../src/telemetry/metrics.ts';
import { idFromBytes, type ValidationID } from '../../../../src/warp/ids.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { NO_POLICY, nodeOf, SUBNET } from '../aggregator-fixture.ts';

const NEVER = new AbortController().signal;
const idOf = (number: number) => idFromBytes<ValidationID>(new Uint8Array(32).fill(number), 'validation');
const validator = (number: number, more: Partial<CurrentValidator> = {}): CurrentValidator => ({
  nodeID: nodeOf(number),
  weight: 10n,
  validationID: idOf(number),
  balance: 1n,
  ...more,
});

/** An L1 with these validators, whose uptime is searched as `prove` does. */
function create(
  current: readonly CurrentValidator[],
  prove: (request: UptimeRequest, clock: FakeClock) => Promise<Partial<UptimeProof>> = async () => ({ uptime: 7n }),
) {
  const clock = new FakeClock();
  const metrics = createAggregatorMetrics(createUnreadMetrics());
  const searched: ValidationID[] = [];
  const uptimes = createSubnetUptimes({
    api: { getCurrentValidators: async () => current },
    directory: {
      getSubnet: async () => ({ conversionID: new Uint8Array(32), managerChainID: undefined }),
      exists: async () => true,
      validatedBy: async () => SUBNET,
    },
    subnets: NO_POLICY,
    uptimes: {
      async prove(request) {
        searched.push(request.validationID);
        return (await prove(request, clock)) as UptimeProof;
      },
    },
    penalties: createPenalties(clock, metrics),
    metrics,
    clock,
    resolveTimeoutMs: 1_000,
  });
  const list = (
    more: { limit?: number; after?: ValidationID | undefined } = {},
    onValidators = async () => undefined,
  ) =>
    uptimes.list(
      { subnetID: SUBNET, after: undefined, limit: 10, ...more },
      { signal: NEVER, client: 'client', onValidators },
    );
  return { list, searched, clock };
}

const idsOf = ({ validators }: UptimePage) => validators.map(({ validationID }) => validationID);

test('lists every active validator once, page by page', async () => {
  const all = [3, 1, 4, 2, 5].map((number) => validator(number));
  const { list, searched } = create([...all, validator(6, { balance: 0n }), validator(7, { validationID: undefined })]);
  const first = await list({ limit: 2 });
  const second = await list({ limit: 2, after: first.last });
  const third = await list({ limit: 2, after: second.last });
  const ids = [first, second, third].flatMap(idsOf);
  expect(new Set(ids)).toEqual(new Set([1, 2, 3, 4, 5].map(idOf)));
  expect([ids.length, third.last]).toEqual([5, undefined]);
  expect(searched).toEqual(ids);
});

test('a validator whose uptime is not signed does not end the page', async () => {
  const { list } = create([validator(1), validator(2)], async ({ validationID }) => {
    if (validationID === idOf(1)) throw new AggregatorError('not_connected', 'too little');
    return { uptime: 9n };
  });
  const { validators } = await list();
  expect(validators.map(({ validationID, result }) => [validationID, result])).toEqual(
    expect.arrayContaining([
      [idOf(1), expect.objectContaining({ code: 'not_connected' })],
      [idOf(2), { uptime: 9n }],
    ]),
  );
});

test('a page ends after fifteen seconds, and the next one goes on', async () => {
  const { list } = create(
    [1, 2, 3].map((number) => validator(number)),
    async (_, clock) => {
      await clock.advance(10_000);
      return { uptime: 7n };
    },
  );
  const first = await list();
  expect(first.validators).toHaveLength(2);
  expect(await list({ after: first.last })).toMatchObject({ validators: [{}], last: undefined });
});

test('a client has one list at a time, and units are charged before the first search', async () => {
  const charged: unknown[] = [];
  const { list, searched } = create([validator(1), validator(2)]);
  const { promise, resolve } = Promise.withResolvers<void>();
  const first = list({}, async (...count: unknown[]) => {
    charged.push(...count, searched.length);
    await promise;
    return undefined;
  });
  await expect(list()).rejects.toMatchObject({ code: 'overloaded' });
  resolve();
  expect((await first).validators).toHaveLength(2);
  expect(charged).toEqual([2, 0]);
  await expect(list({}, () => Promise.reject(new Error('no units')))).rejects.toThrow('no units');
  expect(searched).toHaveLength(2);
  await list();
});
