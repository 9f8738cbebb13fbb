import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { PLANTED_BUGS } from '../../mutations/bugs.ts';

const ROOT = join(import.meta.dirname, '../../..');

test.each(PLANTED_BUGS)('the text that $name replaces is once in $file', ({ file, find }) => {
  expect(readFileSync(join(ROOT, file), 'utf8').split(find)).toHaveLength(2);
});

test('no two planted bugs have one name', () => {
  const names = PLANTED_BUGS.map(({ name }) => name);
  expect(names).toEqual([...new Set(names)]);
});
