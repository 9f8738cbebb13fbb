/** How the nodes of a network take our connections. */
export interface Admission {
  /** Nodes whose connection is ready for requests. */
  readonly connected: number;
  /** Nodes that have taken our connection several times in a row, and closed it without a word each time. */
  readonly turnedAway: number;
}

/** Once is chance: a node that is just starting or stopping does so, too. */
export const MIN_TURNED_AWAY = 3;
/**
 * A node forgets a connection of ours that broke without its knowing after 30 s (avalanchego `network/peer`, PongTimeout). Until then
 * it turns away our own next one, as after a crash of the machine.
 */
export const TURNED_AWAY_MS = 45_000;
/** Single nodes may admit only those that they list. */
const MIN_NODES = 3;

/**
 * Whether it looks as if another process had connections under our NodeID. A node has one connection of each NodeID: it closes the
 * second right after TLS and keeps the first (avalanchego v1.14.2 `network/network.go`, `upgrade`: "already connected to peer").
 * In the same way it closes connections of all but validators and listed nodes where it is set to (`AllowConnection`,
 * `network-require-validator-to-connect`). Few nodes are, so a quarter of those that we reach is the sign: two processes that
 * start together get half of the nodes each, and one that starts later gets next to none.
 */
export function isIdentityContested({ connected, turnedAway }: Admission): boolean {
  return turnedAway >= MIN_NODES && 4 * turnedAway >= connected + turnedAway;
}
