import type { Destination as DestinationView } from '../../../client/gen/api.ts';
import { PRIMARY_NETWORK } from '../session.ts';
import { hexOfId } from '../ui/hex.ts';

/** Where a message comes from, as the rules of destinations see it. */
export interface MessageSource {
  readonly kind: SourceKind;
  /** Undefined while the subnet of the source chain is not known. */
  readonly subnetId: string | undefined;
}

export type SourceKind = DestinationView['signers'][number]['sources'];

/** Whose validators sign, and for which chain. */
export interface Signing {
  /** Undefined while it is not known, as of a transaction's message. */
  readonly source: MessageSource | undefined;
  /** The subnet that the request names; empty if the rules decide. */
  readonly namedSubnetId: string;
  readonly hasDestination: boolean;
  /** Undefined while the destination of the request is not known. */
  readonly destination: DestinationView | undefined;
}

/**
 * Who accepts a message with these signers, whatever their quorum (`aggregation/signers/signing-rule.ts`):
 * - `destination`: the destination of the request
 * - `all`: the P-Chain, the C-Chain and L1s
 * - `primary`: the P-Chain, the C-Chain, and L1s that require signers of the primary network
 * - `c_chain`: the C-Chain only
 * - `signing_subnet`: chains of the signing subnet, unless they require signers of the primary network
 * - `none`: no chain, or not the destination of the request
 * - `unknown`: those that the source decides
 */
export type Acceptors = 'destination' | 'all' | 'primary' | 'c_chain' | 'signing_subnet' | 'none' | 'unknown';

/** Undefined while the destination is not known. */
export function acceptorsOf({ source, namedSubnetId, hasDestination, destination }: Signing): Acceptors | undefined {
  if (!hasDestination) return acceptorsWithoutDestination(source, namedSubnetId);
  if (destination === undefined) return undefined;
  if (namedSubnetId === '') return 'destination';
  const wanted = signersOfDestination(destination, source);
  if (wanted === undefined) return 'unknown';
  return isSame(wanted, namedSubnetId) ? 'destination' : 'none';
}

function acceptorsWithoutDestination(source: MessageSource | undefined, named: string): Acceptors {
  if (source === undefined) return 'unknown';
  const { kind, subnetId } = source;
  if (kind === 'other_chains') {
    if (named === '') return 'all';
    if (subnetId === undefined) return isSame(named, PRIMARY_NETWORK) ? 'none' : 'unknown';
    return isSame(named, subnetId) ? 'all' : 'none';
  }
  if (named !== '' && !isSame(named, PRIMARY_NETWORK)) return 'signing_subnet';
  return kind === 'p_chain' ? 'c_chain' : 'primary';
}

/** Returns the subnet whose validators a destination accepts; undefined if it is not known. */
export function signersOfDestination(
  destination: DestinationView | undefined,
  source: MessageSource | undefined,
): string | undefined {
  const found = destination?.signers.find(({ sources }) => sources === source?.kind);
  return found?.signingSubnetId ?? (found?.signingRule === 'source_subnet' ? source?.subnetId : undefined);
}

/** Compares IDs in hex or cb58. */
function isSame(a: string, b: string): boolean {
  return hexOfId(a) === hexOfId(b);
}
