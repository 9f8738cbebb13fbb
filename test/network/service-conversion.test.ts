import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, expect, test } from 'vitest';
import { useRealNetwork } from './network-fixture.ts';
import { L1_VALIDATOR_BALANCE } from './real-network.ts';
import { type ServiceProcess, startServiceProcess } from './service-process.ts';
import { expectAccepted } from './warp-messages.ts';

/** What a client gets that asks for the message of a conversion at once: the proposed height, which has its validators, comes 30 s later. */

const INTERVAL_MS = 500;
const REQUESTS = 60;
const TIMEOUT_MS = 90_000;

let service: ServiceProcess;

const network = useRealNetwork(async (started) => {
  service = await startServiceProcess(started);
  await service.awaitAllConnected();
});
afterAll(() => service?.[Symbol.asyncDispose]());

test('each request of the 30 s after a conversion is held until it is signed, by the Go route and with a wait', async () => {
  const { l1ChainID, l1Validators, onChain } = network();
  const { subnetID } = await onChain('createSubnet', {});
  const validators = l1Validators.map((validator) => ({ ...validator, balance: L1_VALIDATOR_BALANCE }));
  const { message, justification } = await onChain('convertSubnetToL1', {
    subnetID,
    managerChainID: l1ChainID,
    validators,
  });
  const convertedMs = performance.now();

  async function ask(path: string, body: object) {
    const response = await fetch(`${service.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const { status, headers } = response;
    const answer = (await response.json()) as Readonly<Record<string, string>>;
    return { status, headers, answer, answeredMs: performance.now() - convertedMs };
  }
  const fields = { message, justification };
  const askGo = () => ask('/aggregate-signatures', { ...fields, 'signing-subnet-id': subnetID });
  const askOwn = () =>
    ask('/v1/signatureAggregator/local/aggregateSignatures?wait=30', { ...fields, signingSubnetId: subnetID });

  const asked: ReturnType<typeof ask>[] = [];
  for (let count = 0; count < REQUESTS; count += 1) {
    asked.push(askGo(), askOwn());
    await delay(Math.max(0, (count + 1) * INTERVAL_MS - (performance.now() - convertedMs)));
  }
  const answers = await Promise.all(asked);
  const failed = answers.filter(({ status }) => status !== 200 && status !== 201);
  const firstMs = Math.min(...answers.map(({ answeredMs }) => answeredMs));
  console.log(
    `${answers.length - failed.length} of ${answers.length} signed, the first ${firstMs.toFixed(0)} ms after it`,
  );
  expect(failed).toEqual([]);
  const own = answers.find(({ status }) => status === 201);
  await expectAccepted(network(), own?.answer['signedMessage'] ?? '', { subnetID });
});
