import { type Clock, sleep } from '../../lib/concurrency/clock.ts';
import { DeadlineExceeded, startDeadline } from '../../lib/concurrency/deadline.ts';
import { ParseError } from '../../lib/encoding/parse-error.ts';
import { ApiError } from '../../pchain/rpc/api-error.ts';
import type { ValidatorSets } from '../../pchain/state/validator-sets.ts';
import type { ThrottledWarnings } from '../../telemetry/log-throttle.ts';
import { isQuorumReached } from '../../validators/quorum.ts';
import type { WarpSet } from '../../validators/warp-set.ts';
import { type NodeID, PRIMARY_NETWORK_ID, type SubnetID } from '../../warp/ids.ts';
import { ConnectedWeight } from './connected-weight.ts';

export interface SubnetReadiness {
  readonly subnetID: SubnetID;
  readonly isUp: boolean;
  /** Why it is not up, or why its set cannot be refreshed, for operators. */
  readonly reason: string | undefined;
  /** Set if the validator set could never be read because the P-Chain API fails. */
  readonly isApiDown?: boolean;
  readonly connected: { readonly weight: bigint; readonly totalWeight: bigint } | undefined;
}

export interface RequiredSubnetOptions {
  readonly validatorSets: ValidatorSets<WarpSet>;
  readonly clock: Clock;
  readonly warn: ThrottledWarnings;
  readonly isConnected: (nodeID: NodeID) => boolean;
  readonly keepConnected: (subnetID: SubnetID, nodeIDs: ReadonlySet<NodeID>) => void;
  readonly onRead: () => void;
  /** Percent of the weight that must be connected. */
  readonly readyQuorumNum: bigint;
  readonly refreshIntervalMs: number;
  readonly refreshTimeoutMs: number;
}

/** Delay between readings while there is no set with validators. */
const FIRST_RETRY_MS = 1_000;

/** A subnet whose validators are kept connected from the start, and whose set is read regularly. */
export class RequiredSubnet {
  readonly subnetID: SubnetID;
  readonly #options: RequiredSubnetOptions;
  readonly #stopping = new AbortController();
  readonly #working: Promise<void>;
  #connected: ConnectedWeight | undefined;
  #failure: string | undefined;

  constructor(subnetID: SubnetID, options: RequiredSubnetOptions) {
    this.subnetID = subnetID;
    this.#options = options;
    this.#working = this.#keepFresh();
  }

  async stop(reason: string): Promise<void> {
    this.#stopping.abort(new Error(reason));
    await this.#working;
  }

  async #keepFresh(): Promise<void> {
    const { clock, refreshIntervalMs } = this.#options;
    const { signal } = this.#stopping;
    for (;;) {
      await this.#refresh(signal);
      // A subnet that is about to be converted is read again soon.
      const hasValidators = this.#connected !== undefined && this.#connected.warpSet.totalWeight > 0n;
      try {
        await sleep(clock, hasValidators ? refreshIntervalMs : FIRST_RETRY_MS, signal);
      } catch {
        return;
      }
    }
  }

  readiness(): SubnetReadiness {
    const { subnetID } = this;
    if (this.#connected === undefined) {
      const none = { subnetID, isUp: false, connected: undefined };
      if (this.#failure === undefined) return { ...none, reason: 'its validator set is being read' };
      return { ...none, reason: `its validator set cannot be read: ${this.#failure}`, isApiDown: true };
    }
    const { warpSet, weight } = this.#connected;
    const readiness = readinessOf(subnetID, { weight, totalWeight: warpSet.totalWeight }, this.#options);
    return readiness.isUp ? { ...readiness, reason: this.#staleness() } : readiness;
  }

  /** The last known validators stay connected, but a request that needs a new height or set fails. */
  #staleness(): string | undefined {
    return this.#failure && `its validator set cannot be read anew: ${this.#failure}`;
  }

  connectionChanged(nodeID: NodeID): void {
    this.#connected?.look(nodeID);
  }

  totalWeight(): number | undefined {
    return this.#connected && Number(this.#connected.warpSet.totalWeight);
  }

  connectedRatio(): number | undefined {
    if (this.#connected === undefined) return undefined;
    const { weight, warpSet } = this.#connected;
    return warpSet.totalWeight === 0n ? undefined : ratio(weight, warpSet.totalWeight);
  }

  async #refresh(signal: AbortSignal): Promise<void> {
    const { validatorSets, clock, warn, keepConnected, onRead, refreshTimeoutMs } = this.#options;
    const { subnetID } = this;
    using deadline = startDeadline(clock, refreshTimeoutMs, 'reading the validator set', signal);
    try {
      const height = await validatorSets.proposedHeight(deadline.signal);
      const warpSet = await validatorSets.at(subnetID, height, deadline.signal);
      if (warpSet !== this.#connected?.warpSet)
        this.#connected = new ConnectedWeight(warpSet, this.#options.isConnected);
      this.#failure = undefined;
    } catch (error) {
      if (signal.aborted) return;
      this.#failure = describeFailure(error);
      warn(subnetID, { err: error, subnetID }, 'could not read the validator set of a subnet; trying again');
    }
    // The last known validators stay connected while the set cannot be read.
    if (this.#connected !== undefined) {
      keepConnected(subnetID, new Set(this.#connected.warpSet.validators.flatMap(({ nodeIDs }) => nodeIDs)));
    }
    onRead();
  }
}

/** Subnets whose validators are kept connected: the primary network first, then the tracked subnets. */
export class RequiredSubnets {
  readonly #options: RequiredSubnetOptions;
  readonly #kept = new Map<SubnetID, RequiredSubnet>();
  readonly #ending = new Set<Promise<void>>();

  constructor(options: RequiredSubnetOptions) {
    this.#options = options;
  }

  get all(): readonly RequiredSubnet[] {
    return [...this.#kept.values()];
  }

  has(subnetID: SubnetID): boolean {
    return this.#kept.has(subnetID);
  }

  /** Subnets that stay keep their state. */
  set(trackedIDs: readonly SubnetID[]): void {
    const wanted = new Set([PRIMARY_NETWORK_ID, ...trackedIDs]);
    for (const [subnetID, subnet] of this.#kept) {
      if (wanted.has(subnetID)) continue;
      this.#kept.delete(subnetID);
      const ending = subnet.stop('the subnet is not tracked any more').finally(() => this.#ending.delete(ending));
      this.#ending.add(ending);
    }
    for (const subnetID of wanted) {
      if (!this.#kept.has(subnetID)) this.#kept.set(subnetID, new RequiredSubnet(subnetID, this.#options));
    }
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#ending, ...this.all.map((subnet) => subnet.stop('the service stops'))]);
  }
}

export function readinessOf(
  subnetID: SubnetID,
  connected: NonNullable<SubnetReadiness['connected']>,
  { readyQuorumNum }: Pick<RequiredSubnetOptions, 'readyQuorumNum'>,
): SubnetReadiness {
  const { weight, totalWeight } = connected;
  // A mistake in the configuration, or an L1 that is not converted yet.
  if (totalWeight === 0n) return { subnetID, isUp: false, reason: 'it has no validators', connected };
  if (isQuorumReached(readyQuorumNum, weight, totalWeight))
    return { subnetID, isUp: true, reason: undefined, connected };
  const percent = (100 * ratio(weight, totalWeight)).toFixed(2);
  const reason = `${percent} % of its weight is connected, and ${readyQuorumNum} % is needed`;
  return { subnetID, isUp: false, reason, connected };
}

/** Unexpected errors are only logged in full. */
function describeFailure(error: unknown): string {
  const isExpected = error instanceof ApiError || error instanceof DeadlineExceeded || error instanceof ParseError;
  return isExpected ? error.message : 'an unexpected error, which is in the log';
}

/** Four digits, which a number holds for any weight. */
export function ratio(part: bigint, total: bigint): number {
  return Number((part * 10_000n) / total) / 10_000;
}
