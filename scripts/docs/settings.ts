import { allowedText } from '../../src/config/load/problems.ts';
import { SETTINGS } from '../../src/config/schema/schema.ts';
import { type Path, pathText, type SettingSchema, schemaAt } from '../../src/config/schema/setting.ts';
import type { ReferenceTable } from './reference-table.ts';

/** Stands for the name of a network. */
const NAME = 'name';
/** Objects that settings are made of, by the place of one of them. */
const PARTS: Readonly<Record<string, Path>> = {
  endpoint: ['upstream', 'metrics'],
  'API key': ['access', 'apiKeys', 0],
  peer: ['networks', NAME, 'manuallyTrackedPeers', 0],
};

/** The tables of config/README.md, one for each section and part, and a sentence for each setting that lacks its words. */
export function settingsTables(root = SETTINGS): { tables: ReferenceTable[]; problems: string[] } {
  const problems: string[] = [];
  const sections = Object.entries(root.properties ?? {}).map(([name, section]) => {
    const isNetworks = section.patternProperties !== undefined;
    const path = isNetworks ? [name, NAME] : [name];
    return [name, rowsOf(isNetworks ? schemaAt(section, [NAME]) : section, path, problems)] as const;
  });
  const parts = Object.entries(PARTS).map(
    ([name, path]) => [name, rowsOf(schemaAt(root, path), [], problems)] as const,
  );
  const tables = [...sections, ...parts].map(([name, rows]) => ({
    file: 'config/README.md',
    subject: `settings ${name}`,
    head: ['Setting', 'Default', 'Allowed', 'Meaning'],
    rows,
  }));
  return { tables, problems };
}

function rowsOf(section: SettingSchema | undefined, path: Path, problems: string[]): string[][] {
  return Object.entries(section?.properties ?? {}).flatMap(([key, schema]) => {
    const at = [...path, key];
    if (schema.isSection === true) return rowsOf(schema, at, problems);
    const setting = pathText(at);
    if (schema.description === undefined || schema.examples === undefined) {
      problems.push(`${setting} has no description or no examples in src/config.`);
    }
    const row = [setting, defaultText(schema, section, key), allowedCell(schema), schema.description ?? ''];
    // The parts of an endpoint have a separate table.
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
