import type { Clock } from '../../../src/lib/concurrency/clock.ts';
import {
  createHandshake,
  type ParsedKnownPeers,
  type PeerHandshake,
  PLACEHOLDER_BLS_SIGNATURE,
  parseHandshake,
  parseKnownPeers,
} from '../../../src/p2p/connection/handshake.ts';
import type { AppRequest } from '../../../src/p2p/gen/p2p_pb.js';
import { createIdentity, type Identity } from '../../../src/p2p/identity/identity.ts';
import { addressGossipID, bloomHash } from '../../../src/p2p/wire/bloom-filter.ts';
import { encodeFrame, FrameDecoder } from '../../../src/p2p/wire/frames.ts';
import { encodeMessage, type PeerMessage, type PeerMessageInit, parseMessage } from '../../../src/p2p/wire/messages.ts';
import { encodeClaimedIpPort, type SignedAddress, signAddress } from '../../../src/p2p/wire/signed-address.ts';
import type { NodeID } from '../../../src/warp/ids.ts';
import type { SimulatedEnd, SimulatedNet } from '../../simulation/simulated-net.ts';

/** Limit of the reference node. */
const MAX_ADDRESSES = 15;
export const NODE_VERSION = { major: 1, minor: 14, patch: 2 };

export interface MemoryNodeOptions {
  readonly networkID: number;
  /** Identity of the peer network that dials. */
  readonly client: Identity;
  readonly identity?: Identity;
  readonly host: string;
  readonly clientName?: string;
  /** Age of its signed address in seconds; after a move the new address is younger. */
  readonly signedAgeS?: number;
  /** Does nothing by default. */
  readonly onAppRequest?: (node: MemoryNode, request: AppRequest) => void;
  /** Sends known addresses that the filter lacks by default. */
  readonly onGetPeerList?: (node: MemoryNode) => void;
  /** Called after TLS; speaks the protocol by default. */
  readonly onAccept?: (end: SimulatedEnd) => void;
}

/** Scripted node in a {@link SimulatedNet} with one connection. */
export class MemoryNode {
  readonly identity: Identity;
  readonly endpoint: { readonly nodeID: NodeID; readonly host: string; readonly port: number };
  readonly received: PeerMessage[] = [];
  /** Addresses it sends to peers, except those in their filters. */
  readonly known: SignedAddress[] = [];
  answersPings = true;
  acceptCount = 0;
  end: SimulatedEnd | undefined;
  handshake: PeerHandshake | undefined;
  readonly #clock: Clock;
  readonly #options: MemoryNodeOptions;
  readonly #net: SimulatedNet;

  constructor(net: SimulatedNet, clock: Clock, options: MemoryNodeOptions) {
    this.#net = net;
    this.#clock = clock;
    this.#options = options;
    this.identity = options.identity ?? createIdentity();
    this.endpoint = { nodeID: this.identity.nodeID, host: options.host, port: 9_651 };
    this.start();
  }

  get nodeID(): NodeID {
    return this.identity.nodeID;
  }

  start(): void {
    this.#net.listen(this.endpoint, {
      answer: () => 'accept',
      certificate: this.identity.certificate.der,
      accept: (end) => {
        this.acceptCount += 1;
        this.end = end;
        (this.#options.onAccept ?? ((accepted) => this.#serve(accepted)))(end);
      },
    });
  }

  stop(): void {
    this.#net.listen(this.endpoint, undefined);
    this.end?.close();
  }

  count(name: PeerMessage['case']): number {
    return this.received.filter((message) => message.case === name).length;
  }

  send(message: PeerMessageInit): void {
    this.sendPayload(encodeMessage(message, message.case === 'handshake' ? 'none' : 'zstd'));
  }

  sendPayload(payload: Uint8Array): void {
    this.end?.write(encodeFrame(payload));
  }

  signAddress(ageS = this.#options.signedAgeS ?? 100): SignedAddress {
    const { host, port } = this.endpoint;
    return signAddress(this.identity, { host, port, timestamp: BigInt(Math.floor(this.#clock.now() / 1000) - ageS) });
  }

  sendKnown(knownPeers?: ParsedKnownPeers): void {
    const isNews = ({ nodeID, timestamp }: SignedAddress): boolean =>
      knownPeers?.filter.has(bloomHash(addressGossipID(nodeID, timestamp), knownPeers.salt)) !== true;
    const claimedIpPorts = this.known.filter(isNews).slice(0, MAX_ADDRESSES).map(encodeClaimedIpPort);
    if (claimedIpPorts.length > 0) this.send({ case: 'peerList', value: { claimedIpPorts } });
  }

  sendHandshake(): void {
    const value = createHandshake({
      networkID: this.#options.networkID,
      nowMs: this.#clock.now(),
      version: NODE_VERSION,
      clientName: this.#options.clientName ?? 'memory-node',
      address: this.signAddress(),
      blsSignature: PLACEHOLDER_BLS_SIGNATURE,
      trackedSubnets: [],
      knownPeers: { filter: Uint8Array.from([1, 0, 0, 0, 0, 0, 0, 0, 0, 0]), salt: new Uint8Array(32) },
      allSubnets: false,
    });
    this.send({ case: 'handshake', value });
  }

  #serve(end: SimulatedEnd): void {
    const decoder = new FrameDecoder();
    const { networkID, client, onAppRequest, onGetPeerList } = this.#options;
    end.listen({
      onData: (chunk) => {
        for (const payload of decoder.push(chunk)) {
          const message = parseMessage(payload);
          this.received.push(message);
          if (message.case === 'handshake') {
            const { certificate } = client;
            this.handshake = parseHandshake(message.value, { networkID, nowMs: this.#clock.now(), certificate });
            this.send({ case: 'peerList', value: { claimedIpPorts: [] } });
          }
          if (message.case === 'ping' && this.answersPings) this.send({ case: 'pong', value: {} });
          if (message.case === 'getPeerList') {
            if (onGetPeerList === undefined) this.sendKnown(parseKnownPeers(message.value.knownPeers));
            else onGetPeerList(this);
          }
          if (message.case === 'appRequest') onAppRequest?.(this, message.value);
        }
      },
      onEnd: () => undefined,
    });
    this.sendHandshake();
  }
}
