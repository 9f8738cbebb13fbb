import type { Clock } from '../../lib/concurrency/clock.ts';
import type { CurrentValidator, NodeApi } from '../../pchain/rpc/node-api.ts';
import type { SubnetDirectory } from '../../pchain/state/subnet-directory.ts';
import type { NodeID, SubnetID, ValidationID } from '../../warp/ids.ts';
import { overloaded } from '../admission/overloaded.ts';
import type { Penalties } from '../admission/penalties.ts';
import { AggregatorError } from '../aggregator-error.ts';
import type { AggregatorMetrics } from '../aggregator-metrics.ts';
import { askPChain } from '../ask-p-chain.ts';
import type { SubnetPolicy } from '../subnet-policy.ts';
import { unknownSubnet } from '../unknown-subnet.ts';
import type { UptimeProof, UptimeProofs, UptimeRequest } from './uptime-proofs.ts';

export interface SubnetUptimesRequest extends Omit<UptimeRequest, 'validationID'> {
  readonly subnetID: SubnetID;
  /** The list begins after this validation. */
  readonly after: ValidationID | undefined;
  /** Most validators of the page. */
  readonly limit: number;
}

export interface ValidatorUptime {
  readonly validationID: ValidationID;
  readonly nodeID: NodeID;
  readonly weight: bigint;
  /** The highest uptime that the quorum signs, or why there is none. */
  readonly result: UptimeProof | AggregatorError;
}

export interface UptimePage {
  /** In the order of their validation IDs. */
  readonly validators: readonly ValidatorUptime[];
  /** The last validation of the page, if there are more. */
  readonly last: ValidationID | undefined;
}

export interface SubnetUptimesOptions {
  readonly api: Pick<NodeApi, 'getCurrentValidators'>;
  readonly directory: Pick<SubnetDirectory, 'getSubnet' | 'exists' | 'validatedBy'>;
  readonly subnets: Pick<SubnetPolicy, 'requireAllowed'>;
  readonly uptimes: UptimeProofs;
  readonly penalties: Pick<Penalties, 'lookUp'>;
  readonly metrics: Pick<AggregatorMetrics, 'admissionRefusals'>;
  readonly clock: Clock;
  readonly resolveTimeoutMs: number;
}

/** Searches begin until then, so that an answer takes at most this and one search. */
const PAGE_TIME_MS = 15_000;

export interface SubnetUptimesCaller {
  readonly signal: AbortSignal;
  readonly client: string;
  /** Called and awaited with the validators of the page before the first search. An error that it throws refuses the request. */
  readonly onValidators: (validators: number) => Promise<void>;
}

/** The uptimes of the active validators of an L1, one search after the other. */
export interface SubnetUptimes {
  /** @throws {AggregatorError}, or the signal's reason */
  list(request: SubnetUptimesRequest, caller: SubnetUptimesCaller): Promise<UptimePage>;
}

export function createSubnetUptimes(options: SubnetUptimesOptions): SubnetUptimes {
  const { api, directory, subnets, uptimes, penalties, clock } = options;
  /** Clients with a list under way: one at a time. */
  const running = new Set<string>();

  async function activeValidators(subnetID: SubnetID, parent: AbortSignal): Promise<readonly ActiveValidator[]> {
    return await askPChain({ clock, timeoutMs: options.resolveTimeoutMs }, parent, async (signal) => {
      const subnet = await directory.getSubnet(subnetID, signal);
      if (subnet === undefined) throw await unknownSubnet(directory, { subnetID, field: 'subnetID' }, clock, signal);
      if (subnet.conversionID === undefined) {
        throw new AggregatorError('invalid_request', `subnet ${subnetID} is not an L1`, { field: 'subnetID' });
      }
      const current = await api.getCurrentValidators(subnetID, signal);
      return current.filter(isActive).toSorted((a, b) => (a.validationID < b.validationID ? -1 : 1));
    });
  }

  async function search(
    { subnetID, after, limit, ...settings }: SubnetUptimesRequest,
    { signal, client, onValidators }: SubnetUptimesCaller,
  ): Promise<UptimePage> {
    const active = await penalties.lookUp(client, () => activeValidators(subnetID, signal));
    const rest = active.filter(({ validationID }) => after === undefined || validationID > after);
    const wanted = rest.slice(0, limit);
    await onValidators(wanted.length);
    const validators: ValidatorUptime[] = [];
    const startMs = clock.monotonicMs();
    for (const { validationID, nodeID, weight } of wanted) {
      if (clock.monotonicMs() - startMs >= PAGE_TIME_MS) break;
      const result = await uptimes.prove({ ...settings, validationID }, { signal, client }).catch((error: unknown) => {
        if (error instanceof AggregatorError) return error;
        throw error;
      });
      validators.push({ validationID, nodeID, weight, result });
    }
    return { validators, last: validators.length < rest.length ? validators.at(-1)?.validationID : undefined };
  }

  return {
    async list(request: SubnetUptimesRequest, caller: SubnetUptimesCaller): Promise<UptimePage> {
      subnets.requireAllowed(request.subnetID, 'subnetID');
      const { client } = caller;
      if (running.has(client)) {
        throw overloaded(options.metrics.admissionRefusals, 'share', 'a list of uptimes of this client is under way');
      }
      running.add(client);
      try {
        return await search(request, caller);
      } finally {
        running.delete(client);
      }
    },
  };
}

type ActiveValidator = CurrentValidator & { readonly validationID: ValidationID };

/** An inactive one cannot be credited an uptime that matters, and the P-Chain lists the others with a balance. */
function isActive(validator: CurrentValidator): validator is ActiveValidator {
  return validator.validationID !== undefined && validator.balance !== 0n;
}
