import { expect, test } from 'vitest';
import { anchorsIn, type Mentionable, unmentionedScripts, wrongMentions } from '../../../scripts/docs/mentions.ts';

const KNOWN: Mentionable = {
  metrics: new Set(['signature_aggregator_calls_total', 'signature_aggregator_call_duration_seconds']),
  routes: ['GET /v1/networks/{network}/things:list', 'POST /v1/things', 'GET /v1/more/*'],
  scripts: new Set(['start', 'test', 'check', 'test:network']),
  anchorsOf: (path) => (path === 'docs/errors.md' ? anchorsIn('# Errors\n\n## `POST` it: codes\n') : undefined),
  hasProjectFile: (path) => path === 'test/unit/a.test.ts',
};

function problemsOf(text: string): string[] {
  return wrongMentions('README.md', text, KNOWN);
}

test.each([
  ['`signature_aggregator_cals_total`', 'the metric `signature_aggregator_cals_total`'],
  ['`GET /v1/networks/fuji/thing`', 'the route `GET /v1/networks/fuji/thing`'],
  ['`GET /v1/things`', 'the route `GET /v1/things`'],
  ['by `test/unit/b.test.ts`', 'the test test/unit/b.test.ts'],
  ['npm run chekc', '`npm run chekc`'],
  ['see [errors](docs/error.md)', 'the link docs/error.md'],
  ['see [errors](docs/errors.md#code)', 'the link docs/errors.md#code'],
  ['# Top\nsee [below](#bottom)', 'the link #bottom'],
])('a document may not mention what is not there: %s', (text, what) => {
  expect(problemsOf(text)).toEqual([`README.md names ${what}, which does not exist.`]);
});

test('a script that no document speaks of is named', () => {
  const documents = new Map([
    ['README.md', 'npm ci && npm test'],
    ['CONTRIBUTING.md', '`npm run check`'],
  ]);
  expect(unmentionedScripts(documents, ['test', 'check'])).toEqual([]);
  expect(unmentionedScripts(documents, ['test', 'bench'])).toEqual([
    'The script `bench` of package.json is not named in README.md or CONTRIBUTING.md.',
  ]);
});
