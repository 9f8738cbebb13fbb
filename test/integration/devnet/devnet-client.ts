import { once } from 'node:events';
import { connect, type TLSSocket } from 'node:tls';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { fromBinary } from '@bufbuild/protobuf';
import type { DevnetValidator } from '../../../src/devnet/node/devnet-validator.ts';
import type { Clock } from '../../../src/lib/concurrency/clock.ts';
import { createHandshake, PLACEHOLDER_BLS_SIGNATURE } from '../../../src/p2p/connection/handshake.ts';
import { type HandshakeSchema, MessageSchema } from '../../../src/p2p/gen/p2p_pb.js';
import { createIdentity, type Identity, identityTlsOptions } from '../../../src/p2p/identity/identity.ts';
import { BloomFilter } from '../../../src/p2p/wire/bloom-filter.ts';
import { encodeFrame, FrameDecoder } from '../../../src/p2p/wire/frames.ts';
import { encodeMessage, type PeerMessage, type PeerMessageInit, parseMessage } from '../../../src/p2p/wire/messages.ts';
import { signAddress } from '../../../src/p2p/wire/signed-address.ts';
import type { BlockchainID } from '../../../src/warp/ids.ts';
import { idBytes } from '../../../src/warp/ids.ts';

export const NETWORK_ID = 1337;
const OWN_ADDRESS = { host: '0.0.0.0', port: 1, timestamp: 1n };

type HandshakeInit = MessageInitShape<typeof HandshakeSchema>;
type MessageOf<Case extends PeerMessage['case']> = Extract<PeerMessage, { case: Case }>;

export interface ReceivedFrame<Received = PeerMessage> {
  readonly message: Received;
  readonly isCompressed: boolean;
}

/** A client's side of the protocol in steps, so that tests can take wrong ones. */
export class DevnetClient implements Disposable {
  readonly identity: Identity;
  /** Fulfilled when the connection has ended, whichever way. */
  readonly ended: Promise<void>;
  isEnded = false;
  readonly #socket: TLSSocket;
  readonly #clock: Clock;
  readonly #decoder = new FrameDecoder();
  readonly #frames: ReceivedFrame[] = [];
  #arrived: (() => void) | undefined;

  private constructor(socket: TLSSocket, identity: Identity, clock: Clock) {
    this.#socket = socket;
    this.#clock = clock;
    this.identity = identity;
    socket.on('error', () => undefined);
    this.ended = new Promise((resolve) => {
      socket.on('close', () => {
        this.isEnded = true;
        this.#arrived?.();
        resolve();
      });
    });
    socket.on('data', (chunk: Buffer) => {
      for (const payload of this.#decoder.push(chunk)) {
        const isCompressed = fromBinary(MessageSchema, payload).message.case === 'compressedZstd';
        this.#frames.push({ message: parseMessage(payload), isCompressed });
      }
      this.#arrived?.();
    });
  }

  /** Up to TLS; whether the validator takes us is not known yet. */
  static async connect(validator: DevnetValidator, clock: Clock, identity = createIdentity()): Promise<DevnetClient> {
    const { host, port } = validator.address;
    const socket = connect({ host, port, rejectUnauthorized: false, ...identityTlsOptions(identity) });
    const client = new DevnetClient(socket, identity, clock);
    await once(socket, 'secureConnect');
    return client;
  }

  /** Up to the state in which requests are answered; gives the PeerList that the validator answered the Handshake with. */
  static async handshake(validator: DevnetValidator, clock: Clock, change: HandshakeInit = {}) {
    const client = await DevnetClient.connect(validator, clock);
    await client.next('handshake');
    client.sendHandshake(change);
    const { message } = await client.next('peerList');
    client.send({ case: 'peerList', value: {} });
    return { client, peerList: message.value };
  }

  get serverCertificate(): Uint8Array {
    const der = this.#socket.getPeerX509Certificate()?.raw;
    if (der === undefined) throw new Error('the validator has shown no certificate');
    return new Uint8Array(der);
  }

  sendHandshake(change: HandshakeInit = {}): void {
    const fields = createHandshake({
      networkID: NETWORK_ID,
      nowMs: this.#clock.now(),
      version: { major: 1, minor: 14, patch: 2 },
      clientName: 'test',
      address: signAddress(this.identity, OWN_ADDRESS),
      blsSignature: PLACEHOLDER_BLS_SIGNATURE,
      trackedSubnets: [],
      knownPeers: knownPeers([]),
      allSubnets: true,
    });
    this.send({ case: 'handshake', value: { ...fields, ...change } as HandshakeInit });
  }

  send(message: PeerMessageInit): void {
    this.sendPayload(encodeMessage(message));
  }

  sendPayload(payload: Uint8Array): void {
    this.#socket.write(encodeFrame(payload));
  }

  sendRequest(chainID: BlockchainID, requestId: number, appBytes: Uint8Array): void {
    const value = { chainId: idBytes(chainID), requestId, deadline: 5_000_000_000n, appBytes };
    this.send({ case: 'appRequest', value });
  }

  /** The next frame, of one of these kinds; pings in between are answered unless asked for, others are an error. */
  async next<Case extends PeerMessage['case']>(...kinds: readonly Case[]): Promise<ReceivedFrame<MessageOf<Case>>> {
    const isExpected = (frame: ReceivedFrame): frame is ReceivedFrame<MessageOf<Case>> =>
      (kinds as readonly PeerMessage['case'][]).includes(frame.message.case);
    for (;;) {
      const frame = this.#frames.shift();
      if (frame === undefined) {
        if (this.isEnded) throw new Error(`the connection ended, where ${kinds.join(' or ')} was expected`);
        await new Promise<void>((resolve) => {
          this.#arrived = resolve;
        });
      } else if (isExpected(frame)) {
        return frame;
      } else if (frame.message.case === 'ping') {
        this.send({ case: 'pong', value: {} });
      } else {
        throw new Error(`got ${frame.message.case}, where ${kinds.join(' or ')} was expected`);
      }
    }
  }

  /** Comes back when the validator has read all that was sent before; fails where it answers anything else meanwhile. */
  async roundTrip(): Promise<void> {
    this.send({ case: 'ping', value: { uptime: 0 } });
    await this.next('pong');
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }
}

/** A filter of these hashes' owners, with the salt they were made with. */
export function knownPeers(hashes: readonly bigint[], salt: Uint8Array = new Uint8Array(32)) {
  const filter = BloomFilter.create(1_000, 1e-6, (length) => Uint8Array.from({ length }, (_, index) => index));
  for (const hash of hashes) filter.add(hash);
  return { filter: filter.encode(), salt };
}
