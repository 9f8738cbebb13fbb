import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { askAll, findGoProblems, type GoAnswers } from '../../go-api/compare.ts';
import { goCorpus } from '../../go-api/corpus.ts';
import { startService } from './running-service.ts';

const VECTORS = join(import.meta.dirname, '../../vectors/go-aggregator.json');
const TIMEOUT_MS = 60_000;

/** `test/network/go-reference.test.ts` compares the vectors with the Go aggregator itself. */
test(
  'requests to /aggregate-signatures are answered as the Go aggregator answers them',
  async () => {
    await using service = await startService(6, {
      settings: { network: { goApi: { apiPort: 0 } }, access: { unitsPerMinute: 0 } },
    });
    const entries = goCorpus(service.devnet);
    const expected = JSON.parse(readFileSync(VECTORS, 'utf8')) as GoAnswers;
    expect(entries.map(({ name }) => name).toSorted()).toEqual(Object.keys(expected).toSorted());
    const ours = await askAll(service.app.goUrls.get('local')?.api ?? '', entries);
    expect(findGoProblems(entries, expected, ours)).toEqual([]);
  },
  TIMEOUT_MS,
);
