import { ParseError } from '../encoding/parse-error.ts';
import type { HostAndPort } from './host-and-port.ts';

export interface RedisAddress extends HostAndPort {
  readonly isTls: boolean;
  /** Never without a password. */
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly database: number;
}

/** The servers of one store, with user, password, database and TLS of the data servers. */
export type RedisServers = RedisAddress &
  (
    | { readonly kind: 'single' }
    | {
        readonly kind: 'cluster';
        /** Some of its nodes, which name the others. */
        readonly nodes: readonly HostAndPort[];
      }
    | {
        readonly kind: 'sentinel';
        /** They name the data server; `host` and `port` are unused. */
        readonly sentinels: readonly HostAndPort[];
        readonly master: string;
        readonly sentinelPassword: string | undefined;
      }
  );

const WHAT = 'Redis URL';
const DEFAULT_PORT = 6379;

/**
 * Parses `redis://user:password@host:port/database`, or `rediss://` for TLS; all but the host is optional.
 *
 * @throws {ParseError} without parts of the URL in its message: it may hold a password
 */
export function parseRedisUrl(text: string): RedisAddress {
  const url = URL.parse(text);
  const isTls = url?.protocol === 'rediss:';
  if (url === null || url.hostname === '' || url.port === '0' || !(isTls || url.protocol === 'redis:')) {
    throw new ParseError(
      WHAT,
      'must be such as redis://user:password@redis.example:6379/0, or rediss:// for TLS; in user and password all but ' +
        'letters and digits is percent-encoded',
    );
  }
  if (url.search !== '' || url.hash !== '' || !/^(\/\d{0,5})?$/.test(url.pathname)) {
    throw new ParseError(WHAT, 'must have the number of a database, or nothing, after the host and port');
  }
  const [username, password] = [decode(url.username), decode(url.password)];
  if (username !== undefined && password === undefined) throw new ParseError(WHAT, 'must have a password for its user');
  return {
    // An IPv6 address has brackets in a URL only.
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: url.port === '' ? DEFAULT_PORT : Number(url.port),
    isTls,
    username,
    password,
    database: Number(url.pathname.slice(1)),
  };
}

function decode(part: string): string | undefined {
  try {
    return part === '' ? undefined : decodeURIComponent(part);
  } catch {
    throw new ParseError(WHAT, 'must have user and password percent-encoded: a % in them is %25');
  }
}
