import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from '../../../scripts/checks/project.ts';
import { parseConfig } from '../../../src/config/load/load-config.ts';
import { CODE_NAMES, ERROR_CODES, type ErrorCode } from '../../../src/http/errors/error-codes.ts';

const API = readFileSync(join(ROOT, 'docs/api.md'), 'utf8');
const [, TABLE = ''] = API.split('| Status | What you do |\n');
/** What is advised, by the first cell of a row. */
const ROWS = TABLE.slice(TABLE.indexOf('\n') + 1)
  .split('\n\n', 1)
  .flatMap((table) => table.split('\n'))
  .map((row) => row.split('|').map((cell) => cell.trim()))
  .map(([, whose = '', advice = '']) => ({ whose, advice }));

function adviceFor(code: ErrorCode): string | undefined {
  const { status } = ERROR_CODES[code];
  const named = ROWS.find(({ whose }) => whose.includes(`\`${code}\``));
  return (named ?? ROWS.find(({ whose }) => /^[\d, ]+$/.test(whose) && whose.split(', ').includes(String(status))))
    ?.advice;
}

test.each(CODE_NAMES)('docs/api.md advises what to do by the status of %s as its code advises', (code) => {
  const { retry, action } = ERROR_CODES[code];
  const advice = adviceFor(code);
  if (retry !== 'may_pass')
    expect(advice).toMatch(/^(correct the request|send another key|ask the operator|go on from)/);
  else if (action.includes('Retry-After')) expect(advice).toMatch(/after `Retry-After`$|^wait for `Retry-After`$/);
  else {
    expect(advice).toMatch(/(try|send it) again|may pass/);
    expect(advice).not.toMatch(/ after `Retry-After`$/);
  }
});

test('docs/api.md recommends a timeout that exceeds the longest answer, and promises no more than the routes', () => {
  const [, seconds] = /timeout of (\d+) s/.exec(API) ?? [];
  const { config } = parseConfig({ networks: { fuji: { pChainApi: [{ baseUrl: 'http://node' }] } } }, {}, {});
  const { requestTimeoutMs } = config.aggregation;
  const maxWaitMs = 30_000;
  expect(Number(seconds) * 1_000).toBeGreaterThan(maxWaitMs + 2 * requestTimeoutMs);
  expect(Number(seconds) * 1_000).toBeGreaterThan(3 * config.upstream.timeoutMs);
  expect(API).not.toMatch(/one address/);
});
