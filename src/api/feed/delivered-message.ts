import { type Static, Type } from 'typebox';
import type { DeliveryAdvice } from '../../aggregation/signers/delivery-advice.ts';
import type { FeedMessage } from '../../feed/feed-message.ts';
import type { RequestContext } from '../../http/request/request-context.ts';
import type { Clock } from '../../lib/concurrency/clock.ts';
import type { Network } from '../../network/network.ts';
import type { BlockchainID } from '../../warp/ids.ts';
import { parseSignedMessage } from '../../warp/signed-message.ts';
import { AggregationCall } from '../aggregation/aggregation-call.ts';
import { DELIVERY_FIELDS, presentAdvice } from '../aggregation/delivery-records.ts';
import type { Included } from '../aggregation/signed-message-record.ts';
import { FEED_MESSAGE, presentFeedMessage } from './feed-records.ts';

export const DeliveredMessage = Type.Object(
  { ...FEED_MESSAGE, ...DELIVERY_FIELDS },
  { title: 'DeliveredMessage', description: 'A Warp message of a watched chain; with a destination, signed for it' },
);

interface Delivery {
  /** Undefined for the message as it is stored. */
  readonly destinationChainID: BlockchainID | undefined;
  readonly included: Included;
  readonly network: Network;
  readonly context: RequestContext;
  readonly clock: Clock;
}

/** Presents a stored message, signed again if its destination would refuse it. @throws {AggregatorError} */
export async function presentDelivered(
  found: FeedMessage,
  { destinationChainID, included, network, context, clock }: Delivery,
): Promise<Static<typeof DeliveredMessage>> {
  if (destinationChainID === undefined) return presentFeedMessage(found, clock.now(), included);
  const advice = await adviceIfAccepted(found, destinationChainID, { network, context });
  if (advice !== undefined) return { ...presentFeedMessage(found, clock.now(), included), ...presentAdvice(advice) };
  const justification = new Uint8Array();
  const asked = { subject: { kind: 'message', message: found.message, justification }, destinationChainID } as const;
  const call = new AggregationCall(context, network.name, asked);
  call.result = await network.aggregator.aggregate(asked, call);
  const outcome = { status: 'signed', ...call.result, signedMs: clock.now() } as const;
  return {
    ...presentFeedMessage({ ...found, outcome }, clock.now(), included),
    ...(call.advice && presentAdvice(call.advice)),
  };
}

/** Returns undefined if the message is not signed, or if its destination would refuse it now. */
async function adviceIfAccepted(
  { outcome }: FeedMessage,
  destinationChainID: BlockchainID,
  { network, context }: Pick<Delivery, 'network' | 'context'>,
): Promise<DeliveryAdvice | undefined> {
  if (outcome.status !== 'signed') return undefined;
  const message = parseSignedMessage(outcome.signedMessage);
  const report = await network.verifier.verify({ message, destinationChainID }, context.signal, context.client);
  return report.problem === undefined ? report : undefined;
}
