import { isIPv4, isIPv6 } from 'node:net';
import type { RouteGroup } from './route-access.ts';

export interface ApiKey {
  /** Names the key in metrics, logs and shared counters. Reveals nothing of the key. */
  readonly name: string;
  readonly sha256: Uint8Array;
  readonly unitsPerMinute: number;
  readonly routes: readonly RouteGroup[];
}

/**
 * Returns the client ID for limits and fair queues: the API key's name, or else the address.
 *
 * @param ip undefined after the client disconnected: its socket has no address then
 */
export function clientIdOf(apiKey: ApiKey | undefined, ip: string | undefined): string {
  return apiKey === undefined ? `address:${clientNetwork(ip ?? '')}` : `key:${apiKey.name}`;
}

/** Client ID of an IPv6 address. */
const CLIENT_IPV6 = /^address:(\w+:\w+:\w+):\w+::\/64$/;

/** Returns the IPv6 /48 of a client without an API key, which is what one site gets (RFC 6177); undefined for IPv4. */
export function siteOf(clientID: string): string | undefined {
  const prefix = CLIENT_IPV6.exec(clientID)?.[1];
  return prefix && `${prefix}::/48`;
}

/** Prefix with which Node writes an IPv4 client's address if the service listens on `::`. */
const MAPPED_IPV4 = '::ffff:';
/** X-Forwarded-For of some proxies names the client's port: `1.2.3.4:5678`, `[2001:db8::1]:5678`. */
const WITH_PORT = /^(?:\[([^\]]*)\]|([\d.]+))(?::\d+)?$/;

/**
 * Returns the network by which an address is counted: the whole IPv4 address, also if it is mapped into IPv6 (`::ffff:1.2.3.4`), and the
 * /64 of an IPv6 address, because one customer has at least that many addresses. A port is left out.
 */
export function clientNetwork(ip: string): string {
  // Most are IPv4, and the checks below cost more than all else that is done with an address.
  if (!ip.includes(':')) return ip;
  const ending = ip.startsWith(MAPPED_IPV4) ? ip.slice(MAPPED_IPV4.length) : '';
  if (isIPv4(ending)) return ending;
  if (!isIPv6(ip)) {
    const [, address6, address4] = WITH_PORT.exec(ip) ?? [];
    const address = address6 ?? address4;
    return address === undefined ? ip : clientNetwork(address);
  }
  const groups = expandIPv6(ip);
  const prefix = groups.slice(0, 4).join(':');
  if (prefix !== '0:0:0:0' || groups[4] !== '0' || groups[5] !== 'ffff') return `${prefix}::/64`;
  const bytes = groups
    .slice(6)
    .flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 0xff]);
  return bytes.join('.');
}

/** Returns the eight groups of a valid address in lower-case hex. */
function expandIPv6(ip: string): string[] {
  const [address] = ip.split('%', 1); // without the zone of a link-local address
  // A URL has no leading zeros and no IPv4 ending.
  const [head = [], tail] = new URL(`http://[${address}]`).hostname
    .slice(1, -1)
    .split('::')
    .map((part) => (part === '' ? [] : part.split(':')));
  return tail === undefined ? head : [...head, ...Array<string>(8 - head.length - tail.length).fill('0'), ...tail];
}
