import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Hex, parseAbi, parseTransaction } from 'viem';
import { go } from './go-build.ts';

/** Teleporter's contract, whose creation code is in the Go module of icm-services. */
const MODULE = 'github.com/ava-labs/icm-services';
const CREATION = 'tests/utils/UniversalTeleporterDeployerTransaction.txt';

export const TELEPORTER_ABI = parseAbi([
  'struct FeeInfo { address feeTokenAddress; uint256 amount; }',
  'struct MessageInput { bytes32 destinationBlockchainID; address destinationAddress; FeeInfo feeInfo; uint256 requiredGasLimit; address[] allowedRelayerAddresses; bytes message; }',
  'function sendCrossChainMessage(MessageInput messageInput) returns (bytes32 messageID)',
  'function messageReceived(bytes32 messageID) view returns (bool)',
]);

/** Returns the code that creates the contract, as the transaction has it that creates it on public networks. */
export async function readTeleporterCreationCode(): Promise<Hex> {
  const { Dir } = JSON.parse(await go('reference', ['mod', 'download', '-json', MODULE])) as { readonly Dir: string };
  const transaction = (await readFile(join(Dir, CREATION), 'utf8')).trim() as Hex;
  const { data } = parseTransaction(transaction);
  if (data === undefined) throw new Error(`${CREATION} creates no contract`);
  return data;
}
