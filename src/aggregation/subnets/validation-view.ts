import { tryParse } from '../../lib/encoding/parse-error.ts';
import type { L1ValidatorState } from '../../pchain/rpc/node-api.ts';
import type { IndexCoverage } from '../../pchain/state/validation-index.ts';
import {
  type BlockchainID,
  NODE_ID_LENGTH,
  type NodeID,
  nodeIDFromBytes,
  type SubnetID,
  type ValidationID,
} from '../../warp/ids.ts';
import {
  encodeJustification,
  type L1ValidatorRegistrationJustification,
  registrationOrigin,
} from '../../warp/justification.ts';
import {
  describeExpiry,
  isExpired,
  type L1ValidatorWeight,
  parseL1Message,
  type RegisterL1Validator,
  registrationValidationID,
} from '../../warp/l1-message.ts';
import { parseWarpPayload } from '../../warp/payload.ts';
import type { UnsignedMessage } from '../../warp/unsigned-message.ts';
import { createPChainMessage } from '../transactions/l1-justification.ts';

/** A message of a validator manager, and the transaction that sent it. */
export interface ManagerMessage {
  readonly message: UnsignedMessage;
  /** `0x` and 64 digits. */
  readonly txHash: string;
  /** Undefined where the transaction sent no other message. */
  readonly logIndex: number | undefined;
}

/** What the manager asks of the P-Chain about one validation. */
export interface Initiated extends ManagerMessage {
  readonly content: RegisterL1Validator | L1ValidatorWeight;
}

/** What was read about a validation. */
export interface ValidationFacts {
  readonly networkID: number;
  readonly validationID: ValidationID;
  /** Undefined if the P-Chain has no such validator now. */
  readonly current: L1ValidatorState | undefined;
  /** What began it on the P-Chain; undefined if no block was found. */
  readonly origin: L1ValidatorRegistrationJustification | undefined;
  /** The registration that the client gave; its hash is the validation ID. */
  readonly registration?: RegisterL1Validator | undefined;
  /** Of the index of P-Chain blocks, after the search for the origin. */
  readonly coverage: IndexCoverage;
  /** The oldest first; or why they are not known. */
  readonly initiated: readonly Initiated[] | { readonly whyUnknown: string };
  /** The chain of the L1's validator manager. */
  readonly managerChainID: BlockchainID | undefined;
}

/**
 * `initiated`: the manager sent the registration, which the P-Chain may still accept. `active`, `inactive`: a validator, with and without a
 * balance. `removed`: it was one. `expired`: the registration never reached the P-Chain in time, as far as is known. `unknown`: nothing is known.
 */
export type ValidationState = (typeof VALIDATION_STATES)[number];
export const VALIDATION_STATES = ['initiated', 'active', 'inactive', 'removed', 'expired', 'unknown'] as const;

/** Fields that may be unknown. */
export const UNCERTAIN_FIELDS = [
  'subnetId',
  'nodeId',
  'registered',
  'removed',
  'weight',
  'minNonce',
  'balance',
  'expired',
  'registrableUntil',
  'initiated',
] as const;
export type UncertainField = (typeof UNCERTAIN_FIELDS)[number];

/** A message about the validation that validators sign now. */
export interface SignableMessage {
  readonly content: 'RegisterL1Validator' | 'L1ValidatorRegistration' | 'L1ValidatorWeight';
  /** The verifier: the P-Chain, or the chain of the validator manager. */
  readonly to: 'p_chain' | 'manager';
  readonly by:
    | {
        readonly kind: 'transaction';
        readonly txHash: string;
        readonly chainID: BlockchainID;
        readonly logIndex: number | undefined;
      }
    | { readonly kind: 'message'; readonly message: UnsignedMessage }
    | { readonly kind: 'justification'; readonly justification: Uint8Array };
}

export interface ValidationView {
  readonly validationID: ValidationID;
  readonly state: ValidationState;
  readonly managerChainID: BlockchainID | undefined;
  /** Undefined fields have their reasons in `reasons`. */
  readonly subnetID: SubnetID | undefined;
  readonly nodeID: NodeID | undefined;
  readonly registered: boolean | undefined;
  readonly removed: boolean | undefined;
  readonly weight: bigint | undefined;
  readonly minNonce: bigint | undefined;
  /** In nAVAX. */
  readonly balance: bigint | undefined;
  readonly expired: boolean | undefined;
  /** Unix seconds. */
  readonly registrableUntil: bigint | undefined;
  readonly initiated: readonly Initiated[] | undefined;
  readonly reasons: Readonly<Partial<Record<UncertainField, string>>>;
  readonly signable: readonly SignableMessage[];
  /** What the operator does next: a sentence. */
  readonly next: string;
}

/** Decides what is known of a validation, which messages can be signed, and what comes next. Pure. @param nowMs Unix time */
export function describeValidation(facts: ValidationFacts, nowMs: number): ValidationView {
  const { validationID, current, origin, managerChainID, coverage } = facts;
  const initiated = 'whyUnknown' in facts.initiated ? undefined : facts.initiated;
  const sent = initiated?.map(({ content }) => content).find(isRegistration);
  const registration = registrationOf(origin) ?? facts.registration ?? sent;
  const state = stateOf(facts, registration, nowMs);
  const registered = current !== undefined || origin !== undefined ? true : coverage.isWhole ? false : undefined;
  const removed = current !== undefined || registered === false ? false : registered;
  const view = {
    validationID,
    state,
    managerChainID,
    subnetID: current?.subnetID ?? subnetOf(origin) ?? registration?.subnetID,
    nodeID: current?.nodeID ?? nodeOf(registration),
    registered,
    removed,
    weight: current?.weight,
    minNonce: current?.minNonce,
    balance: current?.balance,
    expired: registration && isExpired(registration, nowMs),
    registrableUntil: state === 'initiated' ? registration?.expiry : undefined,
    initiated,
  };
  const signable = signableOf(facts, state, registration);
  return {
    ...view,
    reasons: reasonsOf(facts, state),
    signable,
    next: nextStep(state, signable, registration),
  };
}

/** Returns what a message of a validator manager is about. */
export function contentOf(message: UnsignedMessage): Initiated['content'] | undefined {
  const call = tryParse(() => parseWarpPayload(message.payload));
  const content = call?.kind === 'AddressedCall' ? tryParse(() => parseL1Message(call.payload)) : undefined;
  return content?.kind === 'RegisterL1Validator' || content?.kind === 'L1ValidatorWeight' ? content : undefined;
}

export function validationOf(content: Initiated['content']): ValidationID {
  return content.kind === 'RegisterL1Validator' ? registrationValidationID(content) : content.validationID;
}

function isRegistration(content: Initiated['content']): content is RegisterL1Validator {
  return content.kind === 'RegisterL1Validator';
}

export function registrationOf(
  origin: L1ValidatorRegistrationJustification | undefined,
): RegisterL1Validator | undefined {
  if (origin?.kind !== 'RegisterL1ValidatorMessage') return undefined;
  const message = tryParse(() => parseL1Message(origin.message));
  return message?.kind === 'RegisterL1Validator' ? message : undefined;
}

export function subnetOf(origin: L1ValidatorRegistrationJustification | undefined): SubnetID | undefined {
  return origin?.kind === 'SubnetIDIndex' ? origin.subnetID : registrationOf(origin)?.subnetID;
}

/** Node IDs have 20 bytes today. */
function nodeOf(registration: RegisterL1Validator | undefined): NodeID | undefined {
  return registration?.nodeID.length === NODE_ID_LENGTH ? nodeIDFromBytes(registration.nodeID) : undefined;
}

function stateOf(
  { current, origin }: ValidationFacts,
  registration: RegisterL1Validator | undefined,
  nowMs: number,
): ValidationState {
  if (current !== undefined) return current.balance === 0n ? 'inactive' : 'active';
  if (origin !== undefined) return 'removed';
  if (registration === undefined) return 'unknown';
  return isExpired(registration, nowMs) ? 'expired' : 'initiated';
}

function signableOf(
  facts: ValidationFacts,
  state: ValidationState,
  registration: RegisterL1Validator | undefined,
): readonly SignableMessage[] {
  const { networkID, validationID, current, origin } = facts;
  const sent = 'whyUnknown' in facts.initiated ? [] : facts.initiated;
  const toPChain = sent
    .filter(({ content }) => {
      if (content.kind === 'RegisterL1Validator') return state === 'initiated';
      return current !== undefined && content.nonce >= current.minNonce;
    })
    .map(({ content, message, txHash, logIndex }): SignableMessage => {
      const by = { kind: 'transaction', txHash, chainID: message.sourceChainID, logIndex } as const;
      return { content: content.kind, to: 'p_chain', by };
    });
  const fromPChain = (content: Parameters<typeof createPChainMessage>[1]): SignableMessage => ({
    content: content.kind as SignableMessage['content'],
    to: 'manager',
    by: { kind: 'message', message: createPChainMessage(networkID, content) },
  });
  switch (state) {
    case 'active':
    case 'inactive': {
      const { minNonce = 0n, weight } = current ?? {};
      const confirmsWeight = minNonce > 0n && weight !== undefined;
      return [
        ...toPChain,
        fromPChain({ kind: 'L1ValidatorRegistration', validationID, registered: true }),
        ...(confirmsWeight
          ? [fromPChain({ kind: 'L1ValidatorWeight', validationID, nonce: minNonce - 1n, weight })]
          : []),
      ];
    }
    case 'removed':
    case 'expired': {
      const proof = origin ?? justificationOf(registration);
      if (proof === undefined) return toPChain;
      const by = { kind: 'justification', justification: encodeJustification(proof) } as const;
      return [...toPChain, { content: 'L1ValidatorRegistration', to: 'manager', by }];
    }
    case 'initiated':
    case 'unknown':
      return toPChain;
  }
}

function reasonsOf(
  { current, coverage, initiated, origin }: ValidationFacts,
  state: ValidationState,
): ValidationView['reasons'] {
  const { range, isReading } = coverage;
  const read =
    range === undefined ? 'no P-Chain block was read yet' : `P-Chain blocks ${range.from} to ${range.to} were read`;
  const notFound = `${read}, and none of them began it${isReading ? '; more are being read' : ''}`;
  const noRegistration =
    origin?.kind === 'SubnetIDIndex'
      ? 'it began with the conversion of the subnet, which has no expiry'
      : `its registration is not known: ${notFound}; give the transaction that initiated it as txHash`;
  const noValidator = 'the P-Chain has no such validator now';
  const leftOut = 'the P-Chain API leaves it out';
  const ofValidator = current === undefined ? noValidator : leftOut;
  return {
    subnetId: noRegistration,
    nodeId: current === undefined ? noRegistration : leftOut,
    registered: notFound,
    removed: notFound,
    weight: ofValidator,
    minNonce: ofValidator,
    balance: ofValidator,
    expired: noRegistration,
    registrableUntil: WHY_NOT_REGISTRABLE[state] ?? noRegistration,
    ...('whyUnknown' in initiated && { initiated: initiated.whyUnknown }),
  };
}

const WHY_NOT_REGISTRABLE: Readonly<Partial<Record<ValidationState, string>>> = {
  active: 'it was registered, which is possible once',
  inactive: 'it was registered, which is possible once',
  removed: 'it was registered, which is possible once',
  expired: 'the registration has expired',
};

function nextStep(
  state: ValidationState,
  signable: readonly SignableMessage[],
  registration: RegisterL1Validator | undefined,
): string {
  const hasWeightChange = signable.some(({ to, content }) => to === 'p_chain' && content === 'L1ValidatorWeight');
  const sendWeight =
    'have the L1ValidatorWeight of the manager signed, and send it to the P-Chain in a SetL1ValidatorWeightTx';
  switch (state) {
    case 'initiated': {
      const until = registration === undefined ? '' : ` before ${describeExpiry(registration)}`;
      return `Have the RegisterL1Validator message signed, and send it to the P-Chain in a RegisterL1ValidatorTx${until}.`;
    }
    case 'active':
      return hasWeightChange
        ? `To complete the change of the weight, ${sendWeight}.`
        : 'Nothing on the P-Chain. If the manager has not completed the registration or the last change of the weight, deliver the message to it.';
    case 'inactive':
      return hasWeightChange
        ? `Its balance is used up, so it cannot sign. To complete the change of the weight, ${sendWeight}.`
        : 'Its balance is used up, so it cannot sign: raise it by an IncreaseL1ValidatorBalanceTx, or let the manager remove it.';
    case 'removed':
      return 'If the manager has not completed the removal, deliver the L1ValidatorRegistration to it.';
    case 'expired':
      return 'The P-Chain refuses the registration: deliver the L1ValidatorRegistration to the manager, and initiate a new registration.';
    case 'unknown':
      return 'Give the hash of the transaction by which the manager initiated it as txHash, or check the network and the ID.';
  }
}

function justificationOf(
  registration: RegisterL1Validator | undefined,
): L1ValidatorRegistrationJustification | undefined {
  return registration && registrationOrigin(registration).justification;
}
