import { expect, it } from 'vitest';
import { ConnectionChanges } from '../../../../src/p2p/connection/connection-changes.ts';
import { nodeIDFromBytes } from '../../../../src/warp/ids.ts';
import { settle } from '../../../support/fake-clock.ts';

const never = new AbortController().signal;
const NODE = nodeIDFromBytes(new Uint8Array(20));

it('reports each node immediately, and all changes within a microtask once, until a subscription ends', async () => {
  const changes = new ConnectionChanges();
  const heard: string[] = [];
  const all = (): void => void heard.push('all');
  // Subscriptions with the same listener end separately.
  const stops = [changes.listenToNodes((nodeID) => heard.push(nodeID)), changes.listen(all)];
  changes.listen(all);
  for (const nodeID of [NODE, NODE, undefined, undefined]) changes.announce(nodeID);
  expect(heard.splice(0)).toEqual([NODE, NODE]);
  await settle();
  expect(heard.splice(0)).toEqual(['all', 'all']);
  for (const stop of stops) stop();
  changes.announce(NODE);
  await settle();
  expect(heard).toEqual(['all']);
});

it('checks a predicate at once and after changes, until it holds', async () => {
  const changes = new ConnectionChanges();
  let looks = 0;
  let isDone = false;
  const done = changes.waitUntil(() => {
    looks += 1;
    return looks === 3;
  }, never);
  void done.then(() => (isDone = true));
  expect(looks).toBe(1);
  changes.announce();
  changes.announce();
  await settle();
  expect([looks, isDone]).toEqual([2, false]);
  changes.announce();
  await done;
  changes.announce();
  await settle();
  expect(looks).toBe(3);
});

it('rejects each wait with its reason', async () => {
  const changes = new ConnectionChanges();
  const controller = new AbortController();
  let isFaulty = false;
  const outcomes = Promise.allSettled([
    changes.waitUntil(() => true, never),
    changes.waitUntil(() => false, controller.signal),
    changes.waitUntil(() => {
      if (isFaulty) throw new Error('faulty');
      return false;
    }, never),
    changes.waitUntil(() => false, never),
    changes.waitUntil(() => true, AbortSignal.abort(new Error('too late'))),
  ]);
  isFaulty = true;
  changes.announce();
  await settle();
  controller.abort(new Error('enough'));
  changes.close(new Error('closed'));
  const texts = (await outcomes).map((outcome) => (outcome.status === 'rejected' ? outcome.reason.message : 'held'));
  expect(texts).toEqual(['held', 'enough', 'faulty', 'closed', 'too late']);
  await expect(changes.waitUntil(() => true, never)).rejects.toThrow('closed');
});
