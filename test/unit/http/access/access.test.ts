import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type AccessOptions, chargeMore } from '../../../../src/http/access/access.ts';
import { clientNetwork } from '../../../../src/http/access/client-identity.ts';
import { RPC_ACCESS } from '../../../../src/http/access/route-access.ts';
import { createMemoryLimitCounters } from '../../../../src/store/local/limit-counters.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { createTestServer, expectError } from '../../api/api-fixture.ts';

describe('clientNetwork', () => {
  test.each([
    ['1.2.3.4', '1.2.3.4'],
    ['::ffff:1.2.3.4', '1.2.3.4'],
    ['::FFFF:1.2.3.4', '1.2.3.4'],
    ['::ffff:102:304', '1.2.3.4'],
    ['0:0:0:0:0:ffff:102:304', '1.2.3.4'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['2001:db8::ffff:ffff:ffff:ffff', '2001:db8:0:0::/64'],
    ['2001:0DB8:0:0:1:2:3:4', '2001:db8:0:0::/64'],
    ['2001:db8:0:1::1', '2001:db8:0:1::/64'],
    ['::1', '0:0:0:0::/64'],
    ['::', '0:0:0:0::/64'],
    ['1::', '1:0:0:0::/64'],
    ['1:2:3:4:5:6:7:8', '1:2:3:4::/64'],
    ['1:2:3:4:5:6:7::', '1:2:3:4::/64'],
    ['::2:3:4:5:6:7:8', '0:2:3:4::/64'],
    ['64:ff9b::1.2.3.4', '64:ff9b:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['1.2.3.4:5678', '1.2.3.4'],
    ['[2001:db8::1]:5678', '2001:db8:0:0::/64'],
    ['[2001:db8::1]', '2001:db8:0:0::/64'],
    ['[::ffff:1.2.3.4]:5678', '1.2.3.4'],
    ['[[::1]]:1', '[[::1]]:1'],
    ['what: a proxy made up', 'what: a proxy made up'],
    ['what a proxy made up', 'what a proxy made up'],
  ])('%s is counted as %s', (ip, network) => {
    expect(clientNetwork(ip)).toBe(network);
  });

  test('depends on the first 64 bits alone, in any notation', () => {
    const group = fc.integer({ min: 0, max: 0xffff });
    const eight = fc.tuple(group, group, group, group, group, group, group, group);
    fc.assert(
      fc.property(eight, ([a, b, c, d, ...host]) => {
        fc.pre([a, b, c, d].some((part) => part !== 0));
        const groups = [a, b, c, d, ...host];
        const long = groups.map((part) => part.toString(16).padStart(4, '0').toUpperCase()).join(':');
        const [, short = ''] = /\[(.*)\]/.exec(new URL(`http://[${long}]`).host) ?? [];
        const expected = `${[a, b, c, d].map((part) => part.toString(16)).join(':')}::/64`;
        expect([clientNetwork(long), clientNetwork(short)]).toEqual([expected, expected]);
      }),
    );
  });
});

/** Starts a server with a route whose price depends on its parameter. */
async function start({ unitsPerMinute }: Pick<AccessOptions, 'unitsPerMinute'>) {
  const access: AccessOptions = {
    apiKeys: [],
    unitsPerMinute,
    trustedProxies: [],
    limits: createMemoryLimitCounters(new FakeClock()),
  };
  const server = await createTestServer({
    access,
    registerMore: (more) => {
      more.post('/batch/:calls', { config: { access: RPC_ACCESS } }, async (request, reply) => {
        const { calls } = request.params as { calls: string };
        await chargeMore(request, reply, (Number(calls) - 1) * RPC_ACCESS.units, 'send it in parts');
        return { units: request.units };
      });
    },
  });
  return (calls: number) => server.inject({ method: 'POST', url: `/batch/${calls}` });
}

describe('an additional charge', () => {
  test.each([
    [1, 2],
    [2, 4],
    [3, 6],
    [10, 20],
  ])('%i calls cost %i units', async (calls, units) => {
    const post = await start({ unitsPerMinute: 20 });
    const response = await post(calls);
    expect(response.json()).toEqual({ units });
    expect(response.headers).toMatchObject({
      'x-ratelimit-limit': '20',
      'x-ratelimit-remaining': String(20 - units),
      'x-ratelimit-reset': String(3 * units),
    });
  });

  test('is 429 beyond the remaining units, and 400 beyond the units of a minute', async () => {
    const post = await start({ unitsPerMinute: 20 });
    expect((await post(1)).statusCode).toBe(200);
    const refused = await post(10);
    expect(refused.statusCode).toBe(429);
    // The first call was charged; 4 more units have to be refilled, at 3 s each.
    expect(refused.headers).toMatchObject({ 'retry-after': '12', 'x-ratelimit-remaining': '16' });
    const impossible = await (await start({ unitsPerMinute: 20 }))(11);
    const text = 'this request costs 22 units, more than the 20 of a minute: send it in parts';
    expectError(impossible, 400, text, 'invalid_request');
    expect(impossible.headers['x-ratelimit-remaining']).toBe('18');
  });

  test('costs nothing without limits', async () => {
    const response = await (await start({ unitsPerMinute: undefined }))(1_000);
    expect([response.statusCode, response.headers['x-ratelimit-limit']]).toEqual([200, undefined]);
  });
});
