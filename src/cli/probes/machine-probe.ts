import { neededFiles, requiredFiles } from '../../app/file-limits.ts';
import { maskedBaseUrl } from '../../config/schema/mask.ts';
import type { Config, NetworkConfig } from '../../config/settings.ts';
import { systemClock } from '../../lib/concurrency/clock.ts';
import { aborted } from '../../lib/concurrency/deadline.ts';
import type { ApiEndpoint } from '../../lib/net/api-endpoint.ts';
import { Exchange } from '../../lib/net/exchange.ts';
import { readFileLimit } from '../../lib/net/file-limit.ts';
import { mayStatusPass } from '../../lib/net/http-failure.ts';
import type { RedisServers } from '../../lib/net/redis-address.ts';
import { createDataApi } from '../../pchain/rpc/data-api.ts';
import { publicNetworkNamed } from '../../warp/networks.ts';
import { ADDRESS_ADVICE, CALL_TIMEOUT_MS, type CheckedCall, inventId, runCheck } from './check.ts';
import type { CheckedPlace, Facts } from './facts.ts';
import type { DoctorReport } from './report.ts';

type Upstreams = Config['upstream']['endpoints'];

/** A request to each upstream that needs no parameter, and how many bytes of an answer are read. */
const UPSTREAM_TARGETS = {
  mainnet: '/v1/networks/mainnet',
  fuji: '/v1/networks/fuji',
  evm: '/v1/chains',
  metrics: '/v1/avg_tps/43114',
  node: '/ext/info',
} as const satisfies Readonly<Record<keyof Upstreams, string>>;
const MAX_BODY_BYTES = 64 * 1024;

export function probeUpstreams(endpoints: Upstreams): Promise<readonly CheckedPlace[]> {
  const entries = Object.entries(endpoints) as [keyof Upstreams, ApiEndpoint][];
  return Promise.all(
    entries.map(async ([name, endpoint]) => {
      const target = UPSTREAM_TARGETS[name];
      const setting =
        name === 'metrics' ? 'upstream.metrics' : name === 'node' ? 'upstream.nodeRpc' : `upstream.dataApi.${name}`;
      let status: number | undefined;
      const row = await runCheck({
        method: `GET ${target}`,
        severity: 'warning',
        lost: 'requests that are passed on to it',
        advice: ADDRESS_ADVICE,
        call: async (signal) => {
          status = await requestStatus(endpoint, target, signal);
        },
      });
      const place = { name: setting, url: maskedBaseUrl(endpoint.baseUrl) };
      return { ...place, ...row, ...(status !== undefined && judgeStatus(status)) };
    }),
  );
}

function judgeStatus(status: number): Pick<CheckedCall, 'words'> & Partial<Pick<CheckedCall, 'outcome'>> {
  const words = `HTTP status ${status}`;
  if (status === 401 || status === 403) return { outcome: 'refused', words };
  if (mayStatusPass(status)) return { outcome: 'unavailable', words };
  return { words };
}

async function requestStatus(endpoint: ApiEndpoint, target: string, signal: AbortSignal): Promise<number> {
  await using exchange = new Exchange(endpoint, { connections: 1 });
  const { status, body } = await exchange.send({ method: 'GET', target, signal });
  await body.dump({ limit: MAX_BODY_BYTES, signal });
  return status;
}

/** Asks the data API for an invented validation. */
export async function probeDataApi({ name, aliases, dataApi }: NetworkConfig): Promise<CheckedPlace | undefined> {
  if (dataApi === undefined) return undefined;
  const known = [name, ...aliases].map(publicNetworkNamed).find((network) => network !== undefined);
  await using api = createDataApi({
    endpoint: dataApi,
    network: known?.name ?? name,
    clock: systemClock,
    timeoutMs: CALL_TIMEOUT_MS,
  });
  const row = await runCheck({
    method: 'transactions by l1ValidationId',
    severity: 'warning',
    lost: 'justifications of removed L1 validators that the index of validations lacks',
    advice: ADDRESS_ADVICE,
    call: (signal) => api.transactionsOf(inventId(), signal),
  });
  return { name: 'dataApi', url: maskedBaseUrl(dataApi.baseUrl), ...row };
}

const PING = "return redis.call('SET', KEYS[1], ARGV[1], 'PX', 1000)";

/** Connects to Redis like the service, and writes a key that expires within a second. */
export async function probeRedis(shared: Config['store']['shared']): Promise<Facts['redis']> {
  if (shared === undefined) return undefined;
  const { openRedisLink } = await import('../../store/redis/redis-link.ts');
  const { servers, keyPrefix } = shared;
  const row = await runCheck({
    method: 'connect, and write a key',
    severity: 'warning',
    lost: 'work that replicas share: each works alone',
    advice: 'check store.sharedUrl',
    async call(signal) {
      const { promise: broken, reject } = Promise.withResolvers<never>();
      broken.catch(() => undefined);
      const options = {
        servers,
        keyPrefix,
        signal,
        clock: systemClock,
        connectTimeoutMs: CALL_TIMEOUT_MS,
        onBroken: reject,
      };
      const link = await openRedisLink(options);
      const work = link.connect().then(() => link.run(PING, 'doctor', ['1']));
      const ended = aborted(signal).then(() => Promise.reject(signal.reason));
      try {
        return await Promise.race([work, broken, ended]);
      } finally {
        work.catch(() => undefined);
        ended.catch(() => undefined);
        link.destroy();
      }
    },
  });
  return { servers: describeServers(servers), ...row };
}

/** Without user and password. */
function describeServers(servers: RedisServers): string {
  const nodes = servers.kind === 'single' ? [servers] : servers.kind === 'cluster' ? servers.nodes : servers.sentinels;
  const list = nodes.map(({ host, port }) => `${host}:${port}`).join(', ');
  return `${servers.kind === 'single' ? '' : `${servers.kind} `}${list}${servers.isTls ? ' over TLS' : ''}`;
}

/**
 * @param validators number of those of each network
 * @param limit of this process, which is that of the shell that started it
 */
export function probeFileDescriptors(
  config: Pick<Config, 'devnet' | 'networks' | 'server'>,
  validators: readonly number[],
  limit: number | undefined = readFileLimit(),
): DoctorReport['fileDescriptors'] {
  const [required, needed] = [requiredFiles(config, validators), neededFiles(config, validators)];
  return { ...(limit !== undefined && { limit }), required, needed };
}
