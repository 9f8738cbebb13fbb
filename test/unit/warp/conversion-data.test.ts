import { expect, test } from 'vitest';
import { parseHex } from '../../../src/lib/encoding/bytes.ts';
import { type ConversionData, conversionID } from '../../../src/warp/conversion-data.ts';
import { type BlockchainID, idBytes, parseId, type SubnetID } from '../../../src/warp/ids.ts';
import { parseL1Message } from '../../../src/warp/l1-message.ts';
import { parseWarpPayload } from '../../../src/warp/payload.ts';
import { readCase, readRpcExchanges, readTransaction, rpcResult } from '../../vectors/vectors.ts';

interface ConvertSubnetToL1Tx {
  readonly subnetID: string;
  readonly chainID: string;
  readonly address: string;
  readonly validators: readonly { nodeID: string; weight: number; signer: { publicKey: string } }[];
}

function conversionOfTransaction(): ConversionData {
  const tx = readTransaction('ConvertSubnetToL1Tx').unsignedTx as unknown as ConvertSubnetToL1Tx;
  return {
    subnetID: parseId<SubnetID>(tx.subnetID, 'subnetID'),
    managerChainID: parseId<BlockchainID>(tx.chainID, 'chainID'),
    managerAddress: parseHex(tx.address, 'address'),
    validators: tx.validators.map(({ nodeID, weight, signer }) => ({
      nodeID: parseHex(nodeID, 'nodeID'),
      blsPublicKey: parseHex(signer.publicKey, 'publicKey'),
      weight: BigInt(weight),
    })),
  };
}

test('the hash of a real conversion is the one that the P-Chain signs', () => {
  const data = conversionOfTransaction();
  const call = parseWarpPayload(readCase('p_conversion').payload);
  if (call.kind !== 'AddressedCall') throw new Error('not an addressed call');
  expect(parseL1Message(call.payload)).toEqual({ kind: 'SubnetToL1Conversion', conversionID: conversionID(data) });

  const subnet = rpcResult<{ conversionID: string }>(readRpcExchanges('pchain'), 'platform.getSubnet', {
    subnetID: data.subnetID,
  });
  expect(conversionID(data)).toEqual(idBytes(parseId<SubnetID>(subnet.conversionID, 'conversionID')));
  expect(idBytes(data.subnetID)).toEqual(readCase('p_conversion').justification);
});
