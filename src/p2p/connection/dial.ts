import type { Endpoint } from '../wire/ip-address.ts';

/**
 * Starts a connection and returns at once; events follow after the return. It has no deadlines: the caller gives up with
 * {@link Connection.close}. A port, so that a peer network can run over connections in memory under virtual time.
 */
export type Dial = (endpoint: Endpoint, events: ConnectionEvents) => Connection;

/** `tcp_refused`: no program listens at the address. `no_files`: this process has no file descriptor left. */
export type TcpFailure = 'tcp_refused' | 'no_files';

/** In this order: `onConnect`, `onSecure`, `onData` any number of times. `onEnd` may come at any point, as the last. */
export interface ConnectionEvents {
  /** TCP is connected. */
  onConnect(): void;
  /**
   * TLS is established: bytes can be sent.
   *
   * @param certificate DER of the other side, which has proved to have its key; nothing else about it is checked. Undefined if it sent
   *   none.
   */
  onSecure(certificate: Uint8Array | undefined): void;
  /** @param chunk belongs to the connection: copy what is kept */
  onData(chunk: Uint8Array): void;
  /**
   * @param reason for people; undefined if the other side closed the connection regularly
   * @param cause of a failed TCP connection, if it is known
   */
  onEnd(reason: string | undefined, cause?: TcpFailure): void;
}

/** Byte stream in both directions. */
export interface Connection {
  /** Bytes written that are not sent yet. */
  readonly queuedBytes: number;
  /** Queues the bytes without a limit: check {@link queuedBytes} before. They must not change afterwards. */
  write(bytes: Uint8Array): void;
  /** Stops `onData`, except for what has been read already. */
  pause(): void;
  resume(): void;
  /** Ends the connection without sending queued bytes. No event follows. */
  close(): void;
}
