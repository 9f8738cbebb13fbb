import { SingleFlight } from '../../lib/concurrency/single-flight.ts';
import type { Epoch } from '../../pchain/rpc/chain-api.ts';
import type { SubnetDirectory } from '../../pchain/state/subnet-directory.ts';
import { inSpan, NO_SPAN } from '../../telemetry/spans.ts';
import { warpSetHash } from '../../validators/warp-set-hash.ts';
import type { SubnetID } from '../../warp/ids.ts';
import { type Admission, createAdmission } from '../admission/admission.ts';
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
import type { Wait, Waiter } from './shared-collection.ts';
import { SharedSigning, type SharedSigningOptions } from './shared-signing.ts';
import type { Signing, SigningResolver } from './signing-resolver.ts';
import { createTransactionWait } from './transaction-wait.ts';

export interface AggregatorOptions extends Omit<SharedSigningOptions, 'admission' | 'observeDelay'> {
  readonly resolver: SigningResolver;
  readonly directory: Pick<SubnetDirectory, 'knownSubnetOf'>;
  readonly l1Messages: Pick<L1Messages, 'ofTransaction' | 'ofJustification'>;
  readonly subnets: SubnetPolicy;
}

export interface AggregateOptions extends Waiter {
  /** Whether no client has asked for it: the metrics of requests leave it out, so that their alerts concern requests alone. */
  readonly isBackground?: boolean | undefined;
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
  return new NetworkAggregator(options);
}

class NetworkAggregator implements Aggregator {
  readonly #options: AggregatorOptions;
  readonly #admission: Admission;
  readonly #sharedSigning: SharedSigning;
  readonly #awaitTransaction: ReturnType<typeof createTransactionWait>;
  readonly #lookups = new SingleFlight<string, Resolved>();

  constructor(options: AggregatorOptions) {
    const { metrics, clock, limits, subnets } = options;
    this.#options = options;
    this.#admission = createAdmission({
      clock,
      metrics,
      subnets,
      maxAggregationsInFlight: limits.maxAggregationsInFlight,
      queueTimeoutMs: limits.requestTimeoutMs,
    });
    const admission = this.#admission;
    this.#sharedSigning = new SharedSigning({ ...options, admission, observeDelay: admission.observeDelay });
    this.#awaitTransaction = createTransactionWait({ ...options, admission });
  }

  async aggregate(request: AggregationRequest, waiter: AggregateOptions): Promise<AggregationResult> {
    const { clock } = this.#options;
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
      recalled = this.#recall(request);
    } catch (error) {
      return await this.#follow(waiter, startMs, wait, () => Promise.reject(error));
    }
    if (recalled !== undefined) {
      const tookS = this.#endResolve(waiter, startMs);
      waiter.span?.child('resolve').end();
      if (recalled.result !== undefined) {
        this.#observe(waiter, 'signed', tookS);
        return this.#advised(recalled.complete, recalled.signing, recalled.result, waiter);
      }
    }
    await waiter.onCacheMiss?.();
    return await this.#follow(waiter, startMs, wait, () => this.#run(request, recalled, waiter, wait));
  }

  /** Resolves a request from caches only; undefined if that is not possible. A cached answer needs no admission. */
  #recall(request: AggregationRequest): Recalled | undefined {
    const { resolver, subnets } = this.#options;
    const { subject } = request;
    if (subject.kind !== 'message') return undefined;
    const complete = completeMessage(request, subject);
    const signing = resolver.known(complete);
    if (signing === undefined || !subnets.isAllowed(signing.signingSubnetID)) return undefined;
    return { complete, signing, result: this.#sharedSigning.known(settled(complete, signing), signing) };
  }

  async #run(
    request: AggregationRequest,
    recalled: Resolved | undefined,
    waiter: AggregateOptions,
    wait: Wait,
  ): Promise<AggregationResult> {
    waiter.signal.throwIfAborted();
    return await this.#sign(recalled ?? (await this.#resolve(request, waiter, wait)), waiter, wait);
  }

  async #resolve(request: AggregationRequest, waiter: AggregateOptions, wait: Wait): Promise<Resolved> {
    const { clock, l1Messages, penalties, resolver, subnets } = this.#options;
    const { signal, client, span = NO_SPAN } = waiter;
    const startMs = clock.monotonicMs();
    using _ = { [Symbol.dispose]: () => void this.#endResolve(waiter, startMs + wait.spentMs) };
    const known = this.#knownSubnet(request);
    await this.#awaitTransaction(request.subject, waiter, wait);
    const find = async (until: AbortSignal): Promise<Resolved> => {
      const complete = await completeRequest(request, l1Messages, until);
      const signing = await resolver.resolve(complete, until, (subnetID) => subnets.requireAllowed(subnetID));
      return { complete, signing };
    };
    const admitAndFind = async (until: AbortSignal): Promise<Resolved> => {
      using _permit = this.#admission.admit({ client, subnetID: known ?? this.#trackedSubnet(request) });
      return await find(until);
    };
    return await inSpan(span.child('resolve'), () => {
      // Concurrent requests share the reading of the proposed height and of its validators.
      const isShared = known !== undefined && isAtProposedHeight(request);
      if (isShared) return find(signal);
      return this.#lookups.run(
        requestKey(request),
        (flight) =>
          this.#namesUnknown(request) ? penalties.lookUp(client, () => admitAndFind(flight)) : admitAndFind(flight),
        signal,
      );
    });
  }

  /** @returns the seconds that it took */
  #endResolve(waiter: AggregateOptions, startMs: number): number {
    const { clock, metrics } = this.#options;
    const tookMs = clock.monotonicMs() - startMs;
    metrics.observeStage('resolve', tookMs / 1_000);
    waiter.onStage?.('resolve', tookMs);
    return tookMs / 1_000;
  }

  /** The signing subnet, if it is known without a lookup. */
  #knownSubnet(request: AggregationRequest): SubnetID | undefined {
    const { resolver, subnets } = this.#options;
    const { signingSubnetID: given } = request;
    if (given !== undefined) subnets.requireAllowed(given);
    const known = resolver.knownSigningSubnet(request);
    if (known !== undefined) subnets.requireAllowed(known);
    return known;
  }

  /** Whether the P-Chain may not know what the request names. */
  #namesUnknown(request: AggregationRequest): boolean {
    const { directory, resolver } = this.#options;
    const { subject } = request;
    if (resolver.knownSigningSubnet(request) === undefined) return true;
    const destination = destinationOf(request, subject.kind === 'message' ? subject.message : undefined);
    return destination !== undefined && directory.knownSubnetOf(destination.chainID) === undefined;
  }

  #trackedSubnet({ signingSubnetID: given }: AggregationRequest): SubnetID | undefined {
    return given !== undefined && this.#options.subnets.isTracked(given) ? given : undefined;
  }

  async #sign(
    { complete, signing: first }: Resolved,
    waiter: AggregateOptions,
    wait: Wait,
  ): Promise<AggregationResult> {
    const { signal, span = NO_SPAN } = waiter;
    waiter.onResolved?.(complete, first);
    await waiter.onSigners?.(first.warpSet.validators.length, complete.message.bytes.length);
    let signing = first;
    for (let rebuilds = 0; ; rebuilds += 1) {
      const { result, isNew } = await this.#sharedSigning.sign(settled(complete, signing), signing, waiter, wait);
      // A cached result took no time in which the set could change.
      if (!isNew || complete.pChainHeight !== 0n || rebuilds === MAX_REBUILDS) {
        return this.#advised(complete, signing, result, waiter);
      }
      const known = signing;
      const now = await inSpan(span.child('resolve again'), () =>
        this.#options.resolver.resolveAgain(complete, known, signal),
      );
      const isSame = resultSubject(now) === resultSubject(signing);
      if (isSame) return this.#advised(complete, now, result, waiter);
      // The set has changed, so the signer bits would name other validators. Most signatures are stored by now.
      signing = now;
    }
  }

  /** Passes advice to the waiter, and returns the result. */
  #advised(
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
    const known =
      target ?? (likelyDestinationID && this.#options.resolver.knownTarget(likelyDestinationID, signingSubnetID));
    if (known === undefined) return result;
    const { sourceChainID } = message;
    // A shared result may have another height than the signers that were resolved last.
    const { signedWeight, pChainHeight } = result;
    const warnings = deliveryWarnings({ ...signing, sourceChainID, signedWeight, pChainHeight }, known);
    const epoch = target?.epoch.kind === 'read' ? target.epoch.epoch : undefined;
    if (epoch !== undefined || warnings.length > 0) waiter.onAdvice({ epoch, warnings });
    return result;
  }

  async #follow(
    waiter: AggregateOptions,
    startMs: number,
    wait: Wait,
    work: () => Promise<AggregationResult>,
  ): Promise<AggregationResult> {
    const { clock, metrics } = this.#options;
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
      this.#observe(waiter, outcome, (clock.monotonicMs() - startMs - wait.spentMs) / 1_000);
    }
  }

  #observe({ isBackground = false }: AggregateOptions, outcome: RequestOutcome, seconds: number): void {
    if (!isBackground) this.#options.metrics.observeDuration(outcome, seconds);
  }
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
