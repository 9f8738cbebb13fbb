import { nobleBackend } from '../../bls/backends/noble-backend.ts';
import { badRequest } from '../../http/errors/http-error.ts';
import { parseField, parseID, parseNode } from '../../http/parameters/parse-fields.ts';
import { parseHex } from '../../lib/encoding/bytes.ts';
import { attempt, ParseError } from '../../lib/encoding/parse-error.ts';
import type { ConversionData, ConversionValidator } from '../../warp/conversion-data.ts';
import { nodeIDBytes, type SubnetID, type ValidationID } from '../../warp/ids.ts';
import {
  encodeL1Message,
  type L1Message,
  type RegisterL1Validator,
  registrationValidationID,
} from '../../warp/l1-message.ts';
import type { EmitBody, IssueBody } from '../devnet-schemas.ts';
import { createRegistration, type NetworkModel } from '../network-model.ts';
import { INITIAL_BALANCE } from '../pchain/l1-history.ts';
import type { TransactionContent } from '../pchain/p-chain-ledger.ts';

export interface L1RequestParts {
  readonly model: NetworkModel;
  /** Returns the BLS key of a node that runs; undefined for another one. */
  publicKeyOf(nodeID: string): Uint8Array | undefined;
  /** Returns the ID of a new subnet. */
  createSubnet(): SubnetID;
}

/** A message that a validator manager sends. */
export interface ManagerMessage {
  readonly chain: 'C' | 'L1';
  readonly sender: Uint8Array;
  readonly payload: Uint8Array;
  readonly validationID: ValidationID;
}

type Conversion = Extract<IssueBody, { type: 'ConvertSubnetToL1Tx' }>;
type ValidatorBody = Conversion['validators'][number];

/** Returns the transaction that a client wants to issue. @throws {HttpError} naming the field */
export function parseIssueBody(body: IssueBody, parts: L1RequestParts): TransactionContent {
  switch (body.type) {
    case 'BaseTx':
      return { name: body.type };
    case 'ConvertSubnetToL1Tx':
      return { name: body.type, data: parseConversion(body, parts) };
    case 'RegisterL1ValidatorTx': {
      const { type: name, message, balance = INITIAL_BALANCE } = body;
      return { name, message: parseBytes('message', message), balance: BigInt(balance) };
    }
    case 'SetL1ValidatorWeightTx':
      return { name: body.type, message: parseBytes('message', body.message) };
    case 'IncreaseL1ValidatorBalanceTx': {
      const { type: name, validationId, balance } = body;
      return { name, validationID: parseID('validationId', validationId), balance: BigInt(balance) };
    }
    case 'DisableL1ValidatorTx':
      return { name: body.type, validationID: parseID('validationId', body.validationId) };
  }
}

function parseConversion(
  { subnetId, managerChain = 'C', managerAddress, validators }: Conversion,
  parts: L1RequestParts,
): ConversionData {
  const chain = chainNamed(managerChain, parts);
  return {
    subnetID: subnetId === undefined ? parts.createSubnet() : parseID('subnetId', subnetId),
    managerChainID: chain.blockchainID,
    managerAddress: managerAddress === undefined ? chain.account : parseBytes('managerAddress', managerAddress),
    // As a wallet does it.
    validators: validators
      .map((validator) => parseValidator(validator, parts))
      .toSorted((a, b) => Buffer.compare(a.nodeID, b.nodeID)),
  };
}

/** Returns the message that a client wants a validator manager to send; undefined for another message. @throws {HttpError} naming the field */
export function parseManagerMessage(body: EmitBody, parts: L1RequestParts): ManagerMessage | undefined {
  const { subnetId, register, setWeight } = body;
  if (register === undefined && setWeight === undefined) {
    if (subnetId !== undefined) throw badRequest('subnetId is for register and setWeight alone');
    return undefined;
  }
  const other = (['count', 'chain', 'payload', 'sender'] as const).find((field) => body[field] !== undefined);
  if (other !== undefined) throw badRequest(`${other} is not for messages of a validator manager, which has its own`);
  if (register !== undefined && setWeight !== undefined) throw badRequest('register and setWeight are two messages');
  const { model } = parts;
  const subnetID = subnetId === undefined ? model.l1.subnetID : parseID<SubnetID>('subnetId', subnetId);
  const conversion = model.conversions().find((one) => one.subnetID === subnetID);
  if (conversion === undefined) throw badRequest(`subnetId ${subnetID} is no L1 yet`);
  const message = register === undefined ? weightOf(setWeight, parts) : registrationOf(register, subnetID, parts);
  return {
    chain: conversion.managerChainID === model.cChain.blockchainID ? 'C' : 'L1',
    sender: conversion.managerAddress,
    payload: encodeL1Message(message),
    validationID: message.kind === 'RegisterL1Validator' ? registrationValidationID(message) : message.validationID,
  };
}

function registrationOf(
  { expiry, ...validator }: NonNullable<EmitBody['register']>,
  subnetID: SubnetID,
  parts: L1RequestParts,
): RegisterL1Validator {
  const until = expiry === undefined ? parts.model.timestamp() + DEFAULT_LIFETIME : BigInt(expiry);
  return createRegistration(subnetID, parseValidator(validator, parts), until);
}

/** Of a registration message, in seconds; the P-Chain takes a day at most. */
const DEFAULT_LIFETIME = 43_200n;

function weightOf(
  { validationId = '', weight = 0, nonce }: Partial<NonNullable<EmitBody['setWeight']>> = {},
  { model }: L1RequestParts,
): Extract<L1Message, { kind: 'L1ValidatorWeight' }> {
  const validationID = parseID<ValidationID>('validationId', validationId);
  const next = nonce === undefined ? model.nextNonce(validationID) : BigInt(nonce);
  if (next === undefined) throw badRequest(`validationId ${validationID} is no validator of an L1: give a nonce too`);
  return { kind: 'L1ValidatorWeight', validationID, nonce: next, weight: BigInt(weight) };
}

function parseValidator({ nodeId, weight, blsPublicKey }: ValidatorBody, parts: L1RequestParts): ConversionValidator {
  const nodeID = parseNode('nodeId', nodeId);
  const key = blsPublicKey === undefined ? parts.publicKeyOf(nodeID) : parsePublicKey(blsPublicKey);
  if (key === undefined) throw badRequest(`nodeId ${nodeID} is no node of the devnet: give its blsPublicKey too`);
  return { nodeID: nodeIDBytes(nodeID), blsPublicKey: key, weight: BigInt(weight) };
}

/** The P-Chain would want a proof of possession, too. */
function parsePublicKey(hex: string): Uint8Array {
  return parseField('blsPublicKey', hex, () => {
    const bytes = parseHex(hex, 'blsPublicKey');
    const point = attempt(() => nobleBackend.parsePublicKey(bytes));
    if (point instanceof ParseError) throw new ParseError('blsPublicKey', point.reason);
    return bytes;
  });
}

function parseBytes(field: string, hex: string): Uint8Array {
  return parseField(field, hex, () => parseHex(hex, field));
}

function chainNamed(name: 'C' | 'L1', { model }: L1RequestParts) {
  return name === 'C' ? model.cChain : model.l1Chain;
}
