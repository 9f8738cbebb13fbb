import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';

const MODULE = new URL('../../../src/primitives/young-heap.ts', import.meta.url).href;
const COLLECT = new URL('../../../src/primitives/collect-garbage.ts', import.meta.url).href;

/** Makes objects in turns of the event loop, as requests do, and keeps the latest of them. */
const WORK = `
  kept = [];
  for (let turn = 0; turn < 400; turn += 1) {
    for (let index = 0; index < 2_000; index += 1) kept.push({ index, pair: [index, index] });
    if (kept.length > 60_000) kept = kept.slice(30_000);
    await new Promise((resolve) => setImmediate(resolve));
  }
`;
const SHOW = `
  young = getHeapSpaceStatistics().find((space) => space.space_name === 'new_space');
  console.log(young.space_size / 2 ** 20);
`;

/** @returns what each {@link SHOW} saw */
function youngMib(work: string): number[] {
  const code = `const { getHeapSpaceStatistics } = await import('node:v8'); let kept, young; ${work}`;
  // A process of its own: a heap that has grown stays as it is.
  const args = ['--semi-space-growth-factor=1', '--input-type=module', '--eval', code];
  const output = execFileSync(process.execPath, args, { encoding: 'utf8', timeout: 20_000 });
  return output.trim().split('\n').map(Number);
}

test('it grows with the load, to a bound', () => {
  const letGrow = `const { letYoungHeapGrow } = await import(${JSON.stringify(MODULE)}); letYoungHeapGrow();`;
  const [grown] = youngMib(letGrow + WORK + SHOW);
  expect(grown).toBeGreaterThanOrEqual(8);
  expect(grown).toBeLessThanOrEqual(16);
  const unbounded = `(await import('node:v8')).setFlagsFromString('--semi-space-growth-factor=2');`;
  expect(youngMib(unbounded + WORK + SHOW)[0]).toBeGreaterThan(16);
});

test('it grows again after V8 has made it small in a quiet moment', () => {
  const letGrow = `const { letYoungHeapGrow } = await import(${JSON.stringify(MODULE)}); letYoungHeapGrow();`;
  const rest = `kept = []; (await import(${JSON.stringify(COLLECT)})).collectAllGarbage();`;
  const [grown = 0, rested = 0, again = 0] = youngMib(letGrow + WORK + SHOW + rest + SHOW + WORK + SHOW);
  expect(grown).toBeGreaterThanOrEqual(8);
  expect(rested).toBeLessThan(8);
  expect(again).toBeGreaterThanOrEqual(8);
  expect(again).toBeLessThanOrEqual(16);
});
