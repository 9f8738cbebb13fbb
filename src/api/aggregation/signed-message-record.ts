import type { Static } from 'typebox';
import type { AggregationResult } from '../../aggregation/request/aggregation-request.ts';
import { bytesToHex } from '../../lib/encoding/bytes.ts';
import { Type } from '../../lib/encoding/schema.ts';
import { SIGNED_EXAMPLE } from '../openapi/document-examples.ts';

export const SignedMessageBody = Type.Object(
  {
    signedMessage: Type.String({ description: 'The signed Warp message in hex, without a prefix' }),
    pChainHeight: Type.Integer({ description: 'The P-Chain height whose validators signed' }),
    signingSubnetId: Type.String({ description: 'The subnet whose validators signed, in cb58' }),
    signedWeight: Type.String({ description: 'Weight of those who signed' }),
    totalWeight: Type.String({ description: 'Weight of all validators of the subnet, of which the quorum is a part' }),
    signers: Type.Array(Type.String(), {
      description: 'NodeIDs of those who signed, in the canonical order; one NodeID for each BLS key',
    }),
  },
  {
    description: 'Signed, verified message',
    // Of five nodes of a network of their own.
    examples: [
      {
        signedMessage: SIGNED_EXAMPLE,
        pChainHeight: 11,
        signingSubnetId: '11111111111111111111111111111111LpoYY',
        signedWeight: '8000000000000000',
        totalWeight: '10000000000000000',
        signers: [
          'NodeID-P7oB2McjBGgW2NXXWVYjV8JEDFoW9xDE5',
          'NodeID-NFBbbJ4qCmNaCzeW7sxErhvWqvEQMnYcN',
          'NodeID-GWPcbFJZFfZreETSoWjPimr846mXEKCtu',
          'NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg',
        ],
      },
    ],
  },
);
export type SignedMessageBody = Static<typeof SignedMessageBody>;

/**
 * The same as JSON, made once for each result: equal requests have the same one from memory. The aggregator counts these texts among the
 * bytes that it keeps.
 */
export function signedMessageJson(result: AggregationResult): string {
  let json = texts.get(result);
  if (json === undefined) {
    json = JSON.stringify(presentSigned(result));
    texts.set(result, json);
  }
  return json;
}

const texts = new WeakMap<AggregationResult, string>();

export function presentSigned(result: AggregationResult): SignedMessageBody {
  return {
    signedMessage: bytesToHex(result.signedMessage),
    pChainHeight: Number(result.pChainHeight),
    signingSubnetId: result.signingSubnetID,
    signedWeight: String(result.signedWeight),
    totalWeight: String(result.totalWeight),
    signers: [...result.signers],
  };
}
