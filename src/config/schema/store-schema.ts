import { Type } from 'typebox';
import { parseHostAndPort } from '../../lib/net/host-and-port.ts';
import { parseRedisUrl } from '../../lib/net/redis-address.ts';
import { maskedUrl } from './mask.ts';
import { optional, parsed, partAt, type Report, section, text } from './setting.ts';

const RedisNode = parsed(
  Type.String({ allowed: 'host:port or [IPv6]:port', examples: ['redis-1.example:6379'] }),
  parseHostAndPort,
);

export const StoreSchema = section(
  'What outlives the process, and what replicas share.',
  {
    path: optional(
      text({
        description:
          'A folder, created if missing, for the messages of watched chains and the index of L1 validations. Without it a restart loses these ' +
          'messages. With it the index covers all P-Chain blocks since L1s exist, and continues after a restart. Without it the newest 10,000 blocks are read at each start. At most 50 blocks a second are ' +
          'read from a public API of a public network.',
        examples: ['/var/lib/aggregator'],
      }),
    ),
    recordValidators: Type.Boolean({
      default: true,
      description:
        'Whether the service records what each validator of the primary network and of tracked subnets did in collections that ended signed, by hour for ' +
        '48 hours and by day for 90, below `path`; without `path` in memory, for a day. It takes at most some 20 MB for each thousand validators.',
      examples: [false],
    }),
    sharedUrl: optional(
      parsed(
        text({
          description:
            'The Redis that replicas of the service share, see below; `rediss://` for TLS. Take its password, or the whole URL, from ' +
            'the environment by `${NAME}`.',
          allowed: 'the URL of a Redis',
          secret: 'always',
          masked: maskedUrl,
          examples: ['redis://user:password@redis.example:6379/0'],
        }),
        parseRedisUrl,
      ),
    ),
    sharedKeyPrefix: text({
      default: 'warp-signature-aggregator:',
      description: 'The prefix of all its keys. Services with the same prefix share limits and work.',
      maxLength: 100,
      examples: ['aggregator-blue:'],
    }),
    sharedNodes: Type.Array(RedisNode, {
      default: [],
      description:
        'Further nodes, which make it a Redis Cluster, or further sentinels: the service starts while any of them can be reached. For a ' +
        'cluster with one address for all nodes, repeat that address here.',
      maxItems: 100,
      examples: [['redis-1.example:6379', 'redis-2.example:6379']],
    }),
    sharedMaster: optional(
      text({
        description:
          'The name of the server at its sentinels. With it `sharedUrl` and `sharedNodes` are addresses of sentinels; user, password, ' +
          "database and TLS remain the server's, and sentinels are contacted over TLS too if it is `rediss://`.",
        maxLength: 100,
        examples: ['mymaster'],
      }),
    ),
    sharedSentinelPassword: optional(
      text({
        description: 'The password of the sentinels.',
        maxLength: 1_000,
        secret: 'always',
        examples: ['${REDIS_SENTINEL_PASSWORD}'],
      }),
    ),
    sharedSecret: optional(
      Type.String({
        description:
          'A secret that all replicas, and no other programs, have: records of requests are sealed with it. Without it each replica ' +
          'has its own records only. For example from `openssl rand -hex 32`.',
        minLength: 16,
        maxLength: 1_000,
        secret: 'always',
        examples: ['${SHARED_SECRET}'],
      }),
    ),
  },
  { check: checkStore },
);

/** Settings of the Redis that have no effect without its address. `sharedKeyPrefix` has a default, and none either. */
const OF_SHARED = ['sharedNodes', 'sharedMaster', 'sharedSecret'] as const;

function checkStore(store: object, report: Report): void {
  for (const name of Object.hasOwn(store, 'sharedUrl') ? [] : OF_SHARED) {
    const value = partAt(store, [name]);
    const isGiven = Array.isArray(value) ? value.length > 0 : value !== undefined;
    if (isGiven) report('must have sharedUrl beside it: without the address of a Redis, nothing is shared', [name]);
  }
  if (Object.hasOwn(store, 'sharedSentinelPassword') && !Object.hasOwn(store, 'sharedMaster')) {
    report('must have sharedMaster beside sharedSentinelPassword: it makes the addresses those of sentinels');
  }
}
