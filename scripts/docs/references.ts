import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { GO_DIFFERENCES } from '../../test/go-api/differences.ts';
import { filesUnder, GENERATED, ROOT, toProjectPath } from '../checks/project.ts';
import { dependenciesOfLock, type Lock, type Manifest } from './dependencies-of-lock.ts';
import { ERROR_CODES_FILE, errorCodesOfSource } from './error-codes-of-source.ts';
import { metricsOfSource } from './metrics-of-source.ts';
import type { ReferenceTable } from './reference-table.ts';
import { routesOfService } from './routes-of-service.ts';

/** What a document lists, and what the source itself has against being listed: a sentence for each. */
export interface Reference {
  readonly table: ReferenceTable;
  readonly problems: readonly string[];
}

/** Each by its name in `npm run check`. */
export const REFERENCES: Readonly<Record<string, () => Reference | Promise<Reference>>> = {
  metrics: metricsReference,
  'error codes': errorCodesReference,
  routes: routesReference,
  dependencies: dependenciesReference,
  'differences from the Go aggregator': goDifferencesReference,
};

/** The first cell of each row: what the document of that name in {@link REFERENCES} lists. */
export async function namesIn(reference: string): Promise<string[]> {
  const { table } = (await REFERENCES[reference]?.()) ?? {};
  return table?.rows.map(([name = '']) => name) ?? [];
}

/** The written files of src, by path. */
export function readSource(): ReadonlyMap<string, string> {
  const files = filesUnder(join(ROOT, 'src'))
    .map(toProjectPath)
    .filter((file) => file.endsWith('.ts') && !GENERATED.test(file));
  return new Map(files.map((file) => [file, readFileSync(join(ROOT, file), 'utf8')]));
}

function metricsReference(): Reference {
  const { metrics, problems } = metricsOfSource(readSource());
  const files = new Map(metrics.map(({ name, file }) => [name, file]));
  return {
    problems,
    table: {
      file: 'docs/metrics.md',
      subject: 'metric',
      head: ['Metric', 'Kind', 'Labels', 'Meaning'],
      rows: metrics.map(({ name, kind, labels, help }) => [
        name,
        kind,
        labels.map((label) => `\`${label}\``).join(', '),
        help,
      ]),
      sourceOf: (name) => files.get(name) ?? 'src',
    },
  };
}

function errorCodesReference(): Reference {
  const { codes, problems } = errorCodesOfSource(readSource());
  const statuses: Readonly<Record<string, string>> = { as_upstream: "the upstream's" };
  const advice: Readonly<Record<string, string>> = {
    never: 'never',
    after_change: 'after a change',
    may_pass: 'it may pass',
  };
  return {
    problems,
    table: {
      file: 'docs/errors.md',
      subject: 'error code',
      head: ['Code', 'Status', 'Meaning', 'Try again', 'What to do'],
      rows: codes.map(({ code, status, meaning, retry, action }) => [
        code,
        statuses[status] ?? status,
        meaning,
        advice[retry] ?? retry,
        action,
      ]),
      sourceOf: () => ERROR_CODES_FILE,
    },
  };
}

async function routesReference(): Promise<Reference> {
  const routes = await routesOfService();
  const undescribed = routes.filter(({ summary }) => summary === '');
  const nameless = routes.filter(({ operationID }) => operationID === '');
  return {
    problems: [
      ...undescribed.map(
        ({ name }) => `The route \`${name}\` has no summary in its schema, which docs/routes.md needs.`,
      ),
      ...nameless.map(
        ({ name }) => `The route \`${name}\` has no operationId in its schema, which clients are made from.`,
      ),
    ],
    table: {
      file: 'docs/routes.md',
      subject: 'route',
      head: ['Route', 'Group', 'Units', 'What it does'],
      rows: routes.map(({ name, group, units, summary }) => [name, group, units, summary]),
      sourceOf: () => 'src',
    },
  };
}

function dependenciesReference(): Reference {
  const read = (file: string): unknown => JSON.parse(readFileSync(join(ROOT, file), 'utf8'));
  const { dependencies, problems } = dependenciesOfLock(
    read('package.json') as Manifest,
    read('package-lock.json') as Lock,
  );
  return {
    problems,
    table: {
      file: 'docs/dependencies.md',
      subject: 'package',
      head: ['Package', 'Licence', 'Installed'],
      rows: dependencies.map(({ name, licence, use }) => [name, licence, use]),
      sourceOf: () => 'package-lock.json',
    },
  };
}

function goDifferencesReference(): Reference {
  return {
    problems: [],
    table: {
      file: 'docs/switch-from-go.md',
      subject: 'difference',
      head: ['Request', 'Go aggregator', 'Here', 'Reason'],
      rows: Object.entries(GO_DIFFERENCES).map(([name, { go, here, reason }]) => [name, go, here, reason]),
      sourceOf: () => 'test/go-api/differences.ts',
    },
  };
}
