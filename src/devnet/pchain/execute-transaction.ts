import { nobleBackend } from '../../bls/backends/noble-backend.ts';
import { bytesToHex, equalBytes } from '../../lib/encoding/bytes.ts';
import { attempt, ParseError } from '../../lib/encoding/parse-error.ts';
import type { Validator } from '../../validators/validator.ts';
import { namedSigners, verifySignedMessage } from '../../validators/verify-signed-message.ts';
import { createWarpSet } from '../../validators/warp-set.ts';
import type { ConversionData } from '../../warp/conversion-data.ts';
import { type BlockchainID, nodeIDFromBytes, PRIMARY_NETWORK_ID, type SubnetID } from '../../warp/ids.ts';
import { type L1Message, parseL1Message, registrationValidationID } from '../../warp/l1-message.ts';
import { parseWarpPayload } from '../../warp/payload.ts';
import { parseSignedMessage } from '../../warp/signed-message.ts';
import type { L1Change, L1History, L1Validator } from './l1-history.ts';
import type { TransactionContent } from './p-chain-ledger.ts';

/** The text is the P-Chain's, in the words of avalanchego. */
export class TransactionRefused extends Error {
  override readonly name = 'TransactionRefused';
}

/** The P-Chain, as the next block finds it. */
export interface ExecutionState {
  readonly networkID: number;
  readonly history: L1History;
  /** Height of the next block. */
  readonly height: bigint;
  /** In Unix seconds. */
  readonly timestamp: bigint;
  /** P-Chain height of the current epoch, at which Warp messages are verified. */
  readonly epochHeight: bigint;
  validatedBy(blockchainID: BlockchainID): SubnetID | undefined;
  validatorsAt(subnetID: SubnetID, height: bigint): readonly Validator[];
}

type Content<Name extends TransactionContent['name']> = Extract<TransactionContent, { name: Name }>;

const QUORUM_NUM = 67n;
/** `RegisterL1ValidatorTxExpiryWindow`, in seconds. */
const EXPIRY_WINDOW = 86_400n;

/**
 * Executes a transaction as the P-Chain does that issues it: its Warp message is verified first, at the height of the epoch, then the rest
 * (avalanchego `vms/platformvm/block/executor/manager.go`, `txs/executor/standard_tx_executor.go`).
 *
 * @returns the change of the L1's validators; undefined for a transaction without one
 * @throws {TransactionRefused}
 */
export function executeTransaction(state: ExecutionState, content: TransactionContent): L1Change | undefined {
  switch (content.name) {
    case 'BaseTx':
      return undefined;
    case 'ConvertSubnetToL1Tx':
      return convert(state, content.data);
    case 'RegisterL1ValidatorTx':
      return register(state, content);
    case 'SetL1ValidatorWeightTx':
      return setWeight(state, content);
    case 'IncreaseL1ValidatorBalanceTx': {
      const { validationID, balance } = content;
      if (!state.history.validators(state.height).has(validationID)) throw failed('not found');
      return { kind: 'balance increase', validationID, balance };
    }
    case 'DisableL1ValidatorTx': {
      const { validationID } = findValidator(state, content);
      return { kind: 'disabling', validationID };
    }
  }
}

function convert({ history, height }: ExecutionState, data: ConversionData): L1Change {
  const { subnetID, validators } = data;
  if (subnetID === PRIMARY_NETWORK_ID) throw failed('cannot convert a permissionless subnet');
  if (history.conversion(subnetID, height) !== undefined) throw failed(`"${subnetID}" is immutable`);
  if (validators.length === 0) throw failed('conversion must include at least one validator');
  if (validators.some(({ weight }) => weight === 0n)) throw failed('validator weight must be non-zero');
  const isSorted = validators.every(({ nodeID }, index) => {
    const before = validators[index - 1];
    return before === undefined || Buffer.compare(before.nodeID, nodeID) < 0;
  });
  if (!isSorted) throw failed('conversion validators must be sorted and unique');
  return { kind: 'conversion', data };
}

function register(state: ExecutionState, { message: bytes, balance }: Content<'RegisterL1ValidatorTx'>): L1Change {
  const { sent, message } = openMessage(state, bytes);
  if (message.kind !== 'RegisterL1Validator') throw failed(`wrong payload type: ${message.kind}`);
  if (message.weight === 0n) throw failed('invalid weight');
  requireManager(state, message.subnetID, sent);
  const { timestamp, history, height } = state;
  const { expiry } = message;
  if (expiry <= timestamp) throw failed(`warp message expired at ${expiry} and it is currently ${timestamp}`);
  if (expiry - timestamp > EXPIRY_WINDOW) {
    const excess = `time is ${expiry - timestamp} seconds in the future but the limit is ${EXPIRY_WINDOW}`;
    throw failed(`warp message not yet allowed because ${excess}`);
  }
  const validationID = registrationValidationID(message);
  if (history.wasRegistered(validationID, height)) {
    throw failed(`warp message already issued for validationID ${validationID}`);
  }
  const nodeID = nodeIDFromBytes(message.nodeID);
  if (history.validatorsOf(message.subnetID, height).some((validator) => validator.nodeID === nodeID)) {
    throw failed('L1 validator contains duplicate subnetID + nodeID pair');
  }
  return { kind: 'registration', message, balance };
}

function setWeight(state: ExecutionState, { message: bytes }: Content<'SetL1ValidatorWeightTx'>): L1Change {
  const { sent, message } = openMessage(state, bytes);
  if (message.kind !== 'L1ValidatorWeight') throw failed(`wrong payload type: ${message.kind}`);
  const { validationID, nonce, weight } = message;
  const validator = findValidator(state, message);
  if (nonce < validator.minNonce) {
    throw failed(`warp message contains stale nonce ${nonce} must be at least ${validator.minNonce}`);
  }
  requireManager(state, validator.subnetID, sent);
  const others = state.history.validatorsOf(validator.subnetID, state.height).filter((one) => one !== validator);
  if (weight === 0n && others.length === 0) {
    throw failed('attempting to remove the last L1 validator from a converted subnet');
  }
  return { kind: 'weight change', validationID, nonce, weight };
}

function findValidator(
  { history, height }: ExecutionState,
  { validationID }: Pick<L1Validator, 'validationID'>,
): L1Validator {
  const validator = history.validators(height).get(validationID);
  if (validator === undefined) throw failed('could not load L1 validator: not found');
  return validator;
}

interface Sent {
  readonly sourceChainID: BlockchainID;
  readonly sourceAddress: Uint8Array;
}

/** Verifies a signed message, and returns what an L1 sent by it. */
function openMessage(state: ExecutionState, bytes: Uint8Array): { readonly sent: Sent; readonly message: L1Message } {
  const signed = attempt(() => parseSignedMessage(bytes));
  if (signed instanceof ParseError) throw unverified(signed.message);
  const { sourceChainID, payload } = signed.unsignedMessage;
  verifyWarpMessage(state, bytes, signed);
  const opened = attempt(() => {
    const call = parseWarpPayload(payload);
    if (call.kind !== 'AddressedCall') throw new ParseError('payload', `wrong payload type: ${call.kind}`);
    const sent = { sourceChainID, sourceAddress: call.sourceAddress };
    return { sent, message: parseL1Message(call.payload) };
  });
  if (opened instanceof ParseError) throw failed(opened.message);
  return opened;
}

/** Verifies a message for the epoch (avalanchego `txs/executor/warp_verifier.go`, `warp/signature.go`). */
function verifyWarpMessage(
  state: ExecutionState,
  bytes: Uint8Array,
  { unsignedMessage, signature }: ReturnType<typeof parseSignedMessage>,
): void {
  const { networkID, epochHeight } = state;
  const subnetID = state.validatedBy(unsignedMessage.sourceChainID);
  if (subnetID === undefined) throw unverified('not found');
  const warpSet = createWarpSet(state.validatorsAt(subnetID, epochHeight));
  const verification = verifySignedMessage(bytes, { networkID, warpSet, quorumNum: QUORUM_NUM }, nobleBackend);
  if (verification.kind === 'valid') return;
  const { weight } = namedSigners(signature.signers, warpSet);
  switch (verification.reason) {
    case 'malformed':
    case 'malformed signature':
      throw unverified('failed to parse signature');
    case 'wrong network':
      throw unverified('wrong networkID');
    case 'unknown signer': {
      const last = Math.max(...signature.signers);
      const count = warpSet.validators.length;
      throw unverified(`unknown validator: NumIndices (${last}) >= NumFilteredValidators (${count})`);
    }
    case 'no signers':
    case 'insufficient weight':
      throw unverified(`signature weight is insufficient: ${QUORUM_NUM}*${warpSet.totalWeight} > 100*${weight}`);
    case 'wrong signature':
      throw unverified('signature is invalid');
  }
}

/** Checks that an L1's message comes from the chain and the address of its validator manager. */
function requireManager({ history, height }: ExecutionState, subnetID: SubnetID, sent: Sent): void {
  const conversion = history.conversion(subnetID, height);
  if (conversion === undefined) throw failed(`could not load subnet conversion for ${subnetID} with: not found`);
  const { managerChainID, managerAddress } = conversion;
  if (sent.sourceChainID !== managerChainID) {
    throw failed(`wrong warp message source chain ID expected ${managerChainID} but had ${sent.sourceChainID}`);
  }
  if (!equalBytes(sent.sourceAddress, managerAddress)) {
    const [expected, got] = [managerAddress, sent.sourceAddress].map((address) => `0x${bytesToHex(address)}`);
    throw failed(`wrong warp message source address expected ${expected} but got ${got}`);
  }
}

function unverified(reason: string): TransactionRefused {
  return new TransactionRefused(`couldn't issue tx: failed verifying warp messages: ${reason}`);
}

function failed(reason: string): TransactionRefused {
  return new TransactionRefused(`couldn't issue tx: failed execution: ${reason}`);
}
