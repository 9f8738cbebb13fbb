import { afterAll, expect, test } from 'vitest';
import { diagnose } from '../../../src/cli/doctor/doctor.ts';
import { parseConfig } from '../../../src/config/load/load-config.ts';
import { systemClock } from '../../../src/lib/concurrency/clock.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { startFaultyDevnet } from '../../devnet/faulty-validator.ts';
import { startGateway } from '../../devnet/gateway.ts';
import { GATEWAY_FAULTS, type GatewayFaultName } from '../../devnet/gateway-faults.ts';

/**
 * Compares `doctor --json` with recorded reports behind ten faults of the only API. Scripts of operators read these fields: a line that
 * changes is told in the changelog. `npm test -- doctor-json -u` records anew.
 */

const LIMITS = { maxConnectMs: 30_000, quietMs: 1_000 };
const devnet = await startFaultyDevnet({ validators: 5, clock: systemClock, logger: createLogger('silent') });
afterAll(() => devnet[Symbol.asyncDispose]());

const RECORDED: readonly GatewayFaultName[] = [
  'numeric heights refused',
  'only the last 50 heights',
  'no method served (-32601)',
  'limit as -32005',
  'HTTP 429 with Retry-After',
  'Basic authentication required',
  'no info.getNetworkID',
  'no platform.getSubnet',
  'a list of allowed methods (HTTP 403)',
  'the P-Chain alone',
];

test.each(RECORDED)('%s', async (name) => {
  await using gateway = await startGateway(devnet.apiUrl, GATEWAY_FAULTS[name]);
  const network = { pChainApi: [{ baseUrl: gateway.url }], trackedSubnetIds: [devnet.subnets.l1.subnetID] };
  const { config } = parseConfig({ server: { port: 0 }, networks: { mine: network } }, {}, {});
  const report = await diagnose(config, {}, LIMITS);
  const file = `doctor-reports/${name.replaceAll(/[^\w-]+/g, '-').replaceAll(/^-|-$/g, '')}.txt`;
  await expect(`${linesOf(normalize('', report)).join('\n')}\n`).toMatchFileSnapshot(file);
});

/** Fields that differ between runs: times, versions, NodeIDs, ports, and the limit of this machine. */
const VARYING = /^(startedAt|.*Ms|nodeId|address|version|node|platform|limit)$/;
const NOT_SEEDED = /NodeID-\w+|\b[1-9A-HJ-NP-Za-km-z]{43,53}\b|0x[0-9a-f]{64}|127\.0\.0\.1:\d+/g;

/** Sorts the keys, and replaces what differs between runs. */
function normalize(key: string, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((one) => normalize('', one));
  if (typeof value !== 'object' || value === null) {
    if (VARYING.test(key)) return '*';
    return typeof value === 'string' ? value.replaceAll(NOT_SEEDED, '*') : value;
  }
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([name, field]) => [name, normalize(name, field)]));
}

/** Formats each object without lists as one line, after its path. */
function linesOf(value: unknown, path = ''): string[] {
  if (typeof value !== 'object' || value === null || !hasLists(value)) return [`${path} ${JSON.stringify(value)}`];
  const isList = Array.isArray(value);
  return Object.entries(value).flatMap(([key, field]) => linesOf(field, isList ? `${path}[${key}]` : `${path}.${key}`));
}

function hasLists(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Array.isArray(value)
    ? value.length > 0
    : Object.values(value).some((one) => Array.isArray(one) || hasLists(one));
}
