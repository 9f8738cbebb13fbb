import type { AccessOptions } from './access.ts';
import type { ApiKey } from './api-keys.ts';

/** Who may use the service, where that can change while it runs: a request is judged by what holds when it comes. */
export class AccessSettings implements AccessOptions {
  readonly trustedProxies: AccessOptions['trustedProxies'];
  readonly limits: AccessOptions['limits'];
  #current: Pick<AccessOptions, 'apiKeys' | 'unitsPerMinute'>;

  constructor({ trustedProxies, limits, ...current }: AccessOptions) {
    this.trustedProxies = trustedProxies;
    this.limits = limits;
    this.#current = current;
  }

  get apiKeys(): readonly ApiKey[] {
    return this.#current.apiKeys;
  }

  get unitsPerMinute(): number | undefined {
    return this.#current.unitsPerMinute;
  }

  update(current: Pick<AccessOptions, 'apiKeys' | 'unitsPerMinute'>): void {
    this.#current = current;
  }
}
