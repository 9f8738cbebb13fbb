import { Type } from '../../lib/encoding/schema.ts';
import { Endpoint } from './endpoint-schema.ts';
import { DurationMs } from './number-schemas.ts';
import { optional, partAt, section } from './setting.ts';

/** Methods of the node RPC that the documents name, and those that an aggregator asks for. */
const DEFAULT_RPC_METHODS = [
  ...[
    ...['getAllBalances', 'getAssetDescription', 'getBalance', 'getBlock', 'getBlockByHeight', 'getHeight', 'getTx'],
    ...['getTxFee', 'getTxStatus', 'getUTXOs'],
  ].map((name) => `avm.${name}`),
  ...[
    ...['getBalance', 'getBlock', 'getBlockByHeight', 'getBlockchains', 'getBlockchainStatus', 'getCurrentSupply'],
    ...['getCurrentValidators', 'getHeight', 'getL1Validator', 'getProposedHeight', 'getSubnet', 'getTx'],
    ...['getTxStatus', 'getValidatorFeeState', 'getValidatorsAt', 'validatedBy'],
  ].map((name) => `platform.${name}`),
];

export const UpstreamSchema = section(
  'The services that all other requests are passed on to. Keys of clients go to none of them.',
  {
    dataApi: section('The data API.', {
      mainnet: optional(Endpoint('For `/v1/networks/mainnet`. Without it these routes are 503.')),
      fuji: optional(Endpoint('For `/v1/networks/fuji`, and its old name `testnet`. Without it these routes are 503.')),
      evm: optional(
        Endpoint('For `/v1/chains`, and for all that is of no network.', {
          text: "`mainnet`'s, else `fuji`'s",
          value: ({ settings }) =>
            partAt(settings, ['upstream', 'dataApi', 'mainnet']) ?? partAt(settings, ['upstream', 'dataApi', 'fuji']),
        }),
      ),
    }),
    metrics: optional(Endpoint('The metrics service, for `/v1/avg_tps`.')),
    nodeRpc: optional(
      Endpoint('The node, for `/ext/bc/X`, `/ext/bc/P` and other blockchains.', {
        text: "none; with an embedded network, that network's node",
        value: () => undefined,
      }),
    ),
    passUnknown: Type.Boolean({
      default: true,
      description:
        'Whether GETs under `/v1` that no document names are passed on to the data API, with only the form of their path checked. What belongs to the account of the key, such as webhooks, never is.',
      examples: [false],
    }),
    rpcMethods: Type.Array(Type.String({ minLength: 1, maxLength: 100 }), {
      default: DEFAULT_RPC_METHODS,
      description: 'JSON-RPC methods let through to the node.',
      maxItems: 200,
      examples: [['platform.getHeight', 'platform.getTx']],
    }),
    timeoutMs: DurationMs({
      default: 10_000,
      description: 'Longest time for one answer with its body; the list of blockchains has three times as long.',
      examples: [10_000],
    }),
    cacheBytes: Type.Integer({
      default: 32 * 1024 * 1024,
      description:
        'Memory for answers that are given again: EVM blocks asked for by their hash for a day; all that changes, transactions too, for ' +
        'seconds. 0 turns the cache off.',
      minimum: 0,
      maximum: 2 ** 34,
      examples: [0],
    }),
  },
);
