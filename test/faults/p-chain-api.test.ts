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
/** Timeout of all API calls of one request. */
const API_TIMEOUT_MS = 4_000;
/** If the first URL hangs, the second one has a fifth of it, which is enough on a busy machine. */
const TWO_URLS_TIMEOUT_MS = 12_000;
const FAILURE_MS = 6_000;
/** Block interval of the devnet. */
const BLOCK_MS = 10_000;
/** Age from which a height is requested again. */
const HEIGHT_AGE_MS = 1_001;

interface World extends AsyncDisposable {
  readonly service: RunningService;
  readonly devnet: Devnet;
  readonly second: DevnetApi | undefined;
  /** The true set of the P-Chain. */
  readonly truth: CanonicalSet;
  /** Adds a block to the P-Chain, and makes the service's known height stale. */
  passBlock(): void;
  ask(): Promise<Answer & { readonly tookMs: number }>;
  isSigned(answer: Answer, set: CanonicalSet): boolean;
}

/** A system clock that can skip time. */
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

/** @param hasSecond whether there is a second URL for failures of the first */
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

/** Behaviours without a usable answer. */
const USELESS: readonly ApiBehaviour[] = [
  { kind: 'down' },
  { kind: 'slow', delayMs: 20_000 },
  { kind: 'wrong types' },
  { kind: 'huge' },
];

describe.concurrent('a P-Chain API', { timeout: TIMEOUT_MS }, () => {
  test.for(USELESS)('that is $kind is replaced by the second URL', async (behaviour) => {
    await using world = await start(true);
    setApiBehaviour(world.devnet.api, behaviour);
    world.passBlock();
    const answer = await world.ask();
    expect(world.isSigned(answer, world.truth), JSON.stringify(answer.body)).toBe(true);
  });

  test('without a usable answer and the only one causes a clear failure in time, and recovers', async () => {
    await using world = await start(false);
    for (const behaviour of USELESS) {
      setApiBehaviour(world.devnet.api, behaviour);
      world.passBlock();
      const failure = await world.ask();
      expect(failure.status, `${behaviour.kind}: ${JSON.stringify(failure.body)}`).toBeGreaterThanOrEqual(502);
      expect(failure.body['code'], behaviour.kind).toMatch(/^p_chain_(unavailable|invalid)$/);
      expect(failure.tookMs, behaviour.kind).toBeLessThan(FAILURE_MS);
      setApiBehaviour(world.devnet.api, { kind: 'normal' });
      expect(world.isSigned(await world.ask(), world.truth), behaviour.kind).toBe(true);
    }
  });

  test('that lags behind the failed first one leads to a right message or a 503', async () => {
    await using world = await start(true);
    setApiBehaviour(world.second as DevnetApi, { kind: 'behind', blocks: 30 });
    expect(world.isSigned(await world.ask(), world.truth)).toBe(true);
    setApiBehaviour(world.devnet.api, { kind: 'down' });
    const meanwhile = await world.ask();
    if (meanwhile.status !== 503) expect(world.isSigned(meanwhile, world.truth)).toBe(true);
    world.passBlock();
    expect(world.isSigned(await world.ask(), world.truth)).toBe(true);
  });

  test('whose heights go backwards does not prevent signing', async () => {
    await using world = await start(false);
    setApiBehaviour(world.devnet.api, { kind: 'backwards' });
    for (let round = 0; round < 3; round += 1) {
      world.passBlock();
      expect(world.isSigned(await world.ask(), world.truth)).toBe(true);
    }
  });

  test('that disagrees with the first one is ignored', async () => {
    await using world = await start(true);
    setApiBehaviour(world.second as DevnetApi, { kind: 'other set' });
    for (let round = 0; round < 3; round += 1) {
      world.passBlock();
      expect(world.isSigned(await world.ask(), world.truth)).toBe(true);
    }
  });

  // The P-Chain API is trusted for validator sets (SECURITY.md).
  test('that lies leads to a message that destinations refuse; whose sets change, to one that is right for one of them', async () => {
    await using world = await start(false);
    setApiBehaviour(world.devnet.api, { kind: 'other set' });
    const { subnetID } = world.devnet.subnets.primary;
    const other = toCanonicalSet(await validatorsAt(world.devnet.apiUrl, subnetID));
    world.passBlock();
    const answer = await world.ask();
    expect(world.isSigned(answer, other), JSON.stringify(answer.body)).toBe(true);
    expect(world.isSigned(answer, world.truth)).toBe(false);
    setApiBehaviour(world.devnet.api, { kind: 'changing set' });
    for (let round = 0; round < 4; round += 1) {
      world.passBlock();
      const changing = await world.ask();
      const isRight = [world.truth, other].some((set) => world.isSigned(changing, set));
      expect(isRight, JSON.stringify(changing.body)).toBe(true);
    }
  });
});
