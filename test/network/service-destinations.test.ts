import { afterAll, expect, test } from 'vitest';
import { useRealNetwork } from './network-fixture.ts';
import type { NetworkNode } from './network-node.ts';
import { type L1, PRIMARY_NETWORK_ID, type SeparateL1 } from './real-network.ts';
import { isReady, type ServiceProcess, startServiceProcess } from './service-process.ts';
import { emitMessage } from './warp-messages.ts';

/**
 * Messages of the C-Chain, the P-Chain and an L1, delivered to two L1s: one verifies messages of the primary network with its own validators
 * alone, the other one requires signers of the primary network for the C-Chain's.
 */

/** Until the end of the epoch, the messages of one test are signed, verified and delivered, in a second or two each. */
const EPOCH_REMAINING_MS = 15_000;

/** What the service says in its answer and by verify, and what the Warp precompile finds. */
const ACCEPTED = { warnings: [], isSaidValid: true, isValid: true };
const REFUSED = { warnings: ['signers_refused'], isSaidValid: false, isValid: false };

interface Destination extends Pick<L1, 'l1ChainID' | 'subnetID'> {
  /** Runs its chain. */
  readonly node: NetworkNode;
  /** Reads its epoch and configuration from that node. */
  readonly service: ServiceProcess;
}

let ownSigners: Destination;
let primarySigners: Destination;
let separate: SeparateL1;
const opened = new AsyncDisposableStack();

const network = useRealNetwork(async (started) => {
  separate = await started.addSeparateL1({
    name: 'strict',
    evmChainID: 99_003,
    weights: [100n],
    requirePrimaryNetworkSigners: true,
  });
  const open = async (l1: L1, node: NetworkNode): Promise<Destination> => {
    const service = opened.use(await startServiceProcess(started, { apiUrl: node.apiUrl }));
    await service.awaitReadiness(isReady);
    return { ...l1, node, service };
  };
  [ownSigners, primarySigners] = await Promise.all([
    open(started, started.nodes[0] as NetworkNode),
    open(separate, separate.nodes[0] as NetworkNode),
  ]);
});
afterAll(() => opened.disposeAsync());

test('an L1 accepts messages of the C- and the P-Chain that its own validators signed, and of another L1 by that L1’s', async () => {
  const { subnetID } = ownSigners;
  for (const [message, signers] of [
    [await ofCChain('0x01'), subnetID],
    [conversionOf(separate), subnetID],
    [await ofSeparateL1('0x02'), separate.subnetID],
  ] as const) {
    expect(await deliver(message, ownSigners)).toEqual({ signers, ...ACCEPTED });
  }
});

test('an L1 refuses messages of the C- and the P-Chain that the primary network signed, as the service says', async () => {
  for (const message of [await ofCChain('0x03'), conversionOf(separate)]) {
    // All five, because the four of the L1 might have the same bits in both sets.
    const wrong = { signingSubnetId: PRIMARY_NETWORK_ID, quorumPercentage: 100 };
    const signers = PRIMARY_NETWORK_ID;
    expect(await deliver({ ...message, ...wrong }, ownSigners)).toEqual({ signers, ...REFUSED });
  }
});

test('an L1 that requires primary network signers has them sign for the C-Chain, and its own for the P-Chain', async () => {
  const { subnetID } = primarySigners;
  for (const [message, signers] of [
    [await ofCChain('0x04'), PRIMARY_NETWORK_ID],
    [conversionOf(network()), subnetID],
    [{ message: (await emitMessage(network(), network().l1ChainID, '0x05')).message }, network().subnetID],
  ] as const) {
    expect(await deliver(message, primarySigners)).toEqual({ signers, ...ACCEPTED });
  }
});

test('an L1 that requires primary network signers refuses another choice, as the service says', async () => {
  for (const [message, signers] of [
    [await ofCChain('0x06'), network().subnetID],
    [conversionOf(network()), PRIMARY_NETWORK_ID],
  ] as const) {
    expect(await deliver({ ...message, signingSubnetId: signers }, primarySigners)).toEqual({ signers, ...REFUSED });
  }
});

async function ofCChain(payload: string) {
  return { message: (await emitMessage(network(), network().cChainID, payload)).message };
}

async function ofSeparateL1(payload: string) {
  return { message: (await emitMessage(network(), separate.l1ChainID, payload, separate.nodes)).message };
}

/** The P-Chain's message, which validators of any subnet sign. */
function conversionOf({ conversion: { message, justification } }: L1) {
  return { message, justification };
}

/** Has a message signed for a destination, verified by the service, and read by the destination in a transaction. */
async function deliver(request: object, { service, node, l1ChainID: blockchainID }: Destination) {
  // From that height on, both L1s have their validators.
  await network().awaitEpoch(blockchainID, separate.conversionHeight, EPOCH_REMAINING_MS, node);
  const answer = await service.aggregate({ ...request, destinationBlockchainId: blockchainID });
  expect(answer).toMatchObject({ status: 201 });
  const { signedMessage, signingSubnetId: signers, warnings = [] } = answer.body;
  const verdict = await service.verify({ signedMessage, destinationBlockchainId: blockchainID });
  expect(verdict).toMatchObject({ status: 200 });
  const { valid: isValid } = await network().onChain('readWarpMessage', { blockchainID, signedMessage }, node);
  return { signers, warnings: warnings.map(({ code }) => code), isSaidValid: verdict.body['isValid'], isValid };
}
