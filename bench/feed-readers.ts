import { get } from 'node:http';
import { request } from 'undici';

/** Streams of the feed of a service on a devnet. */

export const FEED_PATH = '/v1/signatureAggregator/fuji/messages';
/** Name and text of an API key. */
export const FEED_KEY = 'bench';
const HEADERS = { 'x-glacier-api-key': FEED_KEY };

/** A message that was received as signed. Times are in Unix milliseconds. */
export interface SignedMessage {
  readonly messageId: string;
  readonly executedAt: number;
  readonly signedAt: number;
  readonly receivedAt: number;
}

/** Returns the cursor after the last stored message. */
export async function cursorAtEnd(url: string): Promise<string> {
  for (let cursor = ''; ; ) {
    const after = cursor === '' ? '' : `&after=${cursor}`;
    const { body } = await request(`${url}${FEED_PATH}?limit=1000${after}`, { headers: HEADERS });
    const page = (await body.json()) as { nextCursor: string; hasMore: boolean };
    cursor = page.nextCursor;
    if (!page.hasMore) return cursor;
  }
}

/** Opens a stream. @returns a function that closes it */
export function openReader(
  url: string,
  cursor: string,
  onSigned: (message: SignedMessage) => void,
): Promise<() => void> {
  const headers = { ...HEADERS, accept: 'text/event-stream' };
  return new Promise((resolve, reject) => {
    const opening = get(`${url}${FEED_PATH}?after=${cursor}`, { headers, agent: false }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`status ${response.statusCode}`));
      let rest = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        const events = (rest + chunk).split('\n\n');
        rest = events.pop() ?? '';
        for (const event of events) receive(event, onSigned);
      });
      response.on('error', () => undefined);
      resolve(() => void response.destroy());
    });
    opening.on('error', reject);
  });
}

/** Reads three fields: to parse each event for hundreds of readers would take as long as the service takes to send it. */
function receive(event: string, onSigned: (message: SignedMessage) => void): void {
  const field = (name: string) => new RegExp(`"${name}": "?(\\w+)`).exec(event)?.[1];
  const [messageId, executedAt, signedAt] = ['messageId', 'executedAt', 'signedAt'].map(field);
  if (messageId === undefined || signedAt === undefined) return;
  onSigned({ messageId, executedAt: Number(executedAt), signedAt: Number(signedAt), receivedAt: Date.now() });
}
