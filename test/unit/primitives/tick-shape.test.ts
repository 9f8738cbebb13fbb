import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';

const MODULE = new URL('../../../src/primitives/tick-shape.ts', import.meta.url).href;
const KEEP = `const { keepTickShape } = await import(${JSON.stringify(MODULE)}); kept = keepTickShape();`;

/** @returns whether there was something to keep, and what V8 knows of the places where `nextTick` makes its objects, after full collections */
function afterCollections(first: string): { readonly kept: boolean; readonly known: readonly string[] } {
  const code = `
    let kept = false;
    ${first}
    const call = () => { for (let count = 0; count < 50; count += 1) process.nextTick(() => undefined); };
    call();
    // In a turn of its own there is no such object. V8 keeps a shape without objects for some collections.
    for (let count = 0; count < 6; count += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      gc();
    }
    call();
    const known = %GetFeedback(process.nextTick).map(String).filter((place) => place.startsWith('DefineKeyedOwn'));
    console.log(JSON.stringify({ kept, known: known.map((place) => place.split(/[,\\n]/)[1]) }));
  `;
  const args = ['--expose-gc', '--allow-natives-syntax', '--input-type=module', '--eval', code];
  return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8', timeout: 20_000 }));
}

test('V8 knows the shape of what nextTick makes also after full collections', () => {
  const { kept, known } = afterCollections(KEEP);
  expect(kept).toBe(true);
  expect(known.length).toBeGreaterThanOrEqual(3);
  expect(new Set(known)).toEqual(new Set(['MONOMORPHIC']));
});

test('without it, it has forgotten it for good', () => {
  const { kept, known } = afterCollections('');
  expect(kept).toBe(false);
  expect(known).toContain('MEGAMORPHIC');
});
