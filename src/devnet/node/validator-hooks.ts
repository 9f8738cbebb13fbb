import type { Socket } from 'node:net';
import type { SecureContext } from 'node:tls';
import type { NodeVersion } from '../../p2p/connection/handshake.ts';
import type { PeerMessageInit } from '../../p2p/wire/messages.ts';
import type { UnsignedMessage } from '../../warp/unsigned-message.ts';
import type { ClaimedAddress } from './gossip-pool.ts';
import type { Refusal } from './signing-rules.ts';
import type { ValidatorConnection } from './validator-connection.ts';

export type ValidatorAnswer = Extract<PeerMessageInit, { case: 'appResponse' | 'appError' }>;

/** Replaces parts of what a validator does. Tests make validators misbehave by it. */
export interface ValidatorHooks {
  /** Whether new connections are frozen. */
  readonly isFrozen?: boolean;
  /** Takes a TCP connection over. */
  readonly accept?: (socket: Socket) => void;
  readonly secureContext?: () => SecureContext;
  readonly version?: NodeVersion;
  readonly admitsNobody?: boolean;
  /** @param pick gives what the validator would send; with `all` also what the peer knows already */
  readonly peerList?: (pick: (all: boolean) => ClaimedAddress[]) => ClaimedAddress[];
  /** Calls `answer` when the request is to be answered. */
  readonly request?: (connection: ValidatorConnection, answer: () => void) => void;
  /** Refuses a message that the validator would sign. */
  readonly refuse?: (message: UnsignedMessage) => Refusal | undefined;
  readonly sign?: (message: Uint8Array) => Uint8Array;
  readonly send?: (connection: ValidatorConnection, answer: ValidatorAnswer) => void;
  /** Ends what the hooks have begun, before the validator stops. */
  readonly stop?: () => Promise<void>;
}
