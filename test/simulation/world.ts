import { hash } from 'node:crypto';
import type { AggregationResult } from '../../src/aggregation/request/aggregation-request.ts';
import { type NodeID, P_CHAIN_ID, type SubnetID } from '../../src/warp/ids.ts';
import { VirtualTime } from '../support/fake-clock.ts';
import type { BlsScheme } from './bls-scheme.ts';
import { Draws } from './draws.ts';
import type { HttpDoor, Outcome } from './http-door.ts';
import { Invariants, type LiveRequest } from './invariants.ts';
import { problemOf } from './judge-message.ts';
import { Ledger, type LedgerSet } from './ledger.ts';
import type { MessagePlan, Plan, ReplicaEnd, RequestPlan } from './plan.ts';
import { expectRecovery } from './recovery.ts';
import { openReplicaStore, type ReplicaStore } from './replica-store.ts';
import { apiOrigin, openService, type SimulatedService } from './service.ts';
import { SimulatedApi, SimulatedHttp } from './simulated-api.ts';
import { simulatedIdentity } from './simulated-identity.ts';
import { SimulatedNet } from './simulated-net.ts';
import { SimulatedProcess } from './simulated-process.ts';
import { SimulatedValidator, type ValidatorWorld } from './simulated-validator.ts';

/** The identity of the first service; later ones count down. */
const FIRST_IDENTITY = 999;

export interface Report {
  readonly violations: readonly string[];
  /** Equal for equal runs, to the last millisecond. */
  readonly digest: string;
  readonly outcomes: readonly Outcome[];
  /** What became of work that replicas share, over all of them. */
  readonly sharedWork: readonly string[];
}

/** One in so many worlds, as it takes long, closes its services while the faults last, and opens others when they are over. */
const RESTARTED = 12;
/** Without faults. */
const AT_ONCE = [0, 0] as const;
/** The longest that a service may take to close. */
const CLOSING_MS = 1_000;
/** A cancelled job, and one before it in the same thread. */
const JOBS_UNDER_WAY = 2;
/** A failure is cached for 3 s; the rest is a margin. */
const FAILURE_EFFECT_MS = 5_000;
/** For commands to the store that are not answered: a few in a row, before it counts as away. */
const STORE_MS = 1_500;
/** What one answer of it may take, and some more. */
const STORE_ANSWER_MS = 250;
/** Until all that replicas have sent to the store is there. */
const STORE_SETTLES_MS = 100;

/** The code of the C-Chain for a message of a block that it has not executed. */
const NOT_EXECUTED = 3;
/** A code of the P-Chain that a later block changes. */
const NO_VALIDATION = 11;
/**
 * An execution after this time is met by a repetition: refusals are repeated for 5 s, less one pause until the first validator is
 * asked, one until those are asked again that refused since, and their answers.
 */
const REPEATED_MS = 5_000 - 2 * 400 - 2 * 300;
const MAX_EXECUTION_DELAY = 1.2;

/** Lags after which a node executes a message: a fifth more for the slowest. */
function executionDelay(number: number): number {
  return 1 + ((number % 3) / 2) * (MAX_EXECUTION_DELAY - 1);
}

interface RunningService {
  readonly service: SimulatedService;
  readonly process: SimulatedProcess;
  readonly invariants: Invariants;
  /** IDs of requests under way. */
  readonly requests: Set<string>;
  /** Takes no more requests, and is closed when it has answered those under way. */
  isDraining: boolean;
  /** Resolves when a drained service is closed. */
  closed: Promise<void> | undefined;
  /** Whether it is closed, and that was judged. */
  isOver: boolean;
}

/** A request, and what is to come of it. */
interface Asked {
  readonly live: LiveRequest;
  readonly requestID: string;
  readonly startMs: number;
  readonly mustSucceed: boolean;
  readonly invariants: Invariants;
}

/** A P-Chain, validators, API nodes and services, under one virtual time. */
export class World {
  readonly plan: Plan;
  readonly time = new VirtualTime();
  readonly ledger: Ledger;
  readonly net: SimulatedNet;
  readonly http: SimulatedHttp;
  readonly apis: readonly SimulatedApi[];
  readonly validators: readonly SimulatedValidator[];
  readonly scheme: BlsScheme;
  readonly draws: Draws;
  readonly #door: HttpDoor;
  readonly #nature = this.time.view();
  readonly #services: RunningService[] = [];
  /** The current process of each replica. */
  readonly #current: RunningService[] = [];
  readonly #store: ReplicaStore | undefined;
  readonly #trace: string[] = [];
  readonly #outcomes: Outcome[] = [];
  /** When requests for a message last failed. */
  readonly #failedMs = new Map<string, number>();
  #unfinished = 0;
  /** Messages that were refused for good. */
  readonly #refused = new Set<string>();
  /** Whether all requests are answered. */
  #isOver = false;
  #isHealed = false;
  readonly #newMessages: MessagePlan[] = [];

  constructor(plan: Plan, scheme: BlsScheme, door: HttpDoor) {
    this.plan = plan;
    this.#door = door;
    this.scheme = scheme;
    this.draws = new Draws(`world ${plan.seed}`);
    this.ledger = new Ledger(plan.ledger, () => this.time.nowMs);
    this.net = new SimulatedNet(this.#nature, this.draws.fork('net'), plan.net);
    const ofValidators: ValidatorWorld = {
      net: this.net,
      scheme,
      networkID: plan.networkID,
      refusalOf: (message, justification, number) =>
        this.#refusalOf(message, justification) ?? this.#refusalUntilExecution(message, number),
      keyOf: (number) => this.ledger.keyOf(number),
      validators: () => this.validators,
    };
    this.validators = plan.validators.map(
      (validator) => new SimulatedValidator(validator, ofValidators, this.draws.fork(`validator ${validator.number}`)),
    );
    const ofApi = {
      clock: this.#nature,
      ledger: this.ledger,
      networkID: plan.networkID,
      nodeIDOf,
      publicKey: (key: number) => scheme.publicKey(key),
      peers: () =>
        this.validators.map(({ nodeID, address: { host, port } }) => ({ nodeID, address: `${host}:${port}` })),
    };
    this.apis = plan.apis.map((api, index) => new SimulatedApi(api, ofApi, this.draws.fork(`api ${index}`)));
    this.http = new SimulatedHttp(this.#nature, new Map(this.apis.map((api, index) => [apiOrigin(index), api])));
    this.#store = openReplicaStore(plan, {
      scheme,
      ledger: this.ledger,
      clock: this.#nature,
      nodeIDOf,
      draws: this.draws.fork('store'),
      violate: (what) => this.#violate(what),
    });
  }

  async run(): Promise<Report> {
    const { count, ends } = this.plan.replicas ?? { count: 1, ends: [] };
    for (let index = 0; index < count; index += 1) this.#open(index);
    this.#door.lead(this.#services, this.#nature);
    for (const end of ends) this.#nature.after(end.atMs, () => !this.#isOver && this.#end(end));
    const onRejection = (reason: unknown): void => this.#violate(`a rejection that nobody handles: ${String(reason)}`);
    process.on('unhandledRejection', onRejection);
    let work: readonly (readonly { readonly value: number; readonly labels: Readonly<Record<string, unknown>> }[])[] =
      [];
    try {
      this.#unfinished = this.plan.requests.length;
      for (const [number, request] of this.plan.requests.entries())
        this.#nature.after(request.atMs, () => void this.#ask(request, number));
      const giveUpMs = 400_000;
      if (!(await this.time.runUntil(giveUpMs, () => this.#unfinished === 0))) {
        this.#violate(`${this.#unfinished} requests had no answer after ${giveUpMs} ms`);
      }
      // Running jobs of threads are not cancelled.
      const underWayMs = JOBS_UNDER_WAY * this.plan.blsMs[1];
      await this.time.runUntil(this.time.nowMs + Math.max(this.plan.lingersMs, underWayMs));
      this.#isOver = true;
      work = await Promise.all(this.#services.map(({ service }) => service.valuesOf('shared_work_total')));
      if (this.plan.seed % RESTARTED === 0) {
        await this.#expectQuiet();
        await this.#closeServices();
        for (let index = 0; index < count; index += 1) this.#open(index);
      }
      this.#heal();
      await this.#expectRecovery();
      if (this.#isTrialOver) await this.time.runUntil(this.time.nowMs + this.plan.aggregation.peerTimeoutMs);
      await this.#expectQuiet();
      await this.#closeServices();
      await this.#expectNothingLeft();
    } finally {
      process.off('unhandledRejection', onRejection);
    }
    return {
      sharedWork: work.flat().flatMap(({ labels, value }) => (value > 0 ? [String(labels['outcome'])] : [])),
      violations: this.#services.flatMap(({ invariants }) => invariants.violations),
      digest: hash('sha256', this.#trace.join('\n')),
      outcomes: this.#outcomes,
    };
  }

  #open(index: number): void {
    const { plan, scheme, net, http, time } = this;
    const number = this.#services.length;
    const process = new SimulatedProcess(number, { time, net, http, redis: this.#store?.redis });
    const invariants = new Invariants(plan, this.ledger, () => time.nowMs, nodeIDOf);
    const service = openService({
      plan,
      scheme,
      clock: process.clock,
      outside: process.outside,
      number: FIRST_IDENTITY - number,
      watcher: this.#store?.watcherOf(number, invariants) ?? invariants,
      draws: this.draws.fork(`service ${number}`),
      shared: this.#store?.optionsOf(index, number),
      blsMs: () => (this.#isHealed ? AT_ONCE : plan.blsMs),
    });
    const running: RunningService = {
      service,
      process,
      invariants,
      requests: new Set(),
      isDraining: false,
      closed: undefined,
      isOver: false,
    };
    this.#services.push(running);
    this.#current[index] = running;
  }

  #end({ replica, how, comesBackAfterMs }: ReplicaEnd): void {
    const running = this.#current[replica] as RunningService;
    const { process, invariants } = running;
    running.isDraining = true;
    if (how === 'killed') {
      this.#store?.invariants.killed(process.number);
      invariants.mute();
      process.kill();
      for (const requestID of running.requests) this.#door.leave(requestID);
    } else this.#closeDrained(running);
    if (comesBackAfterMs !== undefined)
      this.#nature.after(comesBackAfterMs, () => !this.#isOver && this.#open(replica));
  }

  #closeDrained(running: RunningService): void {
    if (running.isDraining && running.requests.size === 0 && !running.process.isKilled)
      running.closed ??= Promise.resolve(running.service[Symbol.asyncDispose]());
  }

  /** Returns the replica for a client's request: that of its plan, or the next one that serves. */
  #serving({ replica }: RequestPlan): RunningService {
    const { length } = this.#current;
    for (let turn = 0; turn < length; turn += 1) {
      const running = this.#current[(replica + turn) % length];
      if (running !== undefined && !running.isDraining) return running;
    }
    throw new Error('no replica serves any more');
  }

  #violate(what: string): void {
    this.#services[0]?.invariants.violate(what);
  }

  /** The code of a node that has not executed the block of a message; undefined if it has. */
  #refusalUntilExecution(message: Uint8Array, number: number): number | undefined {
    const index = this.plan.messages.findIndex((one) => Buffer.from(one.message.bytes).equals(message));
    if (this.#isHealed || index === -1 || this.time.nowMs >= this.#executedMs(index, executionDelay(number)))
      return undefined;
    return this.plan.messages[index]?.message.sourceChainID === P_CHAIN_ID ? NO_VALIDATION : NOT_EXECUTED;
  }

  /** When a message is executed that was sent with the first request for it. @param delay of the node, in lags */
  #executedMs(message: number, delay: number): number {
    const sentMs = Math.min(...this.plan.requests.filter((one) => one.message === message).map(({ atMs }) => atMs));
    return sentMs + delay * this.plan.executionLagMs;
  }

  /** Whether all nodes execute a message early enough for a request that begins now to be signed by its repetitions. */
  #isExecutedInTime(message: number): boolean {
    const { executionLagMs } = this.plan;
    if (MAX_EXECUTION_DELAY * executionLagMs <= REPEATED_MS) return true;
    // An earlier request for it may still fail, and this one with it.
    const quietMs = Math.max(MAX_EXECUTION_DELAY * executionLagMs, FAILURE_EFFECT_MS) + FAILURE_EFFECT_MS;
    return this.time.nowMs >= this.#executedMs(message, 0) + quietMs;
  }

  #refusalOf(message: Uint8Array, justification: Uint8Array): number | undefined {
    const all = [...this.plan.messages, ...this.#newMessages];
    const plan = all.find((one) => Buffer.from(one.message.bytes).equals(message));
    if (plan === undefined) return 99;
    if (plan.refusal !== undefined) return plan.refusal;
    if (plan.needs === undefined || Buffer.from(plan.needs).equals(justification)) return undefined;
    return 6;
  }

  /** Retries on another replica if the first one is killed, like clients do. */
  async #ask(plan: RequestPlan, number: number): Promise<void> {
    const message = this.plan.messages[plan.message] as MessagePlan;
    for (let attempt = 0, isAnswered = false; !isAnswered; attempt += 1) {
      const running = this.#serving(plan);
      const requestID = `${number}.${attempt}`;
      running.requests.add(requestID);
      const counting = this.#store?.useLimit(running.service.limits);
      await Promise.race([counting, running.process.killed]);
      const live: LiveRequest = { plan, message, startMs: this.time.nowMs };
      isAnswered = !running.process.isKilled && (await this.#askReplica(running, live, requestID));
      running.requests.delete(requestID);
      this.#closeDrained(running);
    }
    this.#unfinished -= 1;
  }

  /** @returns whether there was an outcome before the replica was killed */
  async #askReplica(running: RunningService, live: LiveRequest, requestID: string): Promise<boolean> {
    const { service, invariants, process } = running;
    const { leavesAfterMs } = live.plan;
    const startMs = this.time.nowMs;
    const mustSucceed = this.#mustSucceed(live, service);
    const leave = (): void => this.#door.leave(requestID);
    const stay = leavesAfterMs === undefined ? undefined : this.#nature.after(leavesAfterMs, leave);
    const outcome = await this.#post(running, live, requestID);
    stay?.();
    if (process.isKilled) return false;
    if (!this.#isHealed) this.#outcomes.push(outcome);
    this.#judge(outcome, { live, requestID, startMs, mustSucceed, invariants });
    const isSteady = this.#isSteady() && outcome.kind === 'signed';
    this.#store?.invariants.answered(live.message.message.id, startMs, isSteady);
    return true;
  }

  async #post({ process, invariants }: RunningService, live: LiveRequest, requestID: string): Promise<Outcome> {
    invariants.live.add(live);
    try {
      return await this.#door.post(process.number, live, requestID);
    } catch (error) {
      const reason = error instanceof Error ? error.stack : String(error);
      invariants.violate(`request ${requestID} ended with a bug: ${reason}`);
      return { kind: 'error', code: 'bug' };
    } finally {
      invariants.ended(live);
    }
  }

  async #askHealed(running: RunningService, live: LiveRequest, requestID: string): Promise<Outcome> {
    const { invariants } = running;
    const outcome = await this.#post(running, live, requestID);
    this.#judge(outcome, { live, requestID, startMs: live.startMs, mustSucceed: false, invariants });
    return outcome;
  }

  /** Whether neither API nor threads nor the network hold anything up. */
  #isSteady(): boolean {
    const { plan } = this;
    const isFast = plan.net.cut === 0 && plan.net.stall === 0 && plan.blsMs[1] <= 5;
    return (
      isFast && this.apis.every(({ isPerfect }) => isPerfect) && plan.themes.size === 0 && plan.executionLagMs === 0
    );
  }

  #judge(outcome: Outcome, asked: Asked): void {
    const { live, requestID, startMs, mustSucceed, invariants } = asked;
    const nowMs = this.time.nowMs;
    const tookMs = nowMs - startMs;
    const said = outcome.kind === 'error' ? outcome.code : outcome.kind;
    this.#trace.push(`${requestID} ${startMs} ${tookMs} ${said}`);
    const { apiTimeoutMs, aggregation } = this.plan;
    // A height that was left open is looked at again after signing, and the message signed again, twice at most.
    const rounds = live.plan.height === 0n ? 3 : 1;
    const storeMs = this.#store === undefined ? 0 : STORE_MS;
    const boundMs =
      live.plan.waitMs + rounds * (2 * apiTimeoutMs + aggregation.requestTimeoutMs + storeMs + invariants.slackMs);
    if (tookMs > boundMs) invariants.violate(`request ${requestID} took ${tookMs} ms, at most ${boundMs} are right`);
    if (outcome.kind === 'error') {
      if (outcome.code === 'internal_error') invariants.violate(`request ${requestID} ended with ${outcome.code}`);
      if (outcome.code === 'signing_refused') this.#refused.add(live.message.message.id);
      if (outcome.code !== 'overloaded' && outcome.code !== 'network_unavailable')
        this.#failedMs.set(live.message.message.id, nowMs);
      if (mustSucceed && !(outcome.code === 'overloaded' && this.plan.themes.has('overload'))) {
        invariants.violate(`request ${requestID} ended with ${outcome.code}, though all that it needed was there`);
      }
    }
    if (outcome.kind === 'signed') this.#judgeSigned(outcome.result, asked);
  }

  #judgeSigned(
    result: Omit<AggregationResult, 'signers' | 'weights'>,
    { live: { plan: request, message }, requestID, invariants }: Asked,
  ): void {
    const { signedMessage, pChainHeight, signingSubnetID } = result;
    this.#trace.push(`${requestID} ${pChainHeight} ${hash('sha256', signedMessage)}`);
    const wanted = this.ledger.signerOf(request, message);
    if (signingSubnetID !== wanted)
      invariants.violate(`request ${requestID} was signed by ${signingSubnetID}, not by ${wanted}`);
    if (request.height !== 0n && pChainHeight !== request.height) {
      invariants.violate(`request ${requestID} was signed at height ${pChainHeight}, not at ${request.height}`);
    }
    const set = this.ledger.setAt(signingSubnetID, pChainHeight);
    if (set === undefined || pChainHeight > this.ledger.tip().height) {
      invariants.violate(`request ${requestID} was signed at height ${pChainHeight}, which there is not`);
      return;
    }
    const problem = problemOf(signedMessage, {
      unsignedMessage: message.message.bytes,
      set: set.map(({ key, weight }) => ({
        weight,
        publicKey: key === undefined ? undefined : this.scheme.publicKey(key),
      })),
      quorum: request.quorum,
      reported: result,
      isSignedBy: this.scheme.isSignedBy,
    });
    if (problem !== undefined) invariants.violate(`request ${requestID} got a signed message that ${problem}`);
    const isRefused = this.#refusalOf(message.message.bytes, request.justification) !== undefined;
    // A liar in the store can sign as one validator, which is enough for a small quorum.
    if (isRefused && this.#store?.canForge !== true)
      invariants.violate(`request ${requestID} got a message signed that no validator signs as it was asked for`);
  }

  /** Whether everything that the request needs works. */
  #mustSucceed({ plan: request, message }: LiveRequest, service: SimulatedService): boolean {
    const { plan, ledger } = this;
    const { requestTimeoutMs, maxConcurrentQueries, maxQueriesInFlight } = plan.aggregation;
    const subnetID = ledger.signerOf(request, message);
    // Of a chain that there is, on this network.
    if (message.subnetID === undefined || subnetID === undefined || request.leavesAfterMs !== undefined) return false;
    if (this.#refusalOf(message.message.bytes, request.justification) !== undefined) return false;
    if (!this.#isExecutedInTime(request.message)) return false;
    if (plan.net.cut > 0 || plan.net.stall > 0 || plan.net.latencyMs[1] > 50) return false;
    if (!this.apis.every(({ isPerfect }) => isPerfect) || plan.blsMs[1] > 5) return false;
    if (requestTimeoutMs < 10_000 || maxConcurrentQueries < 20 || maxQueriesInFlight < 20) return false;
    const lastFailedMs = this.#failedMs.get(message.message.id);
    if (lastFailedMs !== undefined && this.time.nowMs - lastFailedMs < FAILURE_EFFECT_MS) return false;
    // Another request for it may have begun before the validators were there, and may fail for both.
    const sets = request.height === 0n ? ledger.setsOf(subnetID) : [this.#setAtNow(subnetID, request.height)];
    return sets.length === 1 && sets.every((set) => set !== undefined && this.#canSign(set, request.quorum, service));
  }

  #setAtNow(subnetID: SubnetID, height: bigint): LedgerSet | undefined {
    return height > this.ledger.tip().height ? undefined : this.ledger.setAt(subnetID, height);
  }

  #canSign(set: LedgerSet, quorum: number, service: SimulatedService): boolean {
    const isPerfect = (number: number, key: number): boolean => {
      const validator = this.validators.find((one) => one.plan.number === number);
      if (validator === undefined) return false;
      const { misbehaviour, moods, answerMs } = validator.plan;
      const keys = new Set(
        this.plan.ledger.blocks.flatMap(({ sets }) =>
          [...sets.values()].flatMap((other) => other.flatMap((one) => (one.number === number ? [one.key] : []))),
        ),
      );
      return (
        misbehaviour === 0 &&
        moods.length === 0 &&
        answerMs[1] <= 250 &&
        keys.size === 1 &&
        keys.has(key) &&
        service.isConnected(validator.nodeID)
      );
    };
    const total = set.reduce((sum, { weight }) => sum + weight, 0n);
    const good = set.filter(
      ({ key }) => key !== undefined && set.every((other) => other.key !== key || isPerfect(other.number, key)),
    );
    const weight = good.reduce((sum, one) => sum + one.weight, 0n);
    return weight > 0n && 100n * weight >= BigInt(quorum) * total;
  }

  /** Whether it is waited for trials of validators, which continue after their collections. */
  get #isTrialOver(): boolean {
    return this.plan.lingersMs > this.plan.aggregation.peerTimeoutMs;
  }

  #heal(): void {
    this.#isHealed = true;
    for (const part of [this.net, ...this.apis, ...this.validators]) part.heal();
    this.#store?.redis.heal();
    this.#store?.invariants.healed();
  }

  #expectRecovery(): Promise<void> {
    const { plan, ledger, draws } = this;
    const serving = this.#current.filter(({ isDraining }) => !isDraining);
    return expectRecovery({
      plan,
      ledger,
      clock: this.#nature,
      draws: draws.fork('recovery'),
      replicas: serving.map((_, index) => index),
      refused: this.#refused,
      addMessage: (message) => void this.#newMessages.push(message),
      ask: (replica, live, requestID) => this.#askHealed(serving[replica] as RunningService, live, requestID),
      runUntil: (untilMs, isOver) => this.time.runUntil(untilMs, isOver),
      violate: (what) => this.#violate(what),
    });
  }

  /** When all requests are answered, nothing of them is left. */
  async #expectQuiet(): Promise<void> {
    await this.time.turn(3);
    // A command to the shared store is not aborted: it has its own, short deadline, and its aggregation stays admitted until then.
    if (this.#store !== undefined) await this.time.runUntil(this.time.nowMs + STORE_ANSWER_MS);
    for (const { service, invariants, process, isOver } of this.#services) {
      if (process.isKilled || isOver) continue;
      if (invariants.openCollections > 0)
        invariants.violate(`${invariants.openCollections} collections go on for nobody`);
      if (service.listeners > 0) invariants.violate(`${service.listeners} collections still listen to connections`);
      for (const gauge of [
        'aggregations_in_flight',
        'aggregations_admitted',
        'aggregations_waiting',
        ...(this.#isTrialOver ? ['peer_pending_requests'] : []),
      ]) {
        for (const { value } of await service.valuesOf(gauge)) {
          if (value !== 0) invariants.violate(`${gauge} is ${value} when all is over`);
        }
      }
    }
  }

  async #closeServices(): Promise<void> {
    for (const running of this.#services) {
      const { service, process, invariants, closed } = running;
      if (process.isKilled || running.isOver) continue;
      running.isOver = true;
      const { clock } = process;
      let isClosed = false;
      const closing = (closed ?? service[Symbol.asyncDispose]()).then(() => {
        isClosed = true;
      });
      if (!(await this.time.runUntil(this.time.nowMs + CLOSING_MS, () => isClosed))) {
        invariants.violate(`the service was not closed within ${CLOSING_MS} ms`);
        continue;
      }
      await closing;
      await this.time.turn(2);
      invariants.expectAllEnded();
      if (clock.pendingTimers > 0)
        invariants.violate(`${clock.pendingTimers} timers are left when the service is closed`);
    }
  }

  async #expectNothingLeft(): Promise<void> {
    if (this.#store !== undefined) {
      await this.time.runUntil(this.time.nowMs + STORE_SETTLES_MS);
      this.#store.expectLeft();
      this.#trace.push(`${this.#store.redis.commands} commands`);
    }
    if (this.net.open.size > 0) this.#violate(`${this.net.open.size} connections are left when the service is closed`);
    if (this.http.openPools > 0) this.#violate(`${this.http.openPools} HTTP pools are left when the service is closed`);
    if (this.#door.requestsUnderWay > 0) this.#violate(`${this.#door.requestsUnderWay} requests of clients are left`);
    this.#trace.push(
      `${this.net.dials} dials, ${this.apis.map(({ calls }) => calls).join('+')} calls, ${this.time.nowMs} ms`,
    );
    for (const { askedMs, plan } of this.validators) this.#trace.push(`${plan.number} was asked ${askedMs.join(' ')}`);
  }
}

function nodeIDOf(number: number): NodeID {
  return simulatedIdentity(number).nodeID;
}
