import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net';
import { ParseError } from '../../lib/encoding/parse-error.ts';

const IPV4_LENGTH = 4;
const IPV6_LENGTH = 16;
/** Address and port of a node. */
export interface Endpoint {
  /** IP address, or host name if private addresses are allowed. */
  readonly host: string;
  readonly port: number;
}

/** `::ffff:0:0/96` (RFC 4291). */
const IPV4_MAPPED_PREFIX = Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff);

/** Formats 4 or 16 bytes: dotted for IPv4 in either form, otherwise eight groups of hex. @throws {ParseError} */
export function ipAddressFromBytes(bytes: Uint8Array): string {
  if (bytes.length === IPV4_LENGTH) return bytes.join('.');
  if (bytes.length !== IPV6_LENGTH) throw new ParseError('IP address', `must have 4 or 16 bytes, has ${bytes.length}`);
  if (IPV4_MAPPED_PREFIX.every((byte, index) => bytes[index] === byte)) return bytes.subarray(12).join('.');
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  return Array.from({ length: 8 }, (_, index) => view.getUint16(index * 2).toString(16)).join(':');
}

/** Encodes an IP address in the 16 bytes that are signed. @throws {ParseError} */
export function ipAddressBytes(text: string): Uint8Array {
  const bytes = new Uint8Array(IPV6_LENGTH);
  if (isIPv4(text)) {
    bytes.set(IPV4_MAPPED_PREFIX);
    bytes.set(text.split('.').map(Number), 12);
    return bytes;
  }
  if (!isIPv6(text) || text.includes('%')) throw new ParseError('IP address', 'must be an IPv4 or IPv6 address');
  // The URL parser writes any valid form in hex groups, with at most one "::".
  const [head = '', tail] = new URL(`http://[${text}]`).hostname.slice(1, -1).split('::');
  const groups = (part: string): number[] =>
    part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16));
  const first = groups(head);
  const last = groups(tail ?? '');
  const all = [...first, ...new Array<number>(8 - first.length - last.length).fill(0), ...last];
  const view = new DataView(bytes.buffer);
  for (const [index, group] of all.entries()) view.setUint16(index * 2, group);
  return bytes;
}

/** Not on the public internet (IANA special-purpose registries): gossip must not make us dial our own network. */
const NON_PUBLIC = new BlockList();
for (const [network, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['224.0.0.0', 3],
] as const) {
  NON_PUBLIC.addSubnet(network, prefix, 'ipv4');
}
for (const [network, prefix] of [
  ['::', 96],
  // NAT64, Teredo and 6to4: a gateway translates them to an IPv4 address, which may be private.
  ['64:ff9b::', 96],
  ['64:ff9b:1::', 48],
  ['2001::', 32],
  ['2002::', 16],
  ['fc00::', 7],
  ['fe80::', 10],
  ['fec0::', 10],
  ['ff00::', 8],
] as const) {
  NON_PUBLIC.addSubnet(network, prefix, 'ipv6');
}

/** Whether this is a public IP address. A host name is not: it may resolve to a private one. */
export function isPublicAddress(text: string): boolean {
  if (isIPv4(text)) return !NON_PUBLIC.check(text, 'ipv4');
  return isIPv6(text) && !NON_PUBLIC.check(text, 'ipv6');
}

/** RFC 1123: labels of letters, digits and hyphens. */
const HOST_NAME = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?)*$/i;

/** Whether a socket can connect to this: an IP address or a host name, and a port. */
export function isDialable({ host, port }: Endpoint): boolean {
  return Number.isInteger(port) && port >= 1 && port <= 0xffff && (isIP(host) !== 0 || HOST_NAME.test(host));
}
