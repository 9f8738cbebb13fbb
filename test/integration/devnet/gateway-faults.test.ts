import { afterAll, expect, test } from 'vitest';
import type { Example } from '../../../src/devnet/devnet-schemas.ts';
import { systemClock } from '../../../src/lib/concurrency/clock.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { startFaultyDevnet } from '../../devnet/faulty-validator.ts';
import { startGateway } from '../../devnet/gateway.ts';
import { GATEWAY_FAULTS, type GatewayFaultName } from '../../devnet/gateway-faults.ts';
import { type ServiceSettings, serve } from '../service/running-service.ts';
import { askAll, endpointsOf, type Failures, failuresOf, type Service } from './behind-gateway.ts';

const names = Object.keys(GATEWAY_FAULTS) as GatewayFaultName[];
const devnet = await startFaultyDevnet({ validators: 5, clock: systemClock, logger: createLogger('silent') });
afterAll(() => devnet[Symbol.asyncDispose]());
const examples = devnet.examples('fuji');

/** What a fault of the only API does to the service. */
interface Effect {
  /** `up` by default. */
  readonly network?: 'down';
  /** Other examples are signed. */
  readonly failing?: Failures;
  /** The info API is another one, as with the presets. A network that has no public name does not open without. */
  readonly hasOtherInfoApi?: true;
}

type Matches = (example: Example) => boolean;

const failing = (code: string, matches: Matches = () => true): Failures =>
  Object.fromEntries(examples.filter(matches).map(({ name }) => [name, code]));

const ofNamedChain: Matches = ({ path }) => path.includes('blockchainId=');
const ofEvmTransaction: Matches = ({ name }) => name.startsWith('by EVM transaction');
const ofPChainTransaction: Matches = ({ name }) => name.startsWith('by transaction');
const ofRegisteredRemoval: Matches = ({ name }) => name.endsWith('that removes a registered validator');
const byJustification: Matches = ({ name }) => name.startsWith('by justification');
const withDestination: Matches = ({ body }) => body?.destinationBlockchainId !== undefined;
const withHeight: Matches = ({ body }) => body?.pChainHeight !== undefined;

/** @param code of what the P-Chain is asked @param chainCode of what the RPC of a chain is asked */
const noApi = (code: string, chainCode: string): Effect => ({
  network: 'down',
  failing: { ...failing(code), ...failing(chainCode, ofNamedChain) },
  hasOtherInfoApi: true,
});

const UNAVAILABLE = noApi('p_chain_unavailable', 'chain_rpc_unavailable');
const INVALID = noApi('p_chain_invalid', 'chain_rpc_invalid');
/** Where only the method is refused, a hash is looked for on EVM chains too. */
const REFUSED: Effect = {
  ...INVALID,
  failing: { ...failing('p_chain_invalid'), ...failing('chain_rpc_invalid', ofEvmTransaction) },
};
/** A text that is unknown to us may be the node's "not found" in other words: from the only API it is the answer. */
const NOT_FOUND: Effect = {
  ...INVALID,
  failing: {
    ...failing('unknown_source_chain'),
    ...failing('unknown_transaction', ({ method }) => method === 'GET'),
    ...failing('unknown_subnet', (example) => byJustification(example) || example.name.startsWith('P-Chain: ')),
    ...failing('invalid_request', ({ name }) => name === 'P-Chain message for the L1'),
  },
};

const EFFECTS: Readonly<Record<GatewayFaultName, Effect>> = {
  'numeric heights refused': { failing: failing('height_not_served', withHeight) },
  'only the last 50 heights': { failing: failing('height_not_served', withHeight) },
  'no method served (-32601)': REFUSED,
  'limit as -32005': UNAVAILABLE,
  'limit as -32097': UNAVAILABLE,
  'limit as the code 429': UNAVAILABLE,
  'limit as -32000 with words': UNAVAILABLE,
  'not available as -32000': UNAVAILABLE,
  'unsupported as -32000': REFUSED,
  'a text that nobody knows as -32000': NOT_FOUND,
  'HTTP 429 with Retry-After': UNAVAILABLE,
  'HTTP 403 invalid host': REFUSED,
  'HTTP 503 bootstrapping': UNAVAILABLE,
  'compresses unasked': {},
  'Basic authentication required': {},
  'no info.getNodeVersion': {},
  'no info.peers': {},
  'no platform.validatedBy': {},
  'no platform.getTxStatus': {},
  'no platform.getL1Validator': {},
  // The conversion and the validator manager of an L1 are known from nowhere else.
  'no platform.getSubnet': { failing: failing('p_chain_invalid', byJustification) },
  'no platform.getTx': { failing: failing('p_chain_invalid', ofPChainTransaction) },
  'no platform.getBlockByHeight': { failing: failing('justification_not_found', ofRegisteredRemoval) },
  'no platform.getCurrentValidators': {},
  'no info.getNetworkID': { network: 'down', failing: failing('network_unavailable') },
  'a list of allowed methods (HTTP 403)': {
    failing: failing('p_chain_invalid', (example) => ofPChainTransaction(example) || byJustification(example)),
  },
  'no proposervm API': { failing: failing('invalid_request', withDestination) },
  'the P-Chain alone': {
    failing: { ...failing('invalid_request', withDestination), ...failing('chain_rpc_invalid', ofEvmTransaction) },
    hasOtherInfoApi: true,
  },
  'version of a release candidate': {},
  'version without a name': {},
};

/** Resolves with the status of the network when its start is over. */
async function statusAfterStart({ get }: Service): Promise<unknown> {
  let status: unknown;
  await expect
    .poll(async () => {
      const { body } = await get('/health/ready');
      [{ status } = { status: undefined }] = body['networks'] as { status: unknown }[];
      return status;
    })
    .not.toBe('starting');
  return status;
}

test.each(names)('the only API: %s', async (name) => {
  const { network = 'up', failing: expected = {}, hasOtherInfoApi = false } = EFFECTS[name];
  await using gateway = await startGateway(devnet.apiUrl, GATEWAY_FAULTS[name]);
  const settings: ServiceSettings = {
    waitsUntilReady: false,
    network: { pChainApi: endpointsOf(gateway), ...(hasOtherInfoApi && { infoApi: [{ baseUrl: devnet.apiUrl }] }) },
  };
  await using service = await serve(devnet, settings);
  const status = await statusAfterStart(service);
  expect({ network: status, failing: failuresOf(examples, await askAll(service, examples)) }).toEqual({
    network,
    failing: expected,
  });
});
