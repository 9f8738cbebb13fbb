import { expect } from 'vitest';
import type { NetworkNode } from './network-node.ts';
import { pollUntil } from './poll-until.ts';
import { PRIMARY_NETWORK_ID, type RealNetwork } from './real-network.ts';
import type { Answer } from './service-process.ts';
import type { SentMessage, Verification } from './testnet.ts';

/** A block travels to all nodes in a few hundred milliseconds; a busy machine takes its time. */
const ALL_ACCEPTED_TIMEOUT_MS = 30_000;

/**
 * Emits one message for each payload, and returns when every node that runs the chain has accepted them.
 *
 * @param nodes by default those of the network itself
 */
export async function emitMessages(
  network: RealNetwork,
  blockchainID: string,
  payloads: readonly string[],
  nodes: readonly NetworkNode[] = network.nodes,
): Promise<readonly SentMessage[]> {
  const sent = await network.onChain('sendWarpMessages', { blockchainID, payloads }, nodes[0]);
  const { blockHeight } = sent.at(-1) as SentMessage;
  const path = `/ext/bc/${blockchainID}/rpc`;
  await Promise.all(
    nodes.map((node) =>
      pollUntil(
        () => network.callApi<string>(path, 'eth_blockNumber', [], node),
        (height) => Number(height) >= blockHeight,
        ALL_ACCEPTED_TIMEOUT_MS,
      ),
    ),
  );
  return sent;
}

export async function emitMessage(
  network: RealNetwork,
  blockchainID: string,
  payload: string,
  nodes?: readonly NetworkNode[],
): Promise<SentMessage> {
  const [sent] = await emitMessages(network, blockchainID, [payload], nodes);
  return sent as SentMessage;
}

/** Returns a message of the same chain and sender that was never emitted: the last byte of its payload differs. */
export function unknownTwin({ message }: { message: string }): string {
  const last = Number.parseInt(message.slice(-2), 16) ^ 0xff;
  return message.slice(0, -2) + last.toString(16).padStart(2, '0');
}

/** Checks an answer that tells the caller what to mend. */
export function expectMistake({ status, body }: Answer, expected: 400 | 404, message: RegExp): void {
  expect({ status, body }).toMatchObject({ status: expected, body: { message: expect.stringMatching(message) } });
}

interface Accepting {
  /** The subnet whose validators must have signed; the primary network by default. */
  readonly subnetID?: string;
  readonly height?: bigint | 'proposed';
  readonly quorum?: number;
}

/** Has the reference implementation verify a signed message; returns who signed. */
export async function expectAccepted(
  network: RealNetwork,
  signedMessage: string,
  { subnetID = PRIMARY_NETWORK_ID, height = 'proposed', quorum = 67 }: Accepting,
): Promise<Verification> {
  const params = { signedMessage, subnetID, height, quorumNum: quorum, quorumDen: 100 };
  const verification = await network.onChain('verify', params);
  expect(verification.failure).toBe('');
  return verification;
}

/** Has the reference implementation verify a success of the service; returns who signed. */
export async function expectSigned(
  network: RealNetwork,
  answer: Answer,
  { message, ...accepting }: Accepting & { readonly message: string },
): Promise<Verification> {
  expect(answer).toMatchObject({ status: 201, body: { signedMessage: expect.stringMatching(/^[0-9a-f]+$/) } });
  const verification = await expectAccepted(network, answer.body.signedMessage, accepting);
  expect(verification.message).toBe(message);
  return verification;
}
