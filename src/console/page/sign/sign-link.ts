import type { SignOptions } from './sign-request.ts';

/** A longer text would make a link that programs cut off. */
const MAX_TEXT = 8_192;

/** The address of the view with its message, quorum and subnet, for a reload or another person. */
export function signLink(text: string, { quorum, signingSubnetId }: SignOptions): string {
  const message = text.trim();
  if (message === '' || message.length > MAX_TEXT) return '#/sign';
  const subnet = signingSubnetId.trim();
  const query = new URLSearchParams({ message, quorum: String(quorum), ...(subnet !== '' && { subnet }) });
  return `#/sign?${query}`;
}

/** What a link says; undefined if it names no message. */
export function linkedSigning(
  query: URLSearchParams,
): { readonly text: string; readonly options: Partial<SignOptions> } | undefined {
  const text = query.get('message');
  if (text === null) return undefined;
  const quorum = query.get('quorum') ?? '';
  const isPercentage = /^\d{1,3}$/.test(quorum) && Number(quorum) <= 100;
  return {
    text,
    options: { ...(isPercentage && { quorum: Number(quorum) }), signingSubnetId: query.get('subnet') ?? '' },
  };
}
