import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadBackend } from '../../src/bls/backends/load-backend.ts';
import { type Devnet, startDevnet } from '../../src/devnet/devnet.ts';
import { systemClock } from '../../src/lib/concurrency/clock.ts';
import { parseHex } from '../../src/lib/encoding/bytes.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { verifySignedMessage } from '../../src/validators/verify-signed-message.ts';
import { createWarpSet } from '../../src/validators/warp-set.ts';
import { setBehaviour } from '../devnet/validator-faults.ts';
import { validatorsAt } from '../integration/service/running-service.ts';
import { type ServiceChild, startServiceChild } from '../integration/service/service-child.ts';
import { type RedisProcess, startRedis } from './redis-process.ts';

// Three replicas, each a process, on one Redis; real signals of an orchestrator and of a failing machine.

const TIMEOUT_MS = 180_000;
const VALIDATORS = 5;
const REPLICAS = 3;
/** One request at each replica at any time, so that the two cores of a small machine have room for those that start. */
const CLIENTS = 3;
/** Time to a validator's answer, so that requests are running when a replica ends. */
const ANSWER_MS = 60;
/** What each of the replicas has to answer before the next thing happens. */
const ANSWERS_EACH = 10;
const QUORUM = 67;

let redis: RedisProcess;
let devnet: Devnet;
let replicas: ServiceChild[];
beforeAll(async () => {
  redis = await startRedis();
  devnet = await startDevnet({ validators: VALIDATORS, clock: systemClock, logger: createLogger('silent') });
  for (const index of devnet.nodeIDs.keys())
    setBehaviour(devnet.validator(index), { kind: 'slow', delayMs: ANSWER_MS });
  replicas = await Promise.all(Array.from({ length: REPLICAS }, startReplica));
}, TIMEOUT_MS);
const started = new AsyncDisposableStack();
afterAll(async () => {
  await started.disposeAsync();
  await devnet?.[Symbol.asyncDispose]();
  await redis?.[Symbol.asyncDispose]();
});

/** Resolves when it is ready, and so gets requests. */
async function startReplica(): Promise<ServiceChild> {
  const replica = started.use(
    await startServiceChild({
      networks: { local: { aliases: ['fuji'], pChainApi: [{ baseUrl: devnet.apiUrl }] } },
      server: { port: 0, drainDelayMs: 300 },
      bls: { backend: 'native' },
      store: { sharedUrl: `redis://127.0.0.1:${redis.port}`, sharedSecret: 'the secret of the replicas' },
    }),
  );
  await replica.log.line('the shared store is connected');
  const deadline = AbortSignal.timeout(TIMEOUT_MS);
  while ((await replica.get('/health/ready')).status !== 200) deadline.throwIfAborted();
  return replica;
}

interface Asked {
  readonly message: string;
  readonly status: number;
  readonly signedMessage: string;
}

async function post(replica: ServiceChild, message: string): Promise<Asked> {
  const response = await fetch(`${await replica.url()}/v1/signatureAggregator/fuji/aggregateSignatures`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ message }),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const { signedMessage = '' } = (await response.json()) as { signedMessage?: string };
  return { message, status: response.status, signedMessage };
}

/**
 * Clients that send one new message after the other, each to the next replica of the list, and what a connection refuses or breaks
 * off once more to the one after it. They repeat nothing else, and no request more often than there are replicas.
 */
function loadOf(replicas: readonly ServiceChild[]) {
  const answers: Asked[] = [];
  const failures: string[] = [];
  const answered = new Map<ServiceChild, number>();
  const underWay = new Map<ServiceChild, number>();
  let [isOver, turn, repeats] = [false, 0, 0];
  const add = (counts: Map<ServiceChild, number>, replica: ServiceChild, count: number): void => {
    counts.set(replica, (counts.get(replica) ?? 0) + count);
  };

  async function send(message: string): Promise<Asked> {
    turn += 1;
    const first = turn;
    for (let attempt = 1; ; attempt += 1) {
      const replica = replicas[(first + attempt) % replicas.length] as ServiceChild;
      add(underWay, replica, 1);
      try {
        const asked = await post(replica, message);
        add(answered, replica, 1);
        return asked;
      } catch (error) {
        // What `fetch` throws where the connection is at fault; an answer in time, whatever it says, throws nothing.
        if (!(error instanceof TypeError) || attempt === replicas.length) throw error;
        repeats += 1;
      } finally {
        add(underWay, replica, -1);
      }
    }
  }

  async function client(): Promise<void> {
    while (!isOver) {
      const [message = ''] = devnet.emitMessages(1);
      try {
        const asked = await send(message);
        if (asked.status === 201) answers.push(asked);
        else failures.push(`status ${asked.status}`);
      } catch (error) {
        failures.push(String(error));
      }
    }
  }

  const clients = Array.from({ length: CLIENTS }, client);
  return {
    answers,
    repeats: () => repeats,
    isAt: (replica: ServiceChild) => (underWay.get(replica) ?? 0) > 0,
    /** Until each of them has answered so many more. */
    async untilAnswered(those: readonly ServiceChild[]): Promise<void> {
      const before = those.map((replica) => answered.get(replica) ?? 0);
      const more = () => Math.min(...those.map((replica, at) => (answered.get(replica) ?? 0) - (before[at] ?? 0)));
      await expect.poll(more, { timeout: TIMEOUT_MS, interval: 5 }).toBeGreaterThanOrEqual(ANSWERS_EACH);
    },
    /** @returns what did not end well */
    async end(): Promise<readonly string[]> {
      isOver = true;
      await Promise.all(clients);
      return failures;
    },
  };
}

const questions = (): number =>
  devnet.nodeIDs.reduce((sum, _, index) => sum + devnet.validator(index).appRequestCount, 0);

/** Verifies as a destination does. */
async function expectAllSigned(answers: readonly Asked[]): Promise<void> {
  const warpSet = createWarpSet(await validatorsAt(devnet.apiUrl, devnet.subnets.primary.subnetID));
  const backend = await loadBackend('native');
  const expected = { networkID: devnet.networkID, warpSet, quorumNum: BigInt(QUORUM) };
  for (const { message, signedMessage } of answers) {
    expect(signedMessage).toContain(message.replace(/^0x/, ''));
    const verified = verifySignedMessage(parseHex(signedMessage, 'signedMessage'), expected, backend);
    expect(verified.kind).toBe('valid');
  }
}

test(
  'every replica is replaced, one by one: no request fails',
  async () => {
    const load = loadOf(replicas);
    for (const [place, old] of [...replicas].entries()) {
      await load.untilAnswered(replicas);
      old.child.kill('SIGTERM');
      expect(await old.exitCode()).toBe(0);
      // Until then the old address is asked, and refuses.
      replicas[place] = await startReplica();
    }
    await load.untilAnswered(replicas);
    expect(await load.end()).toEqual([]);
    expect(load.repeats()).toBeGreaterThan(0);
    await expectAllSigned(load.answers);
  },
  TIMEOUT_MS,
);

test(
  'one is killed, another drained: the client sees no failure, and what was answered stays answered',
  async () => {
    const [killed, drained, left] = replicas as [ServiceChild, ServiceChild, ServiceChild];
    const load = loadOf(replicas);
    await load.untilAnswered(replicas);

    await expect.poll(() => load.isAt(killed), { interval: 1 }).toBe(true);
    killed.child.kill('SIGKILL');
    await killed.exitCode();
    await load.untilAnswered([drained, left]);
    expect(load.repeats()).toBeGreaterThan(0);

    drained.child.kill('SIGTERM');
    expect(await drained.exitCode()).toBe(0);
    await load.untilAnswered([left]);
    expect(await load.end()).toEqual([]);

    await expectAllSigned(load.answers);
    expect(new Set(load.answers.map(({ message }) => message)).size).toBe(load.answers.length);
    const before = questions();
    for (const { message, signedMessage } of load.answers) {
      expect(await post(left, message)).toEqual({ message, status: 201, signedMessage });
    }
    // What the killed one answered last may not have reached the store: that is asked for again, and nothing else.
    expect(questions() - before).toBeLessThanOrEqual(CLIENTS * VALIDATORS);
  },
  TIMEOUT_MS,
);
