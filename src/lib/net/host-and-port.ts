import { ParseError } from '../encoding/parse-error.ts';

export interface HostAndPort {
  /** A name or an IP address, without brackets. */
  readonly host: string;
  readonly port: number;
}

/** Parses `host:port` or `[IPv6]:port`. @throws {ParseError} */
export function parseHostAndPort(text: string): HostAndPort {
  const [, ipv6, host = ipv6, digits] = /^(?:\[([0-9a-fA-F:.]+)\]|([^:\s]+)):(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  if (host !== undefined && port > 0 && port <= 65_535) return { host, port };
  throw new ParseError('address', 'must be host:port or [IPv6]:port');
}
