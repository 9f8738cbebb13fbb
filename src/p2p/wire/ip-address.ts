import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net';
import { ParseError } from '../../lib/encoding/parse-error.ts';

const IPV4_LENGTH = 4;
const IPV6_LENGTH = 16;
/** `::ffff:0:0/96`, in which an IPv4 address is written as IPv6 (RFC 4291). */
const IPV4_MAPPED_PREFIX = Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff);

/**
 * The text of 4 or 16 address bytes as the wire carries them: dotted for IPv4 in either form, else eight groups of hex.
 *
 * @throws {ParseError} on any other number of bytes
 */
export function ipAddressFromBytes(bytes: Uint8Array): string {
  if (bytes.length === IPV4_LENGTH) return bytes.join('.');
  if (bytes.length !== IPV6_LENGTH) throw new ParseError('IP address', `must have 4 or 16 bytes, has ${bytes.length}`);
  if (IPV4_MAPPED_PREFIX.every((byte, index) => bytes[index] === byte)) return bytes.subarray(12).join('.');
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  return Array.from({ length: 8 }, (_, index) => view.getUint16(index * 2).toString(16)).join(':');
}

/** The 16 bytes of an address, which is the form that is signed. @throws {ParseError} where the text is no IP address */
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

/** Addresses that are not on the public internet (IANA special-purpose registries): a stranger could have us dial our own network. */
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
  // NAT64, Teredo and 6to4: a gateway makes an IPv4 address of it, which may be one of our own network.
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

/** Whether an IP address is one of the public internet. A host name is not, as nobody knows yet where it leads. */
export function isPublicAddress(text: string): boolean {
  if (isIPv4(text)) return !NON_PUBLIC.check(text, 'ipv4');
  return isIPv6(text) && !NON_PUBLIC.check(text, 'ipv6');
}

/** Labels of letters, digits and hyphens (RFC 1123): the names that a resolver may be asked for. */
const HOST_NAME = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?)*$/i;

/** Whether a socket accepts this to connect to: an IP address or a host name, and a port. */
export function isDialable({ host, port }: { readonly host: string; readonly port: number }): boolean {
  return Number.isInteger(port) && port >= 1 && port <= 0xffff && (isIP(host) !== 0 || HOST_NAME.test(host));
}
