import { describe, expect, test } from 'vitest';
import { type Mentionable, unmentionedScripts, wrongMentions } from '../../../scripts/docs/mentions.ts';

const KNOWN: Mentionable = {
  metrics: new Set(['signature_aggregator_calls_total', 'signature_aggregator_call_duration_seconds']),
  routes: ['GET /v1/networks/{network}/things:list', 'POST /v1/things', 'GET /v1/more/*'],
  scripts: new Set(['start', 'test', 'check', 'test:network']),
  hasFile: (path) => path === 'docs/errors.md',
  hasProjectFile: (path) => path === 'test/unit/a.test.ts',
};

function problemsOf(text: string): string[] {
  return wrongMentions('README.md', text, KNOWN);
}

describe('what a document mentions', () => {
  test.each([
    'by `signature_aggregator_calls_total`',
    'rate(signature_aggregator_call_duration_seconds_bucket[5m])',
    'all start with `signature_aggregator_`, as `signature_aggregator_peer_*`',
    '`GET /v1/networks/{network}/things:list`, `GET /v1/networks/fuji/things:list?pageSize=1`',
    '`POST /v1/things`, and `GET /v1/more/of/them`',
    'shown by `test/unit/a.test.ts`, one of `test/unit`',
    '`npm run check`, `npm run test:network -- --reporter=dot`, npm ci && npm start',
    '[errors](docs/errors.md#codes), [site](https://example.com), [above](#top)',
    '```ts\nconst a = list[0](missing.md);\n```',
  ])('%s is there', (text) => {
    expect(problemsOf(text)).toEqual([]);
  });

  test.each([
    [
      '`signature_aggregator_cals_total`',
      'README.md names the metric `signature_aggregator_cals_total`, which no file of src declares.',
    ],
    [
      '`GET /v1/networks/fuji/thing`',
      'README.md names the route `GET /v1/networks/fuji/thing`, which the service has not.',
    ],
    ['`GET /v1/things`', 'README.md names the route `GET /v1/things`, which the service has not.'],
    ['by `test/unit/b.test.ts`', 'README.md names the test test/unit/b.test.ts, which is not there.'],
    ['npm run chekc', 'README.md names `npm run chekc`, which package.json has not.'],
    ['see [errors](docs/error.md#codes)', 'README.md links to docs/error.md, which is not there.'],
  ])('%s is not', (text, problem) => {
    expect(problemsOf(text)).toEqual([problem]);
  });

  test('a script that no document speaks of is named', () => {
    const documents = new Map([
      ['README.md', 'npm ci && npm test'],
      ['CONTRIBUTING.md', '`npm run check`'],
    ]);
    expect(unmentionedScripts(documents, ['test', 'check'])).toEqual([]);
    expect(unmentionedScripts(documents, ['test', 'bench'])).toEqual([
      'package.json has the script `bench`, of which neither README.md nor CONTRIBUTING.md speaks.',
    ]);
  });
});
