import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bytesToHex } from '../../src/lib/encoding/bytes.ts';
import { askAll, findGoProblems, type GoAnswers } from '../go-api/compare.ts';
import { type CorpusEntry, goCorpus } from '../go-api/corpus.ts';
import { expectedAnswer, GO_DIFFERENCES } from '../go-api/differences.ts';
import { type RunningService, startService } from '../integration/service/running-service.ts';
import { buildReference, type Reference, startReference } from './reference-process.ts';

/** The Go aggregator itself and this service, on the same devnet, have the same requests. */

const CONNECT_TIMEOUT_MS = 60_000;
const VECTORS = join(import.meta.dirname, '../vectors/go-aggregator.json');

let service: RunningService;
let reference: Reference;
let entries: readonly CorpusEntry[];
let expected: GoAnswers;

beforeAll(async () => {
  const program = await buildReference();
  service = await startService(6, {
    settings: { network: { goApi: { apiPort: 0 } }, access: { unitsPerMinute: 0 } },
  });
  const { devnet } = service;
  reference = await startReference(program, devnet.apiUrl, [devnet.subnets.l1.subnetID]);
  // It connects to validators when they are first asked for: answers before that depend on how far it is.
  for (const chain of ['C', 'L1'] as const) {
    const message = bytesToHex(devnet.chains[chain].emit(Buffer.from('first')).bytes);
    await untilSigned(reference.url, message);
  }
  entries = goCorpus(devnet);
  const answers = await askAll(reference.url, entries);
  expected = Object.fromEntries(Object.entries(answers).map(([name, answer]) => [name, expectedAnswer(answer)]));
});

async function untilSigned(url: string, message: string): Promise<void> {
  const body = JSON.stringify({ message });
  const signal = AbortSignal.timeout(CONNECT_TIMEOUT_MS);
  for (let status = 0; status !== 200; ) {
    ({ status } = await fetch(`${url}/aggregate-signatures`, { method: 'POST', body, signal }));
  }
}

afterAll(async () => {
  await reference?.[Symbol.asyncDispose]();
  await service?.[Symbol.asyncDispose]();
});

test('the corpus is large, its names differ, and it has a request for each deliberate difference', () => {
  expect(entries.length).toBeGreaterThanOrEqual(150);
  expect(new Set(entries.map(({ name }) => name)).size).toBe(entries.length);
  const named = new Set(entries.flatMap(({ differs }) => differs ?? []));
  expect([...named].toSorted()).toEqual(Object.keys(GO_DIFFERENCES).toSorted());
});

test('this service answers as the Go aggregator does, but for the deliberate differences', async () => {
  const ours = await askAll(service.app.goUrls.get('local')?.api ?? '', entries);
  expect(findGoProblems(entries, expected, ours)).toEqual([]);
});

// To record them again: npm run test:network -- go-reference -u
test('the Go aggregator answers as the vectors of npm test have it', async () => {
  const lines = Object.entries(expected).map(([name, answer]) => `${JSON.stringify(name)}: ${JSON.stringify(answer)}`);
  await expect(`{\n${lines.toSorted().join(',\n')}\n}\n`).toMatchFileSnapshot(VECTORS);
});
