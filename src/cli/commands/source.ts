import { maskedUrl } from '../../config/schema/mask.ts';
import type { ServedNetwork } from '../../network/served-network.ts';
import { asFailure } from '../io/failures.ts';
import { ProgressBar } from '../io/progress-bar.ts';
import { ServiceClient } from '../io/service-client.ts';
import { ServiceRefusal } from '../io/service-refusal.ts';
import { print } from '../io/text.ts';

/** Options of commands that ask a running service, or with `config` the validators themselves. */
export interface SourceOptions {
  readonly url: string;
  readonly config?: string;
  readonly network?: string;
  readonly apiKey?: string;
  readonly timeout: number;
  readonly json?: boolean;
}

/** Asks the validators of a network that is open. */
export type OwnCall<Result> = (network: ServedNetwork, signal: AbortSignal, bar: ProgressBar) => Promise<Result>;

interface SourceCalls<Result> {
  readonly networkID: number | undefined;
  readonly askService: (client: ServiceClient, bar: ProgressBar) => Promise<Result>;
  /** Checks the request before the network is opened, and returns the call. */
  readonly prepareOwn: () => OwnCall<Result>;
}

/** Asks the service or the validators, with a progress bar. With `--json` the body of an error is printed. */
export async function askSource<Result>(options: SourceOptions, calls: SourceCalls<Result>): Promise<Result> {
  try {
    using bar = new ProgressBar();
    return options.config === undefined
      ? await askService(options, calls, bar)
      : await askOwn(options.config, options, calls, bar);
  } catch (error) {
    const failure = asFailure(error);
    const body = failure instanceof ServiceRefusal ? failure.body : undefined;
    if (options.json === true && body !== undefined) print(JSON.stringify(body, undefined, 2));
    throw error;
  }
}

async function askService<Result>(
  { url, apiKey, timeout }: SourceOptions,
  calls: SourceCalls<Result>,
  bar: ProgressBar,
): Promise<Result> {
  await using client = new ServiceClient({ url, apiKey, timeoutMs: 1_000 * timeout, hasConfig: true });
  bar.say(`asking ${maskedUrl(url)}`);
  return await calls.askService(client, bar);
}

async function askOwn<Result>(
  config: string,
  { network: name, timeout }: SourceOptions,
  { networkID, prepareOwn }: SourceCalls<Result>,
  bar: ProgressBar,
): Promise<Result> {
  const call = prepareOwn();
  // Loads nearly the whole service.
  const { openOwnNetwork, untilStarted } = await import('./own-network.ts');
  await using opened = new AsyncDisposableStack();
  const network = await openOwnNetwork(opened, config, name, networkID);
  const signal = AbortSignal.timeout(1_000 * timeout);
  await untilStarted(network, signal, (text) => bar.say(text));
  return await call(network, signal, bar);
}
