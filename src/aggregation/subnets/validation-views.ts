import type { Clock } from '../../lib/concurrency/clock.ts';
import { equalBytes, prefixedHex } from '../../lib/encoding/bytes.ts';
import { tryParse } from '../../lib/encoding/parse-error.ts';
import { unlessRefused } from '../../pchain/rpc/api-error.ts';
import type { NodeApi } from '../../pchain/rpc/node-api.ts';
import type { SubnetDirectory } from '../../pchain/state/subnet-directory.ts';
import type { ValidationIndex } from '../../pchain/state/validation-index.ts';
import { type BlockchainID, P_CHAIN_ID, type SubnetID, type TxID, type ValidationID } from '../../warp/ids.ts';
import type { RegisterL1Validator } from '../../warp/l1-message.ts';
import { parseWarpPayload } from '../../warp/payload.ts';
import { createLookupLimit, type LookupMetrics } from '../admission/lookup-limit.ts';
import type { Penalties } from '../admission/penalties.ts';
import { AggregatorError } from '../aggregator-error.ts';
import { askPChain } from '../ask-p-chain.ts';
import { recognizeJustification } from '../transactions/l1-justification.ts';
import type { L1Messages } from '../transactions/l1-messages.ts';
import type { EvmLookup } from '../transactions/messages-of-evm-transactions.ts';
import {
  contentOf,
  describeValidation,
  type Initiated,
  type ManagerMessage,
  registrationOf,
  subnetOf,
  type ValidationFacts,
  type ValidationView,
  validationOf,
} from './validation-view.ts';

export interface ValidationRequest {
  readonly validationID: ValidationID;
  /** An EVM transaction by which the manager initiated something. */
  readonly transaction?: GivenTransaction | undefined;
  /** The registration in a form that {@link recognizeJustification} reads. */
  readonly justification?: Uint8Array | undefined;
}

export interface GivenTransaction {
  readonly txID: TxID;
  /** As the client wrote it. */
  readonly txHash: string;
  readonly evm: EvmLookup;
}

/** A contract or account, and its chain. */
export interface ValidatorManager {
  readonly chainID: BlockchainID;
  /** 20 bytes. */
  readonly address: Uint8Array;
}

/** Messages of validator managers that the feed has stored. */
export interface ManagerMessages {
  /** The chains whose messages are stored. */
  chains(): readonly BlockchainID[];
  /** Returns the messages of a manager, the oldest first; or why they are not known. */
  sentBy(manager: ValidatorManager): Promise<StoredMessages>;
}

export type StoredMessages = readonly ManagerMessage[] | { readonly whyUnknown: string };

export interface ValidationViewsOptions {
  readonly networkID: number;
  readonly api: Pick<NodeApi, 'getL1Validator'>;
  readonly directory: Pick<SubnetDirectory, 'getSubnet' | 'validatedBy'>;
  readonly index: Pick<ValidationIndex, 'coverage'>;
  readonly l1Messages: Pick<L1Messages, 'ofTransaction' | 'originOf'>;
  readonly stored: ManagerMessages;
  readonly penalties: Pick<Penalties, 'lookUp'>;
  readonly metrics: LookupMetrics;
  readonly clock: Clock;
  readonly resolveTimeoutMs: number;
}

/** Each makes some four calls of the P-Chain API, and one of a chain's. */
const MAX_AT_WORK = 32;
/** Watched chains on which a registration of an unknown L1 is searched for. */
const MAX_WATCHED = 16;

/** What is known of L1 validations, without asking validators. */
export interface ValidationViews {
  /** @throws {AggregatorError}, or the signal's reason */
  view(request: ValidationRequest, signal: AbortSignal, client?: string): Promise<ValidationView>;
}

export function createValidationViews(options: ValidationViewsOptions): ValidationViews {
  const { networkID, api, directory, index, l1Messages, penalties, clock } = options;
  const running = createLookupLimit({ ...options, kind: 'validation', limit: MAX_AT_WORK });

  async function messageOf(
    given: GivenTransaction,
    validationID: ValidationID,
    signal: AbortSignal,
  ): Promise<Initiated> {
    const { txID, txHash, evm } = given;
    const { message } = await l1Messages.ofTransaction({ txID, evm }, signal);
    const content = message.sourceChainID === P_CHAIN_ID ? undefined : contentOf(message);
    if (content === undefined) {
      const text = `transaction ${txHash} sent no message of a validator manager to the P-Chain`;
      throw new AggregatorError('invalid_request', text, { field: 'transaction' });
    }
    const other = validationOf(content);
    if (other !== validationID) {
      const text = `transaction ${txHash} sent a message about another validation: ${other}`;
      throw new AggregatorError('invalid_request', text, { field: 'transaction' });
    }
    return { content, message, txHash, logIndex: evm.logIndex };
  }

  async function read(
    { validationID, transaction, justification }: ValidationRequest,
    parent: AbortSignal,
  ): Promise<ValidationFacts> {
    const named = justification && registrationIn(justification, validationID);
    const given = transaction && (await messageOf(transaction, validationID, parent));
    return await askPChain({ clock, timeoutMs: options.resolveTimeoutMs }, parent, async (signal) => {
      const current = await unlessRefused(api.getL1Validator(validationID, signal));
      const registration = named ?? (given?.content.kind === 'RegisterL1Validator' ? given.content : undefined);
      const origin = await l1Messages.originOf(validationID, current?.subnetID ?? registration?.subnetID, signal);
      const coverage = index.coverage();
      const subnetID = current?.subnetID ?? subnetOf(origin) ?? registration?.subnetID;
      const manager = subnetID && (await managerOf(subnetID, signal));
      if (given !== undefined && manager !== undefined) requireSender(given, manager);
      // The store may know a registration that the P-Chain does not.
      const managers = manager === undefined ? await watchedManagers(signal) : [manager];
      const stored = await readStored(managers);
      const initiated = merge(stored, given, validationID);
      const managerChainID =
        manager?.chainID ?? ('whyUnknown' in initiated ? undefined : initiated[0]?.message.sourceChainID);
      return { networkID, validationID, current, origin, registration, coverage, initiated, managerChainID };
    });
  }

  async function managerOf(subnetID: SubnetID, signal: AbortSignal): Promise<ValidatorManager | undefined> {
    const { managerChainID: chainID, managerAddress: address } = (await directory.getSubnet(subnetID, signal)) ?? {};
    return chainID === undefined || address === undefined ? undefined : { chainID, address };
  }

  /** Returns the managers of L1s that are on a watched chain of their own. */
  async function watchedManagers(signal: AbortSignal): Promise<readonly ValidatorManager[]> {
    const managers: ValidatorManager[] = [];
    for (const chainID of options.stored.chains().slice(0, MAX_WATCHED)) {
      const subnetID = await directory.validatedBy(chainID, signal);
      const manager = subnetID && (await managerOf(subnetID, signal));
      if (manager?.chainID === chainID) managers.push(manager);
    }
    return managers;
  }

  async function readStored(managers: readonly ValidatorManager[]): Promise<StoredMessages> {
    const found: ManagerMessage[] = [];
    let whyUnknown = managers.length === 0 ? UNKNOWN_MANAGER : undefined;
    for (const manager of managers) {
      const messages = await options.stored.sentBy(manager);
      if ('whyUnknown' in messages) whyUnknown = messages.whyUnknown;
      else found.push(...messages);
    }
    return found.length === 0 && whyUnknown !== undefined ? { whyUnknown } : found;
  }

  return {
    async view(request: ValidationRequest, signal: AbortSignal, client?: string): Promise<ValidationView> {
      using _permit = await running.acquire(client, signal);
      return describeValidation(await penalties.lookUp(client, () => read(request, signal)), clock.now());
    },
  };
}

/** Checks that a message is the manager's: any contract can send one with the same content, which the P-Chain refuses. */
function requireSender({ message, txHash }: Initiated, { chainID, address }: ValidatorManager): void {
  const payload = tryParse(() => parseWarpPayload(message.payload));
  const sender = payload?.kind === 'AddressedCall' ? payload.sourceAddress : undefined;
  if (message.sourceChainID === chainID && sender !== undefined && equalBytes(sender, address)) return;
  const text = `transaction ${txHash} is not of the validator manager, which is ${prefixedHex(address)} on blockchain ${chainID}`;
  throw new AggregatorError('invalid_request', text, { field: 'transaction' });
}

/** @throws {AggregatorError} if it is not the registration of this validation */
function registrationIn(justification: Uint8Array, validationID: ValidationID): RegisterL1Validator | undefined {
  const recognized = recognizeJustification(justification);
  if (recognized?.kind === 'validation' && recognized.validationID === validationID) {
    return registrationOf(recognized.justification);
  }
  const text =
    recognized?.kind === 'validation' ? `it is that of validation ${recognized.validationID}` : 'it is no registration';
  throw new AggregatorError('invalid_request', text, { field: 'justification' });
}

const UNKNOWN_MANAGER =
  'its L1, and so the validator manager, is not known: give the transaction that initiated it as txHash';

/** Adds the message that the client named to those of the store. */
function merge(
  stored: StoredMessages,
  given: Initiated | undefined,
  validationID: ValidationID,
): ValidationFacts['initiated'] {
  if ('whyUnknown' in stored) return given === undefined ? stored : [given];
  const known = stored.flatMap((one): Initiated[] => {
    const content = contentOf(one.message);
    return content !== undefined && validationOf(content) === validationID ? [{ ...one, content }] : [];
  });
  const isStored = given !== undefined && known.some(({ message }) => message.id === given.message.id);
  return given === undefined || isStored ? known : [...known, given];
}
