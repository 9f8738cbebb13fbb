import { attempt, ParseError } from '../../lib/encoding/parse-error.ts';
import {
  type BlockchainID,
  type MessageID,
  type NodeID,
  parseHexOrCb58Id,
  parseNodeID,
  type SubnetID,
  type TxID,
  type ValidationID,
} from '../../warp/ids.ts';
import { badRequest } from '../errors/http-error.ts';

type AnyID = SubnetID | BlockchainID | MessageID | TxID | ValidationID;

/** Parses a client's field or parameter. @throws {HttpError} naming the field, if `parse` throws a {@link ParseError} */
export function parseField<T>(name: string, text: string, parse: () => T): T {
  if (text.startsWith('0X')) throw badRequest(`${name} starts with 0X: the prefix of hex is 0x, or there is none`);
  const value = attempt(parse);
  if (!(value instanceof ParseError)) return value;
  if (value.what === name) throw badRequest(`${name} ${value.reason}`, { cause: value });
  throw badRequest(`${name} is not a Warp message: ${value.message}`, { cause: value });
}

export function parseID<T extends AnyID>(name: string, text: string): T {
  return parseField(name, text, () => parseHexOrCb58Id<T>(text, name));
}

/** @throws {HttpError} naming the field */
export function parseNode(name: string, text: string): NodeID {
  const nodeID = attempt(() => parseNodeID(text));
  if (nodeID instanceof ParseError) throw badRequest(`${name} ${nodeID.reason}`, { cause: nodeID });
  return nodeID;
}

/** Parses an optional ID. An empty text is an error, because its client may have meant an ID other than the default. */
export function parseOptionalID<T extends AnyID>(name: string, text: string | undefined): T | undefined {
  if (text === undefined) return undefined;
  if (text === '') throw badRequest(`${name} is empty: give an ID, or leave it out to have the default`);
  return parseID<T>(name, text);
}

export function toBigInt(value: number | undefined): bigint | undefined {
  return value === undefined ? undefined : BigInt(value);
}
