// node scripts/settings-docs.ts: writes the tables of config/README.md anew from the schema of the settings. Each stands between
// <!-- settings NAME --> and <!-- end of settings -->, where NAME is a section or one of the objects of PARTS.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { allowedText } from '../src/config/load/check-settings.ts';
import { SETTINGS } from '../src/config/schema/schema.ts';
import { type Path, pathText, type SettingSchema, schemaAt } from '../src/config/schema/setting.ts';

const README = join(import.meta.dirname, '..', 'config', 'README.md');
const END = '<!-- end of settings -->';
/** Stands for the name of a network. */
const NAME = 'name';

/** Objects that settings are made of, by the place of one of them. */
const PARTS: Readonly<Record<string, Path>> = {
  endpoint: ['upstream', 'metrics'],
  'API key': ['access', 'apiKeys', 0],
  peer: ['networks', NAME, 'manuallyTrackedPeers', 0],
};

interface Row {
  readonly setting: string;
  readonly text: string;
}

/** What the README would be if it were as the schema says, and what is to be done about the difference. */
export function checkSettingsDocs(
  text = readFileSync(README, 'utf8'),
  root = SETTINGS,
): { text: string; problems: string[] } {
  const problems: string[] = [];
  const tables = settingsTables(root, problems);
  let fresh = text;
  for (const [name, rows] of tables) {
    const start = `<!-- settings ${name} -->\n`;
    const from = fresh.indexOf(start);
    const to = fresh.indexOf(END, from);
    if (from < 0 || to < 0) {
      problems.push(`config/README.md has no place for the settings of ${name}: ${start.trimEnd()} and ${END}`);
      continue;
    }
    const written = new Set(fresh.slice(from, to).split('\n'));
    for (const row of rows) {
      if (!written.has(row.text))
        problems.push(`${row.setting}: config/README.md does not say what the schema does: npm run generate.`);
    }
    fresh = `${fresh.slice(0, from)}${start}${tableOf(rows)}${fresh.slice(to)}`;
  }
  if (problems.length === 0 && fresh !== text)
    problems.push('config/README.md names a setting that the schema does not have');
  return { text: fresh, problems };
}

/** Every setting of the tables, such as `server.port`. */
export function settingNames(root = SETTINGS): string[] {
  return [...settingsTables(root, []).values()].flatMap((rows) => rows.map(({ setting }) => setting));
}

function tableOf(rows: readonly Row[]): string {
  const head = ['| Setting | Default | Allowed | Meaning |', '|---|---|---|---|'];
  return `${[...head, ...rows.map(({ text }) => text)].join('\n')}\n`;
}

function settingsTables(root: SettingSchema, problems: string[]): Map<string, Row[]> {
  const tables = new Map<string, Row[]>();
  for (const [name, section] of Object.entries(root.properties ?? {})) {
    const isNetworks = section.patternProperties !== undefined;
    const path = isNetworks ? [name, NAME] : [name];
    tables.set(name, rowsOf(isNetworks ? schemaAt(section, [NAME]) : section, path, problems));
  }
  for (const [name, path] of Object.entries(PARTS)) {
    const schema = schemaAt(root, path);
    if (schema !== undefined) tables.set(name, rowsOf(schema, [], problems));
  }
  return tables;
}

function rowsOf(section: SettingSchema | undefined, path: Path, problems: string[]): Row[] {
  return Object.entries(section?.properties ?? {}).flatMap(([key, schema]) => {
    const at = [...path, key];
    if (schema.isSection === true) return rowsOf(schema, at, problems);
    const setting = pathText(at);
    for (const wanted of ['description', 'examples'] as const) {
      if (schema[wanted] === undefined) problems.push(`${setting}: has no ${wanted} in src/config`);
    }
    const cells = [`\`${setting}\``, defaultText(schema, section, key), allowedCell(schema), schema.description ?? ''];
    const row = { setting, text: `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |` };
    // The parts of an endpoint have a table of their own.
    const isPlainObject = schema.properties !== undefined && schema.properties['baseUrl'] === undefined;
    return isPlainObject ? [row, ...rowsOf(schema, at, problems)] : [row];
  });
}

function defaultText(schema: SettingSchema, section: SettingSchema | undefined, key: string): string {
  if (schema.derived !== undefined) return schema.derived.text;
  if (schema.default !== undefined) return code(schema.default);
  return section?.required?.includes(key) === true ? 'must be given' : 'none';
}

function allowedCell(schema: SettingSchema): string {
  const text = allowedText(schema);
  const [example] = schema.examples ?? [];
  const isPlain = schema.type === 'integer' || schema.type === 'boolean' || schema.enum !== undefined;
  // An endpoint is shown once, in its own table.
  if (isPlain || example === undefined || text.includes('{baseUrl')) return text;
  return `${text}, such as ${code(example)}`;
}

function code(value: unknown): string {
  return `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``;
}

if (import.meta.main) {
  const { text, problems } = checkSettingsDocs();
  // What the tables lack is what is written now; what the schema lacks stays to be done.
  writeFileSync(README, text);
  const left = checkSettingsDocs(text).problems;
  for (const problem of left) console.error(problem);
  process.exitCode = left.length > 0 ? 1 : 0;
  if (left.length === 0 && problems.length > 0) console.log('config/README.md: tables regenerated');
}
