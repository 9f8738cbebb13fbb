import { readFileSync } from 'node:fs';
import { validateHeaderName, validateHeaderValue } from 'node:http';
import { isIP } from 'node:net';
import { availableParallelism } from 'node:os';
import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import type { ApiEndpoint } from '../primitives/api-endpoint.ts';
import { type NodeID, parseHexOrCb58Id, parseNodeID, type SubnetID } from '../primitives/ids.ts';
import { ParseError } from '../primitives/parse-error.ts';
import { parseRedisUrl, type RedisAddress } from '../primitives/redis-address.ts';

/**
 * The only reader of configuration: a JSON file, then environment variables, then command-line arguments, each over the
 * one before. What comes out is validated whole and frozen.
 */

const closed = { additionalProperties: false } as const;
const Port = Type.Integer({ minimum: 0, maximum: 65_535 });
const Percentage = Type.Integer({ minimum: 0, maximum: 100 });
const DurationMs = Type.Integer({ minimum: 1, maximum: 3_600_000 });
const Count = Type.Integer({ minimum: 1, maximum: 10_000_000 });
const StringMap = Type.Record(Type.String(), Type.String());

const Endpoint = Type.Object(
  {
    baseUrl: Type.String(),
    queryParameters: Type.Optional(StringMap),
    httpHeaders: Type.Optional(StringMap),
  },
  closed,
);

/** Methods of the node RPC that the documents name, and those that an aggregator asks for. */
const DEFAULT_RPC_METHODS = [
  ...['getAllBalances', 'getAssetDescription', 'getBalance', 'getBlock', 'getBlockByHeight', 'getHeight', 'getTx'],
  ...['getTxFee', 'getTxStatus', 'getUTXOs'],
]
  .map((name) => `avm.${name}`)
  .concat(
    [
      ...['getBalance', 'getBlock', 'getBlockByHeight', 'getBlockchains', 'getBlockchainStatus', 'getCurrentSupply'],
      ...['getCurrentValidators', 'getHeight', 'getL1Validator', 'getProposedHeight', 'getSubnet', 'getTx'],
      ...['getTxStatus', 'getValidatorFeeState', 'getValidatorsAt', 'validatedBy'],
    ].map((name) => `platform.${name}`),
  );

const Upstream = Type.Object(
  {
    dataApi: Type.Optional(
      Type.Object(
        { mainnet: Type.Optional(Endpoint), fuji: Type.Optional(Endpoint), evm: Type.Optional(Endpoint) },
        closed,
      ),
    ),
    metrics: Type.Optional(Endpoint),
    nodeRpc: Type.Optional(Endpoint),
    passUnknown: Type.Optional(Type.Boolean()),
    rpcMethods: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 100 }), { maxItems: 200 })),
    maxRpcBatch: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000 })),
    timeoutMs: Type.Optional(DurationMs),
    maxResponseBytes: Type.Optional(Type.Integer({ minimum: 1_024, maximum: 2 ** 31 })),
    cacheBytes: Type.Optional(Type.Integer({ minimum: 0, maximum: 2 ** 34 })),
  },
  closed,
);

/** SHA-256 of the key, so that no key stands in a file. */
const ApiKey = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 100 }),
    sha256: Type.String({ pattern: '^[0-9a-fA-F]{64}$' }),
    unitsPerMinute: Type.Optional(Count),
    routes: Type.Optional(Type.Array(Type.Enum(['aggregation', 'data', 'rpc']), { minItems: 1, maxItems: 3 })),
  },
  closed,
);

const FileSchema = Type.Object(
  {
    network: Type.Enum(['mainnet', 'fuji', 'local']),
    pChainApi: Type.Array(Endpoint, { minItems: 1, maxItems: 16 }),
    infoApi: Type.Optional(Type.Array(Endpoint, { minItems: 1, maxItems: 16 })),
    host: Type.Optional(Type.String({ minLength: 1 })),
    port: Type.Optional(Port),
    logLevel: Type.Optional(Type.Enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])),
    stakingCertPath: Type.Optional(Type.String({ minLength: 1 })),
    stakingKeyPath: Type.Optional(Type.String({ minLength: 1 })),
    allowPrivateAddresses: Type.Optional(Type.Boolean()),
    trackedSubnetIds: Type.Optional(Type.Array(Type.String(), { maxItems: 1_000 })),
    manuallyTrackedPeers: Type.Optional(
      Type.Array(Type.Object({ nodeId: Type.String(), address: Type.String() }, closed), { maxItems: 1_000 }),
    ),
    readyQuorumPercentage: Type.Optional(Percentage),
    validatorRefreshMs: Type.Optional(DurationMs),
    requestTimeoutMs: Type.Optional(DurationMs),
    peerTimeoutMs: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000 })),
    hedgeAfterMs: Type.Optional(DurationMs),
    connectTimeoutMs: Type.Optional(DurationMs),
    dialsPerSecond: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000 })),
    apiTimeoutMs: Type.Optional(DurationMs),
    maxAggregationsInFlight: Type.Optional(Count),
    maxQueriesInFlight: Type.Optional(Count),
    maxConcurrentQueries: Type.Optional(Count),
    signatureCacheSize: Type.Optional(Count),
    signatureCachePerSigner: Type.Optional(Count),
    resultCacheBytes: Type.Optional(Type.Integer({ minimum: 1_024, maximum: 2 ** 34 })),
    bls: Type.Optional(
      Type.Object(
        {
          backend: Type.Optional(Type.Enum(['noble', 'native'])),
          workers: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_024 })),
        },
        closed,
      ),
    ),
    storePath: Type.Optional(Type.String({ minLength: 1 })),
    sharedStoreUrl: Type.Optional(Type.String({ minLength: 1 })),
    sharedStoreKeyPrefix: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
    l1IndexLookback: Type.Optional(Type.Integer({ minimum: 0, maximum: 10_000_000 })),
    l1IndexBlocksPerSecond: Type.Optional(Type.Integer({ minimum: 1, maximum: 100_000 })),
    dataApi: Type.Optional(Endpoint),
    upstream: Type.Optional(Upstream),
    apiKeys: Type.Optional(Type.Array(ApiKey, { maxItems: 10_000 })),
    rateLimitPerMinute: Type.Optional(Type.Integer({ minimum: 0, maximum: 10_000_000 })),
    trustedProxies: Type.Optional(Type.Array(Type.String({ minLength: 1 }), { maxItems: 1_000 })),
    corsOrigins: Type.Optional(Type.Array(Type.String(), { maxItems: 100 })),
    shutdownTimeoutMs: Type.Optional(DurationMs),
  },
  closed,
);

type FileConfig = Static<typeof FileSchema>;
export type LogLevelName = NonNullable<FileConfig['logLevel']>;
export type NetworkName = FileConfig['network'];

export interface ApiKeyConfig {
  readonly name: string;
  /** In lower-case hex. */
  readonly sha256: string;
  readonly unitsPerMinute: number;
  readonly routes: readonly ('aggregation' | 'data' | 'rpc')[];
}

/** The services that requests are passed on to. */
export interface UpstreamConfig {
  readonly endpoints: {
    readonly mainnet?: ApiEndpoint;
    readonly fuji?: ApiEndpoint;
    readonly evm?: ApiEndpoint;
    readonly metrics?: ApiEndpoint;
    readonly node?: ApiEndpoint;
  };
  readonly passUnknown: boolean;
  readonly rpcMethods: readonly string[];
  readonly maxRpcBatch: number;
  readonly timeoutMs: number;
  readonly maxResponseBytes: number;
  /** 0 is no cache. */
  readonly cacheBytes: number;
}

export interface Config {
  /** Which names of the path's `{network}` this service answers to. */
  readonly network: NetworkName;
  readonly pChainApi: readonly ApiEndpoint[];
  readonly infoApi: readonly ApiEndpoint[];
  readonly host: string;
  readonly port: number;
  readonly logLevel: LogLevelName;
  /** Both or neither; without them the identity lives as long as the process. */
  readonly stakingIdentity: { readonly certificatePath: string; readonly privateKeyPath: string } | undefined;
  readonly allowPrivateAddresses: boolean;
  readonly trackedSubnetIDs: readonly SubnetID[];
  readonly manuallyTrackedPeers: readonly { readonly nodeID: NodeID; readonly host: string; readonly port: number }[];
  readonly readyQuorumNum: bigint;
  readonly validatorRefreshMs: number;
  readonly requestTimeoutMs: number;
  readonly peerTimeoutMs: number;
  readonly hedgeAfterMs: number;
  readonly connectTimeoutMs: number;
  readonly dialsPerSecond: number;
  readonly apiTimeoutMs: number;
  readonly maxAggregationsInFlight: number;
  readonly maxQueriesInFlight: number;
  readonly maxConcurrentQueries: number;
  readonly signatureCacheSize: number;
  readonly signatureCachePerSigner: number;
  readonly resultCacheBytes: number;
  readonly bls: { readonly backend: 'noble' | 'native'; readonly workers: number };
  /** A folder for what is to outlive the process. */
  readonly storePath: string | undefined;
  /** The Redis that replicas share, and what their keys in it start with. */
  readonly sharedStore: { readonly address: RedisAddress; readonly keyPrefix: string } | undefined;
  /** P-Chain blocks below the newest; without a store only. */
  readonly l1IndexLookback: bigint;
  readonly l1IndexBlocksPerSecond: number;
  readonly dataApi: ApiEndpoint | undefined;
  readonly upstream: UpstreamConfig;
  readonly apiKeys: readonly ApiKeyConfig[];
  /** Units for each client address; 0 is no limit, for keys neither. */
  readonly rateLimitPerMinute: number;
  /** Addresses or CIDR blocks. */
  readonly trustedProxies: readonly string[];
  /** Origins of pages that may use the service from a browser, as browsers write them; `*` alone is all. */
  readonly corsOrigins: readonly string[];
  /** For requests under way when the service stops. */
  readonly shutdownTimeoutMs: number;
}

/** What is wrong with the configuration, in words for the person who wrote it. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** Environment variables over the file, by the setting they set. */
const ENVIRONMENT = {
  SIGNATURE_AGGREGATOR_HOST: 'host',
  SIGNATURE_AGGREGATOR_PORT: 'port',
  SIGNATURE_AGGREGATOR_LOG_LEVEL: 'logLevel',
  SIGNATURE_AGGREGATOR_STAKING_CERT_PATH: 'stakingCertPath',
  SIGNATURE_AGGREGATOR_STAKING_KEY_PATH: 'stakingKeyPath',
  SIGNATURE_AGGREGATOR_STORE_PATH: 'storePath',
  SIGNATURE_AGGREGATOR_SHARED_STORE_URL: 'sharedStoreUrl',
} as const satisfies Record<string, keyof FileConfig>;

export type Overrides = Partial<Pick<FileConfig, 'host' | 'port' | 'logLevel'>>;
export type Environment = Readonly<Record<string, string | undefined>>;

/** @throws {ConfigError} */
export function loadConfig(path: string, overrides: Overrides, environment: Environment = process.env): Config {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    throw new ConfigError(`cannot read the configuration file ${path}: ${messageOf(cause)}`, { cause });
  }
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw new ConfigError(`the configuration file ${path} is not JSON: ${messageOf(cause)}`, { cause });
  }
  return parseConfig(json, overrides, environment);
}

/** @throws {ConfigError} naming the setting and what is allowed */
export function parseConfig(json: unknown, overrides: Overrides, environment: Environment = process.env): Config {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    throw new ConfigError('the configuration must be a JSON object');
  }
  const merged = { ...(expand(json, environment) as object), ...fromEnvironment(environment), ...overrides };
  if (!Value.Check(FileSchema, merged)) throw new ConfigError(describeProblem(merged));
  return deepFreeze(toConfig(merged));
}

/** Settings of a service whose network is the embedded one. */
export function embeddedConfig(apiUrl: string, overrides: Overrides, environment: Environment = process.env): Config {
  return parseConfig(
    {
      network: 'local',
      pChainApi: [{ baseUrl: apiUrl }],
      allowPrivateAddresses: true,
      logLevel: 'warn',
      // 2,000 validators of one machine are nobody else's load, and a person waits for them.
      dialsPerSecond: 1_000,
    },
    overrides,
    environment,
  );
}

function toConfig(file: FileConfig): Config {
  const { stakingCertPath, stakingKeyPath, sharedStoreUrl } = file;
  if ((stakingCertPath === undefined) !== (stakingKeyPath === undefined)) {
    throw new ConfigError('stakingCertPath and stakingKeyPath must be given together: they are one identity');
  }
  for (const setting of ['pChainApi', 'infoApi'] as const) {
    file[setting]?.forEach((endpoint, index) => {
      checkEndpoint(endpoint, `${setting}[${index}]`);
    });
  }
  if (file.dataApi !== undefined) checkEndpoint(file.dataApi, 'dataApi');
  return {
    network: file.network,
    pChainApi: file.pChainApi,
    infoApi: file.infoApi ?? file.pChainApi,
    host: file.host ?? '127.0.0.1',
    port: file.port ?? 8080,
    logLevel: file.logLevel ?? 'info',
    stakingIdentity:
      stakingCertPath !== undefined && stakingKeyPath !== undefined
        ? { certificatePath: stakingCertPath, privateKeyPath: stakingKeyPath }
        : undefined,
    allowPrivateAddresses: file.allowPrivateAddresses ?? file.network === 'local',
    trackedSubnetIDs: (file.trackedSubnetIds ?? []).map((text, index) =>
      named(`trackedSubnetIds[${index}]`, () => parseHexOrCb58Id<SubnetID>(text, 'subnet ID')),
    ),
    manuallyTrackedPeers: (file.manuallyTrackedPeers ?? []).map(({ nodeId, address }, index) => ({
      nodeID: named(`manuallyTrackedPeers[${index}].nodeId`, () => parseNodeID(nodeId)),
      ...parseAddress(address, `manuallyTrackedPeers[${index}].address`),
    })),
    readyQuorumNum: BigInt(file.readyQuorumPercentage ?? 67),
    validatorRefreshMs: file.validatorRefreshMs ?? 60_000,
    requestTimeoutMs: file.requestTimeoutMs ?? 10_000,
    peerTimeoutMs: file.peerTimeoutMs ?? 3_000,
    hedgeAfterMs: file.hedgeAfterMs ?? 500,
    connectTimeoutMs: file.connectTimeoutMs ?? 5_000,
    dialsPerSecond: file.dialsPerSecond ?? 100,
    apiTimeoutMs: file.apiTimeoutMs ?? 5_000,
    maxAggregationsInFlight: file.maxAggregationsInFlight ?? 256,
    maxQueriesInFlight: file.maxQueriesInFlight ?? 8_192,
    maxConcurrentQueries: file.maxConcurrentQueries ?? 2_048,
    signatureCacheSize: file.signatureCacheSize ?? 200_000,
    signatureCachePerSigner: file.signatureCachePerSigner ?? 10_000,
    resultCacheBytes: file.resultCacheBytes ?? 16 * 1024 * 1024,
    bls: {
      backend: file.bls?.backend ?? 'noble',
      // One core is left to the event loop.
      workers: file.bls?.workers ?? Math.max(1, availableParallelism() - 1),
    },
    storePath: file.storePath,
    sharedStore:
      sharedStoreUrl === undefined
        ? undefined
        : {
            address: named('sharedStoreUrl', () => parseRedisUrl(sharedStoreUrl)),
            keyPrefix: file.sharedStoreKeyPrefix ?? 'warp-signature-aggregator:',
          },
    l1IndexLookback: BigInt(file.l1IndexLookback ?? 10_000),
    l1IndexBlocksPerSecond: file.l1IndexBlocksPerSecond ?? (file.network === 'local' ? 1_000 : 50),
    dataApi: file.dataApi,
    upstream: toUpstreamConfig(file.upstream ?? {}),
    apiKeys: toApiKeys(file.apiKeys ?? []),
    rateLimitPerMinute: file.rateLimitPerMinute ?? (file.network === 'local' ? 0 : 3_000),
    trustedProxies: checkProxies(file.trustedProxies ?? []),
    corsOrigins: checkOrigins(file.corsOrigins ?? ['*']),
    shutdownTimeoutMs: file.shutdownTimeoutMs ?? 15_000,
  };
}

function toApiKeys(keys: readonly Static<typeof ApiKey>[]): ApiKeyConfig[] {
  for (const [index, { name, sha256 }] of keys.entries()) {
    const isTaken = (other: Static<typeof ApiKey>) =>
      other.name === name || other.sha256.toLowerCase() === sha256.toLowerCase();
    if (keys.findIndex(isTaken) !== index) {
      throw new ConfigError(`apiKeys[${index}] has the name or the hash of another key`);
    }
  }
  return keys.map(({ name, sha256, unitsPerMinute = 30_000, routes = ['aggregation', 'data', 'rpc'] }) => ({
    name,
    sha256: sha256.toLowerCase(),
    unitsPerMinute,
    routes,
  }));
}

function checkProxies(proxies: string[]): string[] {
  proxies.forEach((text, index) => {
    const [address = '', bits, ...rest] = text.split('/');
    const maxBits = { 0: 0, 4: 32, 6: 128 }[isIP(address)] ?? 0;
    const isBlock = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= maxBits);
    if (maxBits === 0 || !isBlock || rest.length > 0) {
      throw new ConfigError(`trustedProxies[${index}] must be an IP address or a block such as 10.0.0.0/8`);
    }
  });
  return proxies;
}

/** Browsers send an origin in one way only, and it is compared letter by letter. */
function checkOrigins(origins: string[]): string[] {
  origins.forEach((text, index) => {
    if (text === '*' && origins.length === 1) return;
    const setting = `corsOrigins[${index}]`;
    if (text === '*') throw new ConfigError(`${setting} is *, which is all origins, and stands alone`);
    const { protocol, host = '' } = URL.parse(text) ?? {};
    // A pattern would be taken for a host that nobody has.
    const origin = host === '' || host.includes('*') ? undefined : `${protocol}//${host}`;
    if (text === origin) return;
    throw new ConfigError(
      `${setting} must be an origin such as https://console.example or http://localhost:3000: a scheme, a host and a port ` +
        `that is not the scheme's own, with nothing after it; is ${JSON.stringify(text)}` +
        (origin === undefined ? '' : `, perhaps for ${origin}`),
    );
  });
  return origins;
}

function toUpstreamConfig(file: Static<typeof Upstream>): UpstreamConfig {
  const { mainnet, fuji, evm } = file.dataApi ?? {};
  for (const [setting, endpoint] of Object.entries({
    'upstream.dataApi.mainnet': mainnet,
    'upstream.dataApi.fuji': fuji,
    'upstream.dataApi.evm': evm,
    'upstream.metrics': file.metrics,
    'upstream.nodeRpc': file.nodeRpc,
  })) {
    if (endpoint !== undefined) checkEndpoint(endpoint, setting);
  }
  const forEvm = evm ?? mainnet ?? fuji;
  return {
    endpoints: {
      ...(mainnet && { mainnet }),
      ...(fuji && { fuji }),
      ...(forEvm && { evm: forEvm }),
      ...(file.metrics && { metrics: file.metrics }),
      ...(file.nodeRpc && { node: file.nodeRpc }),
    },
    passUnknown: file.passUnknown ?? true,
    rpcMethods: file.rpcMethods ?? DEFAULT_RPC_METHODS,
    maxRpcBatch: file.maxRpcBatch ?? 20,
    timeoutMs: file.timeoutMs ?? 10_000,
    maxResponseBytes: file.maxResponseBytes ?? 64 * 1024 * 1024,
    cacheBytes: file.cacheBytes ?? 32 * 1024 * 1024,
  };
}

/** What would else fail in each call only. Values stay out of the messages: they may be keys. */
function checkEndpoint({ baseUrl, httpHeaders }: ApiEndpoint, setting: string): void {
  const url = URL.parse(baseUrl);
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    throw new ConfigError(`${setting}.baseUrl must be a URL such as https://api.avax.network`);
  }
  if (url.username !== '' || url.password !== '') {
    throw new ConfigError(`${setting}.baseUrl must not hold a user or a password: use httpHeaders`);
  }
  for (const [name, value] of Object.entries(httpHeaders ?? {})) {
    try {
      validateHeaderName(name);
      validateHeaderValue(name, value);
    } catch (cause) {
      throw new ConfigError(`${setting}.httpHeaders: ${messageOf(cause)}`, { cause });
    }
  }
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    for (const item of Object.values(value)) deepFreeze(item);
    Object.freeze(value);
  }
  return value;
}

function fromEnvironment(environment: Environment): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(ENVIRONMENT).flatMap(([variable, setting]) => {
      const value = environment[variable];
      if (value === undefined || value === '') return [];
      return [[setting, setting === 'port' ? toNumber(value) : value]];
    }),
  );
}

/** A text that is no number stays text, and is refused by the schema under the setting's name. */
function toNumber(text: string): number | string {
  return /^\d+$/.test(text) ? Number(text) : text;
}

/** `${NAME}` in any text of the file is the environment variable NAME, so that keys need not stand in files. */
function expand(value: unknown, environment: Environment): unknown {
  if (typeof value === 'string') {
    return value.replaceAll(/\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g, (_, name: string) => {
      const found = environment[name];
      if (found === undefined)
        throw new ConfigError(`the environment variable ${name}, which the configuration uses, is not set`);
      return found;
    });
  }
  if (Array.isArray(value)) return value.map((item) => expand(item, environment));
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, expand(item, environment)]));
  }
  return value;
}

function parseAddress(text: string, setting: string): { host: string; port: number } {
  const match = /^(?:\[(?<ipv6>[0-9a-fA-F:.]+)\]|(?<host>[^:\s]+)):(?<port>\d{1,5})$/.exec(text);
  const host = match?.groups?.['ipv6'] ?? match?.groups?.['host'];
  const port = Number(match?.groups?.['port']);
  if (host === undefined || !(port > 0 && port <= 65_535)) {
    throw new ConfigError(`${setting} must be host:port or [IPv6]:port, is ${JSON.stringify(text)}`);
  }
  return { host, port };
}

function named<T>(setting: string, parse: () => T): T {
  try {
    return parse();
  } catch (cause) {
    if (cause instanceof ParseError) throw new ConfigError(`${setting}: ${cause.message}`, { cause });
    throw cause;
  }
}

function describeProblem(value: unknown): string {
  // A setting that is not allowed is reported twice, first as one of the schema `false`.
  const error = Value.Errors(FileSchema, value).find(({ keyword }) => keyword !== 'boolean');
  if (error === undefined) return 'the configuration is not valid';
  const at = error.instancePath
    .slice(1)
    .replaceAll(/\/(\d+)/g, '[$1]')
    .replaceAll('/', '.');
  if (error.keyword === 'additionalProperties') {
    const unknown = error.params.additionalProperties.join(', ');
    if (at !== '') return `unknown setting ${unknown} in ${at}`;
    return `unknown setting ${unknown}; known are: ${Object.keys(FileSchema.properties).join(', ')}`;
  }
  const problem = error.keyword === 'enum' ? `must be one of ${error.params.allowedValues.join(', ')}` : error.message;
  return `${at === '' ? 'the configuration' : at} ${problem}`;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
