import { Type } from 'typebox';
import { Endpoint } from './endpoint-schema.ts';
import { durationMs, integer, optional, partAt, section } from './setting.ts';

/** Methods of the node RPC that the documents name, and those that an aggregator calls. */
const DEFAULT_RPC_METHODS = [
  ...[
    'getAllBalances',
    'getAssetDescription',
    'getBalance',
    'getBlock',
    'getBlockByHeight',
    'getHeight',
    'getTx',
    'getTxFee',
    'getTxStatus',
    'getUTXOs',
  ].map((name) => `avm.${name}`),
  ...[
    'getBalance',
    'getBlock',
    'getBlockByHeight',
    'getBlockchains',
    'getBlockchainStatus',
    'getCurrentSupply',
    'getCurrentValidators',
    'getHeight',
    'getL1Validator',
    'getProposedHeight',
    'getSubnet',
    'getTx',
    'getTxStatus',
    'getValidatorFeeState',
    'getValidatorsAt',
    'validatedBy',
  ].map((name) => `platform.${name}`),
];

export const UpstreamSchema = section(
  'The services that all other requests are forwarded to. They never receive API keys of clients.',
  {
    dataApi: section('The data API.', {
      mainnet: optional(Endpoint('For `/v1/networks/mainnet`. Without it these routes are 503.')),
      fuji: optional(Endpoint('For `/v1/networks/fuji`, and its old name `testnet`. Without it these routes are 503.')),
      evm: optional(
        Endpoint('For `/v1/chains`, and for all routes that belong to no network.', {
          text: "`mainnet`'s, else `fuji`'s",
          value: ({ settings }) =>
            partAt(settings, ['upstream', 'dataApi', 'mainnet']) ?? partAt(settings, ['upstream', 'dataApi', 'fuji']),
        }),
      ),
    }),
    metrics: optional(Endpoint('The metrics service, for `/v1/avg_tps`.')),
    nodeRpc: optional(
      Endpoint('The node, for `/ext/bc/X`, `/ext/bc/P` and other blockchains.', {
        text: 'none; with a devnet, its node',
        value: () => undefined,
      }),
    ),
    passUnknown: Type.Boolean({
      default: true,
      description:
        'Whether GETs under `/v1` that no document names are forwarded to the data API, with only the form of their path checked. ' +
        "Routes of the key's account, such as webhooks, are never forwarded.",
      examples: [false],
    }),
    rpcMethods: Type.Array(Type.String({ minLength: 1, maxLength: 100 }), {
      default: DEFAULT_RPC_METHODS,
      description: 'JSON-RPC methods that are forwarded to the node.',
      maxItems: 200,
      examples: [['platform.getHeight', 'platform.getTx']],
    }),
    timeoutMs: durationMs({
      default: 10_000,
      description: 'Longest time for one response with its body; three times as long for the list of blockchains.',
    }),
    cacheBytes: integer(0, 2 ** 34, {
      default: 32 * 1024 * 1024,
      description:
        'Memory for cached responses: EVM blocks by their hash for a day; data that changes, transactions too, for seconds. 0 disables ' +
        'the cache.',
      examples: [0],
    }),
  },
);
