import { afterAll, describe, expect, test } from 'vitest';
import { bytesToHex } from '../../../src/lib/encoding/bytes.ts';
import { PRIMARY_NETWORK_ID } from '../../../src/warp/ids.ts';
import { startService } from './running-service.ts';

/** Longer than all tries that a client without patience makes at once, and shorter than the time in which validators are asked again. */
const LAG_MS = 800;

const service = await startService(20, { executionLagMs: LAG_MS });
afterAll(() => service[Symbol.asyncDispose]());

const PATH = '/v1/signatureAggregator/fuji/aggregateSignatures';
let count = 0;

/** A transaction of the C-Chain that is accepted now, and executed after the lag. */
function send() {
  count += 1;
  const { hash, messages } = service.devnet.chains.C.transact([Buffer.from(`message ${count}`)]);
  const [message] = messages;
  if (message === undefined) throw new Error('the transaction sent no message');
  return { hash, body: { message: bytesToHex(message.bytes) } };
}

async function expectSigned(answer: Awaited<ReturnType<typeof service.get>>): Promise<void> {
  expect({ status: answer.status, problem: answer.body['message'] }).toEqual({ status: 201, problem: undefined });
  const height = Number(answer.body['pChainHeight']);
  const subnetID = PRIMARY_NETWORK_ID;
  expect(await service.verify(answer, { subnetID, height, quorum: 67 })).toMatchObject({ kind: 'valid' });
}

describe('right after its transaction was sent', () => {
  test('messages are signed by the first answer', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => service.post(send().body)));
    for (const answer of answers) await expectSigned(answer);
  });

  test('a transaction is unknown, and may be known soon', async () => {
    const { status, body, headers } = await service.get(`${PATH}/${send().hash}`);
    expect({ status, code: body['code'], retryAfter: headers.get('retry-after') }).toEqual({
      status: 404,
      code: 'unknown_transaction',
      retryAfter: '2',
    });
  });

  test('with `wait`, it is signed once it is executed, whether its chain is given or not', async () => {
    for (const query of ['wait=10', 'wait=9.5&blockchainId=C'])
      await expectSigned(await service.get(`${PATH}/${send().hash}?${query}`));
    await expectSigned(await service.post(send().body, `${PATH}?wait=10`));
  });

  test('with `wait`, the events of a stream begin when it is executed', async () => {
    const response = await fetch(`${service.app.url}${PATH}/${send().hash}?wait=10`, {
      headers: { accept: 'text/event-stream' },
    });
    const events = [...(await response.text()).matchAll(/^event: (\w+)$/gm)].map(([, event]) => event);
    expect([events[0], events.at(-1)]).toEqual(['resolved', 'result']);
  });
});

test('the time until it is executed is a stage of its own', async () => {
  const before = await executionTime();
  await expectSigned(await service.get(`${PATH}/${send().hash}?wait=10`));
  expect((await executionTime()) - before).toBeGreaterThan(LAG_MS / 2_000);
});

function executionTime(): Promise<number> {
  return service.metric('signature_aggregator_aggregation_stage_duration_seconds_sum{stage="execution"}');
}

test.each(['wait=31', 'wait=-1', 'wait=1e1', 'wait=', 'wait=1&wait=2', 'wait=soon'])('%s is refused', async (query) => {
  for (const answer of [
    await service.get(`${PATH}/${'0x'.padEnd(66, '5a')}?${query}`),
    await service.post(send().body, `${PATH}?${query}`),
  ]) {
    expect({ status: answer.status, text: answer.body['message'] }).toEqual({
      status: 400,
      text: expect.stringMatching(/^wait must be (a number from 0 to 30|given once)/),
    });
  }
});
