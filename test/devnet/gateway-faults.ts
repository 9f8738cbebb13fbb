import { gzipSync } from 'node:zlib';
import { type GatewayCall, type GatewayFault, rejection, result } from './gateway.ts';

/** What one of {@link GATEWAY_FAULTS} requires. */
export const USER = 'operator';
export const PASSWORD = 'p@ss:w%rd';
const AUTHORIZATION = `Basic ${Buffer.from(`${USER}:${PASSWORD}`).toString('base64')}`;
/** Lowest height of an API that keeps the newest 50: the devnet begins at height 200. */
const LOWEST_HEIGHT = 150n;

const ALLOWED_METHODS: ReadonlySet<string> = new Set([
  'info.getNetworkID',
  'platform.getBlockchains',
  'platform.getHeight',
  'platform.getProposedHeight',
  'platform.getValidatorsAt',
  'proposervm.getCurrentEpoch',
  'eth_getTransactionReceipt',
  'eth_getChainConfig',
  'info.peers',
]);

/** What public endpoints, providers and gateways before a node do, by name. */
export const GATEWAY_FAULTS = {
  // Heights
  'numeric heights refused': onHeights(() => true, 'Unsupported height parameter value'),
  'only the last 50 heights': onHeights((height) => height < LOWEST_HEIGHT, 'height is below the lowest of this node'),
  // JSON-RPC errors about the endpoint
  'no method served (-32601)': reject(-32_601, 'the method does not exist/is not available'),
  'limit as -32005': reject(-32_005, 'daily request count exceeded, request rate limited'),
  'limit as -32097': reject(-32_097, 'Rate limit reached'),
  'limit as the code 429': reject(429, 'Too Many Requests'),
  'limit as -32000 with words': reject(-32_000, "You've exceeded the rate limit of your plan"),
  'not available as -32000': reject(-32_000, 'the resource is not available on this endpoint'),
  'unsupported as -32000': reject(-32_000, 'unsupported by this endpoint'),
  // HTTP
  'HTTP 429 with Retry-After': () => ({ status: 429, headers: { 'retry-after': '30' }, body: 'slow down' }),
  'HTTP 403 invalid host': () => ({ status: 403, headers: PLAIN, body: 'invalid host specified\n' }),
  'HTTP 503 bootstrapping': () => ({
    status: 503,
    headers: PLAIN,
    body: 'API call rejected because chain is not done bootstrapping\n',
  }),
  'a text that nobody knows as -32000': reject(-32_000, 'computer says no'),
  'compresses unasked': async (_call, forward) => {
    const { body, ...reply } = await forward();
    return { ...reply, headers: { 'content-encoding': 'gzip' }, body: gzipSync(body) };
  },
  'Basic authentication required': ({ headers }, forward) =>
    headers.authorization === AUTHORIZATION
      ? forward()
      : { status: 401, headers: { 'www-authenticate': 'Basic realm="node"' }, body: 'unauthorized' },
  // Single methods
  'no info.getNodeVersion': withoutMethod('info.getNodeVersion'),
  'no info.peers': withoutMethod('info.peers'),
  'no platform.validatedBy': withoutMethod('platform.validatedBy'),
  'no platform.getTxStatus': withoutMethod('platform.getTxStatus'),
  'no platform.getL1Validator': withoutMethod('platform.getL1Validator'),
  'no platform.getSubnet': withoutMethod('platform.getSubnet'),
  'no platform.getTx': withoutMethod('platform.getTx'),
  'no platform.getBlockByHeight': withoutMethod('platform.getBlockByHeight'),
  'no platform.getCurrentValidators': withoutMethod('platform.getCurrentValidators'),
  'no info.getNetworkID': withoutMethod('info.getNetworkID'),
  'a list of allowed methods (HTTP 403)': ({ method }, forward) =>
    ALLOWED_METHODS.has(method) ? forward() : { status: 403, body: JSON.stringify({ message: 'method not allowed' }) },
  'no proposervm API': ({ path }, forward) =>
    path.endsWith('/proposervm') ? { status: 404, headers: PLAIN, body: 'not found' } : forward(),
  'the P-Chain alone': ({ path }, forward) =>
    path === '/ext/bc/P' ? forward() : { status: 404, headers: PLAIN, body: 'not found' },
  // Versions
  'version of a release candidate': withVersion('avalanchego/1.15.0-rc.1'),
  'version without a name': withVersion('v1.15.0'),
} as const satisfies Readonly<Record<string, GatewayFault>>;

export type GatewayFaultName = keyof typeof GATEWAY_FAULTS;

const PLAIN = { 'content-type': 'text/plain' };

function reject(code: number, message: string): GatewayFault {
  return (call) => rejection(call, code, message);
}

function withoutMethod(method: string): GatewayFault {
  return (call, forward) =>
    call.method === method
      ? rejection(call, -32_601, `the method ${method} does not exist/is not available`)
      : forward();
}

function onHeights(isRefused: (height: bigint) => boolean, message: string): GatewayFault {
  return (call, forward) => {
    const height = numericHeight(call);
    return height !== undefined && isRefused(height) ? rejection(call, -32_000, message) : forward();
  };
}

function numericHeight({ method, params: { height } }: GatewayCall): bigint | undefined {
  const isNumeric = typeof height === 'number' || typeof height === 'bigint';
  return isNumeric && /^platform\.get(All)?ValidatorsAt$/.test(method) ? BigInt(height) : undefined;
}

function withVersion(version: string): GatewayFault {
  return (call, forward) => (call.method === 'info.getNodeVersion' ? result(call, { version }) : forward());
}
