import { Type } from '../../lib/encoding/schema.ts';
import { parseHexOrCb58Id, parseNodeID, type SubnetID } from '../../warp/ids.ts';
import { publicNetworkNamed } from '../../warp/networks.ts';
import { parsePeerAddress } from '../load/peer-address.ts';
import { Endpoint, Endpoints } from './endpoint-schema.ts';
import { DurationMs } from './number-schemas.ts';
import { check, isObject, optional, parsed, partAt, type Report, type Surroundings, section } from './setting.ts';

/**
 * Lower-case words joined by `-`. In variables of the environment it becomes upper case with `_`, and two names must not become one,
 * nor hold the `__` between the levels.
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
        description: 'The NodeID that its certificate must have.',
        allowed: 'a NodeID',
        examples: ['NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg'],
      }),
      (text) => parseNodeID(text),
    ),
    address: check(
      Type.String({
        description: 'Where it listens.',
        allowed: 'host:port or [IPv6]:port',
        examples: ['10.0.0.1:9651'],
      }),
      (text, report) => {
        if (parsePeerAddress(text) === undefined) report('must be host:port or [IPv6]:port');
      },
    ),
  },
  { additionalProperties: false, allowed: 'an object {nodeId, address}' },
);

const Embedded = Type.Object(
  {
    validators: Type.Integer({
      default: 20,
      description: 'How many validators its primary network has; an L1 comes with two more.',
      // Fewer could not show an L1 beside a primary network; more would be more TLS servers than one process holds well.
      minimum: 5,
      maximum: 2_000,
      examples: [20],
    }),
  },
  {
    additionalProperties: false,
    description:
      'Has this process run the network itself, to try the service out. In place of `pChainApi`, and for one network at most.',
    allowed: 'an object {validators}',
    examples: [{ validators: 20 }],
  },
);

function GoPort(description: string, example: number) {
  return Type.Integer({
    description: `${description} On \`server.host\`; 0 takes any free one.`,
    minimum: 0,
    maximum: 65_535,
    examples: [example],
  });
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
        value: ({ network }: Surroundings) => publicNetworkNamed(network?.name ?? '')?.aliases ?? [],
      },
    }),
    pChainApi: optional(
      Endpoints(
        'Base URLs of the P-Chain API, in order of preference; the next one takes over while one fails. Needed but for an embedded ' +
          'network.',
      ),
    ),
    infoApi: optional(
      Endpoints('Base URLs of the info API: network ID, node version, first peers.', {
        text: 'as `pChainApi`',
        value: ({ network }) => partAt(network?.settings, ['pChainApi']),
      }),
    ),
    embedded: optional(Embedded),
    dataApi: optional(
      Endpoint(
        'The data API that is asked for the transactions of an L1 validation which the index does not have. Its key goes into ' +
          '`httpHeaders`.',
      ),
    ),
    trackedSubnetIds: Type.Array(SubnetId, {
      default: [],
      description:
        'Subnets whose validators are connected from the start and count for readiness, beside the primary network. Others are ' +
        'connected when they are first asked for.',
      maxItems: 1_000,
      examples: [['2W9boARgCWL25z6pMFNtkCfNA5v28VGg9PmBgUJfuKndEdhrvw']],
    }),
    allowedSubnetIds: optional(
      Type.Array(SubnetId, {
        description:
          'The subnets whose validators may be connected and asked to sign, beside the primary network and `trackedSubnetIds`, whose ' +
          'always may; requests for others are answered 403. Without it all subnets may; `[]` is none but those.',
        maxItems: 1_000,
        examples: [['2W9boARgCWL25z6pMFNtkCfNA5v28VGg9PmBgUJfuKndEdhrvw']],
      }),
    ),
    manuallyTrackedPeers: Type.Array(Peer, {
      default: [],
      description:
        'Nodes to start discovery from, beside those the info API names: objects `{nodeId, address}`, where `address` is `host:port` ' +
        'or `[IPv6]:port`.',
      maxItems: 1_000,
      examples: [[{ nodeId: 'NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg', address: '10.0.0.1:9651' }]],
    }),
    allowPrivateAddresses: Type.Boolean({
      description: 'Whether validators at private and loopback addresses are dialled.',
      examples: [true],
      derived: {
        text: "`true` on a network of one's own, else `false`",
        value: isOwn,
      },
    }),
    validatorRefreshMs: DurationMs({
      default: 60_000,
      description:
        'How often the validator sets of these subnets are refreshed. A validator that no request and no reading has named for ten ' +
        'times as long is let go.',
      examples: [60_000],
    }),
    readyQuorumPercentage: Type.Integer({
      default: 67,
      description: 'How much weight of the primary network and of each tracked subnet must be connected for readiness.',
      minimum: 0,
      maximum: 100,
      examples: [67],
    }),
    goApi: section(
      'Ports of the Go aggregator, for clients, probes and dashboards that keep the addresses they have. Its API is on the main port ' +
        'too: docs/switch-from-go.md.',
      {
        apiPort: optional(
          GoPort(
            "Where `/aggregate-signatures`, `/health` and `/metrics` are for this network; the Go aggregator's own is 8080.",
            8081,
          ),
        ),
        metricsPort: optional(GoPort('The same once more, as in the Go aggregator, whose own is 8081.', 8082)),
      },
    ),
  },
  { check: checkNetwork },
);

export const NetworksSchema = check(
  Type.Record(Type.String({ pattern: NAME }), NetworkSchema, {
    isSection: true,
    description:
      'The networks to serve, by the name they have in paths. `mainnet` and `fuji` are the public ones; any other name is a network ' +
      "of one's own.",
    allowed: 'an object of networks by their names',
    names: NAME_ALLOWED,
    examples: [{ fuji: { pChainApi: [{ baseUrl: 'https://api.avax-test.network' }] } }],
  }),
  checkNetworks,
);

function isOwn({ network }: Surroundings): boolean {
  return publicNetworkNamed(network?.name ?? '') === undefined;
}

function checkNetwork(network: object, report: Report): void {
  const [hasApi, isEmbedded] = [Object.hasOwn(network, 'pChainApi'), Object.hasOwn(network, 'embedded')];
  if (hasApi && isEmbedded) report('must have either pChainApi or embedded, not both');
  if (!hasApi && !isEmbedded) {
    report(
      'must have pChainApi, such as [{"baseUrl":"https://api.avax.network"}], or embedded, such as {"validators":20}',
    );
  }
}

function checkNetworks(networks: Readonly<Record<string, unknown>>, report: Report): void {
  const names = Object.keys(networks);
  if (names.length === 0) {
    report(
      'must have at least one network, such as {"fuji":{"pChainApi":[{"baseUrl":"https://api.avax-test.network"}]}}',
    );
  }
  const embedded = names.filter((name) => partAt(networks, [name, 'embedded']) !== undefined);
  for (const name of embedded.slice(1)) {
    report(`must be left out: only one network can be embedded, and ${embedded[0]} is`, [name, 'embedded']);
  }
  const owners = new Map(names.map((name) => [name, name]));
  for (const name of names) {
    const network = networks[name];
    const known = publicNetworkNamed(name);
    // Whoever writes this means the public network, but would get a local one of that name.
    if (known !== undefined && known.name !== name) {
      report(`is an old name of ${known.name}: write ${known.name}, which answers to both`, [name]);
      continue;
    }
    if (known !== undefined && embedded.includes(name)) {
      report(`must be left out: ${name} is a public network`, [name, 'embedded']);
    }
    const aliases = isObject(network) ? network['aliases'] : undefined;
    for (const [index, alias] of (Array.isArray(aliases) ? aliases : []).entries()) {
      const owner = owners.get(alias);
      if (owner !== undefined) report(`must be a new name: the network ${owner} has it`, [name, 'aliases', index]);
      else owners.set(alias, name);
    }
  }
}
