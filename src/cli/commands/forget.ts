import { ForgottenChain } from '../../api/feed/forget-route.ts';
import { EXIT, type ExitCode } from '../io/exit-codes.ts';
import { ServiceClient } from '../io/service-client.ts';
import { print } from '../io/text.ts';

export interface ForgetOptions {
  readonly url: string;
  readonly network?: string;
  readonly apiKey?: string;
  readonly timeout: number;
  readonly json?: boolean;
}

/** Lets the feed of a service forget a chain, and prints what was removed. @throws {CommandFailure} */
export async function forgetChain(
  blockchainID: string,
  { url, network, apiKey, timeout, json }: ForgetOptions,
): Promise<ExitCode> {
  await using client = new ServiceClient({ url, apiKey, timeoutMs: 1_000 * timeout });
  const path = await client.networkPath(network, undefined);
  const forgotten = await client.post(`${path}/messages/${encodeURIComponent(blockchainID)}/forget`, ForgottenChain);
  print(
    json === true ? JSON.stringify(forgotten) : `the feed has forgotten the chain, with ${forgotten.removed} messages`,
  );
  return EXIT.done;
}
