import { Type } from 'typebox';
import { attempt, ParseError } from '../../lib/encoding/parse-error.ts';
import { type EvmChainID, parseEvmChainID } from '../../pchain/rpc/evm-api.ts';
import { type BlockchainID, parseHexOrCb58Id } from '../../warp/ids.ts';
import { SocketEndpoint } from './endpoint-schema.ts';
import { check, integer, optional, parsed, partAt, type Report, section } from './setting.ts';

const ChainId = parsed(
  Type.String({
    description: 'The blockchain whose messages are signed.',
    allowed: 'the ID of a blockchain in cb58 or hex, or C',
    examples: ['C'],
  }),
  parseWatchedChain,
);

const DestinationId = parsed(
  Type.String({
    allowed: 'the ID of a blockchain in cb58 or hex',
    examples: ['2q9e4r6Mu3U68nU1fYjgbR6JvwrRx36CohpAX5UQxse55x1Q5'],
  }),
  (text) => parseHexOrCb58Id<BlockchainID>(text, 'blockchain ID'),
);

const Sender = parsed(
  Type.String({
    allowed: 'an address: 0x and 40 hex digits',
    examples: ['0x253b2784c75e510dD0fF1da844684a1aC0aa5fcf'],
  }),
  (text) => {
    if (!/^0x[0-9a-fA-F]{40}$/.test(text)) throw new ParseError('sender', 'must be an address: 0x and 40 hex digits');
    return text.toLowerCase();
  },
);

const Chain = Type.Object(
  {
    blockchainId: ChainId,
    webSocket: optional(SocketEndpoint),
    senders: optional(
      Type.Array(Sender, {
        description: 'Only messages of these contracts or accounts are signed.',
        minItems: 1,
        maxItems: 1_000,
        examples: [['0x253b2784c75e510dD0fF1da844684a1aC0aa5fcf']],
      }),
    ),
    destinationBlockchainIds: optional(
      Type.Array(DestinationId, {
        description: 'Only Teleporter messages to these blockchains are signed.',
        minItems: 1,
        maxItems: 1_000,
        examples: [['2q9e4r6Mu3U68nU1fYjgbR6JvwrRx36CohpAX5UQxse55x1Q5']],
      }),
    ),
    quorumPercentage: optional(
      integer(1, 100, {
        description:
          'The quorum of messages that are no Teleporter messages, which have that of their destination; 67 by default.',
        examples: [67],
      }),
    ),
    fromBlock: optional(
      integer(0, Number.MAX_SAFE_INTEGER, {
        description:
          'The first block to read, if the chain was never watched, or was read up to an earlier block; blocks before it are left out. Without it, the head ' +
          'when the chain is first watched.',
        examples: [50_000_000],
      }),
    ),
  },
  {
    additionalProperties: false,
    allowed: 'an object {blockchainId, webSocket, senders, destinationBlockchainIds, quorumPercentage, fromBlock}',
  },
);

const MAX_CHAINS = 64;

/** What is signed when its block is executed, before a client asks. */
export const FeedSchema = section('The feed of messages that are signed when their blocks are executed.', {
  chains: check(
    Type.Array(Chain, {
      default: [],
      description:
        'The EVM chains to watch: objects `{blockchainId, webSocket, senders, destinationBlockchainIds, quorumPercentage, fromBlock}`, of which ' +
        'only `blockchainId` is required. Their blocks are read from `chainRpc`, else from the node of `pChainApi`; their subnets are tracked. ' +
        'A removed chain is no longer watched, and its messages stay until their retention ends.',
      allowed: `at most ${MAX_CHAINS} objects {blockchainId, webSocket, senders, destinationBlockchainIds, quorumPercentage, fromBlock}`,
      maxItems: MAX_CHAINS,
      examples: [[{ blockchainId: 'C', webSocket: 'wss://api.avax.network/ext/bc/C/ws' }]],
    }),
    checkChains,
  ),
  retentionHours: integer(1, 87_600, {
    default: 168,
    description: 'How long messages are stored, in hours.',
  }),
  maxMessages: integer(1, 10_000_000, {
    default: 100_000,
    description: 'The number of messages that are stored; the oldest are removed first.',
  }),
});

function parseWatchedChain(text: string): EvmChainID {
  const id = attempt(() => parseEvmChainID(text, 'blockchain ID'));
  if (id instanceof ParseError) throw new ParseError('blockchain ID', `${id.reason}, or C`);
  return id;
}

function checkChains(chains: readonly unknown[], report: Report): void {
  const seen = new Set<unknown>();
  for (const [index, chain] of chains.entries()) {
    const id = partAt(chain, ['blockchainId']);
    if (id !== undefined && seen.has(id))
      report('must be another blockchain: an earlier entry has it', [index, 'blockchainId']);
    seen.add(id);
  }
}
