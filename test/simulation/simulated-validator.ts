import type { Clock } from '../../src/lib/concurrency/clock.ts';
import { createHandshake } from '../../src/p2p/connection/handshake.ts';
import type { AppRequest } from '../../src/p2p/gen/p2p_pb.js';
import { encodeFrame, FrameDecoder, MAX_FRAME_LENGTH } from '../../src/p2p/wire/frames.ts';
import { encodeMessage, type PeerMessageInit, parseMessage } from '../../src/p2p/wire/messages.ts';
import { encodeClaimedIpPort } from '../../src/p2p/wire/signed-address.ts';
import { encodeSignatureResponse, parseSignatureRequest } from '../../src/warp/signature-request.ts';
import { START_UNIX_MS } from '../support/fake-clock.ts';
import type { BlsScheme } from './bls-scheme.ts';
import type { Draws } from './draws.ts';
import { type SimulatedIdentity, simulatedIdentity } from './simulated-identity.ts';
import type { SimulatedEnd, SimulatedNet } from './simulated-net.ts';

/** How an address may behave, from some time on, by relative frequency. */
export const MOODS = {
  refusing: 2,
  vanished: 2,
  frozen: 1,
  'wrong certificate': 1,
  'no certificate': 0.5,
  'no handshake': 1,
  'wrong network': 0.5,
  'wrong clock': 0.5,
  'old version': 1,
  garbage: 0.5,
  /** It listens at another address, which others pass on. */
  moved: 3,
};
export type Mood = 'up' | keyof typeof MOODS;

export interface ValidatorPlan {
  /** Number of its identity and address. */
  readonly number: number;
  /** Share of the questions that it answers as {@link habits} say; the others it answers honestly. */
  readonly misbehaviour: number;
  readonly habits: Readonly<Partial<Record<Reaction, number>>>;
  readonly answerMs: readonly [number, number];
  /** In ascending order of time; `up` before the first. */
  readonly moods: readonly { readonly fromMs: number; readonly mood: Mood }[];
  /** Until then a lagging validator refuses unknown messages. */
  readonly lagsUntilMs: number;
}

export interface ValidatorWorld {
  readonly net: SimulatedNet;
  readonly scheme: BlsScheme;
  readonly networkID: number;
  /** The code with which an honest validator refuses a message now; undefined if it signs. */
  refusalOf(message: Uint8Array, justification: Uint8Array, number: number): number | undefined;
  /** The key that the node signs with now. */
  keyOf(number: number): number;
  /** Addresses that it passes on. */
  validators(): readonly SimulatedValidator[];
}

const VERSION = { major: 1, minor: 14, patch: 2 };
const NO_FILTER = { filter: Uint8Array.from([1, 0, 0, 0, 0, 0, 0, 0, 0, 0]), salt: new Uint8Array(32) };
/** Any 96 bytes: only the length is checked. */
const ADDRESS_PROOF = new Uint8Array(96);
const PORT = 9_651;
/** Time to an answer without faults. */
const HEALTHY_MS = [1, 60] as const;

/** A validator that follows the protocol, except as planned. */
export class SimulatedValidator {
  readonly plan: ValidatorPlan;
  readonly identity: SimulatedIdentity;
  readonly #world: ValidatorWorld;
  readonly #draws: Draws;
  readonly #ends = new Set<SimulatedEnd>();
  #isHealed = false;
  /** Times of the questions received. */
  readonly askedMs: number[] = [];

  constructor(plan: ValidatorPlan, world: ValidatorWorld, draws: Draws) {
    this.plan = plan;
    this.identity = simulatedIdentity(plan.number);
    this.#world = world;
    this.#draws = draws;
    this.#listenAt('home');
    if (plan.moods.some(({ mood }) => mood === 'moved')) this.#listenAt('away');
    // Whatever it becomes, its connections of before end with it.
    for (const { fromMs } of plan.moods) world.net.clock.after(fromMs, () => !this.#isHealed && this.#cutAll());
  }

  /** Ends its misbehaviour, and the connections of before. */
  heal(): void {
    this.#isHealed = true;
    if (this.plan.misbehaviour > 0 || this.plan.moods.length > 0) this.#cutAll();
  }

  get nodeID() {
    return this.identity.nodeID;
  }

  get mood(): Mood {
    if (this.#isHealed) return 'up';
    return this.plan.moods[this.#moodNumber - 1]?.mood ?? 'up';
  }

  /** Counts its moods: each may have another address. */
  get #moodNumber(): number {
    if (this.#isHealed) return this.plan.moods.length + 1;
    const nowMs = this.#world.net.clock.monotonicMs();
    return this.plan.moods.findLastIndex(({ fromMs }) => fromMs <= nowMs) + 1;
  }

  /** The current address, which it signs. */
  get address() {
    const isAway = this.mood === 'moved';
    const timestamp = BigInt(START_UNIX_MS / 1_000 + this.#moodNumber);
    return this.identity.signAddress({ host: this.#host(isAway ? 'away' : 'home'), port: PORT, timestamp });
  }

  #host(place: 'home' | 'away'): string {
    return `${place === 'home' ? 20 : 30}.0.0.${this.plan.number + 1}`;
  }

  #listenAt(place: 'home' | 'away'): void {
    const certificate = (): Uint8Array | undefined => this.#certificate();
    this.#world.net.listen(
      { host: this.#host(place), port: PORT },
      {
        answer: () => {
          const now = this.mood;
          if ((now === 'moved') !== (place === 'away') || now === 'refusing') return 'refuse';
          if (now === 'vanished') return 'vanish';
          return now === 'frozen' ? 'freeze' : 'accept';
        },
        get certificate() {
          return certificate();
        },
        accept: (end) => this.#accept(end),
      },
    );
  }

  /** What it shows in TLS. */
  #certificate(): Uint8Array | undefined {
    if (this.mood === 'no certificate') return undefined;
    // Of another validator.
    return this.mood === 'wrong certificate'
      ? simulatedIdentity(this.plan.number + 1).certificate.der
      : this.identity.certificate.der;
  }

  #cutAll(): void {
    for (const end of Array.from(this.#ends)) end.cut();
    this.#ends.clear();
  }

  #accept(end: SimulatedEnd): void {
    const { mood } = this;
    const decoder = new FrameDecoder();
    let isFrozen = false;
    this.#ends.add(end);
    end.listen({
      onData: (chunk) => {
        if (isFrozen || mood === 'garbage') return;
        for (const payload of decoder.push(chunk)) {
          const message = parseMessage(payload);
          if (message.case === 'handshake') this.#send(end, this.#peerList());
          if (message.case === 'getPeerList') this.#send(end, this.#peerList());
          if (message.case === 'ping') this.#send(end, { case: 'pong', value: {} });
          if (message.case === 'appRequest') isFrozen = this.#onQuestion(end, message.value);
        }
      },
      onEnd: () => void this.#ends.delete(end),
    });
    if (mood === 'garbage') end.write(this.#draws.bytes(64));
    else if (mood !== 'no handshake') this.#send(end, this.#handshake(mood));
  }

  #handshake(mood: Mood): PeerMessageInit {
    const { networkID, net } = this.#world;
    const value = createHandshake({
      networkID: mood === 'wrong network' ? networkID + 1 : networkID,
      nowMs: net.clock.now() + (mood === 'wrong clock' ? 3_600_000 : 0),
      version: mood === 'old version' ? { ...VERSION, minor: 1 } : VERSION,
      clientName: 'simulated',
      address: this.address,
      blsSignature: ADDRESS_PROOF,
      trackedSubnets: [],
      knownPeers: NO_FILTER,
      allSubnets: false,
    });
    return { case: 'handshake', value };
  }

  #peerList(): PeerMessageInit {
    const others = this.#world.validators().filter((other) => other !== this);
    return { case: 'peerList', value: { claimedIpPorts: others.map(({ address }) => encodeClaimedIpPort(address)) } };
  }

  #send(end: SimulatedEnd, message: PeerMessageInit, compression?: 'zstd'): void {
    end.write(encodeFrame(encodeMessage(message, compression)));
  }

  /** @returns whether it is frozen from now on */
  #onQuestion(end: SimulatedEnd, request: AppRequest): boolean {
    const { clock } = this.#world.net;
    const { message, justification } = parseSignatureRequest(request.appBytes);
    this.askedMs.push(clock.monotonicMs());
    const draws = this.#draws;
    const isMisbehaving = !this.#isHealed && draws.chance(this.plan.misbehaviour);
    const name = isMisbehaving ? draws.weighted(this.plan.habits) : undefined;
    const reaction: Way = name === undefined ? HONEST : REACTIONS[name];
    if (name === 'freezes') return true;
    const [min, max] = this.#isHealed ? HEALTHY_MS : this.plan.answerMs;
    const delayMs = name === 'slow' ? draws.int(300, 6_000) : draws.int(min, max);
    clock.after(delayMs, () => {
      if (end.isOver) return;
      const question = this.#question(end, request, { message, justification });
      if (question.refusal !== undefined && reaction.mayNotRefuse) question.refuse(question.refusal);
      else reaction.react(question);
    });
    return false;
  }

  #question(
    end: SimulatedEnd,
    { chainId, requestId }: AppRequest,
    { message, justification }: { readonly message: Uint8Array; readonly justification: Uint8Array },
  ): Question {
    const { scheme, net } = this.#world;
    const key = this.#world.keyOf(this.plan.number);
    const answer = (appBytes: Uint8Array, id = requestId, chain = chainId): PeerMessageInit => ({
      case: 'appResponse',
      value: { chainId: chain, requestId: id, appBytes },
    });
    return {
      end,
      message,
      key,
      scheme,
      requestId,
      clock: net.clock,
      draws: this.#draws,
      refusal: this.#world.refusalOf(message, justification, this.plan.number),
      // Partners in crime: errors of neighbours add up to 0.
      side: this.plan.number % 2 === 0 ? 1 : -1,
      isLagging: net.clock.monotonicMs() < this.plan.lagsUntilMs,
      good: () => scheme.sign(key, message),
      bad: () => scheme.signOffBy(key, message, 7),
      respond: (signature, id, chain) => this.#send(end, answer(encodeSignatureResponse(signature), id, chain)),
      respondRaw: (appBytes, compression) => this.#send(end, answer(appBytes), compression),
      frame: () => encodeFrame(encodeMessage(answer(encodeSignatureResponse(scheme.sign(key, message))))),
      refuse: (errorCode, errorMessage = 'refused') =>
        this.#send(end, { case: 'appError', value: { chainId, requestId, errorCode, errorMessage } }),
    };
  }
}

/** A question that a validator has to react to, with what it can do. */
interface Question {
  readonly end: SimulatedEnd;
  readonly message: Uint8Array;
  readonly key: number;
  readonly scheme: BlsScheme;
  readonly requestId: number;
  readonly clock: Clock;
  readonly draws: Draws;
  /** The code with which honest validators refuse. */
  readonly refusal: number | undefined;
  readonly side: 1 | -1;
  readonly isLagging: boolean;
  good(): Uint8Array;
  bad(): Uint8Array;
  respond(signature: Uint8Array, requestId?: number, chainId?: Uint8Array): void;
  respondRaw(appBytes: Uint8Array, compression?: 'zstd'): void;
  /** The good answer on the wire. */
  frame(): Uint8Array;
  refuse(code: number, message?: string): void;
}

interface Way {
  /** Relative frequency. */
  readonly weight: number;
  /** Has a valid signature, alone or in sum with a colluder's: only for messages that the validator may sign. */
  readonly mayNotRefuse?: boolean;
  react(question: Question): void;
}

const HONEST: Way = { weight: 0, mayNotRefuse: true, react: ({ respond, good }) => respond(good()) };
const SILENT = { react: () => undefined };

/** All that a validator may do instead of signing. To add a fault, name it here. */
export const REACTIONS = {
  slow: { ...HONEST, weight: 2 },
  silent: { ...SILENT, weight: 3 },
  freezes: { ...SILENT, weight: 1 },
  refuses: {
    weight: 2,
    react: ({ refuse, draws }) => refuse(draws.pick([-1, -4, 6, 11, 99]), 'x'.repeat(draws.pick([0, 10, 2_000]))),
  },
  'refuses for good': { weight: 1, react: ({ refuse }) => refuse(-2, 'no handler') },
  'no validator': { weight: 1, react: ({ refuse }) => refuse(-3) },
  lags: {
    weight: 2,
    react({ isLagging, refusal, refuse, respond, good }) {
      if (isLagging || refusal !== undefined) refuse(6, 'not found');
      else respond(good());
    },
  },
  'wrong message': signing(1, ({ scheme, key, message }) =>
    scheme.sign(key, message.with(-1, (message.at(-1) ?? 0) ^ 1)),
  ),
  'other key': signing(1, ({ scheme, key, message }) => scheme.sign(key + 1_000, message)),
  colludes: {
    ...signing(3, ({ scheme, key, message, side }) => scheme.signOffBy(key, message, 5 * side)),
    mayNotRefuse: true,
  },
  'off subgroup': signing(1, ({ scheme, key, message }) => scheme.signOffSubgroup(key, message, 3)),
  'colludes off subgroup': {
    ...signing(1, ({ scheme, key, message, side }) => scheme.signOffSubgroup(key, message, 2 * side)),
    mayNotRefuse: true,
  },
  infinity: signing(1, ({ scheme }) => scheme.infinity),
  'random bytes': signing(1, ({ draws }) => draws.bytes(96)),
  short: signing(0.5, ({ good }) => good().subarray(0, 95)),
  long: signing(0.5, ({ good }) => Uint8Array.of(...good(), 0)),
  'no protobuf': { weight: 0.5, react: ({ respondRaw }) => respondRaw(Uint8Array.of(255, 255, 1)) },
  twice: { weight: 1, mayNotRefuse: true, react: inTurn('good', 'good') },
  'bad, then good': { weight: 1, mayNotRefuse: true, react: inTurn('bad', 'good') },
  'good, then bad': { weight: 1, mayNotRefuse: true, react: inTurn('good', 'bad') },
  'wrong request': {
    weight: 1,
    react({ respond, bad, requestId }) {
      respond(bad(), requestId + 2);
      respond(bad(), requestId - 2 > 0 ? requestId - 2 : requestId + 4);
    },
  },
  'wrong chain': {
    weight: 0.5,
    react: ({ respond, bad, requestId, draws }) => respond(bad(), requestId, draws.bytes(32)),
  },
  unasked: {
    weight: 1,
    mayNotRefuse: true,
    react({ respond, good, bad, requestId }) {
      for (let id = 1; id < 12; id += 2) if (id !== requestId) respond(bad(), id);
      respond(good());
    },
  },
  'leaves before': { weight: 1, react: ({ end }) => end.close() },
  'leaves during': {
    weight: 1,
    react({ end, frame }) {
      end.write(frame().subarray(0, 40));
      end.close();
    },
  },
  'leaves after': {
    weight: 1,
    mayNotRefuse: true,
    react({ respond, good, end }) {
      respond(good());
      end.close();
    },
  },
  dribbles: {
    weight: 0.5,
    mayNotRefuse: true,
    react({ frame, draws, clock, end }) {
      const bytes = frame();
      const pauseMs = draws.pick([2, 20, 60]);
      for (let at = 0; at < bytes.length; at += 8) clock.after(at * pauseMs, () => end.write(bytes.slice(at, at + 8)));
    },
  },
  'huge frame': {
    weight: 0.5,
    react: ({ end }) => end.write(Uint8Array.of(((MAX_FRAME_LENGTH + 1) >>> 24) & 255, 0x20, 0, 1)),
  },
  garbage: { weight: 0.5, react: ({ end, draws }) => end.write(encodeFrame(draws.bytes(40))) },
  compressed: {
    weight: 1,
    mayNotRefuse: true,
    react: ({ respondRaw, good }) => respondRaw(encodeSignatureResponse(good()), 'zstd'),
  },
  // Some hundred bytes on the wire.
  bomb: { weight: 0.2, react: ({ respondRaw }) => respondRaw(new Uint8Array(64 * 1024), 'zstd') },
} as const satisfies Readonly<Record<string, Way>>;
export type Reaction = keyof typeof REACTIONS;

function signing(weight: number, signature: (question: Question) => Uint8Array) {
  return { weight, react: (question: Question): void => question.respond(signature(question)) };
}

function inTurn(...signatures: readonly ('good' | 'bad')[]): Way['react'] {
  return (question) => {
    for (const signature of signatures) question.respond(question[signature]());
  };
}
