import { describe, expect, it } from 'vitest';
import type { ApiError } from '../../../src/pchain/rpc/api-error.ts';
import { PRIMARY_NETWORK_ID } from '../../../src/warp/ids.ts';
import { LocalApi, openClientOf, type ReceivedRequest, type Reply } from './local-api.ts';

const SIGNAL = new AbortController().signal;

interface Plan {
  /** P-Chain height of the chain, and the proposed one. */
  readonly tip: number;
  proposed: number;
  /** Refuses numbers with these words. */
  readonly numbersRefused?: string;
  /** Refuses heights below it with these words. */
  readonly lowest?: readonly [height: number, text: string];
  /** Called after each set that was read as `proposed`. */
  readonly onProposed?: (plan: Plan) => void;
}

const refuse = (message: string): Reply => ({ error: { code: -32_000, message } });

/** Answers like a node; the weight of its only validator is the height. */
function reply(plan: Plan, { method, params }: ReceivedRequest): Reply {
  const { tip, numbersRefused, lowest } = plan;
  if (method === 'platform.getHeight') return { result: { height: String(tip) } };
  if (method === 'platform.getProposedHeight') return { result: { height: String(plan.proposed) } };
  const { height } = params;
  const set = (weight: number): Reply => ({
    result: { 'NodeID-111111111111111111116DBWJs': { publicKey: null, weight: String(weight) } },
  });
  if (height === 'proposed') {
    const answer = set(plan.proposed);
    plan.onProposed?.(plan);
    return answer;
  }
  if (numbersRefused !== undefined) return refuse(numbersRefused);
  if (Number(height) > tip) return refuse('failed to fetch validator set at unfinalized height');
  if (lowest !== undefined && Number(height) < lowest[0]) return refuse(lowest[1]);
  return set(Number(height));
}

/** Starts an API for each plan, and reads sets from them. */
async function setUp(...plans: readonly Plan[]) {
  const opened = new AsyncDisposableStack();
  const apis: LocalApi[] = [];
  for (const plan of plans) apis.push(opened.use(await LocalApi.start((request) => reply(plan, request))));
  const { node } = opened.use(openClientOf(apis));
  return {
    /** The weight, which is the height at which the set was read, or the error. */
    weightAt: (height: number): Promise<number | ApiError> =>
      node.getValidatorsAt(PRIMARY_NETWORK_ID, BigInt(height), SIGNAL).then(
        ([validator]) => Number(validator?.weight),
        (error: unknown) => error as ApiError,
      ),
    /** Takes the requests so far: heights of sets, and the other methods. */
    asked: () =>
      apis.map(({ requests }) =>
        requests.splice(0).map(({ method, params }) => params.height ?? method.replace('platform.get', '')),
      ),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

const NUMBERS = 'Unsupported height parameter value';
const PAIR = ['ProposedHeight', 'proposed', 'ProposedHeight'];

describe('an API that refuses numbers', () => {
  it('gives the set at the proposed height by name, between two readings of the height, and numbers are not sent again', async () => {
    await using api = await setUp({ tip: 12, proposed: 10, numbersRefused: NUMBERS });
    expect(await api.weightAt(10)).toBe(10);
    expect(api.asked()).toEqual([[10, ...PAIR]]);
    expect(await api.weightAt(10)).toBe(10);
    expect(api.asked()).toEqual([PAIR]);
  });

  it('does not serve other heights, if no other API does', async () => {
    await using api = await setUp({ tip: 12, proposed: 10, numbersRefused: NUMBERS });
    expect(await api.weightAt(9)).toMatchObject({
      code: 'height_not_served',
      message:
        'height 9 is not served: this API serves only the current height, 10: add a node of your own to pChainApi',
    });
    expect(api.asked()).toEqual([[9, 'ProposedHeight']]);
  });

  it('leaves other heights to the next API', async () => {
    await using api = await setUp({ tip: 12, proposed: 10, numbersRefused: NUMBERS }, { tip: 12, proposed: 11 });
    expect([await api.weightAt(9), await api.weightAt(11), await api.weightAt(10)]).toEqual([9, 11, 10]);
    expect(api.asked()).toEqual([
      [9, 'ProposedHeight', 'ProposedHeight', ...PAIR],
      [9, 11],
    ]);
  });

  it('is recognised by what it does where the text is not known', async () => {
    await using api = await setUp({ tip: 12, proposed: 10, numbersRefused: 'no' });
    expect([await api.weightAt(10), await api.weightAt(10)]).toEqual([10, 10]);
    expect(await api.weightAt(9)).toMatchObject({ code: 'height_not_served' });
    expect(await api.weightAt(13)).toMatchObject({ code: 'height_not_reached' });
  });
});

describe('a proposed height that moves while its set is read', () => {
  const numbersRefused = NUMBERS;

  it('is read again, three times at most, then from the next API', async () => {
    let readings = 0;
    // As several nodes behind one address do: each second reading is another one.
    const flapping: Plan = {
      tip: 12,
      numbersRefused,
      get proposed() {
        readings += 1;
        return readings % 3 === 0 ? 11 : 10;
      },
      set proposed(_) {},
    };
    await using api = await setUp(flapping, { tip: 12, proposed: 10 });
    expect(await api.weightAt(10)).toBe(10);
    expect(api.asked()).toEqual([[10, ...PAIR, ...PAIR, ...PAIR], [10]]);
  });

  it('is not served any more once the API has moved on', async () => {
    await using api = await setUp({
      tip: 12,
      proposed: 10,
      numbersRefused,
      onProposed: (plan) => void (plan.proposed += 1),
    });
    expect(await api.weightAt(10)).toMatchObject({
      code: 'height_not_served',
      message: expect.stringContaining('current height, 11'),
    });
  });
});

describe('an API that serves only recent heights', () => {
  it('serves these, and no request for older ones is sent again', async () => {
    await using api = await setUp({ tip: 12, proposed: 10, lowest: [8, 'height is too old'] });
    expect(await api.weightAt(8)).toBe(8);
    expect(await api.weightAt(7)).toMatchObject({
      code: 'height_not_served',
      message: 'height 7 is not served: this API serves only heights from about 8: add a node of your own to pChainApi',
    });
    api.asked();
    expect(await api.weightAt(5)).toMatchObject({ code: 'height_not_served' });
    expect([await api.weightAt(9), api.asked()]).toEqual([9, [[9]]]);
  });

  it('is asked again for a height that it refused in words about something else', async () => {
    await using api = await setUp({ tip: 12, proposed: 10, lowest: [8, 'gone'] });
    expect(await api.weightAt(7)).toMatchObject({ code: 'height_not_served' });
    api.asked();
    expect(await api.weightAt(7)).toMatchObject({ code: 'height_not_served' });
    expect(api.asked()[0]).toContain(7);
  });

  it('leaves older heights to the next API', async () => {
    await using api = await setUp({ tip: 12, proposed: 10, lowest: [8, 'gone'] }, { tip: 12, proposed: 10 });
    expect([await api.weightAt(5), await api.weightAt(6)]).toEqual([5, 6]);
  });
});

it('a height that one API has not reached is read from the next one', async () => {
  await using api = await setUp({ tip: 10, proposed: 9 }, { tip: 12, proposed: 11 });
  expect(await api.weightAt(11)).toBe(11);
  expect(await api.weightAt(13)).toMatchObject({
    code: 'height_not_reached',
    message: "P-Chain height 13 is above the chain's height 10",
  });
});
