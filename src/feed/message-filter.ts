import { teleporterDestination } from '../aggregation/signers/message-destination.ts';
import type { LoggedMessage } from '../pchain/codec/evm-block.ts';
import type { BlockchainID } from '../warp/ids.ts';
import type { EmittedMessage } from './feed-message.ts';

/** Which messages of a chain are stored and signed; undefined lets all pass. */
export interface MessageFilter {
  /** Addresses in lower case. */
  readonly senders: ReadonlySet<string> | undefined;
  /** Destinations of Teleporter messages. */
  readonly destinationChainIDs: ReadonlySet<BlockchainID> | undefined;
}

export function isWanted(
  { senders, destinationChainIDs }: MessageFilter,
  message: Pick<EmittedMessage, 'sender' | 'destinationChainID'>,
): boolean {
  const { sender, destinationChainID } = message;
  if (senders?.has(sender) === false) return false;
  return (
    destinationChainIDs === undefined ||
    (destinationChainID !== undefined && destinationChainIDs.has(destinationChainID))
  );
}

export function withDestination(logged: LoggedMessage): LoggedMessage & Pick<EmittedMessage, 'destinationChainID'> {
  return { ...logged, destinationChainID: teleporterDestination(logged.message) };
}
