import { type GoUrls, openGoListeners } from '../api/go-aggregator/go-listeners.ts';
import type { Config } from '../config/settings.ts';
import type { ServedNetwork } from '../network/served-network.ts';
import type { AppPart, ListenerOptions, PartListeners } from './app-part.ts';

/** The Go aggregator's two ports of each network that has them. */
export class GoListenersPart implements AppPart {
  readonly #config: Config;
  #urls: ReadonlyMap<string, GoUrls> = new Map();

  constructor(config: Config) {
    this.#config = config;
  }

  /** URLs by the network's name, while they listen. */
  get urls(): ReadonlyMap<string, GoUrls> {
    return this.#urls;
  }

  async listen(options: ListenerOptions, networks: readonly ServedNetwork[]): Promise<PartListeners> {
    const ports = this.#config.networks.flatMap(({ name, goApi }) => {
      const network = networks.find((one) => one.name === name);
      return network === undefined ? [] : [{ ...goApi, network }];
    });
    const { urls, close } = await openGoListeners({ ...options, host: this.#config.server.host, ports });
    this.#urls = urls;
    const [first] = urls.values();
    return {
      url: first?.api ?? first?.metrics,
      logged: urls.size > 0 ? { go: Object.fromEntries(urls) } : {},
      close,
    };
  }
}
