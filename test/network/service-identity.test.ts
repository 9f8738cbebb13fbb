import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFailed, test } from 'vitest';
import { inMs, recordFigure } from './figures.ts';
import { useRealNetwork } from './network-fixture.ts';
import type { NetworkNode } from './network-node.ts';
import { type ServiceProcess, startServiceProcess } from './service-process.ts';

/** Two processes under one NodeID, on nodes as they are in production. */

const network = useRealNetwork();

/** A node has to turn us away for 45 s before it counts, and the pauses between attempts grow. */
const NOTICE_TIMEOUT_MS = 120_000;
/** The pause before the next attempt has grown to a minute at most. */
const CONNECT_TIMEOUT_MS = 90_000;

async function identityProblemOf({ url }: ServiceProcess): Promise<string | undefined> {
  const body = (await (await fetch(`${url}/health/ready`)).json()) as { identityProblem?: string };
  return body.identityProblem;
}

async function until(isReached: () => Promise<boolean>, timeoutMs: number): Promise<void> {
  const endMs = performance.now() + timeoutMs;
  while (!(await isReached())) {
    if (performance.now() > endMs) throw new Error(`not within ${timeoutMs} ms`);
    await delay(250);
  }
}

test('without a store in common the second one notices by how nodes treat it, and the first stays connected', async () => {
  await using cleanup = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), 'identity-'));
  cleanup.defer(() => rm(directory, { recursive: true }));
  const start = async (): Promise<ServiceProcess> => {
    const service = await startServiceProcess(network(), {
      apiUrl: (network().nodes[0] as NetworkNode).apiUrl,
      stakingCertPath: join(directory, 'staker.crt'),
      stakingKeyPath: join(directory, 'staker.key'),
    });
    onTestFailed(() => console.error(`the service's log:\n${service.logTail()}`));
    return cleanup.use(service);
  };
  const first = await start();
  await first.awaitAllConnected();
  const startMs = performance.now();
  const second = await start();
  await until(async () => (await identityProblemOf(second)) !== undefined, NOTICE_TIMEOUT_MS);
  recordFigure('a second process under one NodeID: noticed after', inMs(performance.now() - startMs));
  expect(await identityProblemOf(second)).toMatch(
    /^5 nodes of local close our connections at once, and 0 let us in; most likely another process uses the same NodeID: give/,
  );
  expect(await identityProblemOf(first)).toBeUndefined();
  await first.awaitAllConnected();

  expect(await first.stop()).toBe(0);
  await second.awaitReadiness(({ httpStatus }) => httpStatus === 200, CONNECT_TIMEOUT_MS);
  await until(async () => (await identityProblemOf(second)) === undefined, CONNECT_TIMEOUT_MS);
}, 300_000);
