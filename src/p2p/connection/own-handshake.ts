import type { Clock } from '../../lib/concurrency/clock.ts';
import type { Identity } from '../identity/identity.ts';
import type { PeerMessageInit } from '../wire/messages.ts';
import { type SignedAddress, signAddress } from '../wire/signed-address.ts';
import { BLS_SIGNATURE_OF_NOBODY, createHandshake, type KnownPeers, type NodeVersion } from './handshake.ts';

/** Name under which nodes know us; free to choose. */
const CLIENT_NAME = 'avalanchego';
/** Nobody can dial us. Nodes take this address for what it is, and pass it on to nobody. */
const OWN_ADDRESS = { host: '0.0.0.0', port: 1 };

/** What we say of ourselves on one network. Its address is signed once, which takes milliseconds, and again where the clock was set back. */
export class OwnHandshake {
  readonly #identity: Identity;
  readonly #networkID: number;
  readonly #clock: Clock;
  #address: SignedAddress;

  constructor({
    identity,
    networkID,
    clock,
  }: {
    readonly identity: Identity;
    readonly networkID: number;
    readonly clock: Clock;
  }) {
    this.#identity = identity;
    this.#networkID = networkID;
    this.#clock = clock;
    this.#address = this.#signAddress();
  }

  /**
   * The message for one connection, as it carries the time.
   *
   * @param knownPeers the addresses that the peer need not send us
   */
  create(version: NodeVersion, knownPeers: KnownPeers): PeerMessageInit {
    // A machine may start with a wrong clock: nodes refuse an address that is more than a minute ahead of theirs, and would for as long.
    if (this.#address.timestamp > this.#nowSeconds()) this.#address = this.#signAddress();
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

  #signAddress(): SignedAddress {
    return signAddress(this.#identity, { ...OWN_ADDRESS, timestamp: this.#nowSeconds() });
  }

  #nowSeconds(): bigint {
    return BigInt(Math.floor(this.#clock.now() / 1000));
  }
}
