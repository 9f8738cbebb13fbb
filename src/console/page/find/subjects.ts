import { consoleHashOf, readPasted } from '../input/pasted-input.ts';
import { hexOfId } from '../ui/hex.ts';

/** What a text may name; its form often fits several. */
export type Subject =
  /** A place in the console, by its address after `#`. */
  | { readonly kind: 'place'; readonly hash: string }
  /** Any text may be the ID of a request, which clients choose. */
  | { readonly kind: 'request'; readonly id: string }
  /** 32 bytes: the ID of a message, a transaction, a subnet, a chain or a validation. */
  | { readonly kind: 'id'; readonly id: string }
  /** Bytes in hex, which may be a message. */
  | { readonly kind: 'bytes'; readonly hex: string }
  | { readonly kind: 'sender'; readonly address: string }
  | { readonly kind: 'node'; readonly nodeId: string }
  | { readonly kind: 'client'; readonly client: string };

/** As the service has it: visible ASCII. */
const VALID_REQUEST_ID = /^[\x21-\x7e]{1,128}$/;
/** The part of an address of this API that names what it is about. */
const API_ADDRESS = /\/v1\/(?:requests|signatureAggregator\/[^/\s]+\/(?:messages|subnets|validations))\/([\w-]+)/;

export function subjectsOf(text: string): readonly Subject[] {
  const wanted = text.trim();
  const hash = consoleHashOf(wanted);
  if (hash !== undefined) return [{ kind: 'place', hash }];
  const ofApi = API_ADDRESS.exec(wanted)?.[1];
  if (ofApi !== undefined) return subjectsOf(ofApi);
  if (/^(?:key|address):/.test(wanted)) return [{ kind: 'client', client: wanted }];
  const ofRequest: Subject[] = VALID_REQUEST_ID.test(wanted) ? [{ kind: 'request', id: wanted }] : [];
  if (/^NodeID-\w+$/.test(wanted)) return [...ofRequest, { kind: 'node', nodeId: wanted }];
  if (/^0x[0-9a-f]{40}$/i.test(wanted)) return [...ofRequest, { kind: 'sender', address: wanted }];
  if (isCb58(wanted)) return [...ofRequest, { kind: 'id', id: wanted }];
  const read = readPasted(wanted);
  switch (read.kind) {
    case 'empty':
      return [];
    case 'id':
      return [...ofRequest, { kind: 'id', id: read.id }];
    case 'bytes':
      return [...ofRequest, { kind: 'bytes', hex: read.hex }];
    case 'unreadable':
      return [...ofRequest, { kind: 'client', client: isAddress(wanted) ? `address:${wanted}` : `key:${wanted}` }];
  }
}

/** An ID in cb58, also one with many zeros, as that of the primary network. */
function isCb58(text: string): boolean {
  return /^[1-9A-HJ-NP-Za-km-z]{33,52}$/.test(text) && hexOfId(text) !== undefined;
}

/** An IPv4 or IPv6 address, or the network of one. */
function isAddress(text: string): boolean {
  return /^\d+(?:\.\d+){3}$/.test(text) || /^(?=.*:.*:)[0-9a-f:.]+(?:\/\d+)?$/i.test(text);
}
