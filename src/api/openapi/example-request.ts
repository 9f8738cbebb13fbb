import type { Static } from 'typebox';
import { bytesToHex } from '../../lib/encoding/bytes.ts';
import { publicNetworkNamed } from '../../warp/networks.ts';
import { encodeWarpPayload } from '../../warp/payload.ts';
import { createUnsignedMessage } from '../../warp/unsigned-message.ts';
import type { AggregationBody } from '../aggregation/parse-aggregation-request.ts';

/** Requests to try on the page of the API. */
export interface AggregationExamples {
  /** The name under which the examples' network is served. */
  readonly network: string;
  /** Of a POST; the first is what the page begins with. */
  readonly requests: readonly { readonly name: string; readonly value: Static<typeof AggregationBody> }[];
  /** IDs of transactions, for a GET. */
  readonly transactions: readonly { readonly name: string; readonly value: string }[];
  /** Of an L1 validator whose uptime can be proven. */
  readonly validationId?: string;
}

/**
 * A message of the first of these networks that is public. It is well-formed, and nobody ever sent it: validators refuse to sign
 * it, which shows what an error looks like. Undefined where all networks are local: no message is known to be of theirs, and one
 * of another network would only mislead.
 */
export function publicExample(names: readonly string[]): AggregationExamples | undefined {
  for (const name of names) {
    const network = publicNetworkNamed(name);
    if (network === undefined) continue;
    const payload = encodeWarpPayload({
      kind: 'AddressedCall',
      sourceAddress: new Uint8Array(20),
      payload: new TextEncoder().encode('hello'),
    });
    const { bytes } = createUnsignedMessage(network.networkID, network.cChainID, payload);
    const value = { message: `0x${bytesToHex(bytes)}`, quorumPercentage: 67 };
    return { network: name, requests: [{ name: 'C-Chain message that nobody sent', value }], transactions: [] };
  }
  return undefined;
}
