import { toHex } from 'viem';
import { expect, test } from 'vitest';
import { parseHex } from '../../../src/lib/encoding/bytes.ts';
import { type BlockchainID, idBytes, P_CHAIN_ID } from '../../../src/warp/ids.ts';
import { encodeTeleporterMessage } from '../../../src/warp/teleporter-message.ts';
import { createExampleFolder, DeliveryProcess } from '../../support/example-folder.ts';
import { startService } from '../service/running-service.ts';
import { type Moment, startDestination, TELEPORTER } from './simulated-destination.ts';

const KEY = '0x56289e99c94b6912bfc12adc093c9b51124f0dc54ac7a766b2bc5ccf558d8027';
const MESSAGES = 6;
const TIMEOUT_MS = 90_000;

/** The call during which each life of the process ends, and whether the destination has carried it out then. */
const KILLS: readonly (readonly [string, Moment])[] = [
  ['eth_call', 'before'],
  ['eth_getTransactionCount', 'after'],
  ['eth_sendRawTransaction', 'before'],
  ['eth_sendRawTransaction', 'after'],
  ['eth_getTransactionReceipt', 'after'],
];

test(
  'examples/deliver.ts delivers each Teleporter message of the feed once, wherever it is killed',
  async () => {
    const feed = { chains: [{ blockchainId: 'C', fromBlock: 1 }] };
    await using service = await startService(5, { settings: { network: { feed } } });
    const { l1 } = service.devnet.subnets;
    await using destination = await startDestination(toHex(idBytes(l1.blockchainID)));
    using folder = await createExampleFolder();
    const nonces = Array.from({ length: MESSAGES }, (_, index) => BigInt(index + 1));
    for (const messageNonce of nonces)
      service.devnet.emit('C', teleporterMessage(messageNonce, l1.blockchainID), parseHex(TELEPORTER, 'it'));
    // Not for this chain, and not of Teleporter.
    service.devnet.emit('C', teleporterMessage(100n, P_CHAIN_ID), parseHex(TELEPORTER, 'it'));
    service.devnet.emit('C', teleporterMessage(101n, l1.blockchainID));

    const variables = { BASE: service.app.url, DESTINATION_RPC: destination.url, KEY };
    for (const [method, moment] of KILLS) {
      await using life = new DeliveryProcess(folder, variables);
      const isKilled = new Promise<void>((resolve) => {
        destination.hook = (called, at) => {
          if (called !== method || at !== moment) return false;
          life.child.kill('SIGKILL');
          resolve();
          return true;
        };
      });
      await isKilled;
    }
    destination.hook = () => false;
    await using _last = new DeliveryProcess(folder, variables);
    // A feed has the order in which messages were signed.
    const delivered = () => destination.delivered.toSorted((a, b) => Number(a - b));
    await expect.poll(delivered, { timeout: TIMEOUT_MS }).toEqual(nonces);
    expect(destination.reverted).toEqual([]);
  },
  TIMEOUT_MS,
);

function teleporterMessage(messageNonce: bigint, destinationBlockchainID: BlockchainID): Uint8Array {
  return encodeTeleporterMessage({
    kind: 'TeleporterMessage',
    messageNonce,
    originSenderAddress: new Uint8Array(20).fill(1),
    destinationBlockchainID,
    destinationAddress: new Uint8Array(20).fill(2),
    requiredGasLimit: 100_000n,
    allowedRelayerAddresses: [],
    receipts: [],
    message: new Uint8Array(3),
  });
}
