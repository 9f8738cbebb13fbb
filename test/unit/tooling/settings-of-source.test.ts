import { expect, test } from 'vitest';
import { PARSER_FILE, problemsOfHanding, SETTINGS_FILE } from '../../../scripts/docs/settings-of-source.ts';
import type { SettingSchema } from '../../../src/config/schema/setting.ts';

const leaf: SettingSchema = { type: 'integer' };
const object = (properties: Record<string, SettingSchema>): SettingSchema => ({ type: 'object', properties });

function problems(
  schema: SettingSchema,
  { types, parser = '', user }: { readonly types: string; readonly parser?: string; readonly user: string },
): string[] {
  return problemsOfHanding(
    schema,
    new Map([
      [SETTINGS_FILE, types],
      [PARSER_FILE, parser],
      ['src/network/network-parts.ts', user],
    ]),
  );
}

const ROOT = object({
  aggregation: object({ hedgeAfterMs: leaf }),
  networks: {
    patternProperties: {
      '^.*$': object({
        peers: { type: 'array', items: object({ nodeId: leaf }) },
        l1Index: object({ lookback: leaf }),
      }),
    },
  },
});
const TYPES = `
  export interface Config { readonly aggregation: AggregationConfig; readonly networks: readonly NetworkConfig[] }
  export interface AggregationConfig { readonly hedgeAfterMs: number }
  export interface NetworkConfig {
    readonly peers: readonly { readonly nodeID: NodeID }[];
    readonly l1Index: { readonly lookback: bigint } | undefined;
  }`;
const PARSER = 'const peers = network.peers.map(({ nodeId }) => ({ nodeID: parseNodeID(nodeId) }));';
const USER = `
  const { aggregation, networks } = config;
  const limits = { ...aggregation };
  open(limits.hedgeAfterMs, network.peers, network.l1Index?.lookback);
  const dial = ({ nodeID }) => nodeID;`;

test('settings that are handed on and read are fine, parsed or as they are', () => {
  expect(problems(ROOT, { types: TYPES, parser: PARSER, user: USER })).toEqual([]);
});

test.each([
  ['readonly hedgeAfterMs: number', 'aggregation.hedgeAfterMs', 'AggregationConfig'],
  ['readonly lookback: bigint', 'networks.name.l1Index.lookback', 'NetworkConfig'],
])('a setting that nobody is handed is named: without %s', (left, setting, owner) => {
  expect(problems(ROOT, { types: TYPES.replace(left, ''), parser: PARSER, user: USER })).toEqual([
    `${setting} is a setting of the schema, but neither is it in ${owner} of ${SETTINGS_FILE}, nor does ${PARSER_FILE} read it: nobody is handed it.`,
  ]);
});

test('one whose text nobody parses is named', () => {
  expect(problems(ROOT, { types: TYPES, user: USER })).toEqual([
    expect.stringMatching(/^networks\.name\.peers\.nodeId is a setting of the schema, but neither/),
  ]);
});

test.each([
  ['limits.hedgeAfterMs', 'hedgeAfterMs', 'AggregationConfig'],
  ['network.l1Index?.lookback', 'lookback', 'NetworkConfig'],
  ['({ nodeID }) => nodeID', 'nodeID', 'NetworkConfig'],
])('one that nobody reads is named: without %s', (left, name, owner) => {
  const unread = problems(ROOT, { types: TYPES, parser: PARSER, user: USER.replace(left, 'nothing') });
  expect(unread).toContain(
    `\`${name}\` of ${owner} in ${SETTINGS_FILE} is handed on, but nothing outside src/config reads it.`,
  );
});

test('a project without these types is no good project', () => {
  expect(problems(ROOT, { types: '', user: USER })).toEqual([`${SETTINGS_FILE} has no interface Config.`]);
});
