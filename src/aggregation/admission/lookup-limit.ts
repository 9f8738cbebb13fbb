import type { Clock } from '../../lib/concurrency/clock.ts';
import { FairSemaphore, type Permit, SemaphoreRejection } from '../../lib/concurrency/fair-semaphore.ts';
import type { AggregatorMetrics, LookupKind } from '../aggregator-metrics.ts';
import { overloaded } from './overloaded.ts';

const TIMEOUT_MS = 10_000;
const MAX_QUEUED = 1_024;
const MAX_QUEUED_PER_CLIENT = 512;
/** One client gets half. */
const CLIENT_SHARE = 1;

export type LookupMetrics = Pick<AggregatorMetrics, 'admissionRefusals' | 'showLookups'>;

export interface LookupLimitOptions {
  readonly clock: Clock;
  readonly metrics: LookupMetrics;
  readonly kind: LookupKind;
  readonly limit: number;
}

const WAITING: Readonly<Record<LookupKind, string>> = {
  view: 'views of subnets',
  verify: 'messages to be verified',
  destination: 'views of destinations',
  validation: 'views of validations',
};

/** Creates a concurrency limit for lookups, apart from the queue of aggregations. */
export function createLookupLimit({ clock, metrics, kind, limit }: LookupLimitOptions) {
  const semaphore = new FairSemaphore({
    clock,
    limit,
    keyShare: CLIENT_SHARE,
    timeoutMs: TIMEOUT_MS,
    maxQueued: MAX_QUEUED,
    maxQueuedPerKey: () => MAX_QUEUED_PER_CLIENT,
  });
  metrics.showLookups(kind, semaphore);
  return {
    async acquire(client: string | undefined, signal: AbortSignal): Promise<Permit> {
      try {
        return await semaphore.acquire({ key: client }, signal);
      } catch (error) {
        if (!(error instanceof SemaphoreRejection)) throw error;
        const text = `${semaphore.queued} ${WAITING[kind]} wait, too many for this one`;
        throw overloaded(metrics.admissionRefusals, 'late_lookup', text);
      }
    },
  };
}
