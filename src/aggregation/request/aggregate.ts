import { SingleFlight } from '../../lib/concurrency/single-flight.ts';
import type { Epoch } from '../../pchain/rpc/chain-api.ts';
import type { SubnetDirectory } from '../../pchain/state/subnet-directory.ts';
import { inSpan, NO_SPAN } from '../../telemetry/spans.ts';
import { warpSetHash } from '../../validators/warp-set-hash.ts';
import type { SubnetID } from '../../warp/ids.ts';
import { createAdmission } from '../admission/admission.ts';
import { AggregatorError } from '../aggregator-error.ts';
import type { RequestOutcome } from '../aggregator-metrics.ts';
import { type DeliveryWarning, deliveryWarnings, unknownDestination } from '../destinations/delivery-warnings.ts';
import type { SubnetPolicy } from '../subnet-policy.ts';
import type { L1Messages } from '../transactions/l1-messages.ts';
import type { AggregationRequest, AggregationResult } from './aggregation-request.ts';
import {
  type CompleteRequest,
  completeMessage,
  completeRequest,
  destinationOf,
  type SettledRequest,
} from './complete-request.ts';
import { requestKey } from './result-key.ts';
import { createSharedSigning, type SharedSigningOptions, type Wait, type Waiter } from './shared-signing.ts';
import type { Signing, SigningResolver } from './signing-resolver.ts';
import { createTransactionWait } from './transaction-wait.ts';

export interface AggregatorOptions extends Omit<SharedSigningOptions, 'admission' | 'observeDelay'> {
  readonly resolver: SigningResolver;
  readonly directory: Pick<SubnetDirectory, 'knownSubnetOf'>;
  readonly l1Messages: Pick<L1Messages, 'ofTransaction' | 'ofJustification'>;
  readonly subnets: SubnetPolicy;
}

export interface AggregateOptions extends Waiter {
  /** Time in which the transaction may be accepted and executed, before the time for signatures begins; 0 by default. */
  readonly waitMs?: number | undefined;
  /** Ends that time early, because the service stops. */
  readonly waitEnds?: AbortSignal | undefined;
  /** Called and awaited before any work for an answer that is not cached. An error that it throws refuses the request. */
  readonly onCacheMiss?: (() => Promise<void>) | undefined;
  /** Called and awaited with the number of validators that may be asked, and the bytes of the message. */
  readonly onSigners?: ((validators: number, messageBytes: number) => Promise<void>) | undefined;
  /** Called once the validator set is known; not for a cached result, which has the same facts. */
  onResolved?(request: CompleteRequest, signing: Signing): void;
  /** Called before the result of each request that names a destination, or that a warning concerns. */
  onAdvice?(advice: DeliveryAdvice): void;
}

/** What a client should know about the delivery of a message. It changes with time, so it is not cached with the result. */
export interface DeliveryAdvice {
  /** The destination's current epoch, if the request names a destination that has epochs. */
  readonly epoch: Epoch | undefined;
  readonly warnings: readonly DeliveryWarning[];
}

/** Signs messages; {@link createAggregator} makes the one of a network. */
export interface Aggregator {
  /** Returns the signed message. Equal concurrent requests share one run. */
  aggregate(request: AggregationRequest, waiter: AggregateOptions): Promise<AggregationResult>;
}

/**
 * Signs messages: the entry of `aggregation`. A request is resolved to a validator set (`signing-resolver.ts`), admitted
 * (`../admission`), shared with equal requests and cached (`shared-signing.ts`), and collected (`../collection`). `../validators`
 * keeps connections and histories of validators, `../transactions` finds messages of transactions, and `../subnets` answers about subnets.
 * Parsing requests, HTTP and the P2P protocol belong to `api`, `http` and `p2p`.
 */
export function createAggregator(options: AggregatorOptions): Aggregator {
  const { metrics, clock, limits, subnets, penalties, resolver } = options;
  const admission = createAdmission({
    clock,
    metrics,
    subnets,
    maxAggregationsInFlight: limits.maxAggregationsInFlight,
    queueTimeoutMs: limits.requestTimeoutMs,
  });
  const sharedSigning = createSharedSigning({ ...options, admission, observeDelay: admission.observeDelay });
  const awaitTransaction = createTransactionWait({ ...options, admission });
  const lookups = new SingleFlight<string, Resolved>();

  /** Resolves a request from caches only; undefined if that is not possible. A cached answer needs no admission. */
  function recall(request: AggregationRequest): Recalled | undefined {
    const { subject } = request;
    if (subject.kind !== 'message') return undefined;
    const complete = completeMessage(request, subject);
    const signing = resolver.known(complete);
    if (signing === undefined || !subnets.isAllowed(signing.signingSubnetID)) return undefined;
    return { complete, signing, result: sharedSigning.known(settled(complete, signing), signing) };
  }

  async function run(
    request: AggregationRequest,
    recalled: Resolved | undefined,
    waiter: AggregateOptions,
    wait: Wait,
  ): Promise<AggregationResult> {
    waiter.signal.throwIfAborted();
    return await sign(recalled ?? (await resolve(request, waiter, wait)), waiter, wait);
  }

  async function resolve(request: AggregationRequest, waiter: AggregateOptions, wait: Wait): Promise<Resolved> {
    const { signal, client, span = NO_SPAN } = waiter;
    const startMs = clock.monotonicMs();
    using _ = { [Symbol.dispose]: () => void endResolve(waiter, startMs + wait.spentMs) };
    const known = knownSubnet(request);
    await awaitTransaction(request.subject, waiter, wait);
    const find = async (until: AbortSignal): Promise<Resolved> => {
      const complete = await completeRequest(request, options.l1Messages, until);
      const signing = await resolver.resolve(complete, until, (subnetID) => subnets.requireAllowed(subnetID));
      return { complete, signing };
    };
    const admitAndFind = async (until: AbortSignal): Promise<Resolved> => {
      using _permit = admission.admit({ client, subnetID: known ?? trackedSubnet(request) });
      return await find(until);
    };
    return await inSpan(span.child('resolve'), () => {
      // Concurrent requests share the reading of the proposed height and of its validators.
      const isShared = known !== undefined && isAtProposedHeight(request);
      if (isShared) return find(signal);
      return lookups.run(
        requestKey(request),
        (flight) =>
          namesUnknown(request) ? penalties.lookUp(client, () => admitAndFind(flight)) : admitAndFind(flight),
        signal,
      );
    });
  }

  /** @returns the seconds that it took */
  function endResolve(waiter: AggregateOptions, startMs: number): number {
    const tookMs = clock.monotonicMs() - startMs;
    metrics.observeStage('resolve', tookMs / 1_000);
    waiter.onStage?.('resolve', tookMs);
    return tookMs / 1_000;
  }

  /** The signing subnet, if it is known without a lookup. */
  function knownSubnet(request: AggregationRequest): SubnetID | undefined {
    const { signingSubnetID: given } = request;
    if (given !== undefined) subnets.requireAllowed(given);
    const known = resolver.knownSigningSubnet(request);
    if (known !== undefined) subnets.requireAllowed(known);
    return known;
  }

  /** Whether the P-Chain may not know what the request names. */
  function namesUnknown(request: AggregationRequest): boolean {
    const { subject } = request;
    if (resolver.knownSigningSubnet(request) === undefined) return true;
    const destination = destinationOf(request, subject.kind === 'message' ? subject.message : undefined);
    return destination !== undefined && options.directory.knownSubnetOf(destination.chainID) === undefined;
  }

  function trackedSubnet({ signingSubnetID: given }: AggregationRequest): SubnetID | undefined {
    return given !== undefined && subnets.isTracked(given) ? given : undefined;
  }

  async function sign(
    { complete, signing: first }: Resolved,
    waiter: AggregateOptions,
    wait: Wait,
  ): Promise<AggregationResult> {
    const { signal, span = NO_SPAN } = waiter;
    waiter.onResolved?.(complete, first);
    await waiter.onSigners?.(first.warpSet.validators.length, complete.message.bytes.length);
    let signing = first;
    for (let rebuilds = 0; ; rebuilds += 1) {
      const { result, isNew } = await sharedSigning.sign(settled(complete, signing), signing, waiter, wait);
      // A cached result took no time in which the set could change.
      if (!isNew || complete.pChainHeight !== 0n || rebuilds === MAX_REBUILDS) {
        return advised(complete, signing, result, waiter);
      }
      const known = signing;
      const now = await inSpan(span.child('resolve again'), () => resolver.resolveAgain(complete, known, signal));
      const isSame = resultSubject(now) === resultSubject(signing);
      if (isSame) return advised(complete, now, result, waiter);
      // The set has changed, so the signer bits would name other validators. Most signatures are stored by now.
      signing = now;
    }
  }

  /** Passes advice to the waiter, and returns the result. */
  function advised(
    { message, destination, likelyDestinationID }: CompleteRequest,
    signing: Signing,
    result: AggregationResult,
    waiter: AggregateOptions,
  ): AggregationResult {
    if (waiter.onAdvice === undefined) return result;
    const { signingSubnetID, target } = signing;
    if (destination !== undefined && target === undefined) {
      waiter.onAdvice({ epoch: undefined, warnings: [unknownDestination(destination.chainID)] });
      return result;
    }
    // Without a destination of its own, a request does not wait for warnings.
    const known = target ?? (likelyDestinationID && resolver.knownTarget(likelyDestinationID, signingSubnetID));
    if (known === undefined) return result;
    const { sourceChainID } = message;
    // A shared result may have another height than the signers that were resolved last.
    const { signedWeight, pChainHeight } = result;
    const warnings = deliveryWarnings({ ...signing, sourceChainID, signedWeight, pChainHeight }, known);
    const epoch = target?.epoch.kind === 'read' ? target.epoch.epoch : undefined;
    if (epoch !== undefined || warnings.length > 0) waiter.onAdvice({ epoch, warnings });
    return result;
  }

  async function follow(
    waiter: AggregateOptions,
    startMs: number,
    wait: Wait,
    work: () => Promise<AggregationResult>,
  ): Promise<AggregationResult> {
    metrics.inFlight.inc();
    let outcome: RequestOutcome = 'internal_error';
    try {
      const result = await work();
      outcome = 'signed';
      return result;
    } catch (error) {
      if (error instanceof AggregatorError) outcome = error.code;
      else if (waiter.signal.aborted) outcome = 'aborted';
      throw error;
    } finally {
      metrics.inFlight.dec();
      metrics.observeDuration(outcome, (clock.monotonicMs() - startMs - wait.spentMs) / 1_000);
    }
  }

  return {
    async aggregate(request: AggregationRequest, waiter: AggregateOptions): Promise<AggregationResult> {
      const startMs = clock.monotonicMs();
      const { waitMs = 0 } = waiter;
      const ends = waitMs > 0 ? waiter.waitEnds : undefined;
      const wait: Wait = { untilMs: ends?.aborted === true ? startMs : startMs + waitMs, ends, spentMs: 0 };
      const endWait = (): void => {
        wait.untilMs = Math.min(wait.untilMs, clock.monotonicMs());
      };
      ends?.addEventListener('abort', endWait, { once: true });
      using _ = { [Symbol.dispose]: () => ends?.removeEventListener('abort', endWait) };
      let recalled: Recalled | undefined;
      try {
        recalled = recall(request);
      } catch (error) {
        return await follow(waiter, startMs, wait, () => Promise.reject(error));
      }
      if (recalled !== undefined) {
        const tookS = endResolve(waiter, startMs);
        waiter.span?.child('resolve').end();
        if (recalled.result !== undefined) {
          metrics.observeDuration('signed', tookS);
          return advised(recalled.complete, recalled.signing, recalled.result, waiter);
        }
      }
      await waiter.onCacheMiss?.();
      return await follow(waiter, startMs, wait, () => run(request, recalled, waiter, wait));
    },
  };
}

/** The quorum is known once the signers are. */
function settled(request: CompleteRequest, { quorumNum }: Signing): SettledRequest {
  return { ...request, quorumNum };
}

/** Equal if a message that was signed for one is valid for the other. */
function resultSubject({ warpSet, signingSubnetID, quorumNum }: Signing): string {
  return `${signingSubnetID} ${quorumNum} ${warpSetHash(warpSet)}`;
}

function isAtProposedHeight(request: AggregationRequest): boolean {
  const { subject, pChainHeight = 0n } = request;
  const message = subject.kind === 'message' ? subject.message : undefined;
  return pChainHeight === 0n && destinationOf(request, message) === undefined;
}

interface Resolved {
  readonly complete: CompleteRequest;
  readonly signing: Signing;
}

interface Recalled extends Resolved {
  readonly result: AggregationResult | undefined;
}

/** A request follows two changes of the set. */
const MAX_REBUILDS = 2;
