import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { ResponseCache } from '../../../../src/proxy/client/response-cache.ts';
import type { UpstreamSuccess } from '../../../../src/proxy/client/upstream-answer.ts';
import { FakeClock } from '../../../support/fake-clock.ts';

test('an answer that is too long to keep is left, and fetched again for the client', async () => {
  const cache = new ResponseCache({ clock: new FakeClock(), maxBytes: 1_000 });
  const bodies: Readable[] = [];
  const kept: boolean[] = [];
  const get = async () => {
    const answer = await cache.get(
      'target',
      { freshMs: 1_000 },
      async (_, isKept) => {
        kept.push(isKept);
        const body = new Readable({ read: () => undefined });
        bodies.push(body);
        return { kind: 'success', status: 200, headers: {}, body };
      },
      new AbortController().signal,
    );
    return (answer as UpstreamSuccess).body;
  };
  expect(await get()).toBe(bodies[1]);
  expect(await get()).toBe(bodies[2]);
  expect(kept).toEqual([true, false, false]);
  expect(bodies.map(({ destroyed }) => destroyed)).toEqual([true, false, false]);
});
