import { sleep } from '../../src/lib/concurrency/clock.ts';
import type { BlockchainID } from '../../src/warp/ids.ts';
import { createUnsignedMessage } from '../../src/warp/unsigned-message.ts';
import type { ClockView } from '../support/fake-clock.ts';
import type { Draws } from './draws.ts';
import type { Outcome } from './http-door.ts';
import type { LiveRequest } from './invariants.ts';
import type { Ledger, LedgerSet } from './ledger.ts';
import { type MessagePlan, NO_JUSTIFICATION, type Plan, type RequestPlan } from './plan.ts';
import { MAX_STALL_MS } from './simulated-net.ts';

/** Time until the service has found all nodes again, which it dials after 60 s at most, and has forgotten the faults. */
const RECOVERY_MS = 60_000;
/** A client tries again after an error. */
const RETRY_MS = 1_000;
/** Longest time of a request when all has been well for a while. */
const PROMPT_MS = 1_500;
/** A client that has done no harm. */
const CLIENT = 9;

/** A world without faults. */
export interface HealedWorld {
  readonly plan: Plan;
  readonly ledger: Ledger;
  readonly clock: ClockView;
  readonly draws: Draws;
  /** Replicas that serve. */
  readonly replicas: readonly number[];
  /** Messages that validators refused for good, which services remember for minutes. */
  readonly refused: ReadonlySet<string>;
  /** Lets validators sign a message that no request of the plan names. */
  addMessage(message: MessagePlan): void;
  ask(replica: number, live: LiveRequest, requestID: string): Promise<Outcome>;
  runUntil(untilMs: number, isOver: () => boolean): Promise<boolean>;
  violate(what: string): void;
}

type Healed = Omit<LiveRequest, 'startMs'>;

/**
 * Expects that all requests succeed when all faults are over: those of the plan and a new message at each replica within a bound, if their
 * clients try again after errors; then one new message at all replicas, at once and soon.
 */
export async function expectRecovery(world: HealedWorld): Promise<void> {
  const { plan, clock, draws, replicas } = world;
  const chain = draws.pick([...plan.ledger.chains.keys()]);
  // When the validators change no more, and the service knows it, and what the network held up has arrived.
  const lastBlockMs = plan.ledger.blocks.at(-1)?.atMs ?? 0;
  const settlesMs = plan.net.stall > 0 ? MAX_STALL_MS : RETRY_MS;
  await world.runUntil(Math.max(clock.monotonicMs(), lastBlockMs) + settlesMs, () => false);
  const endMs = clock.monotonicMs() + RECOVERY_MS;
  const late: string[] = [];
  const recovering = replicas.map(async (replica) => {
    // A new message of its own: what others have signed would not show that it can collect.
    const again = [...requestsOf(plan).filter((request) => canBeSigned(world, request)), newMessage(world, chain)];
    for (const [number, request] of again.entries())
      if (request !== undefined) await untilSigned(world, replica, request, `again ${replica}.${number}`, late);
  });
  if (!(await isOverBy(world, endMs, recovering))) {
    world.violate(
      `no recovery within ${RECOVERY_MS} ms after all faults were over: ${late
        .filter((one) => !one.endsWith(': signed'))
        .slice(-3)
        .join(', ')}`,
    );
    return;
  }
  const fresh = newMessage(world, chain);
  if (fresh === undefined) return;
  const asked = replicas.map(async (replica) => {
    const outcome = await world.ask(replica, live(fresh, clock), `fresh ${replica}`);
    if (outcome.kind !== 'signed') world.violate(`${nameOf(outcome)} after the recovery, at replica ${replica}`);
  });
  if (!(await isOverBy(world, clock.monotonicMs() + PROMPT_MS, asked))) await lateAnswer(world, asked);
}

/** Reports how late the answers are. */
async function lateAnswer(world: HealedWorld, asked: readonly Promise<void>[]): Promise<void> {
  const startMs = world.clock.monotonicMs() - PROMPT_MS;
  await isOverBy(world, startMs + RECOVERY_MS, asked);
  const tookMs = world.clock.monotonicMs() - startMs;
  world.violate(`a request after the recovery took ${tookMs.toFixed()} ms, at most ${PROMPT_MS} are right`);
}

async function untilSigned(
  { clock, ask }: HealedWorld,
  replica: number,
  request: Healed,
  name: string,
  late: string[],
): Promise<void> {
  for (let attempt = 0; ; attempt += 1) {
    const at = late.push(`${name} has no answer`) - 1;
    const outcome = await ask(replica, live(request, clock), `${name}.${attempt}`);
    late[at] = `${name}: ${nameOf(outcome)}`;
    if (outcome.kind === 'signed') return;
    await sleep(clock, RETRY_MS);
  }
}

async function isOverBy(world: HealedWorld, endMs: number, work: readonly Promise<void>[]): Promise<boolean> {
  let left = work.length;
  for (const one of work) void one.then(() => (left -= 1));
  return await world.runUntil(endMs, () => left === 0);
}

function nameOf(outcome: Outcome): string {
  return outcome.kind === 'error' ? outcome.code : outcome.kind;
}

function live(request: Healed, clock: ClockView): LiveRequest {
  const nowMs = clock.monotonicMs();
  return { startMs: nowMs, message: request.message, plan: { ...request.plan, atMs: nowMs } };
}

/** The requests of the plan, each kind once, at the height proposed by now. */
function requestsOf({ requests, messages }: Plan): Healed[] {
  const kinds = new Map<string, Healed>();
  for (const request of requests) {
    const message = messages[request.message] as MessagePlan;
    const { message: index, justification, quorum, buffer, signingSubnetID } = request;
    const kind = [index, Buffer.from(justification).toString('hex'), quorum, buffer, signingSubnetID].join();
    kinds.set(kind, { message, plan: { ...request, ...AS_IT_IS } });
  }
  return [...kinds.values()];
}

const AS_IT_IS = {
  client: CLIENT,
  height: 0n,
  destinationChainID: undefined,
  leavesAfterMs: undefined,
  waitMs: 0,
} as const;

/** A new message of a chain, with the usual quorum or a small one; undefined if no quorum can be reached. */
function newMessage(world: HealedWorld, chain: BlockchainID): Healed | undefined {
  const { plan, ledger, draws } = world;
  const subnetID = plan.ledger.chains.get(chain);
  const set = (subnetID && ledger.tip().sets.get(subnetID)) ?? [];
  const quorum = [67, 1].find((one) => isReachable(ledger, set, one));
  if (quorum === undefined) return undefined;
  const bytes = createUnsignedMessage(plan.networkID, chain, draws.bytes(16));
  const message: MessagePlan = { message: bytes, subnetID, needs: undefined, refusal: undefined };
  world.addMessage(message);
  const request: RequestPlan = {
    ...AS_IT_IS,
    quorum,
    atMs: 0,
    message: -1,
    justification: NO_JUSTIFICATION,
    buffer: 0,
    signingSubnetID: undefined,
    replica: 0,
  };
  return { message, plan: request };
}

/** Whether validators sign a message as a request asks for it. */
function canBeSigned({ ledger, refused }: HealedWorld, { message, plan }: Healed): boolean {
  const { needs, refusal, subnetID } = message;
  const signers = ledger.signerOf(plan, message);
  if (subnetID === undefined || signers === undefined || refusal !== undefined) return false;
  if (needs !== undefined && !Buffer.from(needs).equals(plan.justification)) return false;
  return !refused.has(message.message.id) && isReachable(ledger, ledger.tip().sets.get(signers) ?? [], plan.quorum);
}

/** Whether nodes with the keys of a set have the weight of a quorum. */
function isReachable(ledger: Ledger, set: LedgerSet, quorum: number): boolean {
  const total = set.reduce((sum, { weight }) => sum + weight, 0n);
  // A node that shares a key signs with that of another subnet, if it has one there.
  const canSign = ({ key }: LedgerSet[number]): boolean =>
    key !== undefined && set.every((node) => node.key !== key || ledger.keyOf(node.number) === key);
  const weight = set.filter(canSign).reduce((sum, one) => sum + one.weight, 0n);
  return weight > 0n && 100n * weight >= BigInt(quorum) * total;
}
