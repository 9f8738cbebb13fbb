import { afterAll, expect, test } from 'vitest';
import { diagnose } from '../../../src/cli/doctor/doctor.ts';
import { parseConfig } from '../../../src/config/load/load-config.ts';
import { systemClock } from '../../../src/lib/concurrency/clock.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { startFaultyDevnet } from '../../devnet/faulty-validator.ts';
import { startGateway } from '../../devnet/gateway.ts';
import { GATEWAY_FAULTS, type GatewayFaultName } from '../../devnet/gateway-faults.ts';

const LIMITS = { maxConnectMs: 30_000, quietMs: 1_000 };
const devnet = await startFaultyDevnet({ validators: 5, clock: systemClock, logger: createLogger('silent') });
afterAll(() => devnet[Symbol.asyncDispose]());

const API = 'mine pChainApi\\[0\\], infoApi\\[0\\]';
const nothingServed = (severity: 'problem' | 'passing', words: string): readonly RegExp[] => [
  RegExp(`^${severity} ${API}: it serves no call: .*${words}`),
];
const without = (severity: 'warning' | 'note', method: string, words = '.*'): readonly RegExp[] => [
  RegExp(`^${severity} ${API}: ${method}: (refused|invalid): ${words}. Without: `),
];

/** The findings behind each fault of the only API. */
const FINDINGS: Readonly<Record<GatewayFaultName, readonly RegExp[]>> = {
  'numeric heights refused': [
    /^warning mine: numeric heights are refused \(platform\.getValidatorsAt: Unsupported height parameter value/,
  ],
  'only the last 50 heights': [/^note mine: validator sets 100 heights back, and older ones, are not served/],
  'no method served (-32601)': nothingServed('problem', 'does not exist/is not available'),
  'limit as -32005': nothingServed('passing', 'daily request count exceeded'),
  'limit as -32097': nothingServed('passing', 'Rate limit reached'),
  'limit as the code 429': nothingServed('passing', 'Too Many Requests'),
  'limit as -32000 with words': nothingServed('passing', "You've exceeded the rate limit of your plan"),
  'not available as -32000': nothingServed('passing', 'not available on this endpoint'),
  'unsupported as -32000': nothingServed('problem', 'unsupported by this endpoint'),
  'a text that nobody knows as -32000': nothingServed('problem', 'computer says no'),
  'HTTP 429 with Retry-After': nothingServed('passing', 'HTTP status 429'),
  'HTTP 403 invalid host': nothingServed('problem', 'invalid host specified'),
  'HTTP 503 bootstrapping': nothingServed('passing', 'not done bootstrapping'),
  'compresses unasked': [],
  'Basic authentication required': nothingServed('problem', 'HTTP status 401'),
  'no info.getNodeVersion': without('note', 'info\\.getNodeVersion'),
  'no info.peers': without('note', 'info\\.peers'),
  'no platform.validatedBy': without('note', 'platform\\.validatedBy'),
  'no platform.getTxStatus': without('note', 'platform\\.getTxStatus'),
  'no platform.getL1Validator': without('note', 'platform\\.getL1Validator'),
  'no platform.getSubnet': without('warning', 'platform\\.getSubnet'),
  'no platform.getTx': without('warning', 'platform\\.getTx'),
  'no platform.getBlockByHeight': without('warning', 'platform\\.getBlockByHeight'),
  'no platform.getCurrentValidators': without('warning', 'platform\\.getCurrentValidators'),
  'no info.getNetworkID': [
    /^problem mine: no validator was tried: the info API does not report the network ID: the method info.getNetworkID does not exist/,
    ...without('warning', 'info\\.getNetworkID'),
  ],
  'a list of allowed methods (HTTP 403)': without('warning', '.*, and \\d+ more', 'HTTP status 403.*'),
  'no proposervm API': without('warning', 'proposervm\\.getCurrentEpoch \\(P-Chain\\)', 'HTTP status 404.*'),
  'the P-Chain alone': [
    /^problem mine: no validator was tried: the info API does not report the network ID: HTTP status 404/,
    ...without('warning', 'info\\.getNetworkID, .*, and \\d more', 'HTTP status 404.*'),
  ],
  'version of a release candidate': [],
  'version without a name': [],
};

test.each(Object.entries(FINDINGS) as [GatewayFaultName, readonly RegExp[]][])('%s', async (name, expected) => {
  await using gateway = await startGateway(devnet.apiUrl, GATEWAY_FAULTS[name]);
  const { config } = parseConfig(
    { server: { port: 0 }, networks: { mine: { pChainApi: [{ baseUrl: gateway.url }] } } },
    {},
    {},
  );
  const { findings } = await diagnose(config, {}, LIMITS);
  const found = findings.map(({ severity, subject, text }) => `${severity} ${subject}: ${text}`);
  expect(found).toEqual(expected.map((pattern) => expect.stringMatching(pattern)));
});
