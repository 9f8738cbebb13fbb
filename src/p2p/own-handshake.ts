import type { Clock } from '../primitives/clock.ts';
import { BLS_SIGNATURE_OF_NOBODY, createHandshake, type KnownPeers, type NodeVersion } from './handshake.ts';
import type { Identity } from './identity.ts';
import type { PeerMessageInit } from './messages.ts';
import { type SignedAddress, signAddress } from './signed-address.ts';

/** Name under which nodes know us; free to choose. */
const CLIENT_NAME = 'avalanchego';
/** Nobody can dial us. Nodes take this address for what it is, and pass it on to nobody. */
const OWN_ADDRESS = { host: '0.0.0.0', port: 1 };

/** What we say of ourselves on one network. Its address is signed once, which takes milliseconds. */
export class OwnHandshake {
  readonly #networkID: number;
  readonly #clock: Clock;
  readonly #address: SignedAddress;

  constructor({
    identity,
    networkID,
    clock,
  }: {
    readonly identity: Identity;
    readonly networkID: number;
    readonly clock: Clock;
  }) {
    this.#networkID = networkID;
    this.#clock = clock;
    const unsigned = { ...OWN_ADDRESS, timestamp: BigInt(Math.floor(clock.now() / 1000)) };
    this.#address = signAddress(identity, unsigned);
  }

  /**
   * The message for one connection, as it carries the time.
   *
   * @param knownPeers the addresses that the peer need not send us
   */
  create(version: NodeVersion, knownPeers: KnownPeers): PeerMessageInit {
    const value = createHandshake({
      networkID: this.#networkID,
      nowMs: this.#clock.now(),
      version,
      clientName: CLIENT_NAME,
      address: this.#address,
      blsSignature: BLS_SIGNATURE_OF_NOBODY,
      trackedSubnets: [],
      knownPeers,
      allSubnets: true,
    });
    return { case: 'handshake', value };
  }
}
