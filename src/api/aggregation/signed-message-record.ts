import { type Static, Type } from 'typebox';
import type { AggregationResult } from '../../aggregation/request/aggregation-request.ts';
import type { DeliveryAdvice } from '../../aggregation/signers/delivery-advice.ts';
import { bytesToHex } from '../../lib/encoding/bytes.ts';
import { integer, text } from '../../lib/encoding/schema.ts';
import { accessListOf } from '../../pchain/codec/access-list.ts';
import { DELIVERY_FIELDS, presentAdvice } from './delivery-records.ts';

/** The C-Chain's `hello from C 0`, signed by four of five nodes of a local network. */
export const SIGNED_EXAMPLE =
  '000000003039ee488204088eaba3d3c0c5e26d7a2892677f8d6181ef31848708b4e55ead7667000000300000000000010000' +
  '00148db97c7cece249c2b98bdc0226cc4c2a57bf52fc0000000e68656c6c6f2066726f6d20432030' +
  '00000000000000011db344d1157c9962b31ad2daca0f79f5dd0274f35497b0384c1aad03856b14aeb11decd1a4df419bb0ca' +
  '9b405fe23581cc13aa5f772bf6d65d12e9acd7fa2239ff64fdef6dd4eb9c87ed26bd508fdca1867a90df2dc922f724458bc3' +
  'e37e39319c';

export const AccessList = Type.Array(
  Type.Object({
    address: text('The Warp precompile'),
    storageKeys: Type.Array(text(), {
      description: 'The signed message, one byte 0xff, and zeros up to whole words of 32 bytes, in hex with 0x',
    }),
  }),
  {
    description:
      'With include=accessList: the access list (EIP-2930) of the transaction that delivers the message to an EVM chain',
  },
);

/** What an answer has on request. */
export interface Included {
  readonly accessList?: boolean;
}

export const SignedMessageBody = Type.Object(
  {
    signedMessage: text('The signed Warp message in hex, without a prefix'),
    pChainHeight: integer('The P-Chain height whose validators signed'),
    signingSubnetId: text('The subnet whose validators signed, in cb58'),
    signedWeight: text('Weight of the signers'),
    totalWeight: text('Weight of all validators of the subnet, of which the quorum is a part'),
    signers: Type.Array(text(), { description: 'NodeIDs of the signers in canonical order, one for each BLS key' }),
    ...DELIVERY_FIELDS,
    accessList: Type.Optional(AccessList),
  },
  {
    title: 'SignedMessage',
    description: 'Signed, verified message',
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

/** Serializes a result once: equal requests share a cached result. The aggregator's cache counts the bytes of this text. */
export function signedMessageJson(result: AggregationResult, advice?: DeliveryAdvice, included?: Included): string {
  let json = texts.get(result);
  if (json === undefined) {
    json = JSON.stringify(presentSigned(result));
    texts.set(result, json);
  }
  const more = { ...(advice && presentAdvice(advice)), ...presentIncluded(result, included) };
  return Object.keys(more).length === 0 ? json : `${json.slice(0, -1)},${JSON.stringify(more).slice(1)}`;
}

const texts = new WeakMap<AggregationResult, string>();

export function presentSigned(
  result: AggregationResult,
  advice?: DeliveryAdvice,
  included?: Included,
): SignedMessageBody {
  return {
    signedMessage: bytesToHex(result.signedMessage),
    pChainHeight: Number(result.pChainHeight),
    signingSubnetId: result.signingSubnetID,
    signedWeight: String(result.signedWeight),
    totalWeight: String(result.totalWeight),
    signers: [...result.signers],
    ...(advice && presentAdvice(advice)),
    ...presentIncluded(result, included),
  };
}

export function presentIncluded(
  { signedMessage }: Pick<AggregationResult, 'signedMessage'>,
  { accessList = false }: Included = {},
) {
  return accessList ? { accessList: accessListOf(bytesToHex(signedMessage)) } : {};
}
