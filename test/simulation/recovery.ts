import { sleep } from '../../src/lib/concurrency/clock.ts';
import { createUnsignedMessage } from '../../src/warp/unsigned-message.ts';
import type { ClockView } from '../support/fake-clock.ts';
import type { Draws } from './draws.ts';
import type { Outcome } from './http-door.ts';
import type { LiveRequest } from './invariants.ts';
import type { Ledger, LedgerSet } from './ledger.ts';
import { type MessagePlan, NO_JUSTIFICATION, type Plan, type RequestPlan } from './plan.ts';

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
 * Expects that all requests succeed when all faults are over: those of the plan and a new message of each subnet at each replica within a
 * bound, if their clients try again after errors; then another new message of each subnet at once and soon.
 */
export async function expectRecovery(world: HealedWorld): Promise<void> {
  const { plan, clock, replicas } = world;
  // When the validators change no more, and the service knows it.
  const lastBlockMs = plan.ledger.blocks.at(-1)?.atMs ?? 0;
  await world.runUntil(Math.max(clock.monotonicMs(), lastBlockMs) + RETRY_MS, () => false);
  const endMs = clock.monotonicMs() + RECOVERY_MS;
  const late: string[] = [];
  const recovering = replicas.map(async (replica) => {
    // New messages of its own: what others have signed would not show that it can collect.
    const again = [...requestsOf(plan), ...newMessages(world)].filter((request) => canBeSigned(world, request));
    for (const [number, request] of again.entries())
      await untilSigned(world, replica, request, `again ${replica}.${number}`, late);
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
  const fresh = newMessages(world).filter((request) => canBeSigned(world, request));
  for (const [number, request] of fresh.entries()) {
    const startMs = clock.monotonicMs();
    const asked = replicas.map(async (replica) => {
      const outcome = await world.ask(replica, live(request, clock), `fresh ${replica}.${number}`);
      if (outcome.kind !== 'signed') world.violate(`${nameOf(outcome)} after the recovery, at replica ${replica}`);
    });
    if (!(await isOverBy(world, startMs + PROMPT_MS, asked)))
      world.violate(`a request after the recovery was not answered within ${PROMPT_MS} ms`);
  }
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

/** A message of a chain of each subnet, with the usual quorum or a small one. */
function newMessages(world: HealedWorld): Healed[] {
  const { plan, ledger, draws } = world;
  const chainOf = new Map([...plan.ledger.chains].map(([chain, subnetID]) => [subnetID, chain]));
  return [...chainOf].flatMap(([subnetID, chain]) => {
    const quorum = [67, 1].find((one) => isReachable(ledger, ledger.tip().sets.get(subnetID) ?? [], one));
    if (quorum === undefined) return [];
    const message: MessagePlan = {
      message: createUnsignedMessage(plan.networkID, chain, draws.bytes(16)),
      subnetID,
      needs: undefined,
      refusal: undefined,
    };
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
    return [{ message, plan: request }];
  });
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
