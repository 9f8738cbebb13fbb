import { describe, expect, test } from 'vitest';
import type { Devnet, DevnetApi } from '../../src/devnet/devnet.ts';
import { type Clock, systemClock } from '../../src/lib/concurrency/clock.ts';
import { parseHex } from '../../src/lib/encoding/bytes.ts';
import { type ApiBehaviour, setApiBehaviour } from '../devnet/node-api-faults.ts';
import {
  type Answer,
  type RunningService,
  startService,
  validatorsAt,
} from '../integration/service/running-service.ts';
import { type CanonicalSet, isSignedBy, toCanonicalSet } from './independent-check.ts';

const VALIDATORS = 5;
const TIMEOUT_MS = 60_000;
const QUORUM = 67;
/** All that one request asks the API, and some time for the rest. */
const API_TIMEOUT_MS = 4_000;
/** The second URL has a fifth of it, where the first one hangs: so much that a busy machine is in time. */
const TWO_URLS_TIMEOUT_MS = 12_000;
const FAILURE_MS = 6_000;
/** Of the embedded network. */
const BLOCK_MS = 10_000;
/** A height that is older is asked for again. */
const HEIGHT_AGE_MS = 1_001;

interface World extends AsyncDisposable {
  readonly service: RunningService;
  readonly devnet: Devnet;
  readonly second: DevnetApi | undefined;
  /** What the P-Chain says when nobody lies. */
  readonly truth: CanonicalSet;
  /** The P-Chain is a block further, and what the service knows of its height is old. */
  passBlock(): void;
  ask(): Promise<Answer & { readonly tookMs: number }>;
  isSigned(answer: Answer, set: CanonicalSet): boolean;
}

/** The system's, but that time can be skipped. */
function jumpingClock(): Clock & { jump(ms: number): void } {
  let skippedMs = 0;
  return {
    ...systemClock,
    monotonicMs: () => systemClock.monotonicMs() + skippedMs,
    jump: (ms) => {
      skippedMs += ms;
    },
  };
}

/** @param hasSecond of two URLs, the second one is asked where the first fails */
async function start(hasSecond: boolean): Promise<World> {
  let second: DevnetApi | undefined;
  let truth: CanonicalSet | undefined;
  const network = {};
  const internals = { network: { apiTimeoutMs: hasSecond ? TWO_URLS_TIMEOUT_MS : API_TIMEOUT_MS } };
  const [devnetClock, clock] = [jumpingClock(), jumpingClock()];
  const service = await startService(VALIDATORS, {
    settings: { network, internals, clock },
    devnetClock,
    async prepare(devnet) {
      if (hasSecond) {
        second = await devnet.openApi();
        Object.assign(network, { pChainApi: [{ baseUrl: devnet.apiUrl }, { baseUrl: second.url }] });
      }
      truth = toCanonicalSet(await validatorsAt(devnet.apiUrl, devnet.subnets.primary.subnetID));
    },
  });
  const { devnet } = service;
  return {
    ...{ service, devnet, second, truth: truth as CanonicalSet },
    passBlock() {
      devnetClock.jump(BLOCK_MS);
      clock.jump(HEIGHT_AGE_MS);
    },
    async ask() {
      const [message = ''] = devnet.emitMessages(1);
      const startMs = performance.now();
      const answer = await service.post({ message, quorumPercentage: QUORUM });
      return { ...answer, tookMs: performance.now() - startMs };
    },
    isSigned: ({ status, body }, set) =>
      status === 201 && isSignedBy(parseHex(String(body['signedMessage']), 'signedMessage'), set, QUORUM),
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  };
}

/** Those by which the API gives no answer that could be used. */
const USELESS: readonly ApiBehaviour[] = [
  { kind: 'down' },
  { kind: 'slow', delayMs: 20_000 },
  { kind: 'wrong types' },
  { kind: 'huge' },
];

describe.concurrent('a P-Chain API', { timeout: TIMEOUT_MS }, () => {
  test.for(USELESS)('that is $kind: the second URL has the answer', async (behaviour) => {
    await using world = await start(true);
    setApiBehaviour(world.devnet.api, behaviour);
    world.passBlock();
    const answer = await world.ask();
    expect(world.isSigned(answer, world.truth), JSON.stringify(answer.body)).toBe(true);
  });

  test.for(USELESS)(
    'that is $kind, and the only one: a clear failure in time, and all is well after it',
    async (behaviour) => {
      await using world = await start(false);
      setApiBehaviour(world.devnet.api, behaviour);
      world.passBlock();
      const failure = await world.ask();
      expect(failure.status, JSON.stringify(failure.body)).toBeGreaterThanOrEqual(502);
      expect(failure.body['code']).toMatch(/^p_chain_(unavailable|invalid)$/);
      expect(failure.tookMs).toBeLessThan(FAILURE_MS);
      setApiBehaviour(world.devnet.api, { kind: 'normal' });
      expect(world.isSigned(await world.ask(), world.truth)).toBe(true);
    },
  );

  test('that lags behind the one before, which is gone: what is signed is right, or there is a 503', async () => {
    await using world = await start(true);
    setApiBehaviour(world.second as DevnetApi, { kind: 'behind', blocks: 30 });
    expect(world.isSigned(await world.ask(), world.truth)).toBe(true);
    setApiBehaviour(world.devnet.api, { kind: 'down' });
    const meanwhile = await world.ask();
    if (meanwhile.status !== 503) expect(world.isSigned(meanwhile, world.truth)).toBe(true);
    world.passBlock();
    expect(world.isSigned(await world.ask(), world.truth)).toBe(true);
  });

  test('whose heights go backwards: every message is signed', async () => {
    await using world = await start(false);
    setApiBehaviour(world.devnet.api, { kind: 'backwards' });
    for (let round = 0; round < 3; round += 1) {
      world.passBlock();
      expect(world.isSigned(await world.ask(), world.truth)).toBe(true);
    }
  });

  test('of two that disagree: the first one is believed', async () => {
    await using world = await start(true);
    setApiBehaviour(world.second as DevnetApi, { kind: 'other set' });
    for (let round = 0; round < 3; round += 1) {
      world.passBlock();
      expect(world.isSigned(await world.ask(), world.truth)).toBe(true);
    }
  });

  test('whose sets change between calls: what is signed is right for one of them', async () => {
    await using world = await start(false);
    setApiBehaviour(world.devnet.api, { kind: 'other set' });
    const { subnetID } = world.devnet.subnets.primary;
    const other = toCanonicalSet(await validatorsAt(world.devnet.apiUrl, subnetID));
    setApiBehaviour(world.devnet.api, { kind: 'changing set' });
    for (let round = 0; round < 4; round += 1) {
      world.passBlock();
      const answer = await world.ask();
      expect(world.isSigned(answer, world.truth) || world.isSigned(answer, other), JSON.stringify(answer.body)).toBe(
        true,
      );
    }
  });

  // SECURITY.md says so: the P-Chain API is trusted for validator sets.
  test('that lies about a set gets a message that destinations refuse: against that there is no defence', async () => {
    await using world = await start(false);
    setApiBehaviour(world.devnet.api, { kind: 'other set' });
    world.passBlock();
    const answer = await world.ask();
    expect(answer.status).toBe(201);
    const { subnetID } = world.devnet.subnets.primary;
    const lie = toCanonicalSet(await validatorsAt(world.devnet.apiUrl, subnetID));
    expect(world.isSigned(answer, lie)).toBe(true);
    expect(world.isSigned(answer, world.truth)).toBe(false);
  });
});
