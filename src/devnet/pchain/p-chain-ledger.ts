import { hash } from 'node:crypto';
import { ByteWriter } from '../../lib/encoding/byte-writer.ts';
import { prefixedHex } from '../../lib/encoding/bytes.ts';
import { BLS_SIGNATURE_LENGTH } from '../../warp/bls-lengths.ts';
import type { ConversionData } from '../../warp/conversion-data.ts';
import { idBytes, idFromBytes, P_CHAIN_ID, type TxID, type ValidationID } from '../../warp/ids.ts';
import { encodeL1Message, type L1Message, type PChainOwner } from '../../warp/l1-message.ts';
import { encodeWarpPayload } from '../../warp/payload.ts';
import { encodeSignedMessage } from '../../warp/signed-message.ts';
import { createUnsignedMessage } from '../../warp/unsigned-message.ts';
import { seededBytes } from '../seeded-random.ts';
import type { L1Event } from './l1-history.ts';

/** A transaction of the P-Chain, in both forms of the node's API. */
interface LedgerTransaction {
  readonly id: TxID;
  readonly name: keyof typeof TYPE_IDS;
  readonly bytes: Uint8Array;
  readonly json: unknown;
}

interface LedgerBlock {
  readonly id: Uint8Array;
  readonly bytes: Uint8Array;
  readonly json: unknown;
}

/** Type IDs of the codec (avalanchego `vms/platformvm/txs/codec.go`). */
const TYPE_IDS = {
  BaseTx: 34,
  ConvertSubnetToL1Tx: 35,
  RegisterL1ValidatorTx: 36,
  SetL1ValidatorWeightTx: 37,
  IncreaseL1ValidatorBalanceTx: 38,
  DisableL1ValidatorTx: 39,
} as const;

const BANFF_STANDARD_BLOCK = 32;
const SIGNATURE_INDICES = 10;
/** Initial balance of every validator of the L1, in nAVAX. */
const BALANCE = 1_000_000_000n;

/** The manager sends the L1's messages. */
interface LedgerOptions extends Pick<ConversionData, 'managerChainID' | 'managerAddress'> {
  readonly seed: number;
  readonly networkID: number;
  readonly owner: PChainOwner;
  readonly events: readonly L1Event[];
  /** Unix seconds of a block. */
  readonly timeOf: (height: bigint) => bigint;
}

/** Blocks and transactions of the L1's history, at most one transaction in a block. New blocks follow the clock. */
export class PChainLedger {
  readonly #options: LedgerOptions;
  /** Transactions by height. */
  readonly #transactions = new Map<bigint, LedgerTransaction>();
  readonly #blocks: LedgerBlock[] = [];
  /** Issued, and not accepted as long as this network runs. */
  readonly processing: LedgerTransaction;
  /** A transaction of the X-Chain, unknown to the P-Chain. */
  readonly ofXChain: Pick<LedgerTransaction, 'id' | 'bytes'>;

  constructor(options: LedgerOptions) {
    this.#options = options;
    const nonces = new Map<ValidationID, bigint>();
    for (const event of options.events) {
      const transaction = this.#fromEvent(event, nonces);
      if (transaction !== undefined) this.#transactions.set(event.height, transaction);
    }
    this.processing = this.#create('BaseTx', 'being processed', {}, () => undefined);
    const bytes = seededBytes(options.seed, 'X-Chain transaction', 200);
    this.ofXChain = { id: idFromBytes<TxID>(sha256(bytes), 'txID'), bytes };
  }

  transaction(id: TxID): LedgerTransaction | undefined {
    return [...this.#transactions.values()].find((transaction) => transaction.id === id);
  }

  /** The transaction at a height; the caller knows that there is one. */
  transactionAt(height: bigint): LedgerTransaction {
    const found = this.#transactions.get(height);
    if (found === undefined) throw new RangeError(`there is no transaction at height ${height}`);
    return found;
  }

  /** Heights only grow, so each block is created once, with the previous one as its parent. */
  block(height: bigint): LedgerBlock {
    while (BigInt(this.#blocks.length) <= height) this.#blocks.push(this.#createBlock(BigInt(this.#blocks.length)));
    const found = this.#blocks[Number(height)];
    if (found === undefined) throw new RangeError(`there is no block ${height}`);
    return found;
  }

  #createBlock(height: bigint): LedgerBlock {
    const parentID = this.#blocks.at(-1)?.id ?? seededBytes(this.#options.seed, 'genesis parent', 32);
    const transaction = this.#transactions.get(height);
    const time = this.#options.timeOf(height);
    const writer = new ByteWriter()
      .u16(0)
      .u32(BANFF_STANDARD_BLOCK)
      .u64(time)
      .bytes(parentID)
      .u64(height)
      .u32(transaction === undefined ? 0 : 1);
    // In a block a transaction has no separate codec version.
    if (transaction !== undefined) writer.bytes(transaction.bytes.subarray(2));
    const bytes = writer.finish();
    const id = sha256(bytes);
    const json = {
      time,
      parentID: idFromBytes(parentID, 'parentID'),
      height,
      id: idFromBytes(id, 'id'),
      txs: transaction === undefined ? [] : [transaction.json],
    };
    return { id, bytes, json };
  }

  #fromEvent(event: L1Event, nonces: Map<ValidationID, bigint>): LedgerTransaction | undefined {
    const label = `at ${event.height}`;
    switch (event.kind) {
      case 'conversion':
        return this.#conversion(event.data, label);
      case 'registration': {
        const message = this.#fromManager(event.message, label);
        const proofOfPossession = seededBytes(this.#options.seed, `proof of possession ${label}`, BLS_SIGNATURE_LENGTH);
        const json = {
          balance: Number(BALANCE),
          proofOfPossession: [...proofOfPossession],
          message: prefixedHex(message),
        };
        return this.#create('RegisterL1ValidatorTx', label, json, (writer) => {
          writer.u64(BALANCE).bytes(proofOfPossession).lengthPrefixed(message);
        });
      }
      case 'weight change':
      case 'removal': {
        const { validationID } = event;
        const nonce = nonces.get(validationID) ?? 0n;
        nonces.set(validationID, nonce + 1n);
        const weight = event.kind === 'removal' ? 0n : event.weight;
        const message = this.#fromManager({ kind: 'L1ValidatorWeight', validationID, nonce, weight }, label);
        return this.#create('SetL1ValidatorWeightTx', label, { message: prefixedHex(message) }, (writer) => {
          writer.lengthPrefixed(message);
        });
      }
      case 'balance increase': {
        const { validationID } = event;
        const json = { validationID, balance: Number(BALANCE) };
        return this.#create('IncreaseL1ValidatorBalanceTx', label, json, (writer) => {
          writer.bytes(idBytes(validationID)).u64(BALANCE);
        });
      }
      case 'disabling': {
        const { validationID } = event;
        const json = { validationID, disableAuthorization: { signatureIndices: [] } };
        return this.#create('DisableL1ValidatorTx', label, json, (writer) => {
          writer.bytes(idBytes(validationID)).u32(SIGNATURE_INDICES).u32(0);
        });
      }
      case 'deactivation':
        // The balance ran out, which takes no transaction.
        return undefined;
    }
  }

  #conversion(
    { subnetID, managerChainID, managerAddress, validators }: ConversionData,
    label: string,
  ): LedgerTransaction {
    const { seed, owner } = this.#options;
    const jsonOwner = { threshold: owner.threshold, addresses: owner.addresses.map((address) => prefixedHex(address)) };
    const proven = validators.map((validator, index) => ({
      ...validator,
      proof: seededBytes(seed, `proof of possession ${label} ${index}`, BLS_SIGNATURE_LENGTH),
    }));
    const json = {
      subnetID,
      chainID: managerChainID,
      address: prefixedHex(managerAddress),
      validators: proven.map(({ nodeID, weight, blsPublicKey, proof }) => ({
        nodeID: prefixedHex(nodeID),
        weight: Number(weight),
        balance: Number(BALANCE),
        signer: { publicKey: prefixedHex(blsPublicKey), proofOfPossession: prefixedHex(proof) },
        remainingBalanceOwner: jsonOwner,
        deactivationOwner: jsonOwner,
      })),
      subnetAuthorization: { signatureIndices: [] },
    };
    return this.#create('ConvertSubnetToL1Tx', label, json, (writer) => {
      writer.bytes(idBytes(subnetID)).bytes(idBytes(managerChainID)).lengthPrefixed(managerAddress).u32(proven.length);
      for (const { nodeID, weight, blsPublicKey, proof } of proven) {
        writer.lengthPrefixed(nodeID).u64(weight).u64(BALANCE).bytes(blsPublicKey).bytes(proof);
        // Both owners are the same.
        for (let written = 0; written < 2; written += 1) {
          writer.u32(owner.threshold).u32(owner.addresses.length);
          for (const address of owner.addresses) writer.bytes(address);
        }
      }
      writer.u32(SIGNATURE_INDICES).u32(0);
    });
  }

  /** The signed message of the L1's manager that the P-Chain acted on. Its signature is not checked again, so any bytes do. */
  #fromManager(message: L1Message, label: string): Uint8Array {
    const { seed, networkID, managerChainID, managerAddress } = this.#options;
    const payload = encodeWarpPayload({
      kind: 'AddressedCall',
      sourceAddress: managerAddress,
      payload: encodeL1Message(message),
    });
    return encodeSignedMessage({
      unsignedMessage: createUnsignedMessage(networkID, managerChainID, payload),
      signature: { signers: [0, 1, 2], signature: seededBytes(seed, `signature ${label}`, BLS_SIGNATURE_LENGTH) },
    });
  }

  /** Creates a transaction without inputs, outputs and credentials, because the payer does not matter here. */
  #create(
    name: LedgerTransaction['name'],
    label: string,
    fields: object,
    write: (writer: ByteWriter) => void,
  ): LedgerTransaction {
    const { networkID } = this.#options;
    const memo = Buffer.from(label);
    const writer = new ByteWriter()
      .u16(0)
      .u32(TYPE_IDS[name])
      .u32(networkID)
      .bytes(idBytes(P_CHAIN_ID))
      .u32(0)
      .u32(0)
      .lengthPrefixed(memo);
    write(writer);
    const bytes = writer.u32(0).finish();
    const id = idFromBytes<TxID>(sha256(bytes), 'txID');
    const unsignedTx = {
      networkID,
      blockchainID: P_CHAIN_ID,
      outputs: [],
      inputs: [],
      memo: prefixedHex(memo),
      ...fields,
    };
    return { id, name, bytes, json: { unsignedTx, credentials: [], id } };
  }
}

function sha256(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(hash('sha256', bytes, 'buffer'));
}
