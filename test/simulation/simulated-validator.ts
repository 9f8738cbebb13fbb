import { createHandshake } from '../../src/p2p/connection/handshake.ts';
import type { AppRequest } from '../../src/p2p/gen/p2p_pb.js';
import { encodeFrame, FrameDecoder, MAX_FRAME_LENGTH } from '../../src/p2p/wire/frames.ts';
import { encodeMessage, type PeerMessageInit, parseMessage } from '../../src/p2p/wire/messages.ts';
import { encodeClaimedIpPort } from '../../src/p2p/wire/signed-address.ts';
import { encodeSignatureResponse, parseSignatureRequest } from '../../src/warp/signature-request.ts';
import type { BlsScheme } from './bls-scheme.ts';
import type { Draws } from './draws.ts';
import { type SimulatedIdentity, simulatedIdentity } from './simulated-identity.ts';
import type { SimulatedEnd, SimulatedNet } from './simulated-net.ts';
import { START_UNIX_MS } from './virtual-time.ts';

/** What a validator does with one question. `signs` is the only honest one; honest refusals come from the {@link Judge}. */
export type Reaction =
  | 'signs'
  | 'slow'
  | 'silent'
  | 'freezes'
  | 'refuses'
  | 'refuses for good'
  | 'no validator'
  | 'lags'
  | 'wrong message'
  | 'other key'
  | 'colludes'
  | 'off subgroup'
  | 'colludes off subgroup'
  | 'infinity'
  | 'random bytes'
  | 'short'
  | 'long'
  | 'no protobuf'
  | 'twice'
  | 'bad, then good'
  | 'good, then bad'
  | 'wrong request'
  | 'wrong chain'
  | 'unasked'
  | 'leaves before'
  | 'leaves during'
  | 'leaves after'
  | 'dribbles'
  | 'huge frame'
  | 'garbage'
  | 'compressed'
  | 'bomb';

/** How an address behaves, from some time on. */
export type Mood =
  | 'up'
  | 'refusing'
  | 'vanished'
  | 'frozen'
  | 'wrong certificate'
  | 'no certificate'
  | 'no handshake'
  | 'wrong network'
  | 'wrong clock'
  | 'old version'
  | 'garbage'
  /** It listens at another address, which others pass on. */
  | 'moved';

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

/** What honest validators say to a message. */
export interface Judge {
  /** The code of the refusal; undefined if they sign. */
  refusalOf(message: Uint8Array, justification: Uint8Array): number | undefined;
}

export interface ValidatorWorld {
  readonly net: SimulatedNet;
  readonly scheme: BlsScheme;
  readonly networkID: number;
  readonly judge: Judge;
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

/** A validator that follows the protocol, except as planned. */
export class SimulatedValidator {
  readonly plan: ValidatorPlan;
  readonly identity: SimulatedIdentity;
  readonly #world: ValidatorWorld;
  readonly #draws: Draws;
  readonly #ends = new Set<SimulatedEnd>();
  /** Questions received, by message and justification. */
  readonly asked: { readonly message: Uint8Array; readonly justification: Uint8Array; readonly atMs: number }[] = [];

  constructor(plan: ValidatorPlan, world: ValidatorWorld, draws: Draws) {
    this.plan = plan;
    this.identity = simulatedIdentity(plan.number);
    this.#world = world;
    this.#draws = draws;
    this.#listenAt('home');
    if (plan.moods.some(({ mood }) => mood === 'moved')) this.#listenAt('away');
    // Whatever it becomes, its connections of before end with it.
    for (const { fromMs } of plan.moods) world.net.clock.after(fromMs, () => this.#cutAll());
  }

  get nodeID() {
    return this.identity.nodeID;
  }

  get mood(): Mood {
    const nowMs = this.#world.net.clock.monotonicMs();
    return this.plan.moods.findLast(({ fromMs }) => fromMs <= nowMs)?.mood ?? 'up';
  }

  /** The current address, which it signs. */
  get address() {
    const isAway = this.mood === 'moved';
    const timestamp = BigInt(START_UNIX_MS / 1_000 + (isAway ? 1 : 0));
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
    for (const end of [...this.#ends]) end.cut();
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
    this.asked.push({ message, justification, atMs: clock.monotonicMs() });
    const draws = this.#draws;
    const reaction = draws.chance(this.plan.misbehaviour) ? (draws.weighted(this.plan.habits) ?? 'signs') : 'signs';
    if (reaction === 'freezes') return true;
    const [min, max] = this.plan.answerMs;
    const delayMs = reaction === 'slow' ? draws.int(300, 6_000) : draws.int(min, max);
    clock.after(delayMs, () => {
      if (end.isOver) return;
      this.#react(end, request, reaction, { message, justification });
    });
    return false;
  }

  #react(
    end: SimulatedEnd,
    { chainId, requestId }: AppRequest,
    reaction: Reaction,
    { message, justification }: { readonly message: Uint8Array; readonly justification: Uint8Array },
  ): void {
    const { scheme, judge, net } = this.#world;
    const key = this.#world.keyOf(this.plan.number);
    const respond = (signature: Uint8Array, id = requestId, chain = chainId, compression?: 'zstd'): void => {
      const appBytes = encodeSignatureResponse(signature);
      this.#send(end, { case: 'appResponse', value: { chainId: chain, requestId: id, appBytes } }, compression);
    };
    const refuse = (errorCode: number, errorMessage = 'refused'): void =>
      this.#send(end, { case: 'appError', value: { chainId, requestId, errorCode, errorMessage } });
    const good = (): Uint8Array => scheme.sign(key, message);
    const bad = (): Uint8Array => scheme.signOffBy(key, message, 7);
    // Partners in crime: errors of neighbours add up to 0.
    const side = this.plan.number % 2 === 0 ? 1 : -1;
    const other = Uint8Array.from(message, (byte, index) => (index === message.length - 1 ? byte ^ 1 : byte));

    const refusal = judge.refusalOf(message, justification);
    if (refusal !== undefined && SIGNING.has(reaction)) {
      refuse(refusal);
      return;
    }
    switch (reaction) {
      case 'signs':
      case 'slow':
        respond(good());
        return;
      case 'silent':
      case 'freezes':
        return;
      case 'refuses':
        refuse(this.#draws.pick([-1, -4, 6, 11, 99]), 'x'.repeat(this.#draws.pick([0, 10, 2_000])));
        return;
      case 'refuses for good':
        refuse(-2, 'no handler');
        return;
      case 'no validator':
        refuse(-3);
        return;
      case 'lags':
        if (net.clock.monotonicMs() < this.plan.lagsUntilMs || refusal !== undefined) refuse(6, 'not found');
        else respond(good());
        return;
      case 'wrong message':
        respond(scheme.sign(key, other));
        return;
      case 'other key':
        respond(scheme.sign(key + 1_000, message));
        return;
      case 'colludes':
        respond(scheme.signOffBy(key, message, 5 * side));
        return;
      case 'off subgroup':
        respond(scheme.signOffSubgroup(key, message, 3));
        return;
      case 'colludes off subgroup':
        respond(scheme.signOffSubgroup(key, message, 2 * side));
        return;
      case 'infinity':
        respond(scheme.infinity);
        return;
      case 'random bytes':
        respond(this.#draws.bytes(96));
        return;
      case 'short':
        respond(good().subarray(0, 95));
        return;
      case 'long':
        respond(Uint8Array.of(...good(), 0));
        return;
      case 'no protobuf':
        this.#send(end, { case: 'appResponse', value: { chainId, requestId, appBytes: Uint8Array.of(255, 255, 1) } });
        return;
      case 'twice':
        respond(good());
        respond(good());
        return;
      case 'bad, then good':
        respond(bad());
        respond(good());
        return;
      case 'good, then bad':
        respond(good());
        respond(bad());
        return;
      case 'wrong request':
        respond(bad(), requestId + 2);
        respond(bad(), requestId - 2 > 0 ? requestId - 2 : requestId + 4);
        return;
      case 'wrong chain':
        respond(bad(), requestId, this.#draws.bytes(32));
        return;
      case 'unasked':
        for (let id = 1; id < 12; id += 2) if (id !== requestId) respond(bad(), id);
        respond(good());
        return;
      case 'leaves before':
        end.close();
        return;
      case 'leaves during':
        end.write(
          encodeFrame(encodeMessage({ case: 'appResponse', value: { chainId, requestId, appBytes: good() } })).subarray(
            0,
            40,
          ),
        );
        end.close();
        return;
      case 'leaves after':
        respond(good());
        end.close();
        return;
      case 'dribbles': {
        const appBytes = encodeSignatureResponse(good());
        const frame = encodeFrame(encodeMessage({ case: 'appResponse', value: { chainId, requestId, appBytes } }));
        const pauseMs = this.#draws.pick([2, 20, 60]);
        for (let at = 0; at < frame.length; at += 8)
          net.clock.after(at * pauseMs, () => end.write(frame.slice(at, at + 8)));
        return;
      }
      case 'huge frame':
        end.write(Uint8Array.of(((MAX_FRAME_LENGTH + 1) >>> 24) & 255, 0x20, 0, 1));
        return;
      case 'garbage':
        end.write(encodeFrame(this.#draws.bytes(40)));
        return;
      case 'compressed':
        respond(good(), requestId, chainId, 'zstd');
        return;
      case 'bomb':
        this.#send(end, { case: 'appResponse', value: { chainId, requestId, appBytes: BOMB } }, 'zstd');
        return;
    }
  }
}

/** Reactions with a valid signature, alone or in sum with a colluder's: only for messages that the validator may sign. */
const SIGNING: ReadonlySet<Reaction> = new Set<Reaction>([
  ...(['signs', 'slow', 'twice', 'bad, then good', 'good, then bad'] as const),
  ...(['unasked', 'leaves after', 'dribbles', 'compressed'] as const),
  ...(['colludes', 'colludes off subgroup'] as const),
]);

/** Some hundred bytes on the wire. */
const BOMB = new Uint8Array(64 * 1024);
