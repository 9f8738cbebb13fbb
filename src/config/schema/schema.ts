import { isIP } from 'node:net';
import { availableParallelism } from 'node:os';
import { type Static, Type } from 'typebox';
import { PUBLIC_NETWORKS } from '../../warp/networks.ts';
import { API_KEY, ApiKey, checkApiKeys } from './api-key-schema.ts';
import { listenHost } from './listen-host.ts';
import { isDevnet, NetworksSchema } from './network-schema.ts';
import {
  check,
  durationMs,
  integer,
  networksOf,
  optional,
  partAt,
  port,
  type Report,
  type SettingSchema,
  type Surroundings,
  section,
  text,
} from './setting.ts';
import { StoreSchema } from './store-schema.ts';
import { UpstreamSchema } from './upstream-schema.ts';

/**
 * Every setting with its type, default, limits, meaning and examples. The types of `src/config`, the checks, the environment variables
 * and the tables of config/README.md are derived from this schema.
 */

/** An origin exactly as browsers send it: requests are compared with it byte by byte. */
const Origin = Type.String({ allowed: 'an origin', examples: ['https://console.example'] });

const IpBlock = check(
  Type.String({ allowed: 'an IP address or a CIDR block', examples: ['10.0.0.0/8'] }),
  (block, report) => {
    const [address = '', bits, ...rest] = block.split('/');
    const maxBits = { 0: 0, 4: 32, 6: 128 }[isIP(address)] ?? 0;
    const isBlock = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= maxBits);
    if (maxBits === 0 || !isBlock || rest.length > 0) report('must be an IP address or a block such as 10.0.0.0/8');
  },
);

const server = section('The listener for clients.', {
  host: listenHost({
    default: '127.0.0.1',
    description: 'The address to listen on; `0.0.0.0` or `::` means all addresses of this machine.',
    examples: ['0.0.0.0'],
  }),
  port: port({ default: 8080, description: 'The port to listen on; 0 takes any free one.' }),
  ownApi: Type.Boolean({
    default: true,
    description:
      "Whether the service's own API listens on `port`. If not, only the ports of `goApi` are used, like the Go aggregator's binary does.",
    examples: [false],
  }),
  corsOrigins: check(
    Type.Array(Origin, {
      default: ['*'],
      description:
        'Origins whose pages may use the service from a browser: a scheme, a host, and a port unless it is the default of the scheme, ' +
        'as browsers send them. `["*"]` allows all, `[]` none. Credentials are never allowed; a preflight needs no key and costs nothing.',
      maxItems: 100,
      examples: [['https://console.example', 'http://localhost:3000']],
    }),
    checkOrigins,
  ),
  console: Type.Boolean({
    default: true,
    description:
      'Whether browsers get the console at `/`: a page to sign and inspect messages, and to look at subnets and the service. ' +
      'It uses only the public API. Without it, `/` is JSON with links.',
    examples: [false],
  }),
  trustedProxies: Type.Array(IpBlock, {
    default: [],
    description: 'Addresses or CIDR blocks of the proxies whose `X-Forwarded-For` names the client.',
    maxItems: 1_000,
    examples: [['10.0.0.0/8', '::1']],
  }),
  drainDelayMs: durationMs(
    {
      default: 0,
      description:
        'How long the service still accepts requests after SIGTERM, while `/health/ready` reports that it stops, so that load balancers ' +
        'notice. SIGINT skips this delay.',
      examples: [5_000],
    },
    0,
  ),
  shutdownTimeoutMs: durationMs({
    default: 15_000,
    description:
      'How long running requests may take after the listener is closed; then their connections are closed. A shutdown that takes ten ' +
      'seconds longer ends with exit code 1.',
  }),
});

const log = section('The log: JSON lines on standard error.', {
  level: Type.Enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], {
    description: 'The least severity that is logged.',
    examples: ['debug'],
    derived: {
      text: '`warn` if the devnet is the only network, else `info`',
      value: ({ settings }: Surroundings) => (isDevnetOnly(settings) ? 'warn' : 'info'),
    },
  }),
});

const metrics = section('The listener for metrics.', {
  port: optional(
    port({
      description:
        'A separate port for the metrics, which are then on no other port; without it they are on `server.port`.',
      examples: [9_090],
    }),
  ),
  host: listenHost({
    description: 'The address that port listens on.',
    examples: ['0.0.0.0'],
    derived: {
      text: 'as `server.host`',
      value: ({ settings }: Surroundings) => partAt(settings, ['server', 'host']),
    },
  }),
});

const access = section(
  'API keys and rate limits of clients.',
  {
    unitsPerMinute: integer(0, 10_000_000, {
      description:
        'Units per minute for each client address (for IPv6 each /64, and eight times as many for each /48); they may be used at once, and ' +
        'refill evenly. An aggregation costs 10, or 1 if its result is cached, 1 more for each full KiB of message and justification, and 1 ' +
        'more for each full 100 validators of the signing set (20 at most); a node RPC call costs 2, also within a batch; any other lookup ' +
        '1; health, metrics and the documents nothing. A request that costs more than what is left is 429, one that costs more than the ' +
        'whole limit 400. 0 disables all limits, those of keys too.',
      examples: [3_000],
      derived: {
        text: '`3000` if a public network is served, else `0`',
        value: ({ settings }: Surroundings) =>
          PUBLIC_NETWORKS.some(({ name }) => Object.hasOwn(networksOf(settings), name)) ? 3_000 : 0,
      },
    }),
    apiKeys: check(
      Type.Array(ApiKey, {
        default: [],
        description: 'API keys of clients, each with its limit. If there are none, keys in requests are ignored.',
        maxItems: 10_000,
        secret: 'when wrong',
        examples: [[API_KEY]],
      }),
      checkApiKeys,
    ),
    requireKey: Type.Boolean({
      default: false,
      description:
        "Whether requests without an API key are 401 `unauthorized`. Health, metrics, the documents and the console's page need none. It also holds on " +
        'the ports of `goApi`, whose clients must send a key then.',
      examples: [true],
    }),
    operateWithoutKey: Type.Boolean({
      description:
        'Whether the machine of the service may use the routes of `operate` without a key: records of the requests of all clients, and the replay ' +
        'of blocks. Only without `apiKeys`. Set it only where all who can send requests from a loopback address may do that: for a proxy on the ' +
        'same machine that sets no `X-Forwarded-For`, `X-Real-IP`, `Forwarded` or `Via` header these are all its clients.',
      examples: [true],
      derived: {
        text: '`true` if the devnet is the only network and there are no `apiKeys`, else `false`',
        value: ({ settings }: Surroundings) =>
          isDevnetOnly(settings) && !isFilled(partAt(settings, ['access', 'apiKeys'])),
      },
    }),
  },
  { check: checkAccess },
);

const identity = section(
  'The staking identity towards validators: the NodeID is the hash of the certificate, the same on all networks.',
  {
    directory: optional(
      text({
        description:
          'A folder for `staker.crt` and `staker.key`, in place of the two paths. Folder and files are created if missing, readable ' +
          'by their owner only. A second process that uses the folder is detected. Without any of these settings, each start has a ' +
          'new NodeID.',
        examples: ['/var/lib/aggregator/identity'],
      }),
    ),
    certificatePath: optional(
      text({
        description: 'PEM file of the TLS certificate; created together with its key if neither exists.',
        examples: ['/var/lib/aggregator/staker.crt'],
      }),
    ),
    privateKeyPath: optional(
      text({
        description:
          "PEM file of the certificate's private key. Back it up: L1s that admit only listed nodes know its NodeID.",
        examples: ['/var/lib/aggregator/staker.key'],
      }),
    ),
  },
  {
    check: (paths: object, report) => {
      const given = ['certificatePath', 'privateKeyPath'].filter((name) => Object.hasOwn(paths, name));
      if (given.length > 0 && Object.hasOwn(paths, 'directory')) {
        report('must have either directory or the two paths, not both');
      } else if (given.length === 1) {
        report('certificatePath and privateKeyPath must be given together: they are one identity');
      }
    },
  },
);

const bls = section('Verification of BLS signatures.', {
  backend: Type.Enum(['noble', 'native'], {
    default: 'noble',
    description:
      '`noble` runs everywhere; `native` needs the optional package @chainsafe/blst, and the service does not start without it.',
    examples: ['native'],
  }),
  workers: integer(1, 1_024, {
    description: 'Threads beside the event loop.',
    examples: [3],
    derived: {
      text: 'one less than the number of cores, at least 1',
      value: () => Math.max(1, availableParallelism() - 1),
    },
  }),
});

const aggregation = section('Collecting signatures. Limits apply to each network.', {
  requestTimeoutMs: durationMs({
    default: 10_000,
    description: 'Longest time for collecting the signatures of one message, after its validators are known.',
  }),
  signatureCacheSize: integer(1, 10_000_000, {
    default: 200_000,
    description:
      "Validators' signatures kept in memory, at about 300 bytes each; at most a twentieth of them of one validator. Signed messages " +
      'that are cached for equal requests take 80 bytes for each of these, but at least 1 MiB.',
  }),
});

export const SettingsSchema = check(
  Type.Object(
    {
      networks: NetworksSchema,
      server,
      log,
      metrics,
      access,
      identity,
      bls,
      aggregation,
      store: StoreSchema,
      upstream: UpstreamSchema,
    },
    { additionalProperties: false },
  ),
  checkPorts,
);

/** The same schema, typed for the code that walks it: typebox's types do not contain the additional fields of {@link Setting}. */
export const SETTINGS = SettingsSchema as unknown as SettingSchema;

/** All settings in the form of a file, with all defaults, and texts parsed. */
export type Settings = Static<typeof SettingsSchema>;
export type NetworkSettings = Settings['networks'][string];

function checkOrigins(origins: readonly string[], report: Report): void {
  for (const [index, given] of origins.entries()) {
    if (typeof given !== 'string' || (given === '*' && origins.length === 1)) continue;
    if (given === '*') {
      report('must stand alone, as it means all origins', [index]);
      continue;
    }
    const { protocol, host = '' } = URL.parse(given) ?? {};
    // A pattern would be taken for a literal host name.
    const origin = host === '' || host.includes('*') ? undefined : `${protocol}//${host}`;
    if (given === origin) continue;
    report(
      'must be an origin such as https://console.example or http://localhost:3000: a scheme, a host and a port ' +
        "that is not the scheme's own, with nothing after it",
      [index],
      origin,
    );
  }
}

/** Checks that the listeners have different ports; 0 is any free one, and the metrics may listen on another host by a port of their own. */
function checkPorts(settings: object, report: Report): void {
  const goPorts = Object.keys(networksOf(settings)).flatMap((name) =>
    ['apiPort', 'metricsPort'].map((key) => ['networks', name, 'goApi', key]),
  );
  const hasOwnApi = partAt(settings, ['server', 'ownApi']) !== false;
  if (!hasOwnApi && goPorts.every((path) => partAt(settings, path) === undefined)) {
    report('must be true where no network has ports of goApi, as nothing would listen', ['server', 'ownApi']);
  }
  const serverHost = partAt(settings, ['server', 'host']);
  const metricsHost = partAt(settings, ['metrics', 'host']) ?? serverHost;
  if (metricsHost !== serverHost && partAt(settings, ['metrics', 'port']) === undefined) {
    report('must have metrics.port beside it: without that port the metrics are on server.host', ['metrics', 'host']);
  }
  const owners = new Map<unknown, string>();
  for (const path of [...(hasOwnApi ? [['server', 'port']] : []), ['metrics', 'port'], ...goPorts]) {
    const number = partAt(settings, path);
    if (number === undefined || number === 0) continue;
    const owner = owners.get(number);
    const isElsewhere = path[0] === 'metrics' && metricsHost !== serverHost;
    if (owner === undefined) owners.set(number, path.join('.'));
    else if (!isElsewhere) report(`must be another port than ${owner}`, path);
  }
}

function isDevnetOnly(settings: unknown): boolean {
  const networks = Object.values(networksOf(settings));
  return networks.length > 0 && networks.every(isDevnet);
}

function isFilled(list: unknown): boolean {
  return Array.isArray(list) && list.length > 0;
}

interface GivenAccess {
  readonly apiKeys?: unknown;
  readonly requireKey?: unknown;
  readonly operateWithoutKey?: unknown;
}

function checkAccess({ apiKeys, requireKey, operateWithoutKey }: GivenAccess, report: Report): void {
  if (requireKey === true && !isFilled(apiKeys)) {
    report('requireKey needs apiKeys: without a key nobody could use the service');
  }
  if (operateWithoutKey === true && isFilled(apiKeys)) {
    report('operateWithoutKey is for a service without apiKeys: give a key the right operate in its place');
  }
}
