import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { PLANTED_BUGS } from '../../mutations/bugs.ts';
import { REPLICA_BUGS, SERVICE_BUGS } from '../../simulation/planted-bugs.ts';

const ROOT = join(import.meta.dirname, '../../..');

test.each([...PLANTED_BUGS, ...SERVICE_BUGS, ...REPLICA_BUGS])(
  'the text that $name replaces is once in $file',
  ({ file, find }) => {
    expect(readFileSync(join(ROOT, file), 'utf8').split(find)).toHaveLength(2);
  },
);
