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
import { INITIAL_BALANCE, type L1Event } from './l1-history.ts';

/** What a transaction does. Its payer does not matter here. */
export type TransactionContent =
  | { readonly name: 'BaseTx' }
  | { readonly name: 'ConvertSubnetToL1Tx'; readonly data: ConversionData }
  /** `message` is the signed Warp message of the L1's manager. */
  | { readonly name: 'RegisterL1ValidatorTx'; readonly message: Uint8Array; readonly balance: bigint }
  | { readonly name: 'SetL1ValidatorWeightTx'; readonly message: Uint8Array }
  | { readonly name: 'IncreaseL1ValidatorBalanceTx'; readonly validationID: ValidationID; readonly balance: bigint }
  | { readonly name: 'DisableL1ValidatorTx'; readonly validationID: ValidationID };

/** A transaction of the P-Chain, in both forms of the node's API. */
export interface LedgerTransaction {
  readonly id: TxID;
  readonly name: TransactionContent['name'];
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
} as const satisfies Record<TransactionContent['name'], number>;

const BANFF_STANDARD_BLOCK = 32;
const SIGNATURE_INDICES = 10;

/** The manager sends the L1's messages. */
interface LedgerOptions extends Pick<ConversionData, 'managerChainID' | 'managerAddress'> {
  readonly seed: number;
  readonly networkID: number;
  readonly owner: PChainOwner;
  readonly events: readonly L1Event[];
  /** Unix seconds of a block. */
  readonly timeOf: (height: bigint) => bigint;
}

/** Blocks and transactions: those of the L1's history, and those that clients issue. New blocks follow the clock. */
export class PChainLedger {
  readonly #options: LedgerOptions;
  /** Transactions by height. */
  readonly #transactions = new Map<bigint, LedgerTransaction[]>();
  readonly #blocks: LedgerBlock[] = [];
  /** Issued, and not accepted as long as this network runs. */
  readonly processing: LedgerTransaction;
  /** A transaction of the X-Chain, unknown to the P-Chain. */
  readonly ofXChain: Pick<LedgerTransaction, 'id' | 'bytes'>;

  constructor(options: LedgerOptions) {
    this.#options = options;
    for (const event of options.events) {
      const content = this.#contentOf(event);
      if (content !== undefined) this.add(event.height, content);
    }
    this.processing = this.#create({ name: 'BaseTx' }, 'being processed');
    const bytes = seededBytes(options.seed, 'X-Chain transaction', 200);
    this.ofXChain = { id: idFromBytes<TxID>(sha256(bytes), 'txID'), bytes };
  }

  /** Adds a transaction to the block at a height, which nobody has read yet. */
  add(height: bigint, content: TransactionContent): LedgerTransaction {
    const others = this.#transactions.get(height) ?? [];
    const label = others.length === 0 ? `at ${height}` : `at ${height}, number ${others.length + 1}`;
    const transaction = this.#create(content, label);
    this.#transactions.set(height, [...others, transaction]);
    return transaction;
  }

  transaction(id: TxID): (LedgerTransaction & { readonly height: bigint }) | undefined {
    for (const [height, transactions] of this.#transactions) {
      const found = transactions.find((transaction) => transaction.id === id);
      if (found !== undefined) return { ...found, height };
    }
    return undefined;
  }

  /** The first transaction at a height; the caller knows that there is one. */
  transactionAt(height: bigint): LedgerTransaction {
    const [found] = this.#transactions.get(height) ?? [];
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
    const transactions = this.#transactions.get(height) ?? [];
    const time = this.#options.timeOf(height);
    const writer = new ByteWriter()
      .u16(0)
      .u32(BANFF_STANDARD_BLOCK)
      .u64(time)
      .bytes(parentID)
      .u64(height)
      .u32(transactions.length);
    // In a block a transaction has no separate codec version.
    for (const { bytes } of transactions) writer.bytes(bytes.subarray(2));
    const bytes = writer.finish();
    const id = sha256(bytes);
    const json = {
      time,
      parentID: idFromBytes(parentID, 'parentID'),
      height,
      id: idFromBytes(id, 'id'),
      txs: transactions.map((transaction) => transaction.json),
    };
    return { id, bytes, json };
  }

  /** Returns the transaction of an event of the L1's history; undefined if it took none. */
  #contentOf(event: L1Event): TransactionContent | undefined {
    const label = `at ${event.height}`;
    switch (event.kind) {
      case 'conversion':
        return { name: 'ConvertSubnetToL1Tx', data: event.data };
      case 'registration':
        return {
          name: 'RegisterL1ValidatorTx',
          message: this.#fromManager(event.message, label),
          balance: event.balance,
        };
      case 'weight change': {
        const { validationID, nonce, weight } = event;
        const message = this.#fromManager({ kind: 'L1ValidatorWeight', validationID, nonce, weight }, label);
        return { name: 'SetL1ValidatorWeightTx', message };
      }
      case 'balance increase':
        return { name: 'IncreaseL1ValidatorBalanceTx', validationID: event.validationID, balance: event.balance };
      case 'disabling':
        return { name: 'DisableL1ValidatorTx', validationID: event.validationID };
      case 'deactivation':
        return undefined;
    }
  }

  /** @param label makes transactions of the same content different */
  #create(content: TransactionContent, label: string): LedgerTransaction {
    switch (content.name) {
      case 'BaseTx':
        return this.#encode(content.name, label, {}, () => undefined);
      case 'ConvertSubnetToL1Tx':
        return this.#conversion(content.data, label);
      case 'RegisterL1ValidatorTx': {
        const { message, balance } = content;
        const proofOfPossession = seededBytes(this.#options.seed, `proof of possession ${label}`, BLS_SIGNATURE_LENGTH);
        const json = {
          balance: Number(balance),
          proofOfPossession: [...proofOfPossession],
          message: prefixedHex(message),
        };
        return this.#encode(content.name, label, json, (writer) => {
          writer.u64(balance).bytes(proofOfPossession).lengthPrefixed(message);
        });
      }
      case 'SetL1ValidatorWeightTx':
        return this.#encode(content.name, label, { message: prefixedHex(content.message) }, (writer) => {
          writer.lengthPrefixed(content.message);
        });
      case 'IncreaseL1ValidatorBalanceTx': {
        const { validationID, balance } = content;
        return this.#encode(content.name, label, { validationID, balance: Number(balance) }, (writer) => {
          writer.bytes(idBytes(validationID)).u64(balance);
        });
      }
      case 'DisableL1ValidatorTx': {
        const { validationID } = content;
        const json = { validationID, disableAuthorization: { signatureIndices: [] } };
        return this.#encode(content.name, label, json, (writer) => {
          writer.bytes(idBytes(validationID)).u32(SIGNATURE_INDICES).u32(0);
        });
      }
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
        balance: Number(INITIAL_BALANCE),
        signer: { publicKey: prefixedHex(blsPublicKey), proofOfPossession: prefixedHex(proof) },
        remainingBalanceOwner: jsonOwner,
        deactivationOwner: jsonOwner,
      })),
      subnetAuthorization: { signatureIndices: [] },
    };
    return this.#encode('ConvertSubnetToL1Tx', label, json, (writer) => {
      writer.bytes(idBytes(subnetID)).bytes(idBytes(managerChainID)).lengthPrefixed(managerAddress).u32(proven.length);
      for (const { nodeID, weight, blsPublicKey, proof } of proven) {
        writer.lengthPrefixed(nodeID).u64(weight).u64(INITIAL_BALANCE).bytes(blsPublicKey).bytes(proof);
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

  /** Encodes a transaction without inputs, outputs and credentials, because the payer does not matter here. */
  #encode(
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
