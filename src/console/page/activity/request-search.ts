import { hexOfId } from '../ui/hex.ts';

/** A parameter of `GET /v1/requests`, or the ID of one request. */
export type RequestSearch = Readonly<
  Record<'requestId', string> | Partial<Record<'messageId' | 'transaction' | 'subnetId' | 'client', string>>
>;

/** What a text may name. Its form often fits several; any text may be the ID of a request, which clients choose. */
export function searchesOf(text: string): readonly RequestSearch[] {
  const wanted = text.trim();
  if (wanted === '') return [];
  if (/^(?:key|address):/.test(wanted)) return [{ client: wanted }];
  const ofRequest = VALID_REQUEST_ID.test(wanted) ? [{ requestId: wanted }] : [];
  if (isId(wanted)) return [...ofRequest, { messageId: wanted }, { transaction: wanted }, { subnetId: wanted }];
  return [...ofRequest, { client: isAddress(wanted) ? `address:${wanted}` : `key:${wanted}` }];
}

/** As the service has it: visible ASCII. */
const VALID_REQUEST_ID = /^[\x21-\x7e]{1,128}$/;

function isId(text: string): boolean {
  if (/^(?:0x)?[0-9a-fA-F]{64}$/.test(text)) return true;
  return /^[1-9A-HJ-NP-Za-km-z]{33,50}$/.test(text) && hexOfId(text) !== undefined;
}

/** An IPv4 or IPv6 address, or the network of one. */
function isAddress(text: string): boolean {
  return /^\d+(?:\.\d+){3}$/.test(text) || /^(?=.*:.*:)[0-9a-f:.]+(?:\/\d+)?$/i.test(text);
}
