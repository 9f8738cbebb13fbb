import type { Endpoint } from '../discovery/address-book.ts';

/**
 * Starts a connection to the place where a node is said to listen, and returns at once: what follows comes as events, the
 * first of them after the return. A dial has no deadlines: whoever dials sets them, and gives up with
 * {@link Connection.close}.
 *
 * A port, so that a whole peer network runs over connections in memory under virtual time.
 */
export type Dial = (endpoint: Endpoint, events: ConnectionEvents) => Connection;

/** In this order: `onConnect`, `onSecure`, `onData` any number of times, and `onEnd` at any point as the last. */
export interface ConnectionEvents {
  /** Something answers there. */
  onConnect(): void;
  /**
   * From now on bytes can be sent, which nobody else can read.
   *
   * @param certificate the DER that the other side has shown, and has proved to have the key of; nothing else about it is
   * checked. Undefined where it has shown none.
   */
  onSecure(certificate: Uint8Array | undefined): void;
  /** @param chunk belongs to the connection: whoever keeps some of it makes a copy */
  onData(chunk: Uint8Array): void;
  /**
   * The other side or the network has ended the connection, or it never came about.
   *
   * @param reason a few words for people; undefined where the other side closed it in good order
   */
  onEnd(reason: string | undefined): void;
}

/** One end of a connection: bytes out, bytes in, in order. */
export interface Connection {
  /** Bytes written that have not left yet: it grows while the other side does not read. */
  readonly queuedBytes: number;
  /**
   * Takes the bytes in any case; it is for the caller to look at {@link queuedBytes} before. They may be sent later, and to others too:
   * nobody may change them.
   */
  write(bytes: Uint8Array): void;
  /** No further data until {@link resume}, but for what has been read already. */
  pause(): void;
  resume(): void;
  /** Ends the connection at once, without sending what is still queued. No event comes after it. */
  close(): void;
}
