import { describe, expect, it } from 'vitest';
import { ConnectionChanges } from '../../../../src/p2p/connection/connection-changes.ts';
import { nodeIDFromBytes } from '../../../../src/warp/ids.ts';
import { settle } from '../../../support/fake-clock.ts';

const never = new AbortController().signal;

describe('ConnectionChanges', () => {
  it('calls listeners once for all changes within a microtask', async () => {
    const changes = new ConnectionChanges();
    let calls = 0;
    const stop = changes.listen(() => void (calls += 1));
    for (let change = 0; change < 1_000; change += 1) changes.announce();
    expect(calls).toBe(0);
    await settle();
    expect(calls).toBe(1);
    changes.announce();
    await settle();
    expect(calls).toBe(2);
    stop();
    changes.announce();
    await settle();
    expect(calls).toBe(2);
  });

  it('reports each node immediately, and changes as a whole after that', async () => {
    const changes = new ConnectionChanges();
    const node = nodeIDFromBytes(new Uint8Array(20));
    const heard: string[] = [];
    const stop = changes.listenToNodes((nodeID) => heard.push(nodeID));
    changes.listen(() => heard.push('all'));
    changes.announce(node);
    changes.announce(node);
    changes.announce();
    expect(heard).toEqual([node, node]);
    await settle();
    expect(heard).toEqual([node, node, 'all']);
    stop();
    changes.announce(node);
    expect(heard).toHaveLength(3);
  });

  it('ends subscriptions with the same listener separately', async () => {
    const changes = new ConnectionChanges();
    let calls = 0;
    const listener = (): void => void (calls += 1);
    const stop = changes.listen(listener);
    changes.listen(listener);
    stop();
    changes.announce();
    await settle();
    expect(calls).toBe(1);
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
});
