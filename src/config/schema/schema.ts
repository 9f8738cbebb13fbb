import { isIP } from 'node:net';
import { availableParallelism } from 'node:os';
import type { Static } from 'typebox';
import { Type } from '../../lib/encoding/schema.ts';
import { PUBLIC_NETWORKS } from '../../warp/networks.ts';
import { NetworksSchema } from './network-schema.ts';
import { Count, DurationMs } from './number-schemas.ts';
import {
  check,
  isObject,
  optional,
  partAt,
  type Report,
  type SettingSchema,
  type Surroundings,
  section,
} from './setting.ts';
import { StoreSchema } from './store-schema.ts';
import { UpstreamSchema } from './upstream-schema.ts';

/**
 * Every setting there is: its type, default, limits, meaning and examples. The types of this folder, the checks, the variables of
 * the environment and the tables of config/README.md come from here.
 */

/** As browsers send it, and in no other way: it is compared letter by letter. */
const Origin = Type.String({ allowed: 'an origin', examples: ['https://console.example'] });

const IpBlock = check(
  Type.String({ allowed: 'an IP address or a block of them', examples: ['10.0.0.0/8'] }),
  (text, report) => {
    const [address = '', bits, ...rest] = text.split('/');
    const maxBits = { 0: 0, 4: 32, 6: 128 }[isIP(address)] ?? 0;
    const isBlock = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= maxBits);
    if (maxBits === 0 || !isBlock || rest.length > 0) {
      report('must be an IP address or a block such as 10.0.0.0/8');
    }
  },
);

const server = section('How clients reach the service.', {
  host: Type.String({
    default: '127.0.0.1',
    description: 'Where to listen: an address of this machine; `0.0.0.0` or `::` for all of them.',
    minLength: 1,
    examples: ['0.0.0.0'],
  }),
  port: Type.Integer({
    default: 8080,
    description: 'The port to listen on; 0 takes any free one.',
    minimum: 0,
    maximum: 65_535,
    examples: [8080],
  }),
  ownApi: Type.Boolean({
    default: true,
    description:
      "Whether the service's own API listens on `port`. Without it only the ports of `goApi` are taken, as by the Go aggregator's binary.",
    examples: [false],
  }),
  corsOrigins: check(
    Type.Array(Origin, {
      default: ['*'],
      description:
        "Origins whose pages may use the service from a browser: a scheme, a host, and a port where it is not the scheme's own, as " +
        'browsers send them. `["*"]` is all of them, `[]` is none. Cookies and the like are never asked for; a preflight needs no key ' +
        'and costs nothing.',
      maxItems: 100,
      examples: [['https://console.example', 'http://localhost:3000']],
    }),
    checkOrigins,
  ),
  console: Type.Boolean({
    default: true,
    description:
      'Whether browsers get the console at `/`: a page to sign and inspect messages, and to look at subnets and the service. ' +
      'It needs nothing that other clients may not do. Without it there is a page of links.',
    examples: [false],
  }),
  trustedProxies: Type.Array(IpBlock, {
    default: [],
    description: 'Proxies before this service whose `X-Forwarded-For` names the client: addresses, or blocks of them.',
    maxItems: 1_000,
    examples: [['10.0.0.0/8', '::1']],
  }),
  maxConnections: Type.Integer({
    default: 4_096,
    description:
      'Connections of clients at a time. Beyond them each new one ends an idle one, first of the address that has most of them; ' +
      'where none is idle, the new one ends. Each needs one of the files that the system lets a process open.',
    minimum: 1,
    maximum: 1_000_000,
    examples: [4_096],
  }),
  drainDelayMs: Type.Integer({
    default: 0,
    description:
      'After SIGTERM the service says at `/health/ready` that it stops, and answers as before for this long: until a load ' +
      'balancer has seen it. Only then does it listen no more. SIGINT, which a person sends, has no delay.',
    minimum: 0,
    maximum: 3_600_000,
    examples: [5_000],
  }),
  shutdownTimeoutMs: DurationMs({
    default: 15_000,
    description:
      'When the service listens no more, requests under way have this long, then their connections break. What needs ten seconds ' +
      'more than that is ended with exit code 1.',
    examples: [15_000],
  }),
});

const log = section('What is logged, as JSON lines on standard error.', {
  level: Type.Enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], {
    description: 'The least severity that is logged.',
    examples: ['debug'],
    derived: {
      text: '`warn` where the embedded network is the only one, else `info`',
      value: ({ settings }: Surroundings) => {
        const networks = Object.values(networksOf(settings));
        const isEmbedded = (network: unknown) => partAt(network, ['embedded']) !== undefined;
        return networks.length > 0 && networks.every(isEmbedded) ? 'warn' : 'info';
      },
    },
  }),
});

const metrics = section('Where the metrics are.', {
  port: optional(
    Type.Integer({
      description:
        'A separate port for the metrics, which are then at no other one; without it they are at `server.port`.',
      minimum: 0,
      maximum: 65_535,
      examples: [9_090],
    }),
  ),
  host: optional(
    Type.String({
      description: 'Where that port listens.',
      minLength: 1,
      examples: ['0.0.0.0'],
      derived: {
        text: 'as `server.host`',
        value: ({ settings }: Surroundings) => partAt(settings, ['server', 'host']),
      },
    }),
  ),
});

const ApiKey = Type.Object(
  {
    name: Type.String({
      description: 'Who has the key, in metrics and in the log.',
      minLength: 1,
      maxLength: 100,
      examples: ['console'],
    }),
    sha256: Type.String({
      description: 'The SHA-256 of the key in hex, so that no key stands in a file: `printf %s KEY | sha256sum`.',
      pattern: '^[0-9a-fA-F]{64}$',
      allowed: 'a SHA-256 in hex, 64 digits: printf %s KEY | sha256sum',
      secret: 'when wrong',
      examples: ['2c70e12b7a0646f92279f427c7b38e7334d8e5389cff167a1dc30e73f826b683'],
    }),
    unitsPerMinute: Count({ default: 30_000, description: "The key's limit in a minute.", examples: [30_000] }),
    routes: Type.Array(Type.Enum(['aggregation', 'data', 'rpc']), {
      default: ['aggregation', 'data', 'rpc'],
      description: 'Which groups of routes the key is for.',
      minItems: 1,
      maxItems: 3,
      examples: [['aggregation']],
    }),
  },
  { additionalProperties: false, secret: 'when wrong', description: 'The key of a client.' },
);

const access = section('Who may use the service, and how much of it.', {
  unitsPerMinute: Type.Integer({
    description:
      'Units for each client address (of IPv6, for each /64, and eight times as many for each /48) in a minute; they may be used at once, and come back evenly. An aggregation costs 10, or 1 where its answer is cached, 1 more for each full KiB of message and ' +
      'justification, and 1 more for each full 100 validators of the set that signs (20 at most); a call of the node 2, each of a batch; any other lookup 1; health, metrics and the documents nothing. A ' +
      'request that costs more than what is left is 429, one that costs more than the whole limit 400. 0 is no limit, for keys neither.',
    minimum: 0,
    maximum: 10_000_000,
    examples: [3_000],
    derived: {
      text: '`3000` where a public network is served, else `0`',
      value: ({ settings }: Surroundings) =>
        PUBLIC_NETWORKS.some(({ name }) => Object.hasOwn(networksOf(settings), name)) ? 3_000 : 0,
    },
  }),
  apiKeys: check(
    Type.Array(ApiKey, {
      default: [],
      description:
        'Keys of clients, each with its own limit. Where there are none, keys that clients send are not looked at.',
      maxItems: 10_000,
      secret: 'when wrong',
      examples: [[{ name: 'console', sha256: '2c70e12b7a0646f92279f427c7b38e7334d8e5389cff167a1dc30e73f826b683' }]],
    }),
    checkApiKeys,
  ),
});

const identity = section(
  'Who the service is to validators: its NodeID is the hash of its certificate, the same one on all networks.',
  {
    directory: optional(
      Type.String({
        description:
          'A folder for `staker.crt` and `staker.key`, in place of the two paths. Folder and files are made where they are not ' +
          'there, for their owner alone. A second process that uses the folder is noticed. Without any of them, the NodeID is a ' +
          'new one at each start.',
        minLength: 1,
        examples: ['/var/lib/aggregator/identity'],
      }),
    ),
    certificatePath: optional(
      Type.String({
        description: 'PEM file of the TLS certificate; made together with its key where neither exists.',
        minLength: 1,
        examples: ['/var/lib/aggregator/staker.crt'],
      }),
    ),
    privateKeyPath: optional(
      Type.String({
        description:
          "PEM file of the certificate's private key. Keep it: L1s that admit only listed nodes know us by it.",
        minLength: 1,
        examples: ['/var/lib/aggregator/staker.key'],
      }),
    ),
  },
  {
    check: (paths: object, report) => {
      const given = ['certificatePath', 'privateKeyPath'].filter((name) => Object.hasOwn(paths, name));
      if (given.length > 0 && Object.hasOwn(paths, 'directory')) {
        report('must have either directory or the two paths, not both');
      } else if (given.length === 1)
        report('certificatePath and privateKeyPath must be given together: they are one identity');
    },
  },
);

const bls = section('What verifies BLS signatures, and on how many threads.', {
  backend: Type.Enum(['noble', 'native'], {
    default: 'noble',
    description:
      '`noble` runs everywhere; `native` needs the optional package @chainsafe/blst, and the service refuses to start without it.',
    examples: ['native'],
  }),
  workers: Type.Integer({
    description: 'Threads beside the event loop.',
    minimum: 1,
    maximum: 1_024,
    examples: [3],
    derived: {
      text: 'as many as cores less one, at least 1',
      // One core is left to the event loop.
      value: () => Math.max(1, availableParallelism() - 1),
    },
  }),
});

const aggregation = section('Collecting signatures. Limits are those of each network.', {
  requestTimeoutMs: DurationMs({
    default: 10_000,
    description: 'Longest time for collecting the signatures of one message, after its validators are known.',
    examples: [10_000],
  }),
  signatureCacheSize: Count({
    default: 200_000,
    description:
      "Validators' signatures kept in memory, at about 300 bytes each; of one validator a twentieth of them. Signed messages kept for " +
      'equal requests take 80 bytes for each of these, but at least 1 MiB.',
    examples: [200_000],
  }),
});

export const SettingsSchema = check(
  Type.Object(
    {
      networks: NetworksSchema,
      ...{ server, log, metrics, access, identity, bls, aggregation },
      store: StoreSchema,
      upstream: UpstreamSchema,
    },
    { additionalProperties: false },
  ),
  checkPorts,
);

/** The same, as the code that walks it sees it: typebox's types say nothing of what its values have beside their type. */
export const SETTINGS = SettingsSchema as unknown as SettingSchema;

/** A whole configuration, as a file has it, with all defaults. */
export type Settings = Static<typeof SettingsSchema>;
export type NetworkSettings = Settings['networks'][string];

function networksOf(settings: unknown): Record<string, unknown> {
  const networks = partAt(settings, ['networks']);
  return isObject(networks) ? networks : {};
}

function checkOrigins(origins: readonly string[], report: Report): void {
  for (const [index, text] of origins.entries()) {
    if (typeof text !== 'string' || (text === '*' && origins.length === 1)) continue;
    if (text === '*') {
      report('must stand alone, as it means all origins', [index]);
      continue;
    }
    const { protocol, host = '' } = URL.parse(text) ?? {};
    // A pattern would be taken for a host that nobody has.
    const origin = host === '' || host.includes('*') ? undefined : `${protocol}//${host}`;
    if (text === origin) continue;
    report(
      'must be an origin such as https://console.example or http://localhost:3000: a scheme, a host and a port ' +
        "that is not the scheme's own, with nothing after it",
      [index],
      origin,
    );
  }
}

/** Each listener needs its own port; 0 is any free one. The metrics may have another host. */
function checkPorts(settings: object, report: Report): void {
  const ofGo = Object.keys(networksOf(settings)).flatMap((name) =>
    ['apiPort', 'metricsPort'].map((key) => ['networks', name, 'goApi', key]),
  );
  const hasOwnApi = partAt(settings, ['server', 'ownApi']) !== false;
  if (!hasOwnApi && ofGo.every((path) => partAt(settings, path) === undefined)) {
    report('must be true where no network has ports of goApi, as nothing would listen', ['server', 'ownApi']);
  }
  const owners = new Map<unknown, string>();
  for (const path of [...(hasOwnApi ? [['server', 'port']] : []), ['metrics', 'port'], ...ofGo]) {
    const port = partAt(settings, path);
    if (port === undefined || port === 0) continue;
    const owner = owners.get(port);
    const isElsewhere =
      path[0] === 'metrics' && partAt(settings, ['metrics', 'host']) !== partAt(settings, ['server', 'host']);
    if (owner === undefined) owners.set(port, path.join('.'));
    else if (!isElsewhere) report(`must be another port than ${owner}`, path);
  }
}

function checkApiKeys(keys: readonly unknown[], report: Report): void {
  const names = new Set<unknown>();
  const hashes = new Set<unknown>();
  for (const [index, key] of keys.entries()) {
    const name = partAt(key, ['name']);
    const sha256 = partAt(key, ['sha256']);
    const hash = typeof sha256 === 'string' ? sha256.toLowerCase() : undefined;
    if (name !== undefined && names.has(name)) report('has the name of another key', [index]);
    else if (hash !== undefined && hashes.has(hash)) report('has the hash of another key', [index]);
    names.add(name);
    hashes.add(hash);
  }
}
