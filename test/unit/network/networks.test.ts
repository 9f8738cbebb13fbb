import { expect, test } from 'vitest';
import { untilUnservable, WrongNetworks } from '../../../src/network/networks.ts';
import type { ServedNetwork } from '../../../src/network/served-network.ts';
import { settle } from '../../support/fake-clock.ts';

function networkThat(name: string) {
  const refused = Promise.withResolvers<void>();
  const failed = Promise.withResolvers<never>();
  const state = { name, refused: refused.promise, failed: failed.promise, refusal: undefined as string | undefined };
  return {
    network: state as unknown as ServedNetwork,
    correct: () => (state.refusal = undefined),
    fail: failed.reject,
    refuse(): void {
      state.refusal = `${name} is another network`;
      refused.resolve();
    },
  };
}

test('the service ends when the API of each network belongs to another network, and names all', async () => {
  const [one, two] = [networkThat('one'), networkThat('two')];
  const ended = untilUnservable([one.network, two.network]);
  one.refuse();
  await settle();
  two.refuse();
  await expect(ended).rejects.toThrow(new WrongNetworks('one: one is another network; two: two is another network'));
});

test('a network that was corrected before the last was refused keeps the service, until one fails', async () => {
  const [one, two] = [networkThat('one'), networkThat('two')];
  const ended = untilUnservable([one.network, two.network]);
  one.refuse();
  one.correct();
  two.refuse();
  expect(await Promise.race([ended.catch(String), settle()])).toBeUndefined();
  one.fail(new Error('cannot open the store'));
  await expect(ended).rejects.toThrow('cannot open the store');
});
