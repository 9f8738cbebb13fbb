import type { Validator } from '../../validators/validator.ts';
import type { Rejection } from './api-error.ts';
import type { AttemptFailure, Attempt as AttemptOf, AttemptRejection } from './call-outcome.ts';
import type { AskedEndpoint } from './json-rpc.ts';
import type { JsonRpcRequest } from './json-rpc-attempt.ts';
import { isAboutHeight } from './judge-rejection.ts';

/** The requests that find the set at a height. */
export interface ValidatorsAtRequests {
  readonly height: JsonRpcRequest<bigint>;
  readonly proposedHeight: JsonRpcRequest<bigint>;
  readonly validatorsAt: (height: bigint | 'proposed') => JsonRpcRequest<readonly Validator[]>;
}

type Attempt = AttemptOf<readonly Validator[]>;

/** Readings of the set between two readings of the proposed height, before the next endpoint is asked. */
const MAX_PAIRS = 3;

/**
 * Reads the set at a height from one endpoint: by the number, which nodes of any version take; where numbers are refused, as `proposed` if
 * the height is the proposed one. If the text of an error is unknown, the proposed heights of the endpoint decide what it means. Only a
 * refusal with a known text is cached: another one may concern this call alone.
 */
export async function readValidatorsAt(
  endpoint: AskedEndpoint,
  height: bigint,
  requests: ValidatorsAtRequests,
): Promise<Attempt> {
  const { state } = endpoint;
  if (state.refusesNumbers()) return readProposed(endpoint, height, requests);
  const lowest = state.lowestHeight();
  if (lowest !== undefined && height < lowest) return tooLow(height, lowest);
  const first = await endpoint.send(requests.validatorsAt(height));
  if (first.status !== 'rejected') return first;
  if (first.subject === 'heights') {
    state.refuseNumbers();
    return readProposed(endpoint, height, requests);
  }
  const chainHeight = await endpoint.send(requests.height);
  if (chainHeight.status === 'responded' && height > chainHeight.result) {
    return notReached(first.rejection, height, chainHeight.result);
  }
  // There was another reason, or the chain has reached the height.
  const again = await endpoint.send(requests.validatorsAt(height));
  if (again.status !== 'rejected') return again;
  const proposed = await readProposed(endpoint, height, requests);
  if (proposed.status === 'responded') return proposed;
  return findWhyRefused(endpoint, height, again, requests);
}

/** Finds out why a height at or below that of the chain is refused, though it is not the proposed one. */
async function findWhyRefused(
  endpoint: AskedEndpoint,
  height: bigint,
  refused: AttemptRejection,
  { proposedHeight, validatorsAt }: ValidatorsAtRequests,
): Promise<Attempt> {
  const proposed = await endpoint.send(proposedHeight);
  if (proposed.status === 'responded') {
    const byNumber = await endpoint.send(validatorsAt(proposed.result));
    if (byNumber.status === 'responded' && proposed.result > height) {
      if (isAboutHeight(refused.rejection.message)) endpoint.state.refuseHeight(height);
      return tooLow(height, height + 1n);
    }
    const byName = await endpoint.send(validatorsAt('proposed'));
    if (byNumber.status === 'rejected' && byName.status === 'responded') return onlyCurrent(height, proposed.result);
  }
  // Another endpoint may still serve the height, whatever the error is about.
  return { ...refused, subject: 'unknown' };
}

/** Reads the set as `proposed` between two equal readings of the proposed height, so that it is known to be at this height. */
async function readProposed(
  endpoint: AskedEndpoint,
  height: bigint,
  { proposedHeight, validatorsAt }: ValidatorsAtRequests,
): Promise<Attempt> {
  for (let pairs = 0; pairs < MAX_PAIRS; pairs += 1) {
    const before = await endpoint.send(proposedHeight);
    if (before.status !== 'responded') return before;
    if (before.result !== height) return onlyCurrent(height, before.result);
    const set = await endpoint.send(validatorsAt('proposed'));
    if (set.status !== 'responded') return set;
    const after = await endpoint.send(proposedHeight);
    if (after.status !== 'responded') return after;
    if (after.result === height) return set;
  }
  return notServed(
    `height ${height} was left behind each time its set was read; this API serves only the current height`,
  );
}

function onlyCurrent(height: bigint, proposed: bigint): AttemptFailure {
  const current = `this API serves only the current height, ${proposed}`;
  return notServed(`height ${height} is not served: ${current}: add a node of your own to pChainApi`);
}

function tooLow(height: bigint, lowest: bigint): AttemptFailure {
  return notServed(
    `height ${height} is not served: this API serves only heights from about ${lowest}: add a node of your own to pChainApi`,
  );
}

function notReached(rejection: Rejection, height: bigint, chainHeight: bigint): AttemptFailure {
  const message = `P-Chain height ${height} is above the chain's height ${chainHeight}`;
  return { status: 'failed', code: 'height_not_reached', reason: 'known', message, rejection };
}

function notServed(message: string): AttemptFailure {
  return { status: 'failed', code: 'height_not_served', reason: 'known', message };
}
