export interface HostAndPort {
  /** A name or an IP address, without brackets. */
  readonly host: string;
  readonly port: number;
}

/** Parses `host:port` or `[IPv6]:port`; returns undefined if the text is neither. */
export function parseHostAndPort(text: string): HostAndPort | undefined {
  const match = /^(?:\[(?<ipv6>[0-9a-fA-F:.]+)\]|(?<host>[^:\s]+)):(?<port>\d{1,5})$/.exec(text);
  const host = match?.groups?.['ipv6'] ?? match?.groups?.['host'];
  const port = Number(match?.groups?.['port']);
  return host !== undefined && port > 0 && port <= 65_535 ? { host, port } : undefined;
}
