import { Type } from 'typebox';
import { isObject } from '../../lib/encoding/is-object.ts';
import { attempt, ParseError } from '../../lib/encoding/parse-error.ts';
import type { ApiEndpoint } from '../../lib/net/api-endpoint.ts';
import { parseHostAndPort } from '../../lib/net/host-and-port.ts';
import { type EvmChainID, parseEvmChainID } from '../../pchain/rpc/evm-api.ts';
import { parseHexOrCb58Id, parseNodeID, type SubnetID } from '../../warp/ids.ts';
import { publicNetworkNamed } from '../../warp/networks.ts';
import { Endpoint, Endpoints, RpcEndpoints } from './endpoint-schema.ts';
import { FeedSchema } from './feed-schema.ts';
import {
  check,
  durationMs,
  integer,
  optional,
  parsed,
  partAt,
  port,
  type Report,
  replaced,
  type Surroundings,
  section,
} from './setting.ts';

/**
 * Lower-case words joined by `-`: environment variables have them in upper case with `_`, in which different names must stay different
 * and contain no `__`, the separator of levels.
 */
const NAME = '^(?=.{1,32}$)[a-z][a-z0-9]*(-[a-z0-9]+)*$';
const NAME_ALLOWED = 'a name of at most 32 lower-case letters, digits and single hyphens, a letter first';

const SubnetId = parsed(
  Type.String({
    allowed: 'the ID of a subnet in cb58 or hex',
    examples: ['2W9boARgCWL25z6pMFNtkCfNA5v28VGg9PmBgUJfuKndEdhrvw'],
  }),
  (text) => parseHexOrCb58Id<SubnetID>(text, 'subnet ID'),
);

const Peer = Type.Object(
  {
    nodeId: parsed(
      Type.String({
        description: 'The NodeID of its certificate.',
        allowed: 'a NodeID',
        examples: ['NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg'],
      }),
      parseNodeID,
    ),
    address: parsed(
      Type.String({
        description: 'The address it listens on.',
        allowed: 'host:port or [IPv6]:port',
        examples: ['10.0.0.1:9651'],
      }),
      parseHostAndPort,
    ),
  },
  { additionalProperties: false, allowed: 'an object {nodeId, address}' },
);

const Devnet = Type.Object(
  {
    // Fewer could not show an L1 beside a primary network; more would be more TLS servers than one process holds well.
    validators: integer(5, 2_000, {
      default: 20,
      description: 'The number of validators of its primary network. Its L1 has five, two of them in no other set.',
    }),
    executionLagMs: integer(0, 60_000, {
      default: 0,
      description:
        'The time from the acceptance of a C-Chain block to its execution (ACP-194), in milliseconds: validators sign its messages only ' +
        'then, and it has no receipts and logs before.',
      examples: [1_500],
    }),
    blockIntervalMs: integer(1_000, 60_000, {
      default: 10_000,
      description:
        'The time between two blocks of its P-Chain, in milliseconds. A transaction is accepted with the next block, and an epoch has ' +
        'three blocks.',
      examples: [2_000],
    }),
  },
  {
    additionalProperties: false,
    description:
      'Runs the network as a devnet in this process, to try the service. It replaces `pChainApi`, and only one network may have it.',
    allowed: 'an object {validators, executionLagMs, blockIntervalMs}',
    examples: [{ validators: 20, executionLagMs: 0 }],
  },
);

/** The path of the devnet's size in the settings of its network. */
export const DEVNET_SIZE = ['embedded', 'validators'] as const;

/** Whether the settings of a network make it the devnet. */
export function isDevnet(network: unknown): boolean {
  return partAt(network, ['embedded']) !== undefined;
}

/** The blockchain of the devnet's L1. */
export const DEVNET_L1 = 'DZX9nN8C1qabAXiPWWLVx8WRR4eaCYdbbmF91FE7btyPnrgui';

/** The networks of a service without any configuration. */
export const DEFAULT_NETWORKS = {
  local: {
    embedded: { validators: 20 },
    aliases: ['mainnet', 'fuji', 'testnet'],
    feed: { chains: ['C', DEVNET_L1].map((blockchainId) => ({ blockchainId, fromBlock: 1 })) },
  },
};

function goPort(description: string, example: number) {
  return port({ description: `${description} On \`server.host\`; 0 takes any free one.`, examples: [example] });
}

const NetworkSchema = section(
  'One network.',
  {
    aliases: Type.Array(Type.String({ pattern: NAME, allowed: NAME_ALLOWED, examples: ['testnet'] }), {
      description: 'Further names of the network in paths. No two networks share a name.',
      maxItems: 16,
      examples: [['mainnet', 'fuji', 'testnet']],
      derived: {
        text: '`["testnet"]` for `fuji`, else `[]`',
        value: ({ network }: Surroundings) => defaultAliases(network?.name ?? ''),
      },
    }),
    pChainApi: optional(
      Endpoints(
        'Base URLs of the P-Chain API, in order of preference: the next one is used while one fails. Required unless the network ' +
          'is a devnet.',
      ),
    ),
    infoApi: optional(
      Endpoints('Base URLs of the info API: network ID, node version, first peers.', {
        text: 'as `pChainApi`',
        value: ({ network }) => partAt(network?.settings, ['pChainApi']),
      }),
    ),
    embedded: optional(Devnet),
    dataApi: optional(
      Endpoint(
        'The data API for transactions of L1 validations that are not in the index. Its key belongs in `httpHeaders`.',
      ),
    ),
    chainRpc: replaced(
      Type.Record(Type.String(), RpcEndpoints, {
        default: {},
        description:
          'RPC of EVM chains that the node of `pChainApi` does not run, by the ID of the blockchain or `C`: an endpoint, or a list in order of ' +
          'preference. Receipts of transactions, the configurations of destinations and the blocks of watched chains are read from it; for other ' +
          'chains, from `/ext/bc/{id}/rpc` of the node. With a second endpoint, blocks of watched chains are confirmed by it.',
        allowed: 'an object of endpoints, or lists of them, by the IDs of their blockchains',
        secret: 'when wrong',
        examples: [{ C: { baseUrl: 'https://api.avax.network/ext/bc/C/rpc' } }],
      }),
      parseChainRpc,
    ),
    trackedSubnetIds: Type.Array(SubnetId, {
      default: [],
      description:
        'Subnets whose validators are connected at start and count for readiness, beside the primary network. Others are connected ' +
        'at the first request for them.',
      maxItems: 1_000,
      examples: [['2W9boARgCWL25z6pMFNtkCfNA5v28VGg9PmBgUJfuKndEdhrvw']],
    }),
    allowedSubnetIds: optional(
      Type.Array(SubnetId, {
        description:
          'Subnets that requests may use beside the primary network and `trackedSubnetIds`; requests for others are 403. Without it all ' +
          'subnets are allowed; `[]` allows no further ones.',
        maxItems: 1_000,
        examples: [['2W9boARgCWL25z6pMFNtkCfNA5v28VGg9PmBgUJfuKndEdhrvw']],
      }),
    ),
    manuallyTrackedPeers: Type.Array(Peer, {
      default: [],
      description:
        'Nodes to start discovery from, beside those of the info API: objects `{nodeId, address}`, where `address` is `host:port` ' +
        'or `[IPv6]:port`.',
      maxItems: 1_000,
      examples: [[{ nodeId: 'NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg', address: '10.0.0.1:9651' }]],
    }),
    defaultDestination: Type.Enum(['none', 'teleporter'], {
      default: 'none',
      description:
        'Whether a POST of a Teleporter message that names no signers, quorum, height or destination is signed for the destination in the ' +
        "message: by the validators that it accepts, with its quorum, at its epoch. Otherwise the source chain's subnet signs with 67 %. " +
        'A GET by the hash of an EVM transaction always does it, the Go routes never.',
      examples: ['teleporter'],
    }),
    pChainMessages: Type.Enum(['epoch', 'proposed'], {
      default: 'epoch',
      description:
        'The height at which messages of a validator manager to the P-Chain are signed (RegisterL1Validator, L1ValidatorWeight), unless a ' +
        "request names a height or a destination: that of the P-Chain's current epoch, at which it verifies, or the proposed one. The Go " +
        'routes have their own setting.',
      examples: ['proposed'],
    }),
    allowPrivateAddresses: Type.Boolean({
      description: 'Whether connections to private and loopback addresses are opened.',
      examples: [true],
      derived: {
        text: '`false` on a public network, else `true`',
        value: ({ network }: Surroundings) => publicNetworkNamed(network?.name ?? '') === undefined,
      },
    }),
    validatorRefreshMs: durationMs({
      default: 60_000,
      description:
        'How often the validator sets of these subnets are read. The connection to a validator that neither a set nor a request has named ' +
        'for ten times as long is closed.',
    }),
    readyQuorumPercentage: integer(0, 100, {
      default: 67,
      description:
        'The share of weight of the primary network and of each tracked subnet that must be connected for readiness.',
    }),
    feed: FeedSchema,
    goApi: section(
      'Ports of the Go aggregator, for clients, probes and dashboards that keep their addresses. Its API is on the main port too: ' +
        'docs/switch-from-go.md.',
      {
        apiPort: optional(
          goPort(
            "The port of `/aggregate-signatures`, `/health` and `/metrics` for this network; the Go aggregator's default is 8080.",
            8081,
          ),
        ),
        metricsPort: optional(goPort("A second port with the same routes; the Go aggregator's default is 8081.", 8082)),
        pChainMessages: Type.Enum(['epoch', 'proposed'], {
          default: 'proposed',
          description:
            'The same as `pChainMessages` of the network, for the Go routes on all ports. The Go aggregator signs at the proposed height.',
          examples: ['epoch'],
        }),
      },
    ),
  },
  { check: checkNetwork },
);

export const NetworksSchema = check(
  Type.Record(Type.String({ pattern: NAME }), NetworkSchema, {
    additionalProperties: false,
    isSection: true,
    description:
      'The networks to serve, by their names in paths. `mainnet` and `fuji` are the public networks; any other name is a private ' +
      'network.',
    allowed: 'an object of networks by their names',
    names: NAME_ALLOWED,
    examples: [{ fuji: { pChainApi: [{ baseUrl: 'https://api.avax-test.network' }] } }],
  }),
  checkNetworks,
);

function defaultAliases(name: string): readonly string[] {
  return publicNetworkNamed(name)?.aliases ?? [];
}

function parseChainRpc(
  chains: Readonly<Record<string, ApiEndpoint | readonly ApiEndpoint[]>>,
  report: Report,
): Map<EvmChainID, readonly ApiEndpoint[]> {
  const endpoints = new Map<EvmChainID, readonly ApiEndpoint[]>();
  const names = new Map<EvmChainID, string>();
  for (const [chain, given] of Object.entries(chains)) {
    const id = attempt(() => parseEvmChainID(chain, 'the name'));
    if (id instanceof ParseError) {
      report(`${id.message}, or C`, [chain]);
      continue;
    }
    const earlier = names.get(id);
    if (earlier !== undefined) report(`must be another blockchain: ${earlier} is the same one`, [chain]);
    names.set(id, chain);
    endpoints.set(id, [given].flat());
  }
  return endpoints;
}

function checkNetwork(network: object, report: Report): void {
  const hasApi = Object.hasOwn(network, 'pChainApi');
  if (hasApi && isDevnet(network)) report('must have either pChainApi or embedded, not both');
  if (!hasApi && !isDevnet(network)) {
    report(
      'must have pChainApi, such as [{"baseUrl":"https://api.avax.network"}], or embedded, such as {"validators":20}',
    );
  }
}

/** Two networks of one P-Chain would connect to the same nodes with one NodeID, and each would close the connections of the other. */
function checkEndpoints(networks: Readonly<Record<string, unknown>>, report: Report): void {
  const owners = new Map<string, string>();
  for (const [name, network] of Object.entries(networks)) {
    const endpoints = partAt(network, ['pChainApi']);
    for (const [index, endpoint] of (Array.isArray(endpoints) ? endpoints : []).entries()) {
      const { baseUrl, ...rest } = isObject(endpoint) ? endpoint : {};
      if (typeof baseUrl !== 'string') continue;
      // A gateway may choose the network by what is added to the request.
      const key = JSON.stringify([URL.parse(baseUrl)?.href.replace(/\/+$/, ''), rest]);
      const owner = owners.get(key) ?? name;
      owners.set(key, owner);
      if (owner === name) continue;
      report(`must be another API than that of ${owner}: further names of one network are its aliases`, [
        name,
        'pChainApi',
        index,
      ]);
    }
  }
}

function checkNetworks(networks: Readonly<Record<string, unknown>>, report: Report): void {
  const names = Object.keys(networks);
  if (names.length === 0) {
    report(
      'must have at least one network, such as {"fuji":{"pChainApi":[{"baseUrl":"https://api.avax-test.network"}]}}',
    );
  }
  const devnets = names.filter((name) => isDevnet(networks[name]));
  for (const name of devnets.slice(1)) {
    report(`must be left out: only one network can be embedded, and ${devnets[0]} is`, [name, 'embedded']);
  }
  checkEndpoints(networks, report);
  const owners = new Map(names.map((name) => [name, name]));
  for (const name of names) {
    const network = networks[name];
    const known = publicNetworkNamed(name);
    // The operator means the public network, but would get a private one of that name.
    if (known !== undefined && known.name !== name) {
      report(`is an old name of ${known.name}: write ${known.name}, which answers to both`, [name]);
      continue;
    }
    if (known !== undefined && devnets.includes(name)) {
      report(`must be left out: ${name} is a public network`, [name, 'embedded']);
    }
    const aliases = partAt(network, ['aliases']) ?? defaultAliases(name);
    for (const [index, alias] of (Array.isArray(aliases) ? aliases : []).entries()) {
      const owner = owners.get(alias);
      if (owner !== undefined) report(`must be a new name: the network ${owner} has it`, [name, 'aliases', index]);
      else owners.set(alias, name);
    }
  }
}
