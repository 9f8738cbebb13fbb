import { isIPv4, isIPv6 } from 'node:net';

/** As Node writes each IPv4 client's address where the service listens on `::`. */
const MAPPED_IPV4 = '::ffff:';
/** As some proxies name a client in X-Forwarded-For, with the port of its connection: `1.2.3.4:5678`, `[2001:db8::1]:5678`. */
const WITH_PORT = /^(?:\[([^\]]*)\]|([\d.]+))(?::\d+)?$/;

/**
 * The part of a client's address by which it is counted: an IPv4 address as a whole, also where it is written as an IPv6 one
 * (`::ffff:1.2.3.4`), and of an IPv6 address the first 64 bits, as one customer has at least so many addresses. A port beside it does not
 * count: each connection has another one.
 */
export function clientNetwork(ip: string): string {
  // Most are IPv4: the expression of an IPv6 address costs more than all else that is done with one.
  if (!ip.includes(':')) return ip;
  const ending = ip.startsWith(MAPPED_IPV4) ? ip.slice(MAPPED_IPV4.length) : '';
  if (isIPv4(ending)) return ending;
  if (!isIPv6(ip)) {
    const [, address6, address4] = WITH_PORT.exec(ip) ?? [];
    const address = address6 ?? address4;
    return address === undefined ? ip : clientNetwork(address);
  }
  const groups = expandIPv6(ip);
  const isMappedIPv4 = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  if (isMappedIPv4) {
    return groups
      .slice(6)
      .flatMap((group) => [group >> 8, group & 0xff])
      .join('.');
  }
  const prefix = groups.slice(0, 4).map((group) => group.toString(16));
  return `${prefix.join(':')}::/64`;
}

/** The eight groups of a valid address. */
function expandIPv6(ip: string): number[] {
  const [address = ''] = ip.split('%', 1); // without the zone of a link-local address
  const [before = '', after] = address.split('::');
  const head = groupsOf(before);
  if (after === undefined) return head;
  const tail = groupsOf(after);
  return [...head, ...Array<number>(8 - head.length - tail.length).fill(0), ...tail];
}

/** Of a part without `::`, whose end may be written as IPv4. */
function groupsOf(part: string): number[] {
  if (part === '') return [];
  return part.split(':').flatMap((group) => {
    if (!group.includes('.')) return [Number.parseInt(group, 16)];
    const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number);
    return [a * 256 + b, c * 256 + d];
  });
}

const CLIENT_IPV6 = /^(\w+:\w+:\w+):\w+::\/64$/;

/** Returns the /48 of an IPv6 client network, which is what one site gets (RFC 6177); undefined for any other. */
export function siteNetwork(network: string): string | undefined {
  const prefix = CLIENT_IPV6.exec(network)?.[1];
  return prefix && `${prefix}::/48`;
}
