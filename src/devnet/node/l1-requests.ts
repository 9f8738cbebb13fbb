import { badRequest } from '../../http/errors/http-error.ts';
import { parseField, parseID } from '../../http/parameters/parse-fields.ts';
import { parseHex } from '../../lib/encoding/bytes.ts';
import type { ConversionData, ConversionValidator } from '../../warp/conversion-data.ts';
import { nodeIDBytes, parseNodeID, type SubnetID, type ValidationID } from '../../warp/ids.ts';
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

type ValidatorBody = NonNullable<IssueBody['validators']>[number];

/** The fields of each transaction besides `type`: those that it needs, and those that may be left out. */
const FIELDS: Readonly<
  Record<IssueBody['type'], { readonly needed: readonly Field[]; readonly optional?: readonly Field[] }>
> = {
  BaseTx: { needed: [] },
  ConvertSubnetToL1Tx: { needed: ['validators'], optional: ['subnetId', 'managerChain', 'managerAddress'] },
  RegisterL1ValidatorTx: { needed: ['message'], optional: ['balance'] },
  SetL1ValidatorWeightTx: { needed: ['message'] },
  IncreaseL1ValidatorBalanceTx: { needed: ['validationId', 'balance'] },
  DisableL1ValidatorTx: { needed: ['validationId'] },
};
type Field = Exclude<keyof IssueBody, 'type'>;

/** Returns the transaction that a client wants to issue. @throws {HttpError} naming the field */
export function parseIssueBody(body: IssueBody, parts: L1RequestParts): TransactionContent {
  const { type: name } = body;
  const { needed, optional = [] } = FIELDS[name];
  const missing = needed.find((field) => body[field] === undefined);
  if (missing !== undefined) throw badRequest(`${missing} is missing: a ${name} needs it`);
  const given = Object.keys(body).filter((field): field is Field => field !== 'type');
  const unused = given.find((field) => !needed.includes(field) && !optional.includes(field));
  if (unused !== undefined) throw badRequest(`${unused} is no field of a ${name}`);
  const { message = '', validationId = '' } = body;
  switch (name) {
    case 'BaseTx':
      return { name };
    case 'ConvertSubnetToL1Tx':
      return { name, data: parseConversion(body, parts) };
    case 'RegisterL1ValidatorTx':
      return { name, message: parseBytes('message', message), balance: BigInt(body.balance ?? INITIAL_BALANCE) };
    case 'SetL1ValidatorWeightTx':
      return { name, message: parseBytes('message', message) };
    case 'IncreaseL1ValidatorBalanceTx':
      return { name, validationID: parseID('validationId', validationId), balance: BigInt(body.balance ?? 0) };
    case 'DisableL1ValidatorTx':
      return { name, validationID: parseID('validationId', validationId) };
  }
}

function parseConversion(
  { subnetId, managerChain = 'C', managerAddress, validators = [] }: IssueBody,
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
  const nodeID = parseField('nodeId', nodeId, () => parseNodeID(nodeId));
  const key = blsPublicKey === undefined ? parts.publicKeyOf(nodeID) : parseBytes('blsPublicKey', blsPublicKey);
  if (key === undefined) throw badRequest(`nodeId ${nodeID} is no node of the devnet: give its blsPublicKey too`);
  return { nodeID: nodeIDBytes(nodeID), blsPublicKey: key, weight: BigInt(weight) };
}

function parseBytes(field: string, hex: string): Uint8Array {
  return parseField(field, hex, () => parseHex(hex, field));
}

function chainNamed(name: 'C' | 'L1', { model }: L1RequestParts) {
  return name === 'C' ? model.cChain : model.l1Chain;
}
