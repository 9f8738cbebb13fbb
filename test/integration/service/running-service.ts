import { type App, startApp } from '../../../src/app/app.ts';
import type { AppLimits } from '../../../src/app/core.ts';
import type { BlsBackend } from '../../../src/bls/backends/bls-backend.ts';
import { nobleBackend } from '../../../src/bls/backends/noble-backend.ts';
import { parseConfig } from '../../../src/config/load/load-config.ts';
import type { Config } from '../../../src/config/settings.ts';
import type { Devnet } from '../../../src/devnet/devnet.ts';
import { type Clock, systemClock } from '../../../src/lib/concurrency/clock.ts';
import { parseHex } from '../../../src/lib/encoding/bytes.ts';
import { parseExactJson } from '../../../src/pchain/codec/exact-json.ts';
import { createLogger, type Logger } from '../../../src/telemetry/logger.ts';
import type { Validator } from '../../../src/validators/validator.ts';
import { type Verification, verifySignedMessage } from '../../../src/validators/verify-signed-message.ts';
import { createWarpSet } from '../../../src/validators/warp-set.ts';
import { parseNodeID } from '../../../src/warp/ids.ts';
import { startFaultyDevnet } from '../../devnet/faulty-validator.ts';

const POST_PATH = '/v1/signatureAggregator/fuji/aggregateSignatures';
const START_TIMEOUT_MS = 30_000;

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Record<string, unknown>;
}

/** Sections of a configuration file, besides `limits` and the logger; `network` has the settings of the one network. */
export interface ServiceSettings {
  readonly network?: object;
  readonly limits?: AppLimits;
  readonly access?: object;
  readonly aggregation?: object;
  readonly bls?: object;
  readonly server?: object;
  readonly store?: object;
  readonly upstream?: object;
  /** Silent by default. */
  readonly logger?: Logger;
  /** Variables of the environment; none by default. */
  readonly environment?: Readonly<Record<string, string>>;
  /** The system's by default. */
  readonly clock?: Clock;
  /** Whether the start waits until the networks are up; it does by default. */
  readonly waitsUntilReady?: boolean;
}

/** The whole service on the devnet, as `npm start` runs it, in this process. */
export interface RunningService extends AsyncDisposable {
  readonly app: App;
  readonly devnet: Devnet;
  post(body: unknown, path?: string, headers?: Record<string, string>): Promise<Answer>;
  get(path: string): Promise<Answer>;
  /** One more service on the same network. */
  another(
    settings: ServiceSettings,
  ): Promise<Pick<RunningService, 'app' | 'get' | 'post' | 'metric'> & { config: Config } & AsyncDisposable>;
  /** A value of /metrics by its name with labels. */
  metric(name: string): Promise<number>;
  /** Checks an answer as a destination would, against the set that the P-Chain API gives; with noble by default. */
  verify(
    answer: Answer,
    expected: { subnetID: string; height?: number; quorum: number },
    backend?: BlsBackend,
  ): Promise<Verification>;
}

export async function startService(
  validators: number,
  {
    settings = {},
    prepare,
    devnetClock: clock = systemClock,
    executionLagMs = 0,
  }: {
    settings?: ServiceSettings;
    /** Runs before there is a service. */
    prepare?: (devnet: Devnet) => Promise<void>;
    devnetClock?: Clock;
    /** Execution lag of the devnet's C-Chain. */
    executionLagMs?: number;
  } = {},
): Promise<RunningService> {
  await using opened = new AsyncDisposableStack();
  const logger = createLogger('silent');
  const devnet = opened.use(await startFaultyDevnet({ validators, executionLagMs, clock, logger }));
  await prepare?.(devnet);
  const { app, get, post, metric } = opened.use(await serve(devnet, settings));
  const closing = opened.move();

  return {
    app,
    devnet,
    get,
    post,
    metric,
    another: (otherSettings) => serve(devnet, otherSettings),
    async verify({ body }, { subnetID, height, quorum }, backend = nobleBackend) {
      const signedMessage = parseHex(String(body['signedMessage']), 'signedMessage');
      return verifySignedMessage(
        signedMessage,
        {
          networkID: devnet.networkID,
          warpSet: createWarpSet(await validatorsAt(devnet.apiUrl, subnetID, height ?? 'proposed')),
          quorumNum: BigInt(quorum),
        },
        backend,
      );
    },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

/** Starts the service on a running devnet. */
export async function serve(
  devnet: Pick<Devnet, 'apiUrl'>,
  {
    network,
    server,
    limits = {},
    logger = createLogger('silent'),
    clock = systemClock,
    environment = {},
    waitsUntilReady = true,
    ...sections
  }: ServiceSettings,
) {
  await using opened = new AsyncDisposableStack();
  const starting = AbortSignal.timeout(START_TIMEOUT_MS);
  const local = {
    aliases: ['mainnet', 'fuji', 'testnet'],
    pChainApi: [{ baseUrl: devnet.apiUrl }],
    ...network,
  };
  // Tests act as many clients from one address.
  const listener = { port: 0, ...server };
  const parsed = parseConfig({ networks: { local }, server: listener, ...sections }, {}, environment);
  const { config } = parsed;
  const app = opened.use(await startApp({ config, limits, logger, clock, random: Math.random }));
  if (waitsUntilReady) await app.untilReady(starting);
  const closing = opened.move();

  return {
    app,
    config,
    get: (path: string) => ask(app, path),
    post: (body: unknown, path = POST_PATH, headers: Record<string, string> = {}) => ask(app, path, body, headers),
    async metric(name: string) {
      const text = await (await fetch(`${app.url}/metrics`)).text();
      // The one network's label is left out: it is the same everywhere.
      const plain = text.replaceAll(/\{network="local"\}/g, '').replaceAll('network="local",', '');
      const line = plain.split('\n').find((candidate) => candidate.startsWith(`${name} `));
      if (line === undefined) throw new Error(`no metric ${name}`);
      return Number(line.slice(name.length + 1));
    },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

/** Sends a GET, or a POST where there is a body. */
export async function ask({ url }: App, path: string, body?: unknown, headers: object = {}): Promise<Answer> {
  const response = await fetch(`${url}${path}`, {
    ...(body !== undefined && {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json', ...headers },
    }),
  });
  const answer = (await response.json()) as Record<string, unknown>;
  return { status: response.status, headers: response.headers, body: answer };
}

/** IDs in the form of the P-Chain API. */
export async function validatorsAt(
  apiUrl: string,
  subnetID: string,
  height: number | 'proposed' = 'proposed',
): Promise<Validator[]> {
  const response = await fetch(`${apiUrl}/ext/bc/P`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'platform.getValidatorsAt',
      params: { subnetID, height },
    }),
  });
  const { result } = parseExactJson(await response.text(), 'answer') as {
    result: Record<string, { publicKey: string | null; weight: string }>;
  };
  return Object.entries(result).map(([nodeID, { publicKey, weight }]) => ({
    nodeID: parseNodeID(nodeID),
    publicKey: publicKey === null ? undefined : parseHex(publicKey, 'publicKey'),
    weight: BigInt(weight),
  }));
}
