/** What the peer network needs of a logger; pino's is one. */
export interface PeerLogger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}
