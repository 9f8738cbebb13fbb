import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Value } from 'typebox/value';
import { expect, onTestFinished, test } from 'vitest';
import { DoctorReport, type NetworkReport } from '../../src/cli/probes/report.ts';
import { runCommand } from '../unit/cli/run-command.ts';
import { useRealNetwork } from './network-fixture.ts';
import type { NetworkNode } from './network-node.ts';

/** `doctor` on real nodes. */

const network = useRealNetwork();

async function doctor(): Promise<{ code: number | null; report: DoctorReport; local: NetworkReport }> {
  const [api] = network().nodes as readonly [NetworkNode];
  const path = join(mkdtempSync(join(tmpdir(), 'doctor-')), 'config.json');
  const local = { pChainApi: [{ baseUrl: api.apiUrl }], trackedSubnetIds: [network().subnetID] };
  writeFileSync(path, JSON.stringify({ server: { port: 0 }, networks: { local } }));
  const { code, out, err } = await runCommand(['doctor', '--config', path, '--json']);
  expect(err).toBe('trying the configuration, which takes up to a minute\n');
  const report: unknown = JSON.parse(out);
  if (!Value.Check(DoctorReport, report)) throw new Error(`not the schema: ${out}`);
  return { code, report, local: report.networks[0] as NetworkReport };
}

test('every call of a node works, and its validators take requests for signatures', async () => {
  const { code, report, local } = await doctor();
  expect({ code, findings: report.findings.map(({ subject }) => subject) }).toEqual({
    code: 0,
    findings: ['identity'],
  });
  const [endpoint] = local.endpoints;
  expect(endpoint?.calls.filter(({ outcome }) => outcome !== 'works')).toEqual([]);
  expect(endpoint?.heights.filter(({ depth }) => depth === 0).map(({ outcome }) => outcome)).toEqual([
    'works',
    'works',
  ]);
  for (const { reachedPercent, heaviest } of local.subnets) {
    expect(reachedPercent).toBeGreaterThanOrEqual(67);
    for (const { handshake, answer } of heaviest)
      expect([handshake.outcome, answer.outcome]).toEqual(['ok', 'refused']);
  }
});

test('a node that has stopped is not reached, and the others are', async () => {
  const node = network().nodes[4] as NetworkNode;
  await node.stop();
  onTestFinished(() => node.start());
  const { local } = await doctor();
  const shown = local.subnets[0]?.heaviest.map(({ nodeId, handshake, cause }) => ({
    isStopped: nodeId === node.nodeID,
    handshake: handshake.outcome,
    isConnected: cause === undefined,
  }));
  expect(shown?.toSorted((a, b) => Number(a.isStopped) - Number(b.isStopped))).toEqual([
    ...Array.from({ length: 4 }, () => ({ isStopped: false, handshake: 'ok', isConnected: true })),
    { isStopped: true, handshake: 'not_reached', isConnected: false },
  ]);
});
