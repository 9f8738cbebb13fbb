import { Type } from '../../lib/encoding/schema.ts';
import { parseRedisUrl } from '../../lib/net/redis-address.ts';
import { maskedUrl } from '../load/mask.ts';
import { parsePeerAddress } from '../load/peer-address.ts';
import { check, optional, parsed, type Report, section } from './setting.ts';

/** Also of a sentinel. */
const RedisNode = check(
  Type.String({ allowed: 'host:port, or [IPv6]:port', examples: ['redis-1.example:6379'] }),
  (text, report) => {
    if (parsePeerAddress(text) === undefined) report('must be a host and a port, such as redis-1.example:6379');
  },
);

export const StoreSchema = section(
  'What outlives the process, and what replicas share.',
  {
    path: optional(
      Type.String({
        description:
          'A folder, made where it is not there, for what is to outlive the process: the index of L1 validations, which then reads all ' +
          'P-Chain blocks since L1s exist, and after a restart continues where it was. Without it the newest 10,000 are read at each ' +
          'start. From a public API of a public network at most 50 a second are read.',
        minLength: 1,
        examples: ['/var/lib/aggregator'],
      }),
    ),
    sharedUrl: optional(
      parsed(
        Type.String({
          description:
            'The Redis that replicas of the service share, see below; `rediss://` for TLS. Its password comes from the environment by ' +
            '`${NAME}`, or with the whole URL.',
          minLength: 1,
          allowed: 'the URL of a Redis',
          secret: 'always',
          masked: maskedUrl,
          examples: ['redis://user:password@redis.example:6379/0'],
        }),
        parseRedisUrl,
      ),
    ),
    sharedKeyPrefix: Type.String({
      default: 'warp-signature-aggregator:',
      description: 'What all keys in it start with. Services with the same prefix share their limits and their work.',
      minLength: 1,
      maxLength: 100,
      examples: ['aggregator-blue:'],
    }),
    sharedNodes: Type.Array(RedisNode, {
      default: [],
      description:
        'Further nodes, which make it a Redis Cluster, or further sentinels: each that is listed may be gone when the service starts. A ' +
        'cluster that has one address for all is given that address here once more.',
      maxItems: 100,
      examples: [['redis-1.example:6379', 'redis-2.example:6379']],
    }),
    sharedMaster: optional(
      Type.String({
        description:
          'What the sentinels call the server. With it `sharedUrl` and `sharedNodes` are sentinels; user, password, database and TLS are ' +
          "still the server's, and sentinels are asked over TLS too where it is `rediss://`.",
        minLength: 1,
        maxLength: 100,
        examples: ['mymaster'],
      }),
    ),
    sharedSentinelPassword: optional(
      Type.String({
        description: 'The password of the sentinels, where they have one.',
        minLength: 1,
        maxLength: 1_000,
        secret: 'always',
        examples: ['${REDIS_SENTINEL_PASSWORD}'],
      }),
    ),
    sharedSecret: optional(
      Type.String({
        description:
          'The same for all replicas, and secret: what they share is sealed with it. Without it they share only what ' +
          'proves itself, see below. For example from `openssl rand -hex 32`.',
        minLength: 16,
        maxLength: 1_000,
        secret: 'always',
        examples: ['${SHARED_SECRET}'],
      }),
    ),
  },
  { check: checkStore },
);

function checkStore(store: object, report: Report): void {
  if (Object.hasOwn(store, 'sharedSentinelPassword') && !Object.hasOwn(store, 'sharedMaster')) {
    report('must have sharedMaster beside sharedSentinelPassword: it makes the addresses those of sentinels');
  }
}
