import { expect, test } from 'vitest';
import { bytesToHex } from '../../../src/lib/encoding/bytes.ts';
import { INACTIVE_NODE_ID } from '../../../src/warp/ids.ts';
import { runCommand } from '../../unit/cli/run-command.ts';
import { shareService } from './shared-service.ts';

const service = await shareService(5, { settings: { network: { goApi: { apiPort: 0 } } } });
const { devnet } = service;
const { l1 } = devnet.subnets;

/** The inactive validator of the L1 has 60 of a weight of 910, so that all others have 93 %. */
const newMessage = (): string => bytesToHex(devnet.emit('L1').message.bytes);
const requestCount = (): number =>
  devnet.nodeIDs.reduce((sum, _, index) => sum + devnet.validator(index).appRequestCount, 0);

test('a quorum that the inactive validators leave out of reach is a 400 that names them, and asks no validator', async () => {
  const before = requestCount();
  const { status, headers, body } = await service.post({ message: newMessage(), quorumPercentage: 94 });
  expect([status, headers.get('retry-after')]).toEqual([400, null]);
  expect(body).toMatchObject({
    code: 'quorum_unreachable',
    message: expect.stringMatching(
      /^failed to collect a threshold of stake: .*inactive L1 validators, without balance, have 60/,
    ),
    details: {
      weightNeeded: '856',
      totalWeight: '910',
      signingSubnetId: l1.subnetID,
      outcomes: { no_key: { weight: '60', count: 1, reasons: [{ reason: 'inactive', weight: '60', count: 1 }] } },
      missing: expect.arrayContaining([
        { nodeId: INACTIVE_NODE_ID, weight: '60', outcome: 'no_key', reason: 'inactive' },
      ]),
    },
  });
  expect(requestCount()).toBe(before);
});

test('the same message is signed at a quorum that the others reach, also with a buffer that they do not reach', async () => {
  for (const more of [{}, { quorumPercentageBuffer: 7 }]) {
    const answer = await service.post({ message: newMessage(), quorumPercentage: 93, ...more });
    expect(answer).toMatchObject({ status: 201, body: { signedWeight: '850' } });
  }
});

test('by the API of the Go aggregator it is 500 with its words', async () => {
  const url = service.app.goUrls.get('local')?.api ?? '';
  const body = JSON.stringify({ message: newMessage(), 'quorum-percentage': 94 });
  const response = await fetch(`${url}/aggregate-signatures`, { method: 'POST', body });
  expect([response.status, response.headers.get('retry-after')]).toEqual([500, null]);
  expect(await response.json()).toEqual({
    error: expect.stringMatching(/^failed to collect a threshold of signatures: /),
  });
});

test('the command "aggregate" ends with "no" and lists the inactive validators', async () => {
  const { code, err } = await runCommand(['aggregate', '--url', service.app.url, '--quorum', '94', newMessage()]);
  expect(code).toBe(1);
  expect(err).toContain('(quorum_unreachable)');
  expect(err).toMatch(/\n +6\.\d % {2}no key +NodeID-1+6DBWJs +inactive\n/);
});
