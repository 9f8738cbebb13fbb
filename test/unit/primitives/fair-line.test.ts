import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FairLine } from '../../../src/primitives/fair-line.ts';

test('takes one of each client after the other, and those of one client in the order of coming', () => {
  const line = new FairLine<string, string>();
  for (const item of ['a1', 'a2', 'a3', 'b1', 'c1', 'b2']) line.push(item[0] ?? '', item);
  const taken: string[] = [];
  while (line.size > 0) {
    const { next } = line;
    const item = line.shift();
    expect(item).toBe(next);
    taken.push(item ?? '');
  }
  expect(taken).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3']);
  expect([line.next, line.shift(), line.size]).toEqual([undefined, undefined, 0]);
});

test('has nothing wait for more than one of each other client for each of its own before it', () => {
  const steps = fc.array(fc.oneof(fc.constantFrom('a', 'b', 'c'), fc.constant(undefined)));
  fc.assert(
    fc.property(steps, (clients) => {
      const line = new FairLine<string, number>();
      const waiting = new Map<string, number[]>();
      let passed = new Map<string, string[]>();
      for (const [number, client] of clients.entries()) {
        if (client !== undefined) {
          line.push(client, number);
          waiting.set(client, [...(waiting.get(client) ?? []), number]);
          continue;
        }
        const taken = line.shift();
        const [whose] = [...waiting].find(([, numbers]) => numbers[0] === taken) ?? [];
        if (whose === undefined) {
          expect(taken).toBeUndefined();
          continue;
        }
        waiting.set(whose, waiting.get(whose)?.slice(1) ?? []);
        // Nobody else who waits has been passed by it before.
        for (const [other, numbers] of waiting) {
          if (other === whose || numbers.length === 0) continue;
          expect(passed.get(other) ?? []).not.toContain(whose);
          passed.set(other, [...(passed.get(other) ?? []), whose]);
        }
        passed = new Map([...passed].filter(([key]) => key !== whose));
      }
      expect(line.size).toBe([...waiting.values()].flat().length);
    }),
  );
});
