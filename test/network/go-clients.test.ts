import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RunningService, startService } from '../integration/service/running-service.ts';
import {
  buildGoClients,
  compileStrictly,
  type GoClient,
  installOpenApiGenerator,
  type OpenApiGenerator,
  writeDocument,
} from './client-generators.ts';

/** Clients that generators make from the OpenAPI document of a release. */

const CALL_TIMEOUT_MS = 60_000;
let generator: OpenApiGenerator;
let programs: string;
let service: RunningService;

beforeAll(async () => {
  await writeDocument();
  generator = await installOpenApiGenerator();
  programs = await buildGoClients(generator);
  service = await startService(5, { settings: { access: { operateWithoutKey: true } } });
});
afterAll(() => service?.[Symbol.asyncDispose]());

test.for<[GoClient, string]>([
  ['oapi', 'oapi-codegen'],
  ['ogen', 'ogen'],
  ['openapi', 'openapi-generator'],
])('%s: the Go client of %s compiles, has a message signed, and lists requests', async ([program], { skip }) => {
  if (program === 'openapi' && 'missing' in generator) skip(generator.missing);
  const [message = ''] = service.devnet.emitMessages(1);
  const call = [service.app.url, message];
  const { stdout } = await promisify(execFile)(join(programs, program), call, { timeout: CALL_TIMEOUT_MS });
  const [signed, last] = stdout.split('\n');
  expect(signed).toMatch(/^[0-9a-f]{200,}$/);
  expect(last).toMatch(/^signed \d{13}$/);
});

test('the TypeScript client of openapi-generator compiles strictly, as a whole', async ({ skip }) => {
  if ('missing' in generator) return skip(generator.missing);
  const folder = await mkdtemp(join(tmpdir(), 'typescript-fetch-'));
  try {
    await generator.generate('typescript-fetch', folder);
    expect(await compileStrictly(folder)).toBe('');
  } finally {
    await rm(folder, { recursive: true });
  }
});
