import type { Clock } from '../../lib/concurrency/clock.ts';
import { PenaltyBucket } from '../../lib/concurrency/penalty-bucket.ts';
import type { BlockchainID } from '../../warp/ids.ts';
import { AggregatorError, type AggregatorErrorCode } from '../aggregator-error.ts';
import type { AggregatorMetrics } from '../aggregator-metrics.ts';
import { overloaded } from './overloaded.ts';

/** A lookup that finds nothing costs a point: about a millisecond of the machine and of the P-Chain API. */
const BUCKET = { capacity: 64, perSecond: 32, maxKeys: 10_000 };
/** Some 80 µs for the message, and for each validator asked. The points refilled per second are an eighth of one core. */
const POINTS_OF_MESSAGE = 0.1;
const POINTS_OF_VALIDATOR = 0.02;
/** Bandwidth of the validators: a client may have about three large messages that all refuse. */
const POINTS_OF_MIB = 1;
/** Part of a chain's points that also counts for the client, so that one bad chain does not stop a relayer of four. */
const CLIENT_PART = 0.25;
/** Level at which the chain's next messages are first sent to a few validators. */
const DOUBTFUL_LEVEL = 0.1;

const NOT_FOUND: ReadonlySet<AggregatorErrorCode> = new Set<AggregatorErrorCode>([
  'unknown_source_chain',
  'unknown_subnet',
  'unknown_blockchain',
  'unknown_transaction',
  'unknown_validation',
  // Clients choose the chain, and most chains are not run by the node.
  'chain_rpc_invalid',
]);

/** Penalty points of clients for failed work. A client whose bucket is full is refused. Internal work has no client, and is free. */
export interface Penalties {
  /** @throws {AggregatorError} if the client's lookups found nothing too often */
  requireLookups(client: string | undefined): void;
  /** Runs a lookup at the P-Chain, and charges the client if it finds nothing. Throws as `requireLookups` does. */
  lookUp<T>(client: string | undefined, work: () => Promise<T>): Promise<T>;
  /** @throws {AggregatorError} if validators refused too many messages of the client, of this chain or of all */
  requireSignable(client: string | undefined, chainID: BlockchainID): void;
  /** Whether the chain's next messages of the client are first sent to a few validators. */
  isDoubtful(client: string | undefined, chainID: BlockchainID): boolean;
  /** Charges a message that no validator signed, by the validators asked and the bytes sent to each. */
  chargeUnsigned(client: string | undefined, chainID: BlockchainID, asked: number, bytes: number): void;
}

export function createPenalties(
  clock: Clock,
  { admissionRefusals }: Pick<AggregatorMetrics, 'admissionRefusals'>,
): Penalties {
  const bucket = new PenaltyBucket({ ...BUCKET, clock });
  const levelOf = (client: string, chainID: BlockchainID): number => bucket.level(keyOf(client, chainID));
  function requireLookups(client: string | undefined): void {
    if (client === undefined || bucket.level(client) < 1) return;
    const text = 'too many requests of this client named chains, subnets or transactions that do not exist';
    throw overloaded(admissionRefusals, 'missed', text);
  }

  return {
    requireLookups,
    async lookUp<T>(client: string | undefined, work: () => Promise<T>): Promise<T> {
      if (client === undefined) return work();
      requireLookups(client);
      try {
        return await work();
      } catch (error) {
        if (error instanceof AggregatorError && isMiss(error)) bucket.charge(client, 1);
        throw error;
      }
    },
    requireSignable(client, chainID) {
      if (client === undefined || Math.max(bucket.level(client), levelOf(client, chainID)) < 1) return;
      throw overloaded(admissionRefusals, 'refused', 'validators refused too many messages of this client');
    },
    isDoubtful(client, chainID) {
      return client !== undefined && levelOf(client, chainID) >= DOUBTFUL_LEVEL;
    },
    chargeUnsigned(client, chainID, asked, bytes) {
      if (client === undefined || asked === 0) return;
      const points = POINTS_OF_MESSAGE + (POINTS_OF_VALIDATOR + (POINTS_OF_MIB * bytes) / 2 ** 20) * asked;
      bucket.charge(keyOf(client, chainID), points);
      bucket.charge(client, CLIENT_PART * points);
    },
  };
}

/** A destination chain that does not exist is a mistake in the request. */
function isMiss({ code, field }: AggregatorError): boolean {
  return NOT_FOUND.has(code) || (code === 'invalid_request' && field === 'destinationChainID');
}

/** No ID has a space. */
function keyOf(client: string, chainID: BlockchainID): string {
  return `${chainID} ${client}`;
}
