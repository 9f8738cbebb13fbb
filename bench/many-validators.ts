import { generateKeyPairSync } from 'node:crypto';
import type { Dispatcher } from 'undici';
import { bytesToHex } from '../src/lib/encoding/bytes.ts';
import type { OpenHttp } from '../src/lib/net/http-port.ts';
import type { Connection, ConnectionEvents, Dial } from '../src/p2p/connection/dial.ts';
import { createHandshake } from '../src/p2p/connection/handshake.ts';
import type { AppRequest } from '../src/p2p/gen/p2p_pb.js';
import { identityOfKeys } from '../src/p2p/identity/identity.ts';
import { encodeFrame, FrameDecoder } from '../src/p2p/wire/frames.ts';
import { encodeMessage, type PeerMessageInit, parseMessage } from '../src/p2p/wire/messages.ts';
import { encodeClaimedIpPort, type SignedAddress, signAddress } from '../src/p2p/wire/signed-address.ts';
import { encodeSignatureResponse, parseSignatureRequest } from '../src/warp/signature-request.ts';
import type { BlsScheme } from '../test/simulation/bls-scheme.ts';
import type { MeteredTime } from './metered-time.ts';

export const NETWORK_ID = 88_888;
const PORT = 9_651;
/** One way. */
const LATENCY_MS = 5;
/** As nodes send at a time. */
const ADDRESSES_PER_LIST = 15;
/** What `info.peers` shows; the rest is told by peers. */
const LISTED_PEERS = 32;
/** Answers of an API come in pieces of so many bytes, as from a socket. */
const CHUNK_BYTES = 64 * 1024;
const NO_FILTER = { filter: Uint8Array.from([1, 0, 0, 0, 0, 0, 0, 0, 0, 0]), salt: new Uint8Array(32) };
const ADDRESS_PROOF = new Uint8Array(96);

/**
 * Thousands of validators in memory: real certificates, signatures of addresses and frames, and BLS without its curve. What they do is
 * not measured; what they send is.
 */
export class ManyValidators {
  readonly #time: MeteredTime;
  readonly #scheme: BlsScheme;
  readonly addresses: readonly SignedAddress[];
  readonly #byHost = new Map<string, number>();
  /** Those that nobody has told the service about, as far as they were made to wait for it. */
  readonly #untold: number[] = [];
  readonly #ready = new Set<MemoryConnection>();
  readonly #validatorsText: string;
  /** Of the P-Chain. */
  height = 1_000n;

  constructor(count: number, time: MeteredTime, scheme: BlsScheme) {
    this.#time = time;
    this.#scheme = scheme;
    const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const timestamp = BigInt(Math.floor(time.clock.now() / 1_000));
    this.addresses = Array.from({ length: count }, (_, index) => {
      const host = `20.${index >> 16}.${(index >> 8) & 0xff}.${index & 0xff}`;
      this.#byHost.set(host, index);
      return signAddress(identityOfKeys(keys), { host, port: PORT, timestamp });
    });
    for (let index = count - 1; index >= LISTED_PEERS; index -= 1) this.#untold.push(index);
    // Weights as uneven as those of real networks.
    const entries = this.addresses.map(({ nodeID }, index) => [
      nodeID,
      {
        publicKey: `0x${bytesToHex(scheme.publicKey(index))}`,
        weight: String(2_000_000_000_000n + BigInt(index % 997) * 1_000_000_007n),
      },
    ]);
    this.#validatorsText = JSON.stringify(Object.fromEntries(entries));
  }

  get readyCount(): number {
    return this.#ready.size;
  }

  readonly dial: Dial = ({ host }, events) => {
    const index = this.#byHost.get(host);
    if (index === undefined) throw new Error(`nobody is at ${host}`);
    return new MemoryConnection(this.#time, events, {
      address: this.addresses[index] as SignedAddress,
      receive: (connection, payload) => this.#receive(index, connection, payload),
    });
  };

  readonly openHttp: OpenHttp = () => {
    const request = ({ body }: Dispatcher.RequestOptions): Promise<unknown> => {
      const { promise, resolve } = Promise.withResolvers<unknown>();
      const { id, method } = JSON.parse(body as string) as { readonly id: number; readonly method: string };
      const bytes = Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":${this.#answer(method)}}`);
      const chunks = {
        async *[Symbol.asyncIterator]() {
          for (let at = 0; at < bytes.length; at += CHUNK_BYTES) yield bytes.subarray(at, at + CHUNK_BYTES);
        },
      };
      const kind = method === 'platform.getValidatorsAt' ? 'validator set' : 'api';
      this.#time.happen(LATENCY_MS, kind, () => resolve({ statusCode: 200, body: chunks }));
      return promise;
    };
    return { request, destroy: async () => undefined } as unknown as Dispatcher;
  };

  #answer(method: string): string {
    switch (method) {
      case 'info.getNetworkID':
        return JSON.stringify({ networkID: String(NETWORK_ID) });
      case 'info.getNodeVersion':
        return JSON.stringify({ version: 'avalanchego/1.14.2' });
      case 'info.getNodeID':
        return JSON.stringify({ nodeID: this.addresses[0]?.nodeID });
      case 'info.getNodeIP':
        return JSON.stringify({ ip: `${this.addresses[0]?.host}:${PORT}` });
      case 'info.peers':
        return JSON.stringify({
          peers: this.addresses
            .slice(0, LISTED_PEERS)
            .map(({ nodeID, host }) => ({ nodeID, publicIP: `${host}:${PORT}` })),
        });
      case 'platform.getHeight':
      case 'platform.getProposedHeight':
        return JSON.stringify({ height: String(this.height) });
      case 'platform.getValidatorsAt':
        return this.#validatorsText;
      default:
        throw new Error(`the service calls ${method}`);
    }
  }

  #receive(index: number, connection: MemoryConnection, payload: Uint8Array): void {
    const message = parseMessage(payload);
    if (message.case === 'handshake') {
      connection.send('peer list', { case: 'peerList', value: { claimedIpPorts: [] } });
      this.#ready.add(connection);
    } else if (message.case === 'getPeerList') {
      const told = this.#untold.splice(-ADDRESSES_PER_LIST);
      if (told.length > 0) connection.send('gossip', this.#peerList(told));
    } else if (message.case === 'ping') {
      connection.send('pong', { case: 'pong', value: {} });
    } else if (message.case === 'appRequest') {
      connection.send('answer', { case: 'appResponse', value: this.#sign(index, message.value) });
    }
  }

  #sign(index: number, { chainId, requestId, appBytes }: AppRequest) {
    const { message } = parseSignatureRequest(appBytes);
    return { chainId, requestId, appBytes: encodeSignatureResponse(this.#scheme.sign(index, message)) };
  }

  #peerList(indices: readonly number[]): PeerMessageInit {
    const claimedIpPorts = indices.map((index) => encodeClaimedIpPort(this.addresses[index] as SignedAddress));
    return { case: 'peerList', value: { claimedIpPorts } };
  }
}

interface Remote {
  readonly address: SignedAddress;
  receive(connection: MemoryConnection, payload: Uint8Array): void;
}

/** Our end of a connection to one of them, and its sending. */
class MemoryConnection implements Connection {
  readonly queuedBytes = 0;
  readonly #time: MeteredTime;
  readonly #events: ConnectionEvents;
  readonly #remote: Remote;
  readonly #decoder = new FrameDecoder();
  #isOver = false;

  constructor(time: MeteredTime, events: ConnectionEvents, remote: Remote) {
    this.#time = time;
    this.#events = events;
    this.#remote = remote;
    time.happen(LATENCY_MS, 'connect', () => {
      if (this.#isOver) return;
      events.onConnect();
      time.happen(LATENCY_MS, 'tls', () => {
        if (this.#isOver) return;
        events.onSecure(remote.address.certificate);
        this.send('handshake', { case: 'handshake', value: this.#handshake() });
      });
    });
  }

  write(bytes: Uint8Array): void {
    this.#time.elsewhere(LATENCY_MS, () => {
      for (const payload of this.#decoder.push(bytes)) this.#remote.receive(this, payload);
    });
  }

  pause(): void {
    throw new Error('nobody is that busy in time that stands still');
  }

  resume(): void {}

  close(): void {
    this.#isOver = true;
  }

  /** From the other end to ours. */
  send(kind: string, message: PeerMessageInit): void {
    const frame = this.#time.notOurs(() => encodeFrame(encodeMessage(message)));
    this.#time.happen(LATENCY_MS, kind, () => {
      if (!this.#isOver) this.#events.onData(frame);
    });
  }

  #handshake() {
    return createHandshake({
      ...{ networkID: NETWORK_ID, nowMs: this.#time.clock.now(), version: { major: 1, minor: 14, patch: 2 } },
      ...{ clientName: 'avalanchego', address: this.#remote.address, blsSignature: ADDRESS_PROOF },
      ...{ trackedSubnets: [], knownPeers: NO_FILTER, allSubnets: true },
    });
  }
}
