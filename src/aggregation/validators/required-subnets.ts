import { PRIMARY_NETWORK_ID, type SubnetID } from '../../warp/ids.ts';
import type { RequiredSubnet } from './required-subnet.ts';

interface Kept {
  readonly subnet: Pick<RequiredSubnet, 'subnetID' | 'keepFresh'>;
  readonly stopping: AbortController;
}

/** Subnets whose validators are kept connected: the primary network first, then the tracked subnets. */
export class RequiredSubnets<Subnet extends Kept['subnet'] = RequiredSubnet> {
  readonly #create: (subnetID: SubnetID) => Subnet;
  readonly #kept = new Map<SubnetID, Kept & { readonly subnet: Subnet }>();
  readonly #working = new Set<Promise<void>>();

  constructor(create: (subnetID: SubnetID) => Subnet) {
    this.#create = create;
  }

  get all(): readonly Subnet[] {
    return Array.from(this.#kept.values(), ({ subnet }) => subnet);
  }

  has(subnetID: SubnetID): boolean {
    return this.#kept.has(subnetID);
  }

  set(trackedIDs: readonly SubnetID[]): void {
    const wanted = new Set([PRIMARY_NETWORK_ID, ...trackedIDs]);
    for (const [subnetID, { stopping }] of this.#kept) {
      if (wanted.has(subnetID)) continue;
      stopping.abort(new Error('the subnet is not tracked any more'));
      this.#kept.delete(subnetID);
    }
    for (const subnetID of wanted) {
      if (this.#kept.has(subnetID)) continue;
      const kept = { subnet: this.#create(subnetID), stopping: new AbortController() };
      this.#kept.set(subnetID, kept);
      // Not awaited: a slow reading must not delay the others.
      const working = kept.subnet.keepFresh(kept.stopping.signal).finally(() => this.#working.delete(working));
      this.#working.add(working);
    }
  }

  async stop(): Promise<void> {
    for (const { stopping } of this.#kept.values()) stopping.abort(new Error('the service stops'));
    await Promise.all(this.#working);
  }
}
