/** Connections of one network by how nodes treat them. */
export interface NodeAcceptance {
  /** Nodes with a connection that is ready for requests. */
  readonly connected: number;
  /** Nodes that accepted TLS several times in a row and closed at once each time. */
  readonly turnedAway: number;
}

/** A single close may come from a node that is starting or stopping. */
export const MIN_TURNED_AWAY = 3;
/** A node keeps a broken connection of ours for 30 s (avalanchego `network/peer`, PongTimeout) and closes new ones until then. */
export const TURNED_AWAY_MS = 45_000;
/** Fewer nodes prove nothing: they may accept only listed nodes. */
const MIN_NODES = 3;

/**
 * Whether another process seems to use our NodeID. A node keeps the first connection of a NodeID and closes a second one right after TLS
 * (avalanchego v1.14.2 `network/network.go`, `upgrade`: "already connected to peer"). Nodes with `network-require-validator-to-connect`
 * do the same to non-validators, but few nodes have that set, so the sign is a quarter of the nodes that we reach: two processes that
 * start together get half of the nodes each, and one that starts later gets nearly none.
 */
export function isIdentityContested({ connected, turnedAway }: NodeAcceptance): boolean {
  return turnedAway >= MIN_NODES && 4 * turnedAway >= connected + turnedAway;
}
