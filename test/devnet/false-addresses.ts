import type { ClaimedAddress } from '../../src/devnet/node/gossip-pool.ts';
import type { Identity } from '../../src/p2p/identity/identity.ts';
import { encodeClaimedIpPort, signAddress } from '../../src/p2p/wire/signed-address.ts';

/** Ahead of all clocks by more than peers allow. */
const FAR_AHEAD_SECONDS = 3_600n;
/** Nothing listens there. */
const DEAD_PORT = 1;
const NO_CERTIFICATE = Uint8Array.of(0x30, 0x82, 0xff, 0xff);

/**
 * What a liar tells of these addresses: that the nodes have just moved to the liar's own, once as if they had signed that, once with a
 * date ahead of time and once without a node. Its own address is signed correctly, and no node is there.
 */
export function falseAddresses(
  claims: readonly ClaimedAddress[],
  liar: { readonly identity: Identity; readonly host: string; readonly port: number; readonly timestamp: bigint },
): ClaimedAddress[] {
  const { identity, host, port, timestamp } = liar;
  const own = encodeClaimedIpPort(signAddress(identity, { host, port, timestamp }));
  const elsewhere = encodeClaimedIpPort(signAddress(identity, { host, port: DEAD_PORT, timestamp: timestamp + 1n }));
  const { ipAddr = new Uint8Array(), ipPort = port } = own;
  const lies = claims.map((claim, index): ClaimedAddress => {
    const signedAt = (claim.timestamp ?? 0n) + 1n;
    const moved = { ...claim, ipAddr, ipPort, timestamp: index % 3 === 1 ? signedAt + FAR_AHEAD_SECONDS : signedAt };
    return index % 3 === 2 ? { ...moved, x509Certificate: NO_CERTIFICATE } : moved;
  });
  return [...lies, elsewhere];
}
