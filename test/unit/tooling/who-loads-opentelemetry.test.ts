import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT, written } from '../../../scripts/checks/project.ts';

/** Loading it takes 12 MiB and a tenth of a second. */
test('OpenTelemetry is loaded only where traces are configured', () => {
  const sources = new Map(
    written.filter((file) => file.startsWith('src/')).map((file) => [file, readFileSync(join(ROOT, file), 'utf8')]),
  );
  const importing = (pattern: RegExp) => [...sources].flatMap(([file, text]) => (pattern.test(text) ? [file] : []));
  const loading = importing(/from '@opentelemetry\//);
  expect(loading.toSorted()).toEqual(['src/telemetry/recorded-spans.ts', 'src/telemetry/trace-sdk.ts']);
  expect(importing(/from '[^']*\/(recorded-spans|trace-sdk)\.ts'/)).toEqual(['src/telemetry/trace-sdk.ts']);
  expect(importing(/import\('[^']*\/trace-sdk\.ts'\)/)).toEqual(['src/telemetry/open-tracer.ts']);
});
