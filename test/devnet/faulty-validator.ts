import type { Socket } from 'node:net';
import type { SecureContext } from 'node:tls';
import { LRUCache } from 'lru-cache';
import { type Devnet, type DevnetOptions, startDevnet } from '../../src/devnet/devnet.ts';
import type { Verdict } from '../../src/devnet/node/app-request-judge.ts';
import { DevnetValidator, type ValidatorAnswer } from '../../src/devnet/node/devnet-validator.ts';
import type { ClaimedAddress } from '../../src/devnet/node/gossip-pool.ts';
import { THROTTLED, UNEXPECTED } from '../../src/devnet/node/signing-rules.ts';
import type {
  ConnectedPeer,
  PeerListRequest,
  ValidatorConnection,
} from '../../src/devnet/node/validator-connection.ts';
import type { AppRequest } from '../../src/p2p/gen/p2p_pb.js';
import type { NodeID } from '../../src/warp/ids.ts';
import { sendAnswer } from './answer-faults.ts';
import type { Behaviour } from './behaviour.ts';
import { falseAddresses } from './false-addresses.ts';
import { FaultyConnection } from './faulty-connection.ts';
import { floodFrames } from './flood-frames.ts';
import { signAs } from './signing-faults.ts';
import { createTlsContext } from './tls-faults.ts';

/** The first release with Warp messages of which nodes of today are sure that it is too old. */
const OLD_VERSION = { major: 1, minor: 9, patch: 0 };
const NOT_TLS = Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n');
/** What shows on new connections only: those that stand are closed. */
const SHOWN_ON_CONNECTING: ReadonlySet<Behaviour['kind']> = new Set([
  'not admitting',
  'hanging TLS',
  'garbage TLS',
  'wrong certificate',
  'malformed certificate',
  'old version',
  'lying about addresses',
]);
/** Pause after which a flooding validator looks for new connections. */
const FLOOD_AGAIN_MS = 250;
/** Messages of which a lagging validator counts its refusals. */
const MAX_LAGGING_MESSAGES = 10_000;

/** Starts a devnet whose validators can be made to misbehave. */
export function startFaultyDevnet(options: DevnetOptions): Promise<Devnet> {
  return startDevnet({ ...options, createValidator: (...made) => new FaultyValidator(...made) });
}

/** Has a validator of {@link startFaultyDevnet} act so from now on. */
export function setBehaviour(validator: DevnetValidator, behaviour: Behaviour): void {
  if (!(validator instanceof FaultyValidator)) throw new TypeError('the validator cannot misbehave');
  validator.behave(behaviour);
}

class FaultyValidator extends DevnetValidator {
  #behaviour: Behaviour = { kind: 'normal' };
  #context: SecureContext | undefined;
  /** What it has begun under its present and earlier behaviours. */
  #begun = new AsyncDisposableStack();
  /** Answers that were delayed under the present behaviour. */
  #delayed = 0;
  #hasLeft = false;
  #refused = new LRUCache<string, number>({ max: MAX_LAGGING_MESSAGES });

  behave(behaviour: Behaviour): void {
    const { kind } = behaviour;
    this.#behaviour = behaviour;
    this.#context = undefined;
    this.#delayed = 0;
    this.#hasLeft = false;
    this.#refused.clear();
    for (const connection of this.connections as readonly FaultyConnection[]) {
      if (kind === 'frozen') connection.freeze();
      else connection.thaw();
      if (SHOWN_ON_CONNECTING.has(kind)) connection.close(`the validator is ${kind}`);
    }
    if (kind === 'flooding') this.#flood(floodFrames(), behaviour);
  }

  #flood(frames: readonly Uint8Array[], behaviour: Behaviour): void {
    const isOver = (): boolean => this.#behaviour !== behaviour || !this.isRunning;
    if (isOver()) return;
    for (const connection of this.connections as readonly FaultyConnection[]) {
      if (connection.isReady) connection.flood(frames, isOver);
    }
    this.surroundings.clock.after(FLOOD_AGAIN_MS, () => this.#flood(frames, behaviour));
  }

  override async stop(): Promise<void> {
    const begun = this.#begun;
    this.#begun = new AsyncDisposableStack();
    await begun.disposeAsync();
    await super.stop();
  }

  protected override accept(socket: Socket): void {
    if (this.#behaviour.kind === 'garbage TLS') answerWithoutTls(socket);
    else super.accept(socket);
  }

  protected override connect(socket: Socket): ValidatorConnection {
    const connection = new FaultyConnection(this, socket);
    if (this.#behaviour.kind === 'frozen' || this.#behaviour.kind === 'hanging TLS') connection.freeze();
    return connection;
  }

  override secureContext(): SecureContext {
    const { kind } = this.#behaviour;
    if (kind !== 'wrong certificate' && kind !== 'malformed certificate') return super.secureContext();
    this.#context ??= createTlsContext(kind);
    return this.#context;
  }

  override createHandshake(): ReturnType<DevnetValidator['createHandshake']> {
    return super.createHandshake(this.#behaviour.kind === 'old version' ? OLD_VERSION : undefined);
  }

  override admits(nodeID: NodeID): boolean {
    return this.#behaviour.kind !== 'not admitting' && super.admits(nodeID);
  }

  override peerList(peer: ConnectedPeer, query: PeerListRequest): ClaimedAddress[] {
    if (this.#behaviour.kind !== 'lying about addresses') return super.peerList(peer, query);
    const all = super.peerList(peer, { allSubnets: query.allSubnets });
    return falseAddresses(all, { ...this.address, identity: this.role.identity });
  }

  protected override answer(connection: ValidatorConnection, request: AppRequest): void {
    const behaviour = this.#behaviour;
    const answer = (): void => super.answer(connection, request);
    // oxlint-disable-next-line typescript/switch-exhaustiveness-check -- all others take requests as they should
    switch (behaviour.kind) {
      case 'silent':
        return;
      case 'slow':
        if (this.#delayed >= (behaviour.answers ?? Number.POSITIVE_INFINITY)) return answer();
        this.#delayed += 1;
        return connection.after(behaviour.delayMs, answer);
      case 'moving':
        return this.#hasLeft ? answer() : this.#leave(() => this.#restart());
      case 'twin':
        return this.#hasLeft ? answer() : this.#leave(() => this.#bringUpTwin());
      default:
        return answer();
    }
  }

  protected override get executionLagMs(): number | undefined {
    return this.#behaviour.kind === 'executing late' ? this.#behaviour.lagMs : undefined;
  }

  protected override judge(request: AppRequest): Verdict {
    const verdict = super.judge(request);
    if (verdict?.kind !== 'sign') return verdict;
    // oxlint-disable-next-line typescript/switch-exhaustiveness-check -- all others sign
    switch (this.#behaviour.kind) {
      case 'refusing': {
        const { code = THROTTLED, message = 'throttled' } = this.#behaviour;
        return { kind: 'refuse', refusal: { code, message } };
      }
      case 'lagging': {
        const before = this.#refused.get(verdict.message.id) ?? 0;
        if (before >= this.#behaviour.refusals) return verdict;
        this.#refused.set(verdict.message.id, before + 1);
        return { kind: 'refuse', refusal: { code: UNEXPECTED, message: 'the message is not known yet' } };
      }
      default:
        return verdict;
    }
  }

  protected override sign(message: Uint8Array): Uint8Array {
    return signAs(this.#behaviour, this.surroundings.keys, this.role.keyIndex, message);
  }

  protected override send(connection: ValidatorConnection, answer: ValidatorAnswer): void {
    sendAnswer(connection as FaultyConnection, answer, this.#behaviour);
  }

  /** Leaves instead of answering the first request. */
  #leave(leave: () => Promise<void>): void {
    this.#hasLeft = true;
    const left = leave().catch((error: unknown) => {
      const { logger } = this.surroundings;
      logger.warn({ nodeId: this.nodeID, err: error }, 'devnet validator: cannot come up elsewhere');
    });
    this.#begun.defer(() => left);
  }

  async #restart(): Promise<void> {
    await super.stop();
    await this.start();
  }

  /** A second node with this identity and keys, whose address is the newer one, and that answers nothing. */
  async #bringUpTwin(): Promise<void> {
    const twin = new FaultyValidator(this.surroundings, this.role);
    twin.lastAddress = this.lastAddress;
    twin.behave({ kind: 'silent' });
    this.#begun.defer(() => twin.stop());
    await twin.start();
    for (const connection of this.connections) connection.close('its twin has come up');
  }
}

function answerWithoutTls(socket: Socket): void {
  socket.on('error', () => undefined);
  socket.end(NOT_TLS, () => socket.destroy());
}
