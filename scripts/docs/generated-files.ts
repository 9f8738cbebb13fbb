import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DoctorReport } from '../../src/cli/probes/report.ts';
import { ERROR_CODES } from '../../src/http/errors/error-codes.ts';
import { GO_DIFFERENCES } from '../../test/go-api/differences.ts';
import { ROOT } from '../checks/project.ts';
import { commandHelp } from './commands.ts';
import { dependenciesOfLock, type Lock, type Manifest } from './dependencies.ts';
import { layerPicture } from './layers.ts';
import { type ReferenceTable, withGenerated, withTable } from './reference-table.ts';
import { describeService, misnamedMetrics } from './service.ts';
import { settingsTables } from './settings.ts';

const RETRY = { never: 'never', after_change: 'after a change', may_pass: 'it may pass' } as const;

/** Every file that `npm run generate` writes, wholly or in part, beside the generated code. */
export async function generatedFiles(): Promise<{ files: Map<string, string>; problems: string[] }> {
  const files = new Map<string, string>();
  const { tables, problems } = await referenceTables();
  const read = (file: string): string => files.get(file) ?? readFileSync(join(ROOT, file), 'utf8');
  for (const table of tables) files.set(table.file, withTable(read(table.file), table));
  for (const text of [
    { file: 'docs/commands.md', subject: 'commands', content: commandHelp() },
    { file: 'src/ARCHITECTURE.md', subject: 'layers', content: `\`\`\`text\n${layerPicture()}\n\`\`\`` },
  ]) {
    files.set(text.file, withGenerated(read(text.file), text));
  }
  files.set('docs/doctor.schema.json', `${JSON.stringify(DoctorReport, undefined, 2)}\n`);
  // A chart holds only what is in its folder.
  files.set('deploy/chart/alerts.yaml', read('deploy/prometheus/alerts.yaml'));
  return { files, problems };
}

async function referenceTables(): Promise<{ tables: ReferenceTable[]; problems: string[] }> {
  const { metrics, routes } = await describeService();
  const { dependencies, problems: wrongDependencies } = dependenciesOfLock(
    readJson('package.json') as Manifest,
    readJson('package-lock.json') as Lock,
  );
  const settings = settingsTables();
  const tables: ReferenceTable[] = [
    {
      file: 'docs/metrics.md',
      subject: 'metrics',
      head: ['Metric', 'Kind', 'Labels', 'Meaning'],
      rows: metrics.map(({ name, kind, labels, help }) => [
        name,
        kind,
        labels.map((label) => `\`${label}\``).join(', '),
        help,
      ]),
    },
    {
      file: 'docs/errors.md',
      subject: 'error codes',
      head: ['Code', 'Status', 'Meaning', 'Retry', 'What to do'],
      rows: Object.entries(ERROR_CODES).map(([code, { status, meaning, retry, action }]) => [
        code,
        status === 'as_upstream' ? "the upstream's" : String(status),
        meaning,
        RETRY[retry],
        action,
      ]),
    },
    {
      file: 'docs/routes.md',
      subject: 'routes',
      head: ['Route', 'Group', 'Units', 'What it does'],
      rows: routes.map(({ name, group, units, summary }) => [name, group, units, summary]),
    },
    {
      file: 'CONTRIBUTING.md',
      subject: 'packages',
      head: ['Package', 'Licence', 'Installed'],
      rows: dependencies.map(({ name, licence, use }) => [name, licence, use]),
    },
    {
      file: 'docs/switch-from-go.md',
      subject: 'differences',
      head: ['Request', 'Go aggregator', 'Here', 'Reason'],
      rows: Object.entries(GO_DIFFERENCES).map(([name, { go, here, reason }]) => [name, go, here, reason]),
    },
    ...settings.tables,
  ];
  const unnamed = routes.filter(({ summary, operationID }) => summary === '' || operationID === '');
  return {
    tables,
    problems: [
      ...misnamedMetrics(metrics),
      ...unnamed.map(({ name }) => `${name} has no summary or no operationId in its schema.`),
      ...wrongDependencies,
      ...settings.problems,
    ],
  };
}

function readJson(file: string): unknown {
  return JSON.parse(readFileSync(join(ROOT, file), 'utf8'));
}
